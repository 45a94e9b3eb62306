package main

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// What a rank was in that was ended by Cohort, with what the call named; and of one that waits for requests the calls
// that made some. A crash is the program's.
func TestEndsOfAnInterruptedRecording(t *testing.T) {
	const none = math.MinInt32
	within := recording.RankMeta{
		End:    recording.RankEnd{How: recording.EndSignal, Signal: "SIGKILL"},
		Events: 16, Last: &recording.LastCall{Event: 17, Call: "MPI_Recv", Within: true, File: "/src/a.c", Line: 9},
	}
	waits, crashed := within, within
	waits.Last = &recording.LastCall{Event: 17, Call: "MPI_Wait", Within: true}
	crashed.End.Signal = "SIGSEGV"
	recv := backend.RecentCall{Event: 17, Op: "MPI_Recv", Peer: 1, Tag: 5, Got: none}
	r := &runner.RecordResult{Recording: &recording.Recording{}, Job: launch.Result{
		Stopped: true, Ranks: []launch.RankResult{
			{Stopped: true, Control: backend.ControlState{Recent: []backend.RecentCall{recv}}},
			{Stopped: true, Control: backend.ControlState{Recent: []backend.RecentCall{
				{Event: 15, Op: "MPI_Irecv", Peer: -1, Tag: 2, Got: none},
				{Event: 16, Op: "MPI_Send", Peer: 0, Tag: 2, Got: none},
				{Event: 17, Op: "MPI_Wait", Peer: none, Tag: none, Got: none},
			}}},
			{Stopped: true, Control: backend.ControlState{Recent: []backend.RecentCall{recv}}},
			{Control: backend.ControlState{Recent: []backend.RecentCall{recv}}}, // before Cohort did anything
		},
	}}
	r.Recording.Meta.PerRank = []recording.RankMeta{within, waits, crashed, within}
	want := []string{
		"[0] was ended by Cohort, with the job, within MPI_Recv (peer 1, tag 5) at a.c:9 (event 0:17)",
		"[1] was ended by Cohort, with the job, within MPI_Wait (event 1:17); before it 1:15 MPI_Irecv (any source, tag 2)",
		"[2] was ended by SIGSEGV, within MPI_Recv (peer 1, tag 5) at a.c:9 (event 2:17)",
		"[3] was ended by SIGKILL, within MPI_Recv (peer 1, tag 5) at a.c:9 (event 3:17)",
	}
	if d := cmp.Diff(want, rankEnds(r, false)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A replay that left the recording names what the program was given and is not recorded.
func TestReplaySummaryNamesWhatIsNotRecorded(t *testing.T) {
	for _, diverged := range []bool{true, false} {
		result := &runner.ReplayResult{Ranks: make([]runner.RankReplay, 1), Unrecorded: []string{"time", "getrandom"}}
		if diverged {
			result.Ranks[0].Divergence = &backend.Divergence{Event: 3, RecordedOp: "MPI_Send", ActualOp: "MPI_Recv"}
		}
		var out strings.Builder
		replaySummary(&out, result, nil)
		if said := strings.Contains(out.String(), "time, getrandom gave the program what is not recorded"); said != diverged {
			t.Errorf("diverged %v:\n%s", diverged, out.String())
		}
	}
}
