package tui

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

// Breakpoint is one that is set before the job starts, or by a key.
type Breakpoint struct {
	Path      string
	Line      int
	Condition string
	Mode      string // protocol.ModeRank, ModeAll, ModeCausal; "" is ModeRank
	Ranks     string // rank set; "" all
}

// sourceBreakpoint is DAP's with Cohort's properties.
type sourceBreakpoint struct {
	dap.SourceBreakpoint
	protocol.BreakpointExtra
}

type setBreakpointsArguments struct {
	Source      dap.Source         `json:"source"`
	Breakpoints []sourceBreakpoint `json:"breakpoints"`
}

// Messages that end a request.
type (
	eventMsg    client.Message
	failedMsg   struct{ err error }
	launchedMsg struct{ err error }
	doneMsg     struct{ note string }
	ranksMsg    protocol.RanksBody
	stackMsg    struct {
		rank, generation int
		frames           []dap.StackFrame
		err              error
	}
	scopesMsg struct {
		frame int
		nodes []*varNode
		err   error
	}
	childrenMsg struct {
		node *varNode
		vars []dap.Variable
		err  error
	}
	breakpointsMsg struct {
		path  string
		asked []Breakpoint
		got   []dap.Breakpoint
		err   error
	}
	answerMsg struct {
		expression string
		frame      int
		text       string
		ref, total int // of what can be opened; 0 if nothing can
		err        error
	}
)

// ask runs one request off the event loop; then turns its outcome into a message.
func (m *Model) ask(command string, args, result any, then func(error) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		err := m.client.Request(m.ctx, command, args, result)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return then(err)
	}
}

func report(note string) func(error) tea.Msg {
	return func(err error) tea.Msg {
		if err != nil {
			return failedMsg{err}
		}
		return doneMsg{note}
	}
}

// start opens the session: initialize, then launch, whose response may come as late as the job's start.
func (m *Model) start() tea.Cmd {
	return func() tea.Msg {
		init := dap.InitializeRequestArguments{
			ClientID: "cohort-tui", ClientName: "Cohort terminal", AdapterID: "cohort", LinesStartAt1: true,
			ColumnsStartAt1: true,
			PathFormat:      "path", SupportsVariableType: true, SupportsVariablePaging: true,
			SupportsProgressReporting: true,
		}
		if err := m.client.Request(m.ctx, "initialize", init, &m.capabilities); err != nil {
			return launchedMsg{err}
		}
		return launchedMsg{m.client.Request(m.ctx, "launch", m.options.Launch, nil)}
	}
}

// configure answers the initialized event: breakpoints first, so that none is missed.
func (m *Model) configure() tea.Cmd {
	byPath := map[string][]Breakpoint{}
	var order []string
	for _, b := range m.options.Breakpoints {
		if _, ok := byPath[b.Path]; !ok {
			order = append(order, b.Path)
		}
		byPath[b.Path] = append(byPath[b.Path], b)
	}
	var cmds []tea.Cmd
	for _, path := range order {
		cmds = append(cmds, m.setBreakpoints(path, byPath[path]))
	}
	cmds = append(cmds, m.ask("configurationDone", struct{}{}, nil, report("")))
	return tea.Sequence(cmds...)
}

func (m *Model) setBreakpoints(path string, wanted []Breakpoint) tea.Cmd {
	args := setBreakpointsArguments{
		Source:      dap.Source{Path: path, Name: filepath.Base(path)},
		Breakpoints: []sourceBreakpoint{},
	}
	for _, b := range wanted {
		args.Breakpoints = append(args.Breakpoints, sourceBreakpoint{
			SourceBreakpoint: dap.SourceBreakpoint{Line: b.Line, Condition: b.Condition},
			BreakpointExtra:  protocol.BreakpointExtra{Mode: b.Mode, Ranks: b.Ranks},
		})
	}
	var body dap.SetBreakpointsResponseBody
	return m.ask("setBreakpoints", args, &body, func(err error) tea.Msg {
		return breakpointsMsg{path: path, asked: wanted, got: body.Breakpoints, err: err}
	})
}

func (m *Model) fetchRanks() tea.Cmd {
	var body protocol.RanksBody
	return m.ask(protocol.RequestRanks, struct{}{}, &body, func(err error) tea.Msg {
		if err != nil {
			return failedMsg{err}
		}
		return ranksMsg(body)
	})
}

func (m *Model) fetchStack(rank int) tea.Cmd {
	generation := m.generation[rank]
	var body dap.StackTraceResponseBody
	args := dap.StackTraceArguments{ThreadId: m.threadOf(rank), Levels: pageSize}
	return m.ask("stackTrace", args, &body, func(err error) tea.Msg {
		return stackMsg{rank: rank, generation: generation, frames: body.StackFrames, err: err}
	})
}

func (m *Model) fetchScopes(frame int) tea.Cmd {
	var body dap.ScopesResponseBody
	return m.ask("scopes", dap.ScopesArguments{FrameId: frame}, &body, func(err error) tea.Msg {
		return scopesMsg{frame: frame, nodes: scopeNodes(body.Scopes), err: err}
	})
}

func (m *Model) fetchChildren(n *varNode) tea.Cmd {
	if n.loading {
		return nil
	}
	n.loading, n.err = true, ""
	args := dap.VariablesArguments{VariablesReference: n.ref, Start: n.loaded(), Count: pageSize}
	var body dap.VariablesResponseBody
	return m.ask("variables", args, &body, func(err error) tea.Msg {
		return childrenMsg{node: n, vars: body.Variables, err: err}
	})
}

func (m *Model) evaluate(expression string) tea.Cmd {
	args := dap.EvaluateArguments{Expression: expression, Context: "repl", FrameId: m.frameID()}
	var body dap.EvaluateResponseBody
	return m.ask("evaluate", args, &body, func(err error) tea.Msg {
		return answerMsg{
			expression: expression, frame: args.FrameId, text: body.Result,
			ref: body.VariablesReference, total: body.NamedVariables + body.IndexedVariables, err: err,
		}
	})
}

// threadCommand sends continue, next, stepIn, stepOut or pause for the selected rank; the server widens it to the
// focus.
func (m *Model) threadCommand(command string) tea.Cmd {
	return m.ask(command, map[string]any{"threadId": m.threadOf(m.selected)}, nil, report(""))
}

func (m *Model) setFocus(ranks string) tea.Cmd {
	var body protocol.FocusBody
	return m.ask(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: ranks}, &body, func(err error) tea.Msg {
		if err != nil {
			return failedMsg{err}
		}
		return doneMsg{"The focus is " + body.Ranks + "."}
	})
}

// body decodes an event's body; a broken one is shown, not swallowed.
func body[T any](m *Model, e eventMsg) T {
	var out T
	if len(e.Body) > 0 {
		if err := json.Unmarshal(e.Body, &out); err != nil {
			m.fail("The event " + e.Event + " from the server cannot be read: " + err.Error())
		}
	}
	return out
}
