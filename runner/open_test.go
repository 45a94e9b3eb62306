package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// What a rank leaves that ends before its trace has begun: no file, an empty one, or one of zeros.
func TestOpenWhatAKilledCohortLeft(t *testing.T) {
	for name, content := range map[string][]byte{"no file": nil, "an empty file": {}, "zeros": make([]byte, 1<<18)} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "r.cohort")
			rec, err := recording.Create(dir, recording.Meta{
				Ranks: 2, Mode: "order", MPI: recording.MPI{Kind: "mpich"},
				Command: []string{"p"}, Start: time.Now(),
			}, recording.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := rec.WriteEmpty(0); err != nil {
				t.Fatal(err)
			}
			if content != nil {
				if err := os.WriteFile(filepath.Join(dir, recording.RankFile(1)), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, notes, err := Open(dir)
			if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "rank 1") {
				t.Errorf("Open: %q, %v", notes, err)
			}
		})
	}
}

// A rank that was killed before it made its trace has an empty one, if that is why it has none.
func TestKilledBeforeTheTrace(t *testing.T) {
	killed := &backend.Exited{Signal: "SIGKILL"}
	for name, c := range map[string]struct {
		end   launch.RankResult
		empty bool
	}{
		"in MPI_Init": {launch.RankResult{
			Exit:    killed,
			Control: backend.ControlState{Present: true, State: abi.StateNew},
		}, true},
		"at its end": {launch.RankResult{
			Exit:    killed,
			Control: backend.ControlState{Present: true, State: abi.StateRunning},
		}, true},
		"of an unknown end": {launch.RankResult{}, false},
		"that could not": {launch.RankResult{
			Exit:    killed,
			Control: backend.ControlState{Present: true, State: abi.StateRunning, Message: "no"},
		}, false},
		"that refused": {launch.RankResult{
			Exit:    killed,
			Control: backend.ControlState{Present: true, State: abi.StateRefused},
		}, false},
		"that was not killed": {launch.RankResult{
			Exit:    &backend.Exited{},
			Control: backend.ControlState{Present: true, State: abi.StateRunning},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "r.cohort")
			rec, err := recording.Create(dir, recording.Meta{
				Ranks: 1, Mode: "order", MPI: recording.MPI{Kind: "mpich"},
				Command: []string{"p"}, Start: time.Now(),
			}, recording.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := &RecordResult{Recording: rec, Job: launch.Result{Ranks: []launch.RankResult{c.end}}}
			if _, err := r.finishRank(0, &recording.RankMeta{}); (err == nil) != c.empty {
				t.Errorf("%v", err)
			}
		})
	}
}

// A rank that was recorded to its MPI_Finalize, which in the replay waits for others that were not, is at its end.
func TestFinalizeOfARecordingThatWasCutShort(t *testing.T) {
	for name, c := range map[string]struct {
		last      backend.ControlState
		finalized bool // the other rank
		ok        bool
	}{
		"it waits": {
			backend.ControlState{Present: true, Events: 41, CurrentOp: int(mpispec.OpFinalize)},
			false,
			true,
		},
		"in another call": {
			backend.ControlState{Present: true, Events: 41, CurrentOp: int(mpispec.OpRecv)},
			false,
			false,
		},
		"too early": {
			backend.ControlState{Present: true, Events: 40, CurrentOp: int(mpispec.OpFinalize)},
			false,
			false,
		},
		"all got there": {
			backend.ControlState{Present: true, Events: 41, CurrentOp: int(mpispec.OpFinalize)},
			true,
			false,
		},
		"it has ended well": {backend.ControlState{Present: true, Events: 42}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			other := backend.ControlState{Present: true, Events: 46}
			w := &watch{
				prepared: &Prepared{Decisions: []*decisions.Plan{
					{LastEvent: 46, Finalized: c.finalized},
					{LastEvent: 42, Finalized: true},
				}},
				at: make([]abi.State, 2), over: make([]bool, 2), gone: make([]bool, 2),
				last: []backend.ControlState{other, c.last}, stalled: true,
			}
			r := w.result(launch.Result{Ranks: []launch.RankResult{{Control: other}, {Control: c.last}}})
			if r.OK() != c.ok {
				t.Errorf("%+v", r.Ranks)
			}
		})
	}
}
