package debug

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// dapPlace is a workplace for editors.
type dapPlace struct{ *cohorttest.Workplace }

func newDAPPlace(t *testing.T, mpi mpitest.MPI) *dapPlace {
	t.Helper()
	return &dapPlace{cohorttest.New(t, mpi)}
}

// record makes the recording p.Path(name).
func (p *dapPlace) record(name string, ranks int, env []string, program string, args ...string) string {
	p.T.Helper()
	all := append([]string{"record", "-n", fmt.Sprint(ranks), "-o", name, "--", program}, args...)
	cmd := p.Command(all...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		p.T.Fatalf("cohort %v: %v\n%s", all, err, out)
	}
	if _, err := os.Stat(p.Path(name)); err != nil {
		p.T.Fatalf("cohort %v has left no recording: %v\n%s", all, err, out)
	}
	return p.Path(name)
}

// editor is a client of a `cohort dap` of its own, as an editor is.
type editor struct {
	*daptest.Client
	t *testing.T
	p *dapPlace
}

func (p *dapPlace) editor() *editor {
	p.T.Helper()
	conn, _ := p.DAP()
	return &editor{Client: daptest.New(p.T, conn), t: p.T, p: p}
}

// dapSource is the program of this directory's testdata.
func dapSource(t *testing.T) string {
	t.Helper()
	return filepath.Join(mpitest.Root(t), "testkit", "endtoend", "debug", "testdata", "dape2e.c")
}

// markLine is the number of the line of a file that holds a text.
func markLine(t *testing.T, path, text string) int {
	t.Helper()
	return mpitest.LineOfFile(t, path, text)
}

// at is a breakpoint on a line.
func at(line int) protocol.SourceBreakpoint {
	return protocol.SourceBreakpoint{SourceBreakpoint: godap.SourceBreakpoint{Line: line}}
}

// stops expects stops of several ranks for one reason.
func stops(reason string, ranks ...int) []daptest.Expectation {
	var list []daptest.Expectation
	for _, r := range ranks {
		list = append(list, daptest.Stopped(r, reason))
	}
	return list
}

// stoppedBody is the body of a stopped event.
func (e *editor) stoppedBody(event daptest.Event) godap.StoppedEventBody {
	e.t.Helper()
	var body godap.StoppedEventBody
	if err := event.Decode(&body); err != nil {
		e.t.Fatal(err)
	}
	return body
}

// threads maps names to ids.
func (e *editor) threads() map[string]int {
	e.t.Helper()
	var body godap.ThreadsResponseBody
	e.Do("threads", nil, &body)
	out := map[string]int{}
	for _, t := range body.Threads {
		if _, twice := out[t.Name]; twice {
			e.t.Errorf("two threads are named %q", t.Name)
		}
		out[t.Name] = t.Id
	}
	return out
}

// user is the first frame of a rank's main thread that an editor shows as the user's.
func (e *editor) user(rank int) godap.StackFrame {
	e.t.Helper()
	frames := e.Stack(rank)
	i := slices.IndexFunc(frames, func(f godap.StackFrame) bool {
		return f.Source != nil && f.PresentationHint != "subtle"
	})
	if i < 0 {
		e.t.Fatalf("rank %d has no frame of the user's in %+v", rank, frames)
	}
	return frames[i]
}

// stands checks where ranks stand.
func (e *editor) stands(function string, line int, ranks ...int) {
	e.t.Helper()
	for _, r := range ranks {
		if f := e.user(r); f.Name != function || f.Line != line {
			e.t.Errorf("rank %d stands in %s:%d, want %s:%d\n%s", r, f.Name, f.Line, function, line, e.Transcript(6))
		}
	}
}

// awaitCall waits until a rank that runs is within an MPI call. Nobody tells when, so it is asked again and again.
func (e *editor) awaitCall(rank int, call string) {
	e.t.Helper()
	deadline := time.Now().Add(cohorttest.Patience)
	for !strings.HasPrefix(e.Ranks().Ranks[rank].Call, call) { // its arguments follow, where they are known
		if time.Now().After(deadline) {
			e.t.Fatalf("rank %d does not come to %s\n%s", rank, call, e.Transcript(6))
		}
	}
}

// step sends next, stepIn or stepOut for the main thread of a rank.
func (e *editor) step(command string, rank int, single bool) {
	e.t.Helper()
	e.Do(command, map[string]any{"threadId": protocol.ThreadID(rank, 1), "singleThread": single}, nil)
}

// evaluate asks as hover, watch or the console does.
func (e *editor) evaluate(expression, asker string, frame int) godap.EvaluateResponseBody {
	e.t.Helper()
	var body godap.EvaluateResponseBody
	e.Do("evaluate", godap.EvaluateArguments{Expression: expression, Context: asker, FrameId: frame}, &body)
	return body
}

// says checks what a line of the console answers.
func (e *editor) says(line string, frame int, want string) {
	e.t.Helper()
	if got := e.Console(line, frame); got != want {
		e.t.Errorf("the console answers %q with\n%s\nwant\n%s", line, got, want)
	}
}

// locals are the variables of a scope of a frame, by name.
func (e *editor) locals(frame int, scope string) (map[string]godap.Variable, int) {
	e.t.Helper()
	var body godap.ScopesResponseBody
	e.Do("scopes", godap.ScopesArguments{FrameId: frame}, &body)
	for _, s := range body.Scopes {
		if s.Name == scope {
			return e.children(s.VariablesReference), s.VariablesReference
		}
	}
	e.t.Fatalf("there is no scope %q in %+v", scope, body.Scopes)
	return nil, 0
}

func (e *editor) variables(a godap.VariablesArguments) []godap.Variable {
	e.t.Helper()
	var body godap.VariablesResponseBody
	e.Do("variables", a, &body)
	return body.Variables
}

func (e *editor) children(ref int) map[string]godap.Variable {
	e.t.Helper()
	out := map[string]godap.Variable{}
	for _, v := range e.variables(godap.VariablesArguments{VariablesReference: ref}) {
		out[v.Name] = v
	}
	return out
}

// tree is a variable and all below it, as text.
func (e *editor) tree(v godap.Variable) string {
	e.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s = %s\n", v.Name, v.Value)
	if v.VariablesReference != 0 {
		for _, child := range e.variables(godap.VariablesArguments{VariablesReference: v.VariablesReference}) {
			b.WriteString(e.tree(child))
		}
	}
	return b.String()
}

// outputs is all output of a category so far.
func (e *editor) outputs(category string) string {
	var b strings.Builder
	for _, event := range e.Seen("output") {
		var body godap.OutputEventBody
		if event.Decode(&body) == nil && (category == "" || body.Category == category) {
			b.WriteString(body.Output)
		}
	}
	return b.String()
}

// ends expects the orderly end of the session, with an exit code.
func (e *editor) ends(code int) {
	e.t.Helper()
	got := e.Expect(daptest.Named("exited"), daptest.Terminated())
	var body godap.ExitedEventBody
	if err := got[0].Decode(&body); err != nil || body.ExitCode != code {
		e.t.Errorf("the exit code is %d (%v), want %d", body.ExitCode, err, code)
	}
	e.Disconnect()
}
