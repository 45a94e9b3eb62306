package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
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
	case launchedMsg:
		cmd = m.launched(msg.err)
	case failedMsg:
		m.fail(msg.err.Error())
	case doneMsg:
		if msg.note != "" {
			m.say(msg.note)
		}
	case ranksMsg:
		cmd = m.ranksChanged(protocol.RanksBody(msg))
	case stackMsg:
		cmd = m.stackArrived(msg)
	case scopesMsg:
		cmd = m.scopesArrived(msg)
	case childrenMsg:
		msg.node.loading = false
		if msg.err != nil {
			msg.node.err = msg.err.Error()
		} else {
			msg.node.addChildren(msg.vars)
		}
	case breakpointsMsg:
		m.breakpointsArrived(msg)
	case answerMsg:
		m.answerArrived(msg)
	default:
		cmd = m.typed(msg) // the cursor's blinking
	}
	return m, cmd
}

func (m *Model) launched(err error) tea.Cmd {
	if err == nil {
		if m.phase == phaseStarting {
			m.phase = phaseRunning
		}
		m.progress = ""
		return m.fetchRanks()
	}
	m.progress = ""
	m.phase = phaseEnded
	m.fatal = err
	if refused, ok := errors.AsType[*client.RequestError](err); ok {
		m.fail(refused.Text)
	} else {
		m.fail(err.Error())
	}
	return tea.Quit // the message is printed on the restored terminal
}

func (m *Model) event(e eventMsg) tea.Cmd {
	switch e.Event {
	case "initialized":
		return m.configure()
	case "output":
		b := body[dap.OutputEventBody](m, e)
		m.addOutput(b.Category, b.Output)
	case "stopped":
		return m.stopped(body[dap.StoppedEventBody](m, e))
	case "terminated":
		m.phase = phaseEnded
		m.progress = ""
		m.say("The job has ended. q quits; the output stays readable until then.")
		return m.fetchRanks()
	case "breakpoint":
		b := body[dap.BreakpointEventBody](m, e)
		m.breakpointChanged(b.Breakpoint)
	case "progressStart":
		b := body[dap.ProgressStartEventBody](m, e)
		m.progress = strings.TrimSpace(b.Title + " " + b.Message)
	case "progressUpdate":
		b := body[dap.ProgressUpdateEventBody](m, e)
		m.progress = strings.TrimSpace(fmt.Sprintf("%s %s", b.Message, percent(b.Percentage)))
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
		m.cut = cutText(b)
		m.say(m.cut)
		if rank, ok := leaderOf(b); ok {
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

func percent(p int) string {
	if p <= 0 {
		return ""
	}
	return fmt.Sprintf("%d %%", p)
}

// leaderOf is the rank whose event the cut belongs to.
func leaderOf(b protocol.CutBody) (rank int, ok bool) {
	var event uint64
	_, err := fmt.Sscanf(b.At, "%d:%d", &rank, &event)
	return rank, err == nil
}

func cutText(b protocol.CutBody) string {
	if b.Text != "" {
		return b.Text
	}
	var parts []string
	for r, p := range b.Positions {
		parts = append(parts, fmt.Sprintf("%d:%d", r, p))
	}
	return "Causal cut " + strings.Join(parts, " ")
}

// stopped moves the selection to the rank that stopped, unless the server asks to leave it.
func (m *Model) stopped(b dap.StoppedEventBody) tea.Cmd {
	if (b.Description != "" || b.Text != "") && (!b.PreserveFocusHint || b.Reason == "exception") {
		m.notice, m.isError = firstNonEmpty(b.Text, b.Description), b.Reason == "exception"
	}
	if b.PreserveFocusHint || b.ThreadId == 0 {
		return nil
	}
	rank, _ := protocol.RankThread(b.ThreadId)
	return m.selectRank(rank)
}

func firstNonEmpty(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
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
	m.line[paneVariables], m.scroll[paneVariables], m.line[paneStack], m.scroll[paneStack] = 0, 0, 0, 0
}

func (m *Model) selectRank(rank int) tea.Cmd {
	if rank < 0 || rank >= len(m.ranks) && rank != 0 {
		return nil
	}
	m.selected = rank
	m.line[paneRanks] = rank
	m.forgetFrames()
	if rank < len(m.ranks) && m.ranks[rank].State != "stopped" {
		return nil
	}
	return m.fetchStack(rank)
}

func (m *Model) stackArrived(msg stackMsg) tea.Cmd {
	if msg.rank != m.selected || msg.generation != m.generation[msg.rank] {
		return nil // the rank has gone on since
	}
	m.forgetFrames()
	if msg.err != nil {
		m.stackErr = msg.err.Error()
		return nil
	}
	m.frames = msg.frames
	for i, f := range m.frames {
		if f.Source != nil && f.Source.Path != "" && f.PresentationHint != "subtle" {
			return m.selectFrame(i)
		}
	}
	return m.selectFrame(0)
}

func (m *Model) selectFrame(i int) tea.Cmd {
	if i < 0 || i >= len(m.frames) {
		return nil
	}
	m.frame = i
	m.line[paneStack] = i
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

func (m *Model) scopesArrived(msg scopesMsg) tea.Cmd {
	if msg.frame != m.frameID() {
		return nil
	}
	if msg.err != nil {
		m.vars, m.varsErr = nil, msg.err.Error()
		return nil
	}
	m.vars, m.varsErr = append(slices.Clone(m.answers), msg.nodes...), ""
	m.line[paneVariables], m.scroll[paneVariables] = 0, 0
	var cmds []tea.Cmd
	for _, n := range msg.nodes {
		if n.name != "Registers" && n.ref != 0 {
			n.open = true
			cmds = append(cmds, m.fetchChildren(n))
		}
	}
	return tea.Batch(cmds...)
}

func (m *Model) breakpointsArrived(msg breakpointsMsg) {
	if msg.err != nil {
		m.fail(msg.err.Error())
		return
	}
	set := make([]setBreakpoint, 0, len(msg.asked))
	for i, b := range msg.asked {
		s := setBreakpoint{Breakpoint: b}
		if i < len(msg.got) {
			got := msg.got[i]
			s.verified, s.message = got.Verified, got.Message
			if got.Line > 0 {
				s.Line = got.Line
			}
			if got.Message != "" {
				m.notice, m.isError = got.Message, !got.Verified
			}
		}
		set = append(set, s)
	}
	m.breakpoints[msg.path] = set
}

func (m *Model) breakpointChanged(b dap.Breakpoint) {
	if b.Source == nil {
		return
	}
	for i, s := range m.breakpoints[b.Source.Path] {
		if s.Line == b.Line {
			m.breakpoints[b.Source.Path][i].verified = b.Verified
			m.breakpoints[b.Source.Path][i].message = b.Message
		}
	}
}

func (m *Model) answerArrived(msg answerMsg) {
	text, kind := msg.text, "console"
	if msg.err != nil {
		text, kind = msg.err.Error(), "error"
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		m.consoleLines = append(m.consoleLines, outputLine{printable(line), kind})
	}
	if msg.err == nil && msg.ref != 0 && msg.frame == m.frameID() {
		m.keepAnswer(msg)
	}
	m.scroll[paneConsole] = 0
}

// mostAnswers bounds the answers that stay in the variables pane.
const mostAnswers = 8

// keepAnswer puts what can be opened of an answer first among the variables, until the rank goes on.
func (m *Model) keepAnswer(msg answerMsg) {
	first, _, _ := strings.Cut(msg.text, "\n")
	n := &varNode{name: printable(msg.expression), value: printable(first), ref: msg.ref, total: msg.total}
	others := slices.DeleteFunc(slices.Clone(m.vars), func(v *varNode) bool { return slices.Contains(m.answers, v) })
	m.answers = append([]*varNode{n}, slices.DeleteFunc(m.answers, func(v *varNode) bool {
		return v.name == n.name
	})...)
	m.answers = m.answers[:min(len(m.answers), mostAnswers)]
	m.vars = append(slices.Clone(m.answers), others...)
	m.line[paneVariables], m.scroll[paneVariables] = 0, 0
	m.consoleLines = append(m.consoleLines, outputLine{
		"It can be opened: v shows it among the variables.",
		"important",
	})
}

func (m *Model) typed(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}
