package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// Update takes one message; see package documentation for who sends them.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.showCursor()
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	case tea.PasteMsg:
		cmd = m.typed(msg)
	case eventMsg:
		cmd = m.event(msg)
	case doneMsg:
		cmd = msg()
	default:
		cmd = m.typed(msg) // the cursor's blinking
	}
	return m, cmd
}

func (m *Model) launched(err error) tea.Cmd {
	m.progress = ""
	if err != nil {
		m.phase, m.fatal = phaseEnded, err
		m.fail(err.Error())
		return tea.Quit // the message is printed on the restored terminal
	}
	if m.phase == phaseStarting {
		m.phase = phaseRunning
	}
	return m.fetchRanks()
}

func (m *Model) event(e eventMsg) tea.Cmd {
	switch e.Event {
	case "initialized":
		return m.configure()
	case "output":
		b := body[dap.OutputEventBody](m, e)
		m.output.write(b.Category, b.Output)
	case "stopped":
		return m.stopped(body[dap.StoppedEventBody](m, e))
	case "terminated":
		m.phase = phaseEnded
		m.progress = ""
		m.say("The job has ended. q quits; the output stays readable until then.")
		return m.fetchRanks()
	case "breakpoint":
		m.breakpointChanged(body[dap.BreakpointEventBody](m, e).Breakpoint)
	case "progressStart":
		b := body[dap.ProgressStartEventBody](m, e)
		m.progress = strings.TrimSpace(b.Title + " " + b.Message)
	case "progressUpdate":
		b := body[dap.ProgressUpdateEventBody](m, e)
		if m.progress = b.Message; b.Percentage > 0 {
			m.progress = strings.TrimSpace(fmt.Sprintf("%s %d %%", b.Message, b.Percentage))
		}
	case "progressEnd":
		m.progress = ""
	case protocol.EventRanks:
		return m.ranksChanged(body[protocol.RanksBody](m, e))
	case protocol.EventIdle:
		m.idle = true
	case protocol.EventFocus:
		m.focus = body[protocol.FocusBody](m, e).Ranks
	case protocol.EventCut:
		b := body[protocol.CutBody](m, e)
		m.say(b.Text)
		if rank, ok := b.Leader(); ok {
			return m.selectRank(rank)
		}
	}
	if e.Type == "closed" && !m.quitting {
		m.phase = phaseEnded
		m.fail("The debug server has closed the connection (" + e.Message + "). q quits.")
	}
	if e.Type == "broken" {
		m.fail(e.Message)
	}
	return nil
}

// stopped moves the selection to the rank that stopped, unless the server asks to leave it.
func (m *Model) stopped(b dap.StoppedEventBody) tea.Cmd {
	if (b.Description != "" || b.Text != "") && (!b.PreserveFocusHint || b.Reason == "exception") {
		m.notice, m.isError = cmp.Or(b.Text, b.Description), b.Reason == "exception"
	}
	if b.PreserveFocusHint || b.ThreadId == 0 {
		return nil
	}
	rank, _ := protocol.RankThread(b.ThreadId)
	return m.selectRank(rank)
}

func (m *Model) ranksChanged(b protocol.RanksBody) tea.Cmd {
	if b.Focus != "" {
		m.focus = b.Focus
	}
	m.idle = b.Idle
	refresh := false
	for _, r := range b.Ranks {
		if r.Rank < 0 || r.Rank > 1_000_000 {
			continue
		}
		for len(m.ranks) <= r.Rank {
			m.ranks = append(m.ranks, protocol.RankStatus{Rank: len(m.ranks), State: "starting"})
		}
		m.ranks[r.Rank] = r
		m.generation[r.Rank]++
		refresh = refresh || r.Rank == m.selected
	}
	if !refresh {
		return nil
	}
	if m.ranks[m.selected].State != "stopped" {
		m.forgetFrames()
		return nil
	}
	return m.fetchStack(m.selected)
}

func (m *Model) forgetFrames() {
	m.frames, m.frame, m.vars, m.answers, m.stackErr, m.varsErr = nil, 0, nil, nil, "", ""
	m.variable, m.scroll[paneVariables], m.scroll[paneStack] = 0, 0, 0
}

func (m *Model) selectRank(rank int) tea.Cmd {
	if rank < 0 || rank >= len(m.ranks) && rank != 0 {
		return nil
	}
	m.selected = rank
	m.forgetFrames()
	if rank < len(m.ranks) && m.ranks[rank].State != "stopped" {
		return nil
	}
	return m.fetchStack(rank)
}

func (m *Model) selectFrame(i int) tea.Cmd {
	if i < 0 || i >= len(m.frames) {
		return nil
	}
	m.frame = i
	f := m.frames[i]
	if f.Source != nil && f.Source.Path != "" {
		m.openSource(f.Source.Path, f.Line)
	}
	return m.fetchScopes(f.Id)
}

func (m *Model) openSource(path string, line int) {
	if m.source.path != path || m.source.err != "" {
		m.source = loadSource(path)
		m.top = 0
	}
	m.cursor = max(0, line-1)
	m.showCursor()
}

// showCursor scrolls so that the source's cursor is visible with context around it.
func (m *Model) showCursor() {
	rows := m.layout().sourceRows
	if rows <= 0 {
		return
	}
	margin := min(3, rows/3)
	m.cursor = max(0, min(m.cursor, len(m.source.lines)-1))
	if m.cursor < m.top+margin || m.cursor >= m.top+rows-margin {
		switch {
		case m.cursor < m.top-rows || m.cursor > m.top+2*rows:
			m.top = m.cursor - rows/2
		case m.cursor < m.top+margin:
			m.top = m.cursor - margin
		default:
			m.top = m.cursor - rows + margin + 1
		}
	}
	m.top = max(0, min(m.top, len(m.source.lines)-rows))
}

func (m *Model) breakpointChanged(b dap.Breakpoint) {
	if b.Source == nil {
		return
	}
	set := m.breakpoints[b.Source.Path]
	for i := range set {
		if set[i].Line == b.Line {
			set[i].verified = b.Verified
		}
	}
}

// mostAnswers bounds the answers that stay in the variables pane.
const mostAnswers = 8

// keepAnswer puts what can be opened of an answer first among the variables, until the rank continues.
func (m *Model) keepAnswer(expression string, body dap.EvaluateResponseBody) {
	first, _, _ := strings.Cut(body.Result, "\n")
	n := &varNode{
		name: printable(expression), value: printable(first), ref: body.VariablesReference,
		total: body.NamedVariables + body.IndexedVariables,
	}
	others := slices.DeleteFunc(slices.Clone(m.vars), func(v *varNode) bool { return slices.Contains(m.answers, v) })
	m.answers = append([]*varNode{n}, slices.DeleteFunc(m.answers, func(v *varNode) bool {
		return v.name == n.name
	})...)
	m.answers = m.answers[:min(len(m.answers), mostAnswers)]
	m.vars = append(slices.Clone(m.answers), others...)
	m.variable, m.scroll[paneVariables] = 0, 0
	m.console.write("important", "It can be opened: v shows it among the variables.\n")
}

func (m *Model) typed(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}
