package agent

import (
	"testing"

	"github.com/cohort-debugger/cohort/backend"
)

// Who asks for the progress of a rank is told which call it is in, with what the call named, and of no other.
func TestBriefly(t *testing.T) {
	calls := []backend.RecentCall{{Event: 16, Op: "MPI_Send", Peer: 2}, {Event: 17, Op: "MPI_Recv", Peer: 1, Tag: 5}}
	within := briefly(backend.ControlState{Current: 17, Recent: calls, Calls: map[int]uint64{1: 2}})
	if len(within.Recent) != 1 || within.Recent[0] != calls[1] || within.Calls != nil {
		t.Errorf("within a call: %+v", within)
	}
	for _, outside := range []backend.ControlState{{Recent: calls}, {Current: 18, Recent: calls}, {Current: 18}} {
		if got := briefly(outside); len(got.Recent) != 0 {
			t.Errorf("%+v: %+v", outside, got)
		}
	}
	if got := briefly(backend.ControlState{Recent: calls, Divergence: &backend.Divergence{}}); len(got.Recent) != 2 {
		t.Errorf("a rank that left its recording: %+v", got)
	}
}
