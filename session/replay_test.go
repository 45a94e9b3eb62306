package session_test

import (
	"bytes"
	"errors"
	"log/slog"
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
	"github.com/cohort-debugger/cohort/replayctl"
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

// scouts is a log: it tells of each scout that starts.
type scouts chan struct{}

func (s scouts) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("scout: starts")) {
		s <- struct{}{}
	}
	return len(line), nil
}

// A causal continue that sends scouts leaves nothing of them behind, whether they find a hit, find none, or are
// cancelled on the way. A job's directory goes after its processes, and before those who stop the job are told; the
// goroutines of all are counted at the end, when the job's own have ended, too.
func TestScoutsLeaveNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("replays under gdb")
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		ctx := t.Context()
		dirs, err := os.MkdirTemp("", "scouts") // not of the test: its name is too long for a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dirs) })
		t.Setenv("XDG_RUNTIME_DIR", dirs)
		source := filepath.Join(mpitest.Root(t), "runner", "testdata", "steps.c")
		recording := filepath.Join(t.TempDir(), "r.cohort")
		if _, err := runner.Record(ctx, runner.RecordOptions{
			Common: runner.Common{MPI: mpi.Name}, Ranks: 2, Program: mpi.BuildFile(t, source), Dir: recording,
		}); err != nil {
			t.Fatal(err)
		}
		sent := make(scouts, 10)
		starter := &session.Starter{
			Log: slog.New(slog.NewTextHandler(sent, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}
		started, err := starter.Start(ctx, protocol.LaunchArguments{Recording: recording},
			func(string, int64, int64) {})
		if err != nil {
			t.Fatal(err)
		}
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
			select {
			case <-sent:
			case <-run.Done():
				t.Fatalf("no scout was sent: %v", run.Err())
			}
			if cancel {
				started.Controller.Cancel()
			}
			<-run.Done()
			if err := run.Err(); cancel != errors.Is(err, replayctl.ErrCancelled) || err != nil && !cancel {
				t.Fatal(err)
			}
			if jobs, err := os.ReadDir(dirs); err != nil || len(jobs) > 1 {
				t.Errorf("beside the job there are %v, %v", jobs, err)
			}
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
