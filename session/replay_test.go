package session_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/launch/agent"
	"github.com/cohort-debugger/cohort/launch/self"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/session"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// TestMain makes the test binary its own cohort, as far as jobs need one.
func TestMain(m *testing.M) {
	newGdb := func(o agent.BackendOptions) (backend.Backend, error) { return gdb.New(gdb.Options{Log: o.Log}), nil }
	if status, ok := self.Serve(os.Args[1:], newGdb); ok {
		os.Exit(status)
	}
	for name, value := range map[string]string{"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if err := proctest.NoExitPause(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// A causal continue that sends scouts leaves nothing of them behind, whether they find a hit, find none, or are
// cancelled on the way.
func TestScoutsLeaveNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("replays under gdb")
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		ctx := t.Context()
		source := filepath.Join(mpitest.Root(t), "runner", "testdata", "steps.c")
		recording := filepath.Join(t.TempDir(), "r.cohort")
		if _, err := runner.Record(ctx, runner.RecordOptions{
			Common: runner.Common{MPI: mpi.Name}, Ranks: 2, Program: mpi.BuildFile(t, source), Dir: recording,
		}); err != nil {
			t.Fatal(err)
		}
		starter := &session.Starter{}
		started, err := starter.Start(ctx, protocol.LaunchArguments{Recording: recording},
			func(string, int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
		before := goleak.IgnoreCurrent() // what belongs to the job itself
		j, all := started.Job, rankset.All(2)
		if err := j.Launch(ctx, started.Launch); err != nil {
			t.Fatal(err)
		}
		to := func(cancel bool, line int, condition string) {
			t.Helper()
			b := []job.Breakpoint{{
				ID: 1, Source: source, Line: line, Condition: condition, Mode: job.ModeCausal, Ranks: rankset.New(0),
			}}
			if _, err := j.SetBreakpoints(ctx, source, b); err != nil {
				t.Fatal(err)
			}
			run := started.Controller.Continue(b, all)
			if cancel {
				started.Controller.Cancel()
			} else if <-run.Done(); run.Err() != nil {
				t.Fatal(run.Err())
			}
			goleak.VerifyNone(t, before)
		}
		hash := mpitest.LineOfFile(t, source, "hash = hash * 33")
		to(false, hash, "i == 3")
		status, err := j.Status()
		if err != nil || status[0].Stop == nil || status[0].Stop.Reason != backend.ReasonBreakpoint {
			t.Errorf("rank 0: %+v, %v", status[0], err)
		}
		to(true, hash, "i == 4")
		to(false, hash, "i == 4000")
		started.Controller.Close()
		if err := j.Kill(ctx); err != nil {
			t.Error(err)
		}
		if err := started.Stop(ctx); err != nil {
			t.Error(err)
		}
		j.Close()
		goleak.VerifyNone(t)
	})
}
