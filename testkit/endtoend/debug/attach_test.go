package debug

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// runningJob is a job of three ranks that was started without cohort, and ends when it is told to.
type runningJob struct {
	p        *dapPlace
	name     string // of the program
	launcher *exec.Cmd
	output   *bufio.Reader
}

// run starts until.c, with the words in front of it, and returns when all its ranks run.
func (p *dapPlace) run(prefix ...string) *runningJob {
	p.T.Helper()
	// under a name of its own, by which no other test's ranks are meant
	program := p.Path(fmt.Sprintf("until-%d-%s", os.Getpid(), filepath.Base(p.Dir)))
	content, err := os.ReadFile(p.MPI.Build(p.T, "until.c"))
	if err == nil {
		err = os.WriteFile(program, content, 0o700)
	}
	if err != nil {
		p.T.Fatal(err)
	}
	line := append(prefix, program, p.Path("end"))
	j := &runningJob{name: filepath.Base(program), p: p, launcher: p.MPI.Command(p.Ctx, 3, line[0], line[1:]...)}
	j.launcher.Dir = p.Dir
	j.launcher.Env = append(j.launcher.Env, p.Variables()...)
	out, err := j.launcher.StdoutPipe()
	if err != nil {
		p.T.Fatal(err)
	}
	j.launcher.Stderr = os.Stderr
	if err := j.launcher.Start(); err != nil {
		p.T.Fatal(err)
	}
	j.output = bufio.NewReader(out)
	if text, err := j.output.ReadString('\n'); err != nil || text != "until: all run\n" {
		p.T.Fatalf("the job said %q, %v", text, err)
	}
	return j
}

// endsWell tells the job to end, which it only does if all its ranks run.
func (j *runningJob) endsWell() {
	j.p.T.Helper()
	if err := os.WriteFile(j.p.Path("end"), nil, 0o600); err != nil {
		j.p.T.Fatal(err)
	}
	text, err := io.ReadAll(j.output)
	if err != nil {
		j.p.T.Error(err)
	}
	if err := j.launcher.Wait(); err != nil {
		j.p.T.Errorf("the job ended: %v, having said %q", err, text)
	}
	for rank := range 3 {
		if !strings.Contains(string(text), fmt.Sprintf("until: rank %d ends\n", rank)) {
			j.p.T.Errorf("rank %d is missing from %q", rank, text)
		}
	}
}

func (j *runningJob) attach(target map[string]any) *editor {
	j.p.T.Helper()
	e := j.p.editor()
	e.Initialize()
	target["supportsCohortEvents"] = true
	e.Do("attach", target, nil)
	e.Expect(daptest.Initialized())
	return e
}

// Ranks that run are attached to by their launcher, are debugged, and run on when the client has gone; then some of
// them by the name of their program.
func TestAttach(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		p := newDAPPlace(t, mpi)
		library, status := p.Run("library", mpi.Build(t, "until.c"))
		if status != 0 {
			t.Fatal(library)
		}
		j := p.run("env", "LD_PRELOAD="+strings.TrimSpace(library))
		e := j.attach(map[string]any{"pid": j.launcher.Process.Pid})
		e.ConfigurationDone()
		e.Expect(stops("pause", 0, 1, 2)...)
		line := mpitest.Line(t, "until.c", "breakpoint: turn")
		if set := e.SetBreakpoints(mpitest.Source(t, "until.c"), line); !set[0].Verified {
			t.Errorf("the breakpoint is %+v", set)
		}
		e.Continue(0)
		e.Expect(stops("breakpoint", 0, 1, 2)...)
		if got := e.Console("[all] p rank", 0); got != "[0] 0\n[1] 1\n[2] 2" {
			t.Errorf("rank is %q", got)
		}
		if got := e.Console("[1] mpipp MPI_COMM_WORLD", 0); !strings.Contains(got, "this one is rank 1") {
			t.Errorf("with the registry, MPI_COMM_WORLD is %q", got)
		}
		e.SetBreakpoints(mpitest.Source(t, "until.c"))
		e.Continue(0) // it detaches from ranks that run
		e.Disconnect()

		e = j.attach(map[string]any{"program": j.name, "ranks": "1-2"})
		e.SetBreakpoints(mpitest.Source(t, "until.c"), line)
		e.ConfigurationDone()
		e.Expect(append(stops("pause", 1, 2), daptest.RankIs(0, "lost"))...)
		e.Continue(1)
		e.Expect(stops("breakpoint", 1, 2)...) // and it detaches from ranks that have stopped
		e.Disconnect()
		j.endsWell()
	})
}

// Whatever way cohort ends: ranks that ran before run on, with no breakpoint left in them.
func TestAttachedRanksOutliveCohort(t *testing.T) {
	t.Parallel()
	p := newDAPPlace(t, mpitest.Need(t, "mpich"))
	j := p.run()
	conn, cohort := p.DAP()
	e := &editor{Client: daptest.New(t, conn), t: t, p: p}
	e.Initialize()
	e.Do("attach", map[string]any{"program": j.name, "supportsCohortEvents": true}, nil)
	e.Expect(daptest.Initialized())
	line := mpitest.Line(t, "until.c", "breakpoint: turn")
	e.SetBreakpointsWith(mpitest.Source(t, "until.c"),
		protocol.SourceBreakpoint{SourceBreakpoint: godap.SourceBreakpoint{Line: line, Condition: "turns < 0"}})
	e.ConfigurationDone()
	e.Expect(stops("pause", 0, 1, 2)...)
	e.Continue(0)
	if err := cohort.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	e.AwaitClosed(p.Ctx)
	j.endsWell()
}

// Only who says so ends ranks that ran before.
func TestAttachAndTerminate(t *testing.T) {
	t.Parallel()
	p := newDAPPlace(t, mpitest.Need(t, "mpich"))
	j := p.run()
	e := j.attach(map[string]any{"pids": []int{j.launcher.Process.Pid}})
	e.ConfigurationDone()
	e.Expect(stops("pause", 0, 1, 2)...)
	other := p.editor()
	other.Initialize()
	other.Refused("attach", map[string]any{"pid": j.launcher.Process.Pid}, "is being debugged already, by process")
	e.Do("disconnect", map[string]any{"terminateDebuggee": true}, nil)
	if err := j.launcher.Wait(); err == nil {
		t.Error("the job ended well, though its ranks were to be killed")
	}
}

func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	p := newDAPPlace(t, mpitest.Need(t, "mpich"))
	conn, cohort := p.DAP()
	e := &editor{Client: daptest.New(t, conn), t: t, p: p}
	e.Initialize()
	for _, c := range []struct {
		target map[string]any
		says   []string
	}{
		{map[string]any{"pid": 1 << 30}, []string{"no process 1073741824"}},
		{map[string]any{"pid": cohort.Process.Pid}, []string{"neither a rank nor a launcher", "PMI_RANK"}},
		{map[string]any{"program": "no-such-program"}, []string{"runs no-such-program"}},
		{map[string]any{"program": "until", "pid": 1}, []string{"Either process ids or the name"}},
	} {
		e.Refused("attach", c.target, c.says...)
	}
	e.Close()
}
