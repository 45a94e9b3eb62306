package gdb

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/gdbmi/gdbmitest"
)

// scriptedStart is what a gdb says up to the stop at main, whatever it is asked on the way there. Each setting is one
// command, so the script is made from the list of them.
func scriptedStart(rest string) string {
	var b strings.Builder
	b.WriteString("< (gdb)\n")
	n := 0
	answer := func(command, lines string) {
		n++
		token := strconv.Itoa(n)
		b.WriteString("> " + token + "-" + command + "\n" + strings.ReplaceAll(lines, "N^", token+"^") + "\n")
	}
	for _, s := range settings {
		answer(s.command.Name(), "< N^done")
	}
	answer("interpreter-exec", "< ~\"GNU gdb (scripted)\\n\"\n< N^done") // show version
	answer("interpreter-exec", "< N^error,msg=\"no Python\"")
	answer("file-exec-and-symbols", "< N^done")
	for range 3 { // LINES, COLUMNS, SHELL: see scriptedEnv
		answer("interpreter-exec", "< N^done")
	}
	answer("interpreter-exec", "< N^done") // startup-with-shell
	answer("break-insert", "< N^error,msg=\"Function \\\"MAIN__\\\" not defined.\"")
	answer("break-insert", `< N^done,bkpt={number="1",type="breakpoint",disp="del",enabled="y",addr="0x1000",func="main",file="a.c",fullname="/a.c",line="3"}`)
	b.WriteString(rest)
	return b.String()
}

const scriptedStop = `> 900-exec-run
< =thread-group-started,id="i1",pid="1"
< 900^running
< *running,thread-id="all"
< *stopped,reason="breakpoint-hit",disp="del",bkptno="1",frame={addr="0x1000",func="main",args=[],file="a.c",fullname="/a.c",line="3"},thread-id="1",stopped-threads="all"
> 901-stack-list-frames
< 901^done,stack=[frame={level="0",addr="0x1000",func="main",file="a.c",fullname="/a.c",line="3"}]
> 902-thread-info
< 902^done,threads=[{id="1",target-id="x",state="stopped"}],current-thread-id="1"
`

// scripted starts a backend whose gdb follows the script.
func scripted(t *testing.T, script string) (*session, backend.LaunchRequest) {
	t.Helper()
	t.Setenv("LINES", "24")
	t.Setenv("COLUMNS", "80")
	t.Setenv("SHELL", "/bin/csh")
	path, env := gdbmitest.Command(t, script)
	for _, e := range env {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "COHORT_GDBMITEST") {
			t.Setenv(name, value)
		}
	}
	return newSession(t, Options{}), backend.LaunchRequest{Program: "/bin/true", DebuggerPath: path}
}

func TestGdbDiesDuringLaunch(t *testing.T) {
	s, req := scripted(t, scriptedStart("> 900-exec-run\n2> Aborted in the middle\n<| *stopped,reason=\"brea\n! "+
		"signal 9"))
	_, err := s.Launch(testContext(t), req)
	var ee *backend.EndedError
	if !errors.As(err, &ee) || !strings.Contains(err.Error(), "Aborted in the middle") ||
		strings.Contains(err.Error(), "-exec-run") || strings.Contains(err.Error(), "*stopped") {
		t.Errorf("got %v", err)
	}
}

func TestGdbRefusesToRunAfterSayingRunning(t *testing.T) {
	s, req := scripted(t, scriptedStart(scriptedStop+`> 903-exec-continue
< 903^running
< *running,thread-id="all"
< 903^error,msg="Cannot insert breakpoint 2.\nCannot access memory at address 0x0"
> 904-thread-info
< 904^done,threads=[{id="1",target-id="x",state="stopped"}],current-thread-id="1"
> 905-stack-list-frames
< 905^done,stack=[]
> 906-thread-info
< 906^done,threads=[{id="1",target-id="x",state="stopped"}],current-thread-id="1"
`))
	res, err := s.Launch(testContext(t), req)
	if err != nil || res.Stop.Reason != backend.ReasonEntry {
		t.Fatalf("got %+v, %v", res, err)
	}
	s.go_(backend.Continue)
	if st := s.stop(); !strings.Contains(st.Text, "could not continue: Cannot insert breakpoint 2.") {
		t.Errorf("got %+v", st)
	}
}

func TestGdbThatNeverAnswersIsKilled(t *testing.T) {
	s, req := scripted(t, scriptedStart(scriptedStop+"> 904-exec-continue\n! hang"))
	if _, err := s.Launch(testContext(t), req); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Resume(testContext(t), backend.ResumeRequest{}) }()
	if err := s.Kill(testContext(t)); err != nil {
		t.Fatal(err)
	}
	var ee *backend.EndedError
	if err := <-done; !errors.As(err, &ee) {
		t.Errorf("got %v", err)
	}
}

// The program has its own terminal; nothing of what it writes or reads touches gdb's machine interface.
func TestProgramOnItsOwnTerminal(t *testing.T) {
	need(t, "gdb", "gcc")
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "echo.c"), filepath.Join(dir, "echo")
	if err := os.WriteFile(src, []byte(`#include <stdio.h>
int main(void) { char line[80]; if (!fgets(line, sizeof line, stdin)) return 9; printf("*stopped,reason=\"fake\"\n^done got %s", line); return 0; }`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, "gcc", "-g", "-o", exe, src); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	s := launchWith(t, Options{}, backend.LaunchRequest{Program: exe, InferiorTTY: slave.Name()})
	s.go_(backend.Continue)
	if _, err := master.WriteString("seven\n"); err != nil {
		t.Fatal(err)
	}
	if e := s.exit(); e.Code != 0 {
		t.Errorf("got %+v", e)
	}
	if s.output.Len() != 0 {
		t.Errorf("output came through gdb: %q", s.output.String())
	}
	if err := master.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	var got string
	buf := make([]byte, 1024)
	for !strings.Contains(got, "got seven") {
		n, err := master.Read(buf)
		if err != nil {
			t.Fatalf("the terminal holds %q: %v", got, err)
		}
		got += string(buf[:n])
	}
	if !strings.Contains(got, `*stopped,reason="fake"`) {
		t.Errorf("the terminal holds %q", got)
	}
}

func TestStopPointSurvivesDelete(t *testing.T) {
	s := interposed(t)
	if _, err := s.eval(backend.ContextREPL, "-exec delete"); err != nil {
		t.Fatal(err)
	}
	s.go_(backend.Continue)
	if st := s.stop(); st.Reason != backend.ReasonStopPoint {
		t.Errorf("got %+v", st)
	}
}
