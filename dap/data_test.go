package dap_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

func TestStack(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	var frames []backend.Frame
	add := func(f backend.Frame) {
		f.ID = backend.FrameID{Thread: 1, Level: len(frames)}
		f.PC = uint64(0x100 + len(frames))
		frames = append(frames, f)
	}
	add(backend.Frame{Function: "cohort_stop_here", Internal: true, File: b.src, Line: 1})
	add(backend.Frame{Function: "MPI_Recv", Internal: true, File: b.src, Line: 1})
	add(backend.Frame{Function: "exchange", File: b.src, Line: 3, Args: []backend.Argument{{Name: "n", Value: "4"}}})
	add(backend.Frame{Module: "/usr/lib/libm.so.6", NoSource: true})
	add(backend.Frame{Function: "gone", File: "/no/such/file.c", Line: 7})
	for range 100 {
		add(backend.Frame{Function: "deep", File: b.src, Line: 2})
	}
	f := b.world.Rank(0)
	f.OnStackTrace = func(r backend.StackTraceRequest) (backend.StackTraceResult, error) {
		rest := frames[min(r.Start, len(frames)):]
		if r.Count > 0 {
			rest = rest[:min(r.Count, len(rest))]
		}
		return backend.StackTraceResult{Frames: rest, Total: len(frames)}, nil
	}
	c := b.running()
	c.Expect(daptest.RankIs(0, "running"))
	f.Stop(backend.Stopped{Reason: backend.ReasonPause, Frames: frames[:3]})
	c.Expect(daptest.Stopped(0, "pause"))

	var page godap.StackTraceResponseBody
	c.Do("stackTrace", map[string]any{
		"threadId": 1, "levels": 3,
		"format": map[string]any{"parameters": true, "parameterNames": true, "parameterValues": true},
	}, &page)
	if len(page.StackFrames) != 3 || page.TotalFrames != len(frames)-2 {
		t.Fatalf("first page: %+v", page)
	}
	if got := page.StackFrames[0]; got.Name != "exchange(n=4)" || got.Line != 3 || got.Source == nil ||
		got.Source.Path != b.src {
		t.Errorf("first frame: %+v", got)
	}
	if got := page.StackFrames[1]; got.PresentationHint != "subtle" || got.Source != nil ||
		!strings.Contains(got.Name, "0x103 in libm.so.6") &&
			!strings.Contains(got.Name, "libm.so.6") {
		t.Errorf("frame without source: %+v", got)
	}
	if got := page.StackFrames[2]; got.Source != nil || got.Name != "gone()" {
		t.Errorf("frame whose source is not there: %+v", got)
	}
	var rest godap.StackTraceResponseBody
	c.Do("stackTrace", map[string]any{"threadId": 1, "startFrame": 3, "levels": 1000}, &rest)
	if len(rest.StackFrames) != 100 || rest.StackFrames[0].Name != "deep" {
		t.Errorf("second page: %d frames", len(rest.StackFrames))
	}
	var again godap.StackTraceResponseBody
	c.Do("stackTrace", map[string]any{"threadId": 1, "levels": 1}, &again)
	if again.StackFrames[0].Id != page.StackFrames[0].Id {
		t.Error("the same frame has got another id")
	}
	c.Refused("stackTrace", map[string]any{"threadId": 1, "startFrame": -1}, "0 or more")
	c.Disconnect()
}

func TestVariables(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	const huge = 100_000_000
	for _, f := range b.world.Ranks() {
		f.OnScopes = func(backend.FrameID) ([]backend.Scope, error) {
			return []backend.Scope{
				{Name: "Locals", Kind: "locals", Ref: 7, Named: 2},
				{Name: "Registers", Kind: "registers", Ref: 8, Expensive: true},
			}, nil
		}
		f.OnVariables = func(r backend.VariablesRequest) (backend.VariablesResult, error) {
			if r.Ref == 7 {
				return backend.VariablesResult{Variables: []backend.Variable{
					{
						Name: "a", Value: "{...}", Type: "int[100000000]", EvaluateName: "a", Ref: 70, Indexed: huge,
						Address: 0x1000,
					},
					{
						Name: "n", Value: map[bool]string{false: "16", true: "0x10"}[r.Hex], Type: "int",
						EvaluateName: "n", ReadOnly: true,
					},
				}}, nil
			}
			count := r.Count
			if count == 0 || r.Start+count > huge {
				count = huge - r.Start
			}
			if count > 10_000 {
				return backend.VariablesResult{}, fmt.Errorf("the test asked for %d elements", count)
			}
			var out backend.VariablesResult
			for i := range count {
				out.Variables = append(out.Variables,
					backend.Variable{Name: fmt.Sprintf("[%d]", r.Start+i), Value: "0"})
			}
			return out, nil
		}
	}
	c := b.atLine()
	frame := c.Stack(1)[0].Id
	var scopes godap.ScopesResponseBody
	c.Do("scopes", godap.ScopesArguments{FrameId: frame}, &scopes)
	if len(scopes.Scopes) != 2 || scopes.Scopes[0].PresentationHint != "locals" || !scopes.Scopes[1].Expensive {
		t.Fatalf("scopes: %+v", scopes.Scopes)
	}
	var locals godap.VariablesResponseBody
	c.Do("variables", godap.VariablesArguments{
		VariablesReference: scopes.Scopes[0].VariablesReference,
		Format:             &godap.ValueFormat{Hex: true},
	}, &locals)
	if v := locals.Variables; len(v) != 2 || v[0].IndexedVariables != huge || v[0].MemoryReference != "1@0x1000" ||
		v[1].Value != "0x10" ||
		v[1].PresentationHint == nil || v[0].Type != "int[100000000]" {
		t.Fatalf("locals: %+v", v)
	}
	var page godap.VariablesResponseBody
	c.Do("variables", godap.VariablesArguments{
		VariablesReference: locals.Variables[0].VariablesReference,
		Filter:             "indexed", Start: 99_999_999, Count: 100,
	}, &page)
	if len(page.Variables) != 1 || page.Variables[0].Name != "[99999999]" {
		t.Errorf("last page: %+v", page.Variables)
	}
	c.Refused("variables", map[string]any{"variablesReference": 0}, "no variable reference 0")
	c.Refused("variables", map[string]any{"variablesReference": 12345}, "no variable reference 12345")
	c.Refused("variables", map[string]any{
		"variablesReference": locals.Variables[0].VariablesReference,
		"filter":             "odd",
	}, "odd")
	c.Refused("variables", map[string]any{"variablesReference": locals.Variables[0].VariablesReference, "count": -1},
		"0 or more")
	c.Refused("scopes", map[string]any{"frameId": 4711}, "no frame 4711")

	// The rank continues: everything that was read of its stop is stale, and the answer says so.
	c.Next(1)
	c.Expect(daptest.Stopped(0, "step"), daptest.Stopped(1, "step"))
	c.Refused("scopes", map[string]any{"frameId": frame}, "not valid any more", "stackTrace")
	c.Refused("variables", map[string]any{"variablesReference": scopes.Scopes[0].VariablesReference},
		"not valid any more")
	c.Disconnect()
}

// A client that cannot page is not sent a hundred million elements, and is told so.
func TestVariablesWithoutPaging(t *testing.T) {
	b := newBench(t, 1, endless, nil)
	b.world.Rank(0).OnVariables = func(r backend.VariablesRequest) (backend.VariablesResult, error) {
		if r.Count == 0 {
			return backend.VariablesResult{}, fmt.Errorf("everything was asked for")
		}
		return backend.VariablesResult{Variables: make([]backend.Variable, r.Count)}, nil
	}
	c := b.client()
	c.Do("initialize", map[string]any{"adapterID": "cohort", "linesStartAt1": false, "pathFormat": "uri"}, nil)
	c.Do("launch", protocol.LaunchArguments{Program: "/bin/prog"}, nil)
	c.Expect(daptest.Initialized())
	c.SetBreakpoints("file://"+b.src, 9) // counted from 0
	c.ConfigurationDone()
	c.Expect(daptest.Stopped(0, "breakpoint"))
	top := c.Stack(0)[0]
	if top.Line != 9 || top.Source == nil || top.Source.Path != "file://"+b.src {
		t.Errorf("top frame: %+v", top)
	}
	var scopes godap.ScopesResponseBody
	c.Do("scopes", godap.ScopesArguments{FrameId: top.Id}, &scopes)
	var body godap.VariablesResponseBody
	c.Do("variables", godap.VariablesArguments{VariablesReference: scopes.Scopes[0].VariablesReference}, &body)
	last := body.Variables[len(body.Variables)-1]
	if len(body.Variables) != 1001 || !strings.Contains(last.Value, "more than the 1000") {
		t.Errorf("%d variables, the last is %+v", len(body.Variables), last)
	}
	c.Disconnect()
}

func TestSetVariable(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	one := b.atLine()
	other := b.client()
	other.Attach("")
	other.ConfigurationDone()
	other.Expect(daptest.Stopped(0, "breakpoint"), daptest.Stopped(1, "breakpoint"))
	var scopes godap.ScopesResponseBody
	one.Do("scopes", godap.ScopesArguments{FrameId: one.Stack(1)[0].Id}, &scopes)
	ref := scopes.Scopes[0].VariablesReference
	var body godap.SetVariableResponseBody
	one.Do("setVariable", godap.SetVariableArguments{VariablesReference: ref, Name: "x", Value: "9"}, &body)
	if body.Value != "9" {
		t.Errorf("setVariable: %+v", body)
	}
	other.Expect(daptest.Named("invalidated"))
	one.Refused("setVariable", godap.SetVariableArguments{VariablesReference: ref, Name: "nosuch", Value: "9"},
		"Rank 1", "nosuch")
	if got := one.Console("[all] p x", 0); got != "[0] 5\n[1] 9" {
		t.Errorf("x is %q", got)
	}
	one.Disconnect()
}

func TestReadMemory(t *testing.T) {
	b := newBench(t, 2, endless, nil)
	b.world.Rank(1).OnReadMemory = func(addr uint64, n int) ([]byte, error) {
		if addr >= 0x2000 {
			return nil, fmt.Errorf("cannot access memory at address %#x", addr)
		}
		return make([]byte, min(n, int(0x2000-addr))), nil
	}
	c := b.atLine()
	var body godap.ReadMemoryResponseBody
	c.Do("readMemory", godap.ReadMemoryArguments{MemoryReference: "1@0x1ff0", Offset: 8, Count: 16}, &body)
	data, err := base64.StdEncoding.DecodeString(body.Data)
	if err != nil || len(data) != 8 || body.UnreadableBytes != 8 || body.Address != "0x1ff8" {
		t.Errorf("partly readable: %+v", body)
	}
	c.Do("readMemory", godap.ReadMemoryArguments{MemoryReference: "1@0x9000", Count: 4}, &body)
	if body.UnreadableBytes != 4 {
		t.Errorf("unreadable: %+v", body)
	}
	for _, bad := range []string{"", "0x1000", "9@0x1000", "1@", "-1@1", "1@zz"} {
		c.Refused("readMemory", godap.ReadMemoryArguments{MemoryReference: bad, Count: 4}, "RANK@ADDRESS")
	}
	c.Refused("readMemory", godap.ReadMemoryArguments{MemoryReference: "1@0x10", Offset: -17, Count: 4},
		"no such address")
	c.Refused("readMemory", godap.ReadMemoryArguments{MemoryReference: "1@0x10", Count: 1 << 30}, "at once")
	c.Disconnect()
}

func TestSource(t *testing.T) {
	b := newBench(t, 1, endless, nil)
	c := b.atLine()
	var body godap.SourceResponseBody
	c.Do("source", map[string]any{"source": map[string]any{"path": b.src}}, &body)
	if !strings.HasPrefix(body.Content, "int main") {
		t.Errorf("source: %+v", body)
	}
	c.Refused("source", map[string]any{"sourceReference": 4}, "source.path")
	c.Refused("source", map[string]any{"source": map[string]any{"path": "/no/such"}}, "no such file")
	big := filepath.Join(t.TempDir(), "big.c")
	if err := os.WriteFile(big, make([]byte, 17<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Refused("source", map[string]any{"source": map[string]any{"path": big}}, "larger than")
	c.Disconnect()
}

func TestConsole(t *testing.T) {
	b := newBench(t, 4, endless, nil)
	for r, f := range b.world.Ranks() {
		f.Values["y"] = fmt.Sprint(r % 2)
		f.Values["many"] = "a\nb"
	}
	c := b.atLine()
	frame := c.Stack(3)[0].Id
	tests := []struct {
		line  string
		frame int
		want  string
	}{
		{"[0,2] p y", 0, "[0,2] 0"},
		{"[all] y", 0, "[0,2] 0\n[1,3] 1"},
		{"p y", frame, "1"},
		{"[1] many", frame, "[1]\na\nb"},
		{"", 0, ""},
		{"focus", 0, "The focus is [0-3]."},
		{"focus 1-2", 0, "The focus is [1-2]."},
		{"focus all", 0, "The focus is [0-3]."},
	}
	for _, tt := range tests {
		if got := c.Console(tt.line, tt.frame); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.line, got, tt.want)
		}
	}
	if got := c.Console("p x", 0); !strings.HasPrefix(got, "[") || !strings.HasSuffix(got, "] 5") {
		t.Errorf("without a frame the answer %q does not say whose it is", got)
	}
	if got := c.Console("ranks", 0); !strings.Contains(got, "[0-3] stopped (breakpoint)") ||
		!strings.Contains(got, ":10") {
		t.Errorf("ranks: %q", got)
	}
	help := c.Console("help", 0)
	for _, word := range []string{"focus 0-3,7", "mpipp", "-exec info locals", "[0,2] p x", "cut 2:17", "runto"} {
		if !strings.Contains(help, word) {
			t.Errorf("help does not show %q:\n%s", word, help)
		}
	}
	c.Refused("evaluate", map[string]any{"expression": "[0,2]", "context": "repl"}, "nothing to evaluate")
	if refusal := c.Refused("evaluate", map[string]any{"expression": "[9] x", "context": "repl"},
		"ranks 0 to 3"); refusal.Shown {
		t.Error("a refusal that the console shows shall not pop up as well")
	}
	if refusal := c.Refused(protocol.RequestSetFocus, map[string]any{"ranks": "9"}, "ranks 0 to 3"); refusal.Shown {
		t.Error("a refusal of Cohort's own request shall not pop up as well")
	}
	if refusal := c.Refused("completions", godap.CompletionsArguments{Text: "ru", Column: 31},
		"column 31"); !refusal.Shown {
		t.Error("a refusal that nothing else shows is not shown")
	}
	c.Refused("evaluate", map[string]any{"expression": "[0-1] nosuch", "context": "repl"}, "[0-1] error:", "nosuch")
	c.Refused("evaluate", map[string]any{"expression": "nosuch", "context": "repl", "frameId": frame}, "nosuch")
	c.Refused("evaluate", map[string]any{"expression": "cut 2:17", "context": "repl"}, "needs a replay")
	c.Refused("evaluate", map[string]any{"expression": "runto 2:17", "context": "repl"}, "needs a replay")
	c.Refused("evaluate", map[string]any{"expression": "focus 9", "context": "repl"}, "ranks 0 to 3")
	c.Refused("evaluate", map[string]any{"expression": "x", "context": "watch"}, "frameId")
	c.Refused("evaluate", map[string]any{"expression": " ", "context": "hover", "frameId": frame}, "no expression")

	var body godap.EvaluateResponseBody
	c.Do("evaluate", godap.EvaluateArguments{Expression: "x", Context: "hover", FrameId: frame}, &body)
	if body.Result != "5" || body.Type != "int" {
		t.Errorf("hover: %+v", body)
	}
	var completions godap.CompletionsResponseBody
	c.Do("completions", godap.CompletionsArguments{Text: "runt", Column: 5}, &completions)
	if len(completions.Targets) != 1 || completions.Targets[0].Label != "runto" ||
		completions.Targets[0].Length != 4 {
		t.Errorf("completions: %+v", completions.Targets)
	}
	c.Refused("completions", godap.CompletionsArguments{Text: "ru", Column: 30}, "column 30")

	// The rank of the frame runs: the console says so.
	b.world.Rank(3).Program = nil
	c.Do("continue", map[string]any{"threadId": protocol.ThreadID(3, 1), "singleThread": true}, nil)
	c.Expect(daptest.RankIs(3, "running"))
	c.Refused("evaluate", map[string]any{"expression": "[3] p x", "context": "repl"}, "[3] error:", "running")
	if got := c.Console("[2-3] p x", 0); !strings.HasPrefix(got, "[2] 5\n[3] error:") {
		t.Errorf("partly: %q", got)
	}
	c.Disconnect()
}

func TestOutputAndInput(t *testing.T) {
	program := func(string) []jobtest.Step {
		return []jobtest.Step{
			jobtest.Print("stdout", "hello\n"), jobtest.Print("stderr", "bad\xff\n"),
			jobtest.Block("", nil),
		}
	}
	b := newBench(t, 2, program, nil)
	c := b.running()
	c.Expect(daptest.Output("stdout", "[0] hello\n"), daptest.Output("stdout", "[1] hello\n"),
		daptest.Output("stderr", "bad\uFFFD\n"))
	c.Do(protocol.RequestInput, protocol.InputArguments{Data: "abc\n", EOF: true}, nil)
	if data, eof := b.world.Rank(0).InputBytes(); string(data) != "abc\n" || !eof {
		t.Errorf("rank 0 was given %q, end %v", data, eof)
	}
	c.Refused(protocol.RequestInput, protocol.InputArguments{}, "`data`")
	c.Disconnect()
}

// The commands that scripts are made of, from any client's console.
func TestConsoleRunsRanks(t *testing.T) {
	b := newBench(t, 2, loop, nil)
	c := b.atLine()
	says := func(line string, parts ...string) {
		t.Helper()
		got := c.Console(line, 0)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%q says %q, which lacks %q", line, got, part)
			}
		}
	}
	refuses := func(line string, parts ...string) {
		t.Helper()
		c.Refused("evaluate", map[string]any{"expression": line, "context": "repl"}, parts...)
	}
	says("bt", "#0", ":10")
	says("stacks", "[0-1] main at prog.c:10")
	says("break "+b.src+":12 ranks 1 if x > 3", "breakpoint 2:", ":12", "ranks 1", "if x > 3")
	c.SetBreakpoints(b.src, 13) // replaces the client's own, not the console's
	says("breakpoints", "breakpoint 2:", ":12", "breakpoint 3:", ":13")
	refuses("delete 3", "not set by this console")
	refuses("delete 7", "no breakpoint 7", "breakpoints lists them")
	refuses("break", "location is missing", "write: break")
	refuses("break "+b.src+":11 mode always", "breakpoint mode", "always")
	refuses("break "+b.src+":11 mode causal", "needs a replay")
	refuses("bt x", "bt takes no argument", "\"x\"")
	refuses("contnue", "contnue", "did you mean continue?", "help lists")
	refuses("frobnicate the rank", "none named frobnicate", "help lists")

	says("next", "next: ranks [0-1].")
	c.Expect(daptest.Stopped(0, "step"), daptest.Stopped(1, "step"))
	says("rank 1", "Rank 1")
	stopped := c.Expect(daptest.Stopped(1, "step"))
	var body godap.StoppedEventBody
	if err := stopped[0].Decode(&body); err != nil || body.PreserveFocusHint {
		t.Errorf("the rank is chosen by %+v (%v)", body, err)
	}
	says("bt", ":11")
	refuses("rank 2", "no rank 2", "0 to 1")
	says("continue", "continue: ranks [0-1].")
	c.Expect(daptest.Stopped(1, "breakpoint"), daptest.Stopped(0, "breakpoint"))
	says("delete 2", "removed")
	says("wait", "[0] stopped", "[1] stopped", "The focus is [0-1].")
	says("run", "The job has ended.")
	c.Expect(daptest.Terminated())
	c.Refused("evaluate", map[string]any{"expression": "continue", "context": "repl"}, "continue cannot be carried out",
		"has ended")

	var table protocol.CommandsBody
	c.Do(protocol.RequestCommands, nil, &table)
	named := map[string]protocol.Command{}
	for _, command := range table.Commands {
		named[command.Name] = command
		if command.Help == "" || len(command.Examples) == 0 {
			t.Errorf("%s has no help, or no example", command.Name)
		}
	}
	if !named["continue"].Resumes || named["next"].Short != "n" || !named["ranks"].AllRanks {
		t.Errorf("the commands are %+v", table.Commands)
	}
	c.Disconnect()
}
