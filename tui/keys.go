package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// binding is a key that works whenever no text is being typed. The help on the screen is made from this table.
type binding struct {
	keys  []string
	short string // for the footer; "" only in the long help
	help  string
	do    func(m *Model) tea.Cmd
}

func bindings() []binding {
	run := func(command string) func(*Model) tea.Cmd { return func(m *Model) tea.Cmd { return m.run(command) } }
	toggle := func(mode string) func(*Model) tea.Cmd { return func(m *Model) tea.Cmd { return m.toggle(mode) } }
	move := func(by int) func(*Model) tea.Cmd { return func(m *Model) tea.Cmd { return m.move(by) } }
	return []binding{
		{[]string{"c"}, "cont", "continue the ranks in focus", run("continue")},
		{[]string{"n"}, "next", "step over a line", run("next")},
		{[]string{"s"}, "step", "step into a call", run("stepIn")},
		{[]string{"f"}, "out", "finish the function", run("stepOut")},
		{[]string{"p"}, "pause", "pause the ranks in focus", run("pause")},
		{[]string{"b"}, "break", "set or clear a breakpoint at the cursor of the source", toggle(protocol.ModeRank)},
		{[]string{"a"}, "", "set or clear a breakpoint that stops all ranks", toggle(protocol.ModeAll)},
		{
			[]string{"B"},
			"", "set or clear a causal breakpoint for the selected rank (replay)",
			toggle(protocol.ModeCausal),
		},
		{[]string{"F"}, "focus", "set the focus: which ranks step, continue and pause", (*Model).askFocus},
		{[]string{"x"}, "", "put the selected rank alone in the focus, or all again", (*Model).soloFocus},
		{[]string{":", "`"}, "eval", "type into the console", (*Model).openConsole},
		{[]string{"i"}, "", "send a line to rank 0's standard input", (*Model).askInput},
		{[]string{"o"}, "", "open a source file", (*Model).askFile},
		{[]string{"g"}, "", "go to a line of the source", (*Model).askLine},
		{[]string{"v"}, "", "show variables", func(m *Model) tea.Cmd { return m.show(paneVariables) }},
		{[]string{"u"}, "output", "show the ranks' output", func(m *Model) tea.Cmd { return m.show(paneOutput) }},
		{[]string{"tab"}, "", "next pane", func(m *Model) tea.Cmd { return m.cycle(1) }},
		{[]string{"shift+tab"}, "", "previous pane", func(m *Model) tea.Cmd { return m.cycle(-1) }},
		{[]string{"up", "k"}, "", "up", move(-1)},
		{[]string{"down", "j"}, "", "down", move(1)},
		{[]string{"pgup"}, "", "page up", func(m *Model) tea.Cmd { return m.move(-m.page()) }},
		{[]string{"pgdown", "space"}, "", "page down", func(m *Model) tea.Cmd { return m.move(m.page()) }},
		{[]string{"home"}, "", "to the beginning", move(-far)},
		{[]string{"end"}, "", "to the end", move(far)},
		{[]string{"enter", "right", "l"}, "", "open: a rank, a frame, a variable", (*Model).open},
		{[]string{"left", "h"}, "", "close a variable", (*Model).fold},
		{[]string{"?"}, "help", "this help", func(m *Model) tea.Cmd { m.help = !m.help; return nil }},
		{[]string{"q", "ctrl+c"}, "quit", "end the job and quit", (*Model).quit},
	}
}

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	if k == "ctrl+c" {
		return m.quit()
	}
	if m.prompt != nil || (m.active == paneConsole && m.input.Focused()) {
		return m.typing(k, msg)
	}
	if m.help && (k == "esc" || k == "q") {
		m.help = false
		return nil
	}
	for _, b := range bindings() {
		if slices.Contains(b.keys, k) {
			return b.do(m)
		}
	}
	return nil
}

// typing: a prompt or the console has the keyboard.
func (m *Model) typing(k string, msg tea.KeyPressMsg) tea.Cmd {
	switch k {
	case "esc":
		m.prompt = nil
		m.input.Reset()
		m.input.Blur()
		if m.active == paneConsole {
			m.active = paneRanks
		}
		return nil
	case "tab", "shift+tab":
		if m.prompt == nil {
			m.input.Blur()
			return m.cycle(1)
		}
		return nil
	case "enter":
		text := strings.TrimSpace(m.input.Value())
		m.input.Reset()
		if p := m.prompt; p != nil {
			m.prompt = nil
			m.input.Blur()
			return p.then(m, text)
		}
		return m.submit(text)
	case "up", "down":
		if m.prompt == nil {
			m.recall(k == "up")
			return nil
		}
	case "pgup":
		m.console.scroll(-5, m.layout().rightWidth)
		return nil
	case "pgdown":
		m.console.scroll(5, m.layout().rightWidth)
		return nil
	}
	return m.typed(msg)
}

func (m *Model) submit(text string) tea.Cmd {
	if text == "" {
		return nil
	}
	if n := len(m.history); n == 0 || m.history[n-1] != text {
		m.history = append(m.history, text)
	}
	m.historyAt = len(m.history)
	m.console.write("input", "> "+text+"\n")
	m.console.following = true
	return m.evaluate(text)
}

func (m *Model) recall(back bool) {
	if back {
		m.historyAt = max(0, m.historyAt-1)
	} else {
		m.historyAt = min(len(m.history), m.historyAt+1)
	}
	text := ""
	if m.historyAt < len(m.history) {
		text = m.history[m.historyAt]
	}
	m.input.SetValue(text)
	m.input.CursorEnd()
}

func (m *Model) run(command string) tea.Cmd {
	if m.phase != phaseRunning {
		m.fail("There is no running job to " + command + ".")
		return nil
	}
	m.say("")
	return m.threadCommand(command)
}

func (m *Model) toggle(mode string) tea.Cmd {
	if m.source.path == "" || len(m.source.lines) == 0 {
		m.fail("There is no source to set a breakpoint in: select a stopped rank, or open a file with o.")
		return nil
	}
	path, line := m.source.path, m.cursor+1
	before := m.breakpoints[path]
	set := slices.DeleteFunc(slices.Clone(before), func(b breakpoint) bool { return b.Line == line })
	if len(set) == len(before) {
		var b breakpoint
		if b.Line, b.Mode = line, mode; mode == protocol.ModeCausal {
			b.Ranks = fmt.Sprint(m.selected)
		}
		set = append(set, b)
	}
	// Believed at once, unverified, so that a second key does not work on what was there before the first.
	for i := range set {
		set[i].verified = false
	}
	m.breakpoints[path] = set
	return m.setBreakpoints(path)
}

func (m *Model) ask1(label, value string, then func(*Model, string) tea.Cmd) tea.Cmd {
	m.prompt = &prompt{label: label, then: then}
	m.input.SetValue(value)
	m.input.CursorEnd()
	return m.input.Focus()
}

func (m *Model) askFocus() tea.Cmd {
	return m.ask1("focus (0-3,7 or 0-63:4 or all): ", m.focus, (*Model).setFocus)
}

func (m *Model) soloFocus() tea.Cmd {
	if alone := fmt.Sprint(m.selected); m.focus != alone {
		return m.setFocus(alone)
	}
	return m.setFocus("all")
}

func (m *Model) askInput() tea.Cmd {
	return m.ask1("line for rank 0: ", "", func(m *Model, text string) tea.Cmd {
		return m.ask(protocol.RequestInput, protocol.InputArguments{Data: text + "\n"}, nil, m.report)
	})
}

func (m *Model) askFile() tea.Cmd {
	return m.ask1("file: ", filepath.Dir(m.source.path)+"/", func(m *Model, text string) tea.Cmd {
		path, err := filepath.Abs(text)
		if err != nil {
			m.fail(err.Error())
			return nil
		}
		m.openSource(path, 1)
		m.active = paneSource
		return nil
	})
}

func (m *Model) askLine() tea.Cmd {
	return m.ask1("line: ", "", func(m *Model, text string) tea.Cmd {
		var line int
		if _, err := fmt.Sscanf(text, "%d", &line); err != nil || line < 1 {
			m.fail(fmt.Sprintf("%q is not a line number.", text))
			return nil
		}
		m.cursor = line - 1
		m.showCursor()
		m.active = paneSource
		return nil
	})
}

func (m *Model) openConsole() tea.Cmd {
	m.active, m.bottom = paneConsole, paneConsole
	return m.input.Focus()
}

func (m *Model) show(p pane) tea.Cmd {
	m.bottom, m.active = p, p
	m.input.Blur()
	return nil
}

func (m *Model) cycle(by int) tea.Cmd {
	m.active = (m.active + pane(by) + paneCount) % paneCount
	if m.active >= paneVariables {
		m.bottom = m.active
	}
	if m.active == paneConsole {
		return m.input.Focus()
	}
	m.input.Blur()
	return nil
}

func (m *Model) page() int { return max(1, m.layout().rows(m.active)-1) }

// move moves the selection, or scrolls what has none.
func (m *Model) move(by int) tea.Cmd {
	switch m.active {
	case paneRanks:
		return m.selectRank(max(0, min(m.selected+by, len(m.ranks)-1)))
	case paneSource:
		m.cursor = max(0, min(m.cursor+by, len(m.source.lines)-1))
		m.showCursor()
	case paneStack:
		return m.selectFrame(max(0, min(m.frame+by, len(m.frames)-1)))
	case paneVariables:
		m.variable = max(0, min(m.variable+by, len(flatten(m.vars))-1))
	case paneOutput:
		m.output.scroll(by, m.layout().rightWidth)
	case paneConsole:
		m.console.scroll(by, m.layout().rightWidth)
	case paneCount: // no pane
	}
	return nil
}

func (m *Model) open() tea.Cmd {
	switch m.active {
	case paneVariables:
		list := flatten(m.vars)
		if i := m.variable; i < len(list) {
			return m.openVariable(list[i])
		}
	case paneRanks:
		return m.selectRank(m.selected)
	case paneStack:
		return m.selectFrame(m.frame)
	case paneSource, paneOutput, paneConsole, paneCount: // nothing to open
	}
	return nil
}

func (m *Model) openVariable(n *varNode) tea.Cmd {
	switch {
	case n.more:
		return m.fetchChildren(n.parent)
	case n.ref == 0:
		return nil
	}
	n.open = !n.open
	if n.open && n.loaded() == 0 {
		return m.fetchChildren(n)
	}
	return nil
}

func (m *Model) fold() tea.Cmd {
	list := flatten(m.vars)
	i := m.variable
	if m.active != paneVariables || i >= len(list) {
		return nil
	}
	n := list[i]
	if !n.open && n.parent != nil {
		n = n.parent
		m.variable = slices.Index(list, n)
	}
	n.open = false
	return nil
}

// quit ends the job and leaves; a second time it leaves at once.
func (m *Model) quit() tea.Cmd {
	if m.quitting || m.client == nil {
		return tea.Quit
	}
	m.quitting = true
	m.say("Ending the job …")
	// ranks that ran before are left running
	end := map[string]any{"terminateDebuggee": m.options.Launch.Attach == nil}
	return tea.Sequence(m.ask("disconnect", end, nil, m.report), tea.Quit)
}
