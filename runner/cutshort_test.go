package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// cutTrace makes the trace of a rank that of one that was killed after an event, within a call or outside MPI.
func cutTrace(t *testing.T, rec *recording.Recording, rank int, events uint64, within mpispec.Op) {
	t.Helper()
	r, err := rec.Rank(rank)
	if err != nil {
		t.Fatal(err)
	}
	h := r.Header()
	var kept []trace.Record
	for record, err := range r.All() {
		switch record.(type) {
		case *trace.End, *trace.Check:
			continue
		case *trace.Value:
			if events == 0 {
				continue
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, record)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(rec.Dir, recording.RankFile(rank))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	h.Events, h.CurrentOp = events, within
	w, err := trace.CreateFile(path, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range kept {
		if err := w.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Cut(); err != nil {
		t.Fatal(err)
	}
	if err := rec.Update(func(m *recording.Meta) {
		m.PerRank[rank].End = recording.RankEnd{How: recording.EndSignal, Signal: "SIGKILL"}
	}); err != nil {
		t.Fatal(err)
	}
}

// Rank 1 was killed within MPI_Win_create when rank 0 had come out of it already: what rank 0 had of the call, a replay
// gives it too.
func TestReplayOfARankThatWasKilledWithinWinCreate(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		var out output
		r, err := Record(testContext(t), RecordOptions{
			Common: common(mpi, &out), Ranks: 2, Program: mpi.BuildFile(t, filepath.Join("testdata", "wincreate.c")),
			Dir: filepath.Join(t.TempDir(), "r.cohort"), Unpacked: true,
		})
		if err != nil || r.Problem != nil {
			t.Fatal(err, r.Problem)
		}
		winCreate, _ := mpispec.ParseOp("Win_create")
		cutTrace(t, r.Recording, 0, 2, mpispec.OpNone)
		cutTrace(t, r.Recording, 1, 0, winCreate)
		result, _ := replaySteps(t, mpi, r)
		if !result.OK() || result.Ranks[0].Events != 2 {
			t.Errorf("rank 0 got to event %d of 2: %+v", result.Ranks[0].Events, result.Ranks)
		}
	})
}

// MPICH's launcher kills all ranks when one meets an MPI error, and what is known of their ends first depends on luck.
func TestStatusOfAJobThatItsLauncherKilled(t *testing.T) {
	ended := func(order int, exit *backend.Exited) launch.RankResult {
		return launch.RankResult{Exit: exit, Order: order}
	}
	killed, unknown := ended(1, &backend.Exited{Signal: "SIGKILL"}), ended(2, nil)
	for _, c := range []struct {
		name  string
		code  int
		ranks []launch.RankResult
		want  int
	}{
		{"the launcher says the error's status", 6, []launch.RankResult{killed, unknown}, 6},
		{"so does Open MPI's, after SIGTERM", 3, []launch.RankResult{ended(1, &backend.Exited{Signal: "SIGTERM"})}, 3},
		{"the rank was killed: MPICH", 9, []launch.RankResult{killed, unknown}, 137},
		{"the rank was killed: Open MPI", 137, []launch.RankResult{killed, unknown}, 137},
		{"a crash is the program's own", 6, []launch.RankResult{ended(1, &backend.Exited{Signal: "SIGSEGV"})}, 139},
		{"a status is the program's own", 6, []launch.RankResult{ended(1, &backend.Exited{Code: 4}), killed}, 4},
		{"the launcher says nothing", 0, []launch.RankResult{killed}, 137},
	} {
		if got := Status(launch.Result{Code: c.code, Ranks: c.ranks}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
