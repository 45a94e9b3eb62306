package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

type (
	eventMsg client.Message
	// doneMsg is what is to be done on the event loop when a request has been answered.
	doneMsg func() tea.Cmd
)

// ask runs one request off the event loop, and then takes its outcome in on it.
func (m *Model) ask(command string, args, result any, then func(error) tea.Cmd) tea.Cmd {
	return func() tea.Msg {
		err := m.client.Request(m.ctx, command, args, result)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return doneMsg(func() tea.Cmd { return then(err) })
	}
}

// report shows why a request failed, if it did.
func (m *Model) report(err error) tea.Cmd {
	if err != nil {
		m.fail(err.Error())
	}
	return nil
}

// Init starts the session: initialize, then launch.
func (m *Model) Init() tea.Cmd {
	init := protocol.InitializeArguments{
		InitializeRequestArguments: dap.InitializeRequestArguments{
			ClientID: "cohort-tui", ClientName: "Cohort terminal", AdapterID: "cohort", LinesStartAt1: true,
			ColumnsStartAt1: true, PathFormat: "path", SupportsVariableType: true, SupportsVariablePaging: true,
			SupportsProgressReporting: true,
		},
		SupportsCohortEvents: true,
	}
	var can protocol.Capabilities
	return m.ask("initialize", init, &can, func(err error) tea.Cmd {
		if err != nil {
			return m.launched(err)
		}
		for _, f := range can.ExceptionBreakpointFilters {
			if f.Default {
				m.catches = append(m.catches, f.Filter)
			}
		}
		return m.ask("launch", m.options.Launch, nil, m.launched)
	})
}

// configure has the server catch what it offers to by default, and start the program.
func (m *Model) configure() tea.Cmd {
	filters := dap.SetExceptionBreakpointsArguments{Filters: m.catches}
	return m.ask("setExceptionBreakpoints", filters, nil, func(err error) tea.Cmd {
		m.report(err)
		return m.ask("configurationDone", struct{}{}, nil, m.report)
	})
}

// breakpoint is one that a key has set.
type breakpoint struct {
	protocol.SourceBreakpoint
	verified bool
}

// setBreakpoints has the server set those of a source.
func (m *Model) setBreakpoints(path string) tea.Cmd {
	asked := m.breakpoints[path]
	args := protocol.SetBreakpointsArguments{
		Source:      dap.Source{Path: path, Name: filepath.Base(path)},
		Breakpoints: make([]protocol.SourceBreakpoint, len(asked)),
	}
	for i, b := range asked {
		args.Breakpoints[i] = b.SourceBreakpoint
	}
	var body dap.SetBreakpointsResponseBody
	return m.ask("setBreakpoints", args, &body, func(err error) tea.Cmd {
		if err != nil {
			return m.report(err)
		}
		set := slices.Clone(asked)
		for i, got := range body.Breakpoints[:min(len(set), len(body.Breakpoints))] {
			set[i].verified, set[i].Line = got.Verified, cmp.Or(got.Line, set[i].Line)
			if got.Message != "" {
				m.notice, m.isError = got.Message, !got.Verified
			}
		}
		m.breakpoints[path] = set
		return nil
	})
}

func (m *Model) fetchRanks() tea.Cmd {
	var body protocol.RanksBody
	return m.ask(protocol.RequestRanks, struct{}{}, &body, func(err error) tea.Cmd {
		if err != nil {
			return m.report(err)
		}
		return m.ranksChanged(body)
	})
}

func (m *Model) fetchStack(rank int) tea.Cmd {
	generation := m.generation[rank]
	var body dap.StackTraceResponseBody
	args := dap.StackTraceArguments{ThreadId: m.threadOf(rank), Levels: pageSize}
	return m.ask("stackTrace", args, &body, func(err error) tea.Cmd {
		if rank != m.selected || generation != m.generation[rank] {
			return nil // the rank has resumed since
		}
		m.forgetFrames()
		if err != nil {
			m.stackErr = err.Error()
			return nil
		}
		m.frames = body.StackFrames
		return m.selectFrame(protocol.UserFrame(m.frames))
	})
}

func (m *Model) fetchScopes(frame int) tea.Cmd {
	var body dap.ScopesResponseBody
	return m.ask("scopes", dap.ScopesArguments{FrameId: frame}, &body, func(err error) tea.Cmd {
		if frame != m.frameID() {
			return nil
		}
		if err != nil {
			m.vars, m.varsErr = nil, err.Error()
			return nil
		}
		nodes := scopeNodes(body.Scopes)
		m.vars, m.varsErr = append(slices.Clone(m.answers), nodes...), ""
		m.variable, m.scroll[paneVariables] = 0, 0
		var cmds []tea.Cmd
		for _, n := range nodes {
			if n.name != "Registers" && n.ref != 0 {
				n.open = true
				cmds = append(cmds, m.fetchChildren(n))
			}
		}
		return tea.Batch(cmds...)
	})
}

func (m *Model) fetchChildren(n *varNode) tea.Cmd {
	if n.loading {
		return nil
	}
	n.loading, n.err = true, ""
	args := dap.VariablesArguments{VariablesReference: n.ref, Start: n.loaded(), Count: pageSize}
	var body dap.VariablesResponseBody
	return m.ask("variables", args, &body, func(err error) tea.Cmd {
		n.loading = false
		if err != nil {
			n.err = err.Error()
		} else {
			n.addChildren(body.Variables)
		}
		return nil
	})
}

func (m *Model) evaluate(expression string) tea.Cmd {
	args := dap.EvaluateArguments{Expression: expression, Context: "repl", FrameId: m.frameID()}
	var body dap.EvaluateResponseBody
	return m.ask("evaluate", args, &body, func(err error) tea.Cmd {
		text, kind := body.Result, "console"
		if err != nil {
			text, kind = err.Error(), "error"
		}
		m.console.write(kind, strings.TrimRight(text, "\n")+"\n")
		if err == nil && body.VariablesReference != 0 && args.FrameId == m.frameID() {
			m.keepAnswer(expression, body)
		}
		m.console.following = true
		return nil
	})
}

// threadCommand sends continue, next, stepIn, stepOut or pause for the selected rank; the server widens it to the
// focus.
func (m *Model) threadCommand(command string) tea.Cmd {
	return m.ask(command, map[string]any{"threadId": m.threadOf(m.selected)}, nil, m.report)
}

func (m *Model) setFocus(ranks string) tea.Cmd {
	var body protocol.FocusBody
	return m.ask(protocol.RequestSetFocus, protocol.FocusArguments{Ranks: ranks}, &body, func(err error) tea.Cmd {
		if err != nil {
			return m.report(err)
		}
		m.say("The focus is " + body.Ranks + ".")
		return nil
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
