package gdbmi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/gdbmi/gdbmitest"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

func TestMain(m *testing.M) {
	if status, served := gdbmitest.Serve(); served {
		os.Exit(status)
	}
	if os.Getenv("GDBMI_TEST_ORPHAN") != "" {
		orphanMain()
	}
	if err := proctest.NoExitPause(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, opt gdbmi.Options) *gdbmi.Process {
	t.Helper()
	p, err := gdbmi.Start(deadline(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(deadline(t)); err != nil {
			t.Error(err)
		}
		if err := unix.Kill(p.PID(), 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("process %d is still there: %v", p.PID(), err)
		}
	})
	return p
}

// scripted starts a gdb that follows a script and ends when it is told to.
func scripted(t *testing.T, script string) *gdbmi.Process {
	t.Helper()
	return scriptedFor(t, script, time.Hour)
}

func scriptedFor(t *testing.T, script string, patience time.Duration) *gdbmi.Process {
	t.Helper()
	path, env := gdbmitest.Command(t, script)
	return start(t, gdbmi.Options{Path: path, Env: env, Patience: patience})
}

// realGdb starts gdb with a compiled C program.
func realGdb(t *testing.T, source string, opt gdbmi.Options) (*gdbmi.Process, string) {
	t.Helper()
	for _, tool := range []string{"gdb", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("COHORT_REQUIRE_MPI") == "1" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(deadline(t), "gcc", "-g", "-O0", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	p := start(t, opt)
	for _, c := range []gdbmi.Command{
		gdbmi.Cmd("gdb-set", "mi-async", "on"),
		gdbmi.Cmd("gdb-set", "startup-with-shell", "off"),
		gdbmi.Cmd("file-exec-and-symbols", exe),
	} {
		send(t, p, c)
	}
	return p, exe
}

func send(t *testing.T, p *gdbmi.Process, c gdbmi.Command) gdbmi.Record {
	t.Helper()
	r, err := p.Send(deadline(t), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// next returns the next event that want accepts; the end of gdb makes that impossible and fails at once.
func next(t *testing.T, p *gdbmi.Process, what string, want func(gdbmi.Record) bool) gdbmi.Record {
	t.Helper()
	ctx := deadline(t)
	for {
		select {
		case e, ok := <-p.Events():
			if !ok {
				t.Fatalf("waiting for %s: the events have ended", what)
			}
			if e.Exit != nil {
				t.Fatalf("waiting for %s: %v", what, e.Exit)
			}
			if want(e.Record) {
				return e.Record
			}
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v", what, ctx.Err())
		}
	}
}

func isStopped(r gdbmi.Record) bool {
	return r.Kind == gdbmi.Exec && r.Class == gdbmi.ClassStopped
}

func exitEvent(t *testing.T, p *gdbmi.Process) *gdbmi.DeadError {
	t.Helper()
	ctx := deadline(t)
	var last *gdbmi.DeadError
	for {
		select {
		case e, ok := <-p.Events():
			if !ok {
				if last == nil {
					t.Fatal("the events ended without an exit event")
				}
				return last
			}
			last = e.Exit
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	}
}

func TestRealGdbRunsAProgram(t *testing.T) {
	p, _ := realGdb(t, `#include <stdio.h>
int f(int x) { return x + 1; }
int main(void) { printf("no line feed"); fflush(stdout); return f(6); }`, gdbmi.Options{})
	send(t, p, gdbmi.Cmd("break-insert", "f"))
	if got := send(t, p, gdbmi.Cmd("exec-run")).Class; got != gdbmi.ClassRunning {
		t.Fatalf("got ^%s", got)
	}
	next(t, p, "the program's output", func(r gdbmi.Record) bool {
		return r.Kind == gdbmi.Text && r.Text == "no line feed"
	})
	f := next(t, p, "the stop", isStopped).Fields()
	if got := f.Tuple("frame").String("func"); got != "f" || f.String("reason") != "breakpoint-hit" || f.Err() != nil {
		t.Errorf("stopped in %s, %v", got, f.Err())
	}
	_, streams, err := p.SendCapture(deadline(t), gdbmi.CLI("print x * 7"))
	if err != nil || len(streams) != 1 || streams[0].Text != "$1 = 42\n" {
		t.Errorf("got %v, %v", streams, err)
	}
	_, err = p.Send(deadline(t), gdbmi.Cmd("data-evaluate-expression", "nosuch"))
	var ce *gdbmi.CommandError
	if !errors.As(err, &ce) || ce.Msg != `No symbol "nosuch" in current context.` {
		t.Errorf("got %v", err)
	}
	_, err = p.Send(deadline(t), gdbmi.Cmd("no-such-command"))
	if !errors.As(err, &ce) || !strings.Contains(ce.Msg, "no-such-command") {
		t.Errorf("got %v", err)
	}
	send(t, p, gdbmi.Cmd("exec-continue"))
	f = next(t, p, "the exit", isStopped).Fields()
	if code := f.OptOctal("exit-code"); code != 7 {
		t.Errorf("exit code %d", code)
	}
}

// A program that cannot be started: gdb prints records and only then an error, and that must be the answer.
func TestRealGdbErrorAfterOutput(t *testing.T) {
	p, exe := realGdb(t, `int main(void) { return 0; }`, gdbmi.Options{})
	if err := os.Chmod(exe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := p.Send(deadline(t), gdbmi.Cmd("exec-run"))
	var ce *gdbmi.CommandError
	if !errors.As(err, &ce) || !strings.Contains(ce.Msg, "During startup program exited") {
		t.Errorf("got %v", err)
	}
}

func TestManyCommandsInFlight(t *testing.T) {
	p, _ := realGdb(t, `int main(void) { return 0; }`, gdbmi.Options{})
	const n = 200
	errs := make(chan error, n)
	for i := range n {
		go func() {
			r, err := p.Send(deadline(t), gdbmi.Cmd("data-evaluate-expression", fmt.Sprintf("%d*2", i)))
			if err == nil {
				if got, want := r.Fields().String("value"), fmt.Sprint(2*i); got != want {
					err = fmt.Errorf("%d: got %s", i, got)
				}
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// Nobody reads the events, and yet commands are answered.
func TestUnreadEventsDoNotBlockSend(t *testing.T) {
	if testing.Short() {
		t.Skip("prints a lot")
	}
	p, _ := realGdb(t, `int main(void) { return 0; }`, gdbmi.Options{})
	for range 3 {
		send(t, p, gdbmi.CLI(`python for i in range(20000): print("x" * 50)`))
	}
	send(t, p, gdbmi.Cmd("gdb-version"))
}

func TestInterruptBreaksOffACall(t *testing.T) {
	p, _ := realGdb(t, `#include <unistd.h>
int spin(void) { write(1, "spinning\n", 9); for (;;) ; return 0; }
int main(void) { return 0; }`, gdbmi.Options{})
	send(t, p, gdbmi.Cmd("break-insert", "main"))
	send(t, p, gdbmi.Cmd("exec-run"))
	next(t, p, "the stop at main", isStopped)
	answer := make(chan error, 1)
	go func() {
		_, err := p.Send(deadline(t), gdbmi.Cmd("data-evaluate-expression", "spin()"))
		answer <- err
	}()
	next(t, p, "the call", func(r gdbmi.Record) bool { return r.Kind == gdbmi.Text && r.Text == "spinning" })
	if err := p.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err == nil {
		t.Error("a call that never returns was answered")
	}
}

// The descriptors that MPI's launcher leaves to a rank (PMI_FD) are there in the program, and what is
// preloaded into us is not loaded into gdb.
func TestInheritedDescriptorsReachTheProgram(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const fd = 57
	if err := unix.Dup3(int(w.Fd()), fd, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	w.Close()
	env := append(os.Environ(), "LD_PRELOAD=/nonexistent/lib.so")
	p, _ := realGdb(t, `#include <unistd.h>
#include <stdlib.h>
int main(void) { write(57, getenv("LD_PRELOAD") ? "bad" : "PMI", 3); return 0; }`, gdbmi.Options{Env: env})
	send(t, p, gdbmi.Cmd("exec-run"))
	next(t, p, "the exit", isStopped)
	got := make([]byte, 16)
	n, err := r.Read(got)
	if err != nil || string(got[:n]) != "PMI" {
		t.Errorf("got %q, %v", got[:n], err)
	}
	if err := p.Close(deadline(t)); err != nil {
		t.Fatal(err)
	}
}

func TestGdbIsKilled(t *testing.T) {
	p, _ := realGdb(t, `#include <unistd.h>
int main(void) { for (;;) pause(); }`, gdbmi.Options{})
	send(t, p, gdbmi.Cmd("exec-run"))
	started := next(t, p, "the program", func(r gdbmi.Record) bool { return r.Class == "thread-group-started" })
	pid := started.Fields().Int("pid")
	if err := unix.Kill(p.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := exitEvent(t, p); e.Asked || !strings.Contains(e.State, "killed") {
		t.Errorf("got %v", e)
	}
	var dead *gdbmi.DeadError
	if _, err := p.Send(deadline(t), gdbmi.Cmd("gdb-version")); !errors.As(err, &dead) ||
		dead.Command != "-gdb-version" {
		t.Errorf("got %v", err)
	}
	proctest.WaitGone(t, pid)
}

// orphanMain is a parent that starts gdb with a program and is then killed.
func orphanMain() {
	if err := proctest.EndWithParent(); err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		os.Exit(1)
	}
	p, err := gdbmi.Start(context.Background(), gdbmi.Options{})
	if err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		os.Exit(1)
	}
	for _, c := range []gdbmi.Command{
		gdbmi.Cmd("gdb-set", "mi-async", "on"),
		gdbmi.Cmd("file-exec-and-symbols", "/bin/cat"), gdbmi.Cmd("exec-run"),
	} {
		if _, err := p.Send(context.Background(), c); err != nil {
			fmt.Fprintln(os.Stdout, "error", err)
			os.Exit(1)
		}
	}
	for e := range p.Events() {
		if e.Record.Class == "thread-group-started" {
			fmt.Fprintln(os.Stdout, p.PID(), e.Record.Fields().Int("pid"))
		}
	}
}

func TestNothingOutlivesAParentThatIsKilled(t *testing.T) {
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(deadline(t), exe)
	cmd.Env = append(os.Environ(), "GDBMI_TEST_ORPHAN=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var gdb, program int
	if _, err := fmt.Fscan(out, &gdb, &program); err != nil {
		t.Fatalf("the parent: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	proctest.WaitGone(t, gdb)
	proctest.WaitGone(t, program)
}

func TestGdbCannotBeStarted(t *testing.T) {
	for name, path := range map[string]string{"missing": "/nonexistent/gdb", "no gdb": "/bin/true"} {
		t.Run(name, func(t *testing.T) {
			_, err := gdbmi.Start(deadline(t), gdbmi.Options{Path: path})
			if err == nil || !strings.Contains(err.Error(), "could not start gdb ("+path+")") {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestTranscriptPlaysBack(t *testing.T) {
	var log bytes.Buffer
	talk := func(p *gdbmi.Process) (string, error) {
		var all strings.Builder
		for _, expr := range []string{"6*7", "nosuch", `"a\"b"`} {
			r, err := p.Send(deadline(t), gdbmi.Cmd("data-evaluate-expression", expr))
			fmt.Fprintln(&all, r.Class, r.Items, err)
		}
		return all.String(), p.Close(deadline(t))
	}
	p, _ := realGdb(t, `int main(void) { return 0; }`, gdbmi.Options{Transcript: &log})
	want, err := talk(p)
	if err != nil {
		t.Fatal(err)
	}
	script := log.String()
	for n := range 3 { // what realGdb sent
		_, script, _ = strings.Cut(script, fmt.Sprintf("\n> %d", n+1))
	}
	_, script, _ = strings.Cut(script, "\n> 4")
	script = "< (gdb)\n> 4" + script
	again, err := talk(scripted(t, script))
	if err != nil {
		t.Fatal(err)
	}
	if again != want {
		t.Errorf("got\n%s\nwant\n%s\nscript\n%s", again, want, script)
	}
}
