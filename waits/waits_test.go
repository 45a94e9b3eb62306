package waits_test

import (
	"testing"

	"github.com/cohort-debugger/cohort/waits"
)

// What went over a communicator that a rank has freed is not known any more: it may be on its way, and nobody is told
// that it is not received.
func TestFreedCommunicator(t *testing.T) {
	const other = 2
	comms := map[uint64]waits.Comm{other: {Name: "other", Members: []int{0, 1}}}
	receiving := waits.Rank{
		State: waits.Stopped, Live: []uint64{1, other}, Comms: comms,
		Calls: []waits.Call{{Name: "MPI_Recv", Whole: true, Ops: []waits.Operation{
			{Kind: waits.Receive, Call: "MPI_Recv", Comm: other, Peer: 1, Tag: 5},
		}}},
	}
	idle := waits.Rank{State: waits.Stopped, Live: []uint64{1, other}, Comms: comms, Calls: []waits.Call{{
		Name: "MPI_Recv", Whole: true, Ops: []waits.Operation{{
			Kind: waits.Receive, Call: "MPI_Recv", Comm: other, Peer: 0, Tag: 5,
		}},
	}}}
	if r := waits.Analyse([]waits.Rank{receiving, idle}); r.Deadlock.Len() != 2 {
		t.Errorf("both have the communicator:\n%s", r.Text())
	}
	idle.Live = []uint64{1}
	if r := waits.Analyse([]waits.Rank{receiving, idle}); !r.Deadlock.Empty() {
		t.Errorf("the sender has freed the communicator:\n%s", r.Text())
	}
	sent := waits.Rank{State: waits.Stopped, Live: []uint64{1, other}, Comms: comms, Traffic: []waits.Traffic{
		{Comm: other, Peer: 0, Tag: 5, Sent: 1},
	}}
	freed := waits.Rank{State: waits.Stopped, Live: []uint64{1}}
	if r := waits.Analyse([]waits.Rank{freed, sent}); len(r.Findings) > 0 {
		t.Errorf("the receiver has freed the communicator:\n%s", r.Text())
	}
}
