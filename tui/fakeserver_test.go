package tui

import (
	"bufio"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

// fakeServer answers as Cohort's DAP server does, from a script: 4 ranks that stop in one file. It records what it was
// asked.
type fakeServer struct {
	t        testing.TB
	conn     net.Conn
	sending  sync.Mutex // orders whole messages, and guards seq
	seq      int
	requests chan client.Message // every request, after it was answered
	source   string
	refuse   map[string]string // command -> message of a failed response
}

func newFakeServer(t testing.TB, source string) (*fakeServer, net.Conn) {
	ours, theirs := net.Pipe()
	s := &fakeServer{
		t: t, conn: ours, requests: make(chan client.Message, 1000), source: source,
		refuse: map[string]string{},
	}
	go s.serve()
	t.Cleanup(func() { _ = ours.Close() })
	return s, theirs
}

func (s *fakeServer) serve() {
	r := bufio.NewReader(s.conn)
	for {
		raw, err := dap.ReadBaseMessage(r)
		if err != nil {
			close(s.requests)
			return
		}
		var m client.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			s.t.Errorf("the TUI sent %q: %v", raw, err)
			return
		}
		if text, ok := s.refuse[m.Command]; ok {
			s.send(client.Message{Type: "response", Command: m.Command, RequestSeq: m.Seq, Message: text})
		} else {
			s.answer(m)
		}
		s.requests <- m
	}
}

func (s *fakeServer) send(m client.Message) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.seq++
	m.Seq = s.seq
	raw, err := json.Marshal(m)
	if err != nil {
		s.t.Error(err)
	}
	_ = dap.WriteBaseMessage(s.conn, raw) // the TUI may have gone
}

func (s *fakeServer) event(name string, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Error(err)
	}
	s.send(client.Message{Type: "event", Event: name, Body: raw})
}

func (s *fakeServer) stopped(rank, line int) protocol.RankStatus {
	return protocol.RankStatus{
		Rank: rank, ThreadID: protocol.ThreadID(rank, 1), State: "stopped", Reason: "breakpoint",
		File: s.source, Line: line, Function: "exchange_halo", Event: uint64(10 + rank),
	}
}

func (s *fakeServer) answer(m client.Message) {
	var out any
	switch m.Command {
	case "launch":
		s.event("initialized", struct{}{})
	case "configurationDone":
		defer s.event("stopped", dap.StoppedEventBody{
			Reason: "breakpoint", ThreadId: protocol.ThreadID(1, 1),
			Text: "Rank 1 stopped at a breakpoint.",
		})
		defer s.event(protocol.EventRanks,
			protocol.RanksBody{Ranks: []protocol.RankStatus{
				s.stopped(0, 3), s.stopped(1, 3), s.stopped(2, 2),
				{Rank: 3, ThreadID: protocol.ThreadID(3, 1), State: "running", Call: "MPI_Recv"},
			}, Focus: "all"})
	case "stackTrace":
		out = dap.StackTraceResponseBody{TotalFrames: 2, StackFrames: []dap.StackFrame{
			{Id: 7, Name: "MPI_Wait", PresentationHint: "subtle"},
			{Id: 8, Name: "exchange_halo", Line: 3, Source: &dap.Source{Path: s.source}},
		}}
	case "scopes":
		out = dap.ScopesResponseBody{Scopes: []dap.Scope{{Name: "Locals", VariablesReference: 100, NamedVariables: 2}}}
	case "variables":
		var args dap.VariablesArguments
		_ = json.Unmarshal(m.Arguments, &args)
		out = dap.VariablesResponseBody{Variables: s.variables(args)}
	case "evaluate":
		var args dap.EvaluateArguments
		_ = json.Unmarshal(m.Arguments, &args)
		answer := dap.EvaluateResponseBody{Result: "[0-3] 64"}
		if location, ok := strings.CutPrefix(args.Expression, "break "); ok {
			answer.Result = "breakpoint 1: " + location + "."
		}
		if strings.HasPrefix(args.Expression, "mpipp") {
			answer = dap.EvaluateResponseBody{
				Result: "column: 250 values\n  and so on", VariablesReference: 101,
				IndexedVariables: 250,
			}
		}
		out = answer
	case "setBreakpoints":
		var args protocol.SetBreakpointsArguments
		_ = json.Unmarshal(m.Arguments, &args)
		var list []dap.Breakpoint
		for _, b := range args.Breakpoints {
			list = append(list, dap.Breakpoint{Verified: true, Line: b.Line})
		}
		out = dap.SetBreakpointsResponseBody{Breakpoints: list}
	case protocol.RequestSetFocus:
		out = protocol.FocusBody{Ranks: "1"}
	case protocol.RequestRanks:
		out = protocol.RanksBody{Focus: "all"}
	}
	var raw json.RawMessage
	if out != nil {
		raw, _ = json.Marshal(out)
	}
	s.send(client.Message{Type: "response", Command: m.Command, RequestSeq: m.Seq, Success: true, Body: raw})
}

func (s *fakeServer) variables(args dap.VariablesArguments) []dap.Variable {
	if args.VariablesReference == 100 {
		return []dap.Variable{
			{Name: "n", Value: "64"},
			{Name: "grid", Value: "[250]", VariablesReference: 101, IndexedVariables: 250},
		}
	}
	var list []dap.Variable
	for i := args.Start; i < args.Start+args.Count && i < 250; i++ {
		raw, _ := json.Marshal(i)
		list = append(list, dap.Variable{Name: "[" + string(raw) + "]", Value: string(raw)})
	}
	return list
}
