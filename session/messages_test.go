package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// events builds a graph of hand-written events.
func events(t *testing.T, ranks ...[]trace.Event) *causal.Graph {
	t.Helper()
	var all []uint32
	for r := range ranks {
		all = append(all, uint32(r))
	}
	records := make([][]trace.Record, len(ranks))
	for r, list := range ranks {
		records[r] = []trace.Record{&trace.Comm{
			GlobalID: trace.WorldID, CommKind: abi.CommIntra, MyRank: uint32(r),
			Members: all,
		}}
		for i := range list {
			list[i].Index = uint64(i + 1)
			records[r] = append(records[r], &list[i])
		}
	}
	g, err := causal.Build(records, causal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestMessagesOfEvents(t *testing.T) {
	recv := func(op mpispec.Op, bytes uint64) trace.Event {
		return trace.Event{Op: op, Recv: trace.RecvArgs{AskedSource: 0, AskedTag: 4, Source: 0, Tag: 4, Bytes: bytes}}
	}
	coll := func(op mpispec.Op, root int32) trace.Event {
		return trace.Event{Op: op, Coll: trace.CollArgs{Root: root}}
	}
	isend := trace.Event{Op: mpispec.OpIsend, Send: trace.SendArgs{Dest: 1, Tag: 4, Bytes: 16}}
	common := []trace.Event{
		coll(mpispec.OpBcast, 1), coll(mpispec.OpGather, 0), coll(mpispec.OpAllreduce, trace.NoRoot),
		coll(mpispec.OpBarrier, trace.NoRoot),
	}
	g := events(t,
		append([]trace.Event{
			isend,
			{Op: mpispec.OpWait, Completed: []trace.Completion{{Post: 1, Class: trace.RequestSend}}},
		}, common...),
		append([]trace.Event{
			recv(mpispec.OpIrecv, 0),
			{Op: mpispec.OpWait, Completed: []trace.Completion{{
				Post: 1, Class: trace.RequestRecv, Source: 0, Tag: 4,
				Bytes: 8,
			}}},
		}, common...),
		append([]trace.Event{{Op: mpispec.OpTestCancelled}, {Op: mpispec.OpTestCancelled}}, common...),
	)
	for _, c := range []struct {
		at   causal.EventID
		want []string
		none string
	}{
		{causal.EventID{Rank: 1, Index: 2}, []string{"completes the receive of 0:1 MPI_Isend > 1:1 MPI_Irecv"}, ""},
		{causal.EventID{Rank: 1, Index: 1}, []string{"receives 0:1 MPI_Isend > 1:1 MPI_Irecv"}, ""},
		{causal.EventID{Rank: 0, Index: 1}, []string{"sends 0:1 MPI_Isend > 1:1 MPI_Irecv"}, ""},
		{causal.EventID{Rank: 0, Index: 2}, []string{"completes the send of 0:1 MPI_Isend > 1:1 MPI_Irecv"}, ""},
		{causal.EventID{Rank: 2, Index: 1}, nil, "Event 2:1 (MPI_Test_cancelled) has no part in a message"},
		{causal.EventID{Rank: 2, Index: 3}, []string{" 1:3 MPI_Bcast > 2:3 MPI_Bcast"}, ""},
		{
			causal.EventID{Rank: 1, Index: 3},
			[]string{" 1:3 MPI_Bcast > 0:3 MPI_Bcast", " 1:3 MPI_Bcast > 2:3 MPI_Bcast"},
			"",
		},
		{causal.EventID{Rank: 2, Index: 4}, []string{" 2:4 MPI_Gather > 0:4 MPI_Gather"}, ""},
		{
			causal.EventID{Rank: 0, Index: 4},
			[]string{" 1:4 MPI_Gather > 0:4 MPI_Gather", " 2:4 MPI_Gather > 0:4 MPI_Gather"},
			"",
		},
		{causal.EventID{Rank: 1, Index: 5}, []string{
			" 1:5 MPI_Allreduce > 0:5 MPI_Allreduce", " 0:5 MPI_Allreduce > 1:5 MPI_Allreduce",
			" 1:5 MPI_Allreduce > 2:5 MPI_Allreduce", " 2:5 MPI_Allreduce > 1:5 MPI_Allreduce",
		}, ""},
		{causal.EventID{Rank: 1, Index: 6}, nil, "Event 1:6 (MPI_Barrier) is part of MPI_Barrier, a collective"},
	} {
		got, err := messagesOf(g, c.at)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, m := range got.Messages {
			list = append(list, fmt.Sprintf("%s %s > %s", m.Part, m.Send, m.Receive))
			if m.Collective != (m.Part == "") {
				t.Errorf("%s is collective: %v", m.Part, m.Collective)
			}
		}
		if !slices.Equal(list, c.want) || !strings.HasPrefix(got.None, c.none) || (c.none == "") != (got.None == "") {
			t.Errorf("%s has %q, %q; want %q, %q", c.at, list, got.None, c.want, c.none)
		}
	}
	lost, err := messagesOf(events(t, []trace.Event{isend}, nil), causal.EventID{Rank: 0, Index: 1})
	if err != nil || len(lost.Messages) != 1 || lost.Messages[0].To != 1 || lost.Messages[0].Receive.Event != 0 {
		t.Errorf("what nobody receives is %+v, %v", lost, err)
	}
	got, err := messagesOf(g, causal.EventID{Rank: 0, Index: 1})
	if err != nil || !strings.Contains(got.Messages[0].Doubt,
		"What 1:2 received is not as long as what was sent: 8 bytes, but 0:1 sent 16.") {
		t.Errorf("the doubt is %+v, %v", got, err)
	}
	if _, err := messagesOf(g, causal.EventID{Rank: 0, Index: 99}); err == nil {
		t.Error("there is an event 0:99")
	}
}
