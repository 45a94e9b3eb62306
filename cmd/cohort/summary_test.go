package main

import (
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/runner"
)

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
