package dap_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

func frame(content string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content)
}

// answer is a response as the wire has it.
type answer struct {
	Type       string `json:"type"`
	RequestSeq int    `json:"request_seq"` //nolint:tagliatelle // DAP's
	Command    string `json:"command"`
	Success    bool   `json:"success"`
	Body       struct {
		Error *godap.ErrorMessage `json:"error"`
	} `json:"body"`
}

// exchange sends bytes on a connection of its own and, when enough says so of the responses so far, last; it returns
// all responses until the server has closed the connection or its input has ended.
func exchange(t testing.TB, b *bench, in []byte, enough func([]answer) bool, last string) []answer {
	t.Helper()
	ours, theirs := net.Pipe()
	served := make(chan struct{})
	more := make(chan struct{})
	go func() {
		defer close(served)
		conn := scriptedConn{
			theirs,
			io.MultiReader(bytes.NewReader(in), &lateReader{until: more, ctx: b.ctx, r: strings.NewReader(last)}),
		}
		_ = b.server.ServeConn(b.ctx, conn, false)
	}()
	var out []answer
	r := bufio.NewReader(ours)
	sent := false
	for {
		content, err := godap.ReadBaseMessage(r)
		if err != nil {
			break
		}
		var a answer
		if err := json.Unmarshal(content, &a); err != nil {
			t.Fatalf("the server sent %q: %v", content, err)
		}
		if a.Type == "response" {
			out = append(out, a)
		}
		if !sent && enough(out) {
			sent = true
			close(more)
		}
	}
	<-served
	_ = ours.Close()
	return out
}

// scriptedConn reads what a client sends from a script.
type scriptedConn struct {
	net.Conn
	in io.Reader
}

func (c scriptedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// lateReader begins when until is closed.
type lateReader struct {
	until <-chan struct{}
	ctx   context.Context //nolint:containedctx // ends with the test
	r     io.Reader
}

func (l *lateReader) Read(p []byte) (int, error) {
	select {
	case <-l.until:
		return l.r.Read(p)
	case <-l.ctx.Done():
		return 0, io.EOF
	}
}

// hasSeq tells whether a request has been answered.
func hasSeq(seq int) func([]answer) bool {
	return func(answers []answer) bool {
		return slices.ContainsFunc(answers, func(a answer) bool { return a.RequestSeq == seq })
	}
}

func TestRawMessages(t *testing.T) {
	initialize := frame(`{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"cohort"}}`)
	tests := []struct {
		name, in string
		seq      int
		command  string
		says     []string
	}{
		{"broken JSON", frame(`{"seq":5,"type":`), 0, "", []string{"not a JSON object", "Send {"}},
		{"array", frame(`[1,2]`), 0, "", []string{"not a JSON object"}},
		{"empty", frame(``), 0, "", []string{"not a JSON object"}},
		{"no seq", frame(`{"type":"request","command":"threads"}`), 0, "threads", []string{"seq", "missing"}},
		{"no type", frame(`{"seq":5,"command":"threads"}`), 5, "threads", []string{"type", "missing"}},
		{"no command", frame(`{"seq":5,"type":"request"}`), 5, "", []string{"command"}},
		{
			"unknown", frame(`{"seq":5,"type":"request","command":"cohort/rank"}`), 5, "cohort/rank",
			[]string{`did you mean "cohort/ranks"`},
		},
		{
			"not ours", frame(`{"seq":5,"type":"request","command":"stepBack"}`), 5, "stepBack",
			[]string{"does not support"},
		},
		{
			"arguments", frame(`{"seq":5,"type":"request","command":"launch","arguments":"x"}`), 5, "launch",
			[]string{"JSON object"},
		},
		{
			"too large", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 9<<20, strings.Repeat(" ", 9<<20)), 0, "",
			[]string{"was skipped"},
		},
		{"header", "Length: 5\r\n\r\n", 0, "", []string{`"Length: 5"`, "connection is closed"}},
		{"huge", "Content-Length: 987654321\r\n\r\n", 0, "", []string{"987654321 bytes", "connection is closed"}},
		{
			"deep", frame(`{"seq":5,"type":"request","command":"launch","arguments":` + strings.Repeat(`[`, 20000) + `}`),
			0, "",
			[]string{"not a JSON object"},
		},
		{"depth within bounds", frame(`{"seq":5,"type":"request","command":"launch","arguments":{"env":` +
			strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000) + `}}`), 5, "launch", []string{"`env`", "an object"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, 1, nil, nil)
			last := frame(`{"seq":99,"type":"request","command":"completions","arguments":{"text":"","column":1}}`)
			got := exchange(t, b, []byte(initialize+tt.in+last), func(a []answer) bool { return len(a) == 3 }, "")
			var found *answer
			for i := range got {
				if got[i].RequestSeq == tt.seq && !got[i].Success {
					found = &got[i]
				}
			}
			if found == nil || found.Command != tt.command || found.Body.Error == nil {
				t.Fatalf("no answer to it: %+v", got)
			}
			for _, part := range tt.says {
				if !strings.Contains(found.Body.Error.Format, part) {
					t.Errorf("the answer is %q, which does not hold %q", found.Body.Error.Format, part)
				}
			}
			goesOn := !strings.Contains(found.Body.Error.Format, "connection is closed")
			if answered := hasSeq(99)(got); answered != goesOn {
				t.Errorf("the next request was answered: %v, want %v: %+v", answered, goesOn, got)
			}
		})
	}
}

// Responses and events of a client are no requests and have no answer.
func TestRawIgnored(t *testing.T) {
	b := newBench(t, 1, nil, nil)
	got := exchange(t, b, []byte(frame(`{"seq":1,"type":"response","request_seq":4,"success":true,"command":"runInTerminal"}`)+
		frame(`{"seq":2,"type":"event","event":"x"}`)+frame(`{"seq":9,"type":"request","command":"nosuch"}`)), hasSeq(9), "")
	if len(got) != 1 {
		t.Errorf("answers: %+v", got)
	}
}

// FuzzSession sends lines as messages to a session with a job: each request has exactly one answer, and everything
// ends.
func FuzzSession(f *testing.F) {
	f.Add(`{"seq":3,"type":"request","command":"threads"}`)
	f.Add(`{"seq":3,"type":"request","command":"setBreakpoints","arguments":{"source":{"path":"/a.c"},"breakpoints":[{"line":1,"condition":"[0] x"}]}}
{"seq":4,"type":"request","command":"configurationDone"}
{"seq":5,"type":"request","command":"pause","arguments":{"threadId":1}}
{"seq":6,"type":"request","command":"cohort/waitIdle"}
{"seq":7,"type":"request","command":"stackTrace","arguments":{"threadId":1,"startFrame":-1}}
{"seq":8,"type":"request","command":"evaluate","arguments":{"expression":"[all] x","context":"repl"}}
{"seq":9,"type":"request","command":"readMemory","arguments":{"memoryReference":"0@0x10","offset":-5,"count":7}}`)
	f.Add(`{"seq":1,"type":"request","command":"cancel","arguments":{"requestId":2}}
{"seq":2,"type":"request","command":"cohort/waitIdle"}
{"seq":2,"type":"request","command":"terminate"}
{"seq":3,"type":"request","command":"disconnect"}`)
	f.Add(`{"seq":4,"type":"request","command":"evaluate","arguments":{"expression":"runto 2:17","context":"repl"}}`)
	f.Add(`{"seq":-1,"type":"request","command":"launch","arguments":{"program":"\u0000"}}`)
	f.Add(`{"seq":10,"type":"request","command":"variables","arguments":{"variablesReference":-1,"count":9223372036854775807}}`)
	f.Add(`{"seq":11,"type":"request","command":"completions","arguments":{"text":"é","column":-9}}`)
	f.Fuzz(func(t *testing.T, lines string) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w := jobtest.New(2)
		defer w.Close()
		b := &bench{t: nil, ctx: ctx, world: w, starts: &starter{ranks: 2, begun: make(chan struct{}, 8)}}
		b.starts.world = func() *jobtest.World { return w }
		b.server = dap.NewServer(dap.Options{Starter: b.starts})
		in := []byte(frame(`{"seq":1000001,"type":"request","command":"initialize","arguments":{"adapterID":"cohort"}}`) +
			frame(`{"seq":1000002,"type":"request","command":"launch","arguments":{"program":"/bin/prog"}}`))
		want := map[int]int{1000001: 1, 1000002: 1}
		answers := 4 // with the two below
		certain := true
		for line := range strings.SplitSeq(lines, "\n") {
			in = append(in, frame(line)...)
			var m struct{ Seq, Type, Command json.RawMessage }
			// encoding/json matches names without regard to case, as the server does.
			if json.Unmarshal([]byte(line), &m) == nil && (string(m.Type) == `"response"` ||
				string(m.Type) == `"event"`) {
				continue // no answer
			}
			answers++
			var seq int
			if json.Unmarshal(m.Seq, &seq) == nil && seq > 0 && certain {
				want[seq]++
			}
			if strings.Contains(line, "disconnect") || strings.ContainsRune(line, '\\') {
				certain = false // what follows a disconnect, which may be written in many ways, need not have an answer
			}
		}
		// All that has an order has been carried out when this is answered; the disconnect cancels what still waits,
		// such as cohort/waitIdle.
		in = append(in, frame(`{"seq":1000003,"type":"request","command":"cohort/setFocus","arguments":{"ranks":"all"}}`)...)
		got, total := map[int]int{}, 0
		disconnect := frame(`{"seq":1000004,"type":"request","command":"disconnect"}`)
		for _, a := range exchange(t, b, in, hasSeq(1000003), disconnect) {
			got[a.RequestSeq]++
			total++
		}
		if ctx.Err() != nil {
			t.Fatal("the session has hung")
		}
		for seq, n := range want {
			if got[seq] < n {
				t.Errorf("%d requests with seq %d have had %d answers", n, seq, got[seq])
			}
		}
		if certain && total != answers {
			t.Errorf("%d messages have had %d answers", answers, total)
		}
		if len(b.starts.asked) == 1 && b.starts.stops() == 0 {
			t.Error("the job was left running")
		}
	})
}
