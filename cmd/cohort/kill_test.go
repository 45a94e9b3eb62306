package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch"
	jobmark "github.com/cohort-debugger/cohort/launch/marked"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// TestKillUnderGdb is launch's test of killed processes with the real debugger: whatever is killed, all ends, and
// nothing is left.
func TestKillUnderGdb(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many debuggers")
	}
	if _, err := exec.LookPath("gdb"); err != nil {
		mpitest.Missing(t, "gdb is not installed")
	}
	for _, victim := range []string{"launcher", "agent", "gdb", "rank"} {
		t.Run(victim, func(t *testing.T) {
			mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
				killUnderDebugger(t, mpi.Build(t, "hello.c"), victim)
			})
		})
	}
}

// TestKillUnderDelve is the same with Delve, which is in the agent.
func TestKillUnderDelve(t *testing.T) {
	slow(t)
	for _, victim := range []string{"launcher", "agent", "rank"} {
		t.Run(victim, func(t *testing.T) {
			mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
				killUnderDebugger(t, mpi.BuildGo(t, "gompi"), victim)
			})
		})
	}
}

func killUnderDebugger(t *testing.T, program, victim string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	self, err := exec.LookPath("cohort")
	if err != nil {
		t.Fatal(err)
	}
	session, err := launch.Start(ctx, launch.Options{
		Ranks: 2, Program: program, Mode: launch.Debug, Self: self, Output: func(launch.OutputChunk) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 2)
	exited := make(chan string, 2)
	var readers sync.WaitGroup
	for i, rank := range session.Ranks() {
		readers.Go(func() {
			for event := range rank.Backend().Events() {
				switch {
				case i == 1 && event.Exited != nil:
					exited <- event.Exited.Signal
				case i == 1 && event.Ended != nil:
					ended <- event.Ended.Err
				}
			}
		})
	}
	for i, rank := range session.Ranks() {
		result, err := rank.Backend().Launch(ctx, backend.LaunchRequest{})
		if err != nil || result.Stop.Reason != backend.ReasonEntry {
			t.Fatalf("rank %d: %+v, %v", i, result, err)
		}
	}
	if err := syscall.Kill(victimOf(t, session, victim), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait := func(what string, c <-chan string) string {
		select {
		case text := <-c:
			return text
		case <-time.After(endLimit):
			t.Fatalf("%s was not told in %v", what, endLimit)
			return ""
		}
	}
	switch victim {
	case "launcher", "agent":
		select {
		case <-session.Done():
		case <-time.After(endLimit):
			t.Errorf("the job goes on %v after its %s was killed", endLimit, victim)
		}
	case "gdb":
		if why := wait("the end of gdb", ended); why == "" {
			t.Error("the end of gdb has no reason")
		}
	case "rank":
		if signal := wait("the end of the rank", exited); signal != "SIGKILL" {
			t.Errorf("the rank ended with %q", signal)
		}
	}
	if victim == "gdb" || victim == "rank" { // the other rank is as good as before
		if _, err := session.Ranks()[0].Backend().StackTrace(ctx,
			backend.StackTraceRequest{Thread: 1, Count: 1}); err != nil {
			t.Errorf("rank 0: %v", err)
		}
	}
	session.Stop(ctx)
	readers.Wait()
	if left, err := jobmark.Find(session.ID()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func victimOf(t *testing.T, session *launch.Session, victim string) int {
	t.Helper()
	info := session.Ranks()[1].Info()
	switch victim {
	case "agent":
		return info.AgentPid
	case "rank":
		return info.Pid
	}
	processes, err := jobmark.Find(session.ID())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		isLauncher := strings.HasPrefix(p.Command, session.Launcher()[0]+" ")
		isGdb := strings.Contains(p.Command, "gdb") && parent(t, p.Pid) == info.AgentPid
		if victim == "launcher" && isLauncher || victim == "gdb" && isGdb {
			return p.Pid
		}
	}
	t.Fatalf("no %s among %v", victim, processes)
	return 0
}

// parent reads it from /proc: a small system has no ps.
func parent(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // it has ended
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "PPid:"); ok {
			ppid, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				t.Fatal(err)
			}
			return ppid
		}
	}
	t.Fatalf("/proc/%d/status names no parent", pid)
	return 0
}
