package prettyprint_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"
)

const opBarrier, opReduce = 40, 51

// member is a rank of a job of two, in a collective of MPI_COMM_WORLD or of a communicator of its own.
func member(t *testing.T, rank, op, root uint32, operation string, members ...uint32) *handle.Rank {
	t.Helper()
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	comm := im.Comm(prettyprinttest.CommRecord{
		Kind: 1, Handle: 0x44000000, GlobalID: 1, Size: 2, Rank: rank, Name: "MPI_COMM_WORLD", Members: []uint32{0, 1},
	})
	if len(members) > 0 {
		comm = im.Comm(prettyprinttest.CommRecord{
			Kind: 1, Handle: 0x84000001, GlobalID: 0xabc0000000 + uint64(members[0]), Size: uint32(len(members)), Members: members,
			CallSite: 0x401000,
		})
	}
	int_ := im.Named("MPI_INT").Record
	sum := im.Op(prettyprinttest.ObjectRecord{
		Kind: uint32(abi.FunctionPredefined), Handle: 0x58000003, State: abi.ObjectPredefined, Name: operation,
	}, 0, 1)
	im.Call(prettyprinttest.CallRecord{Tid: 7, Active: 1, Event: 20, Action: action(op, comm,
		func(a *prettyprinttest.Action) {
			if op == opBarrier {
				return
			}
			none := int32(prettyprinttest.None32)
			a.Root, a.Reduction = int32(root), sum
			a.Send, a.Receive = side(4096, 1, int_, none, none), side(8192, 1, int_, none, none)
			if root != rank {
				a.Receive.Flags |= abi.SideNotHere
			}
		})})
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// envelopeOf asks for the envelope of the rank's call, as a console of two ranks does.
func envelopeOf(t *testing.T, r *handle.Rank) (e datatype.Envelope) {
	t.Helper()
	line := command.MatchSide{Peer: -1, Envelope: true}.ExportLine()
	res, err := command.Run(r, inCall{}, strings.TrimPrefix(line, "mpipp "))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(res.Text), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCollectivesApart: what two ranks must agree in to be in one collective.
func TestCollectivesApart(t *testing.T) {
	const apart = "These calls are not of one collective: "
	for _, c := range []struct {
		name     string
		one, two *handle.Rank
		want     string
	}{
		{"one reduction", member(t, 0, opReduce, 0, "MPI_SUM"), member(t, 1, opReduce, 0, "MPI_SUM"), ""},
		{
			"each is the root", member(t, 0, opReduce, 0, "MPI_SUM"), member(t, 1, opReduce, 1, "MPI_SUM"),
			apart + "the root is rank 0 of MPI_COMM_WORLD in rank 0, and rank 1 of MPI_COMM_WORLD in rank 1.",
		},
		{
			"neither is", member(t, 0, opReduce, 1, "MPI_SUM"), member(t, 1, opReduce, 0, "MPI_SUM"),
			apart + "the root is rank 1 of MPI_COMM_WORLD in rank 0, and rank 0 of MPI_COMM_WORLD in rank 1.",
		},
		{
			"other operations", member(t, 0, opReduce, 0, "MPI_SUM"), member(t, 1, opReduce, 0, "MPI_MAX"),
			apart + "the operation is MPI_SUM in rank 0, and MPI_MAX in rank 1.",
		},
		{
			"other calls", member(t, 0, opBarrier, 0, ""), member(t, 1, opReduce, 0, "MPI_SUM"),
			apart + "the call is MPI_Barrier in rank 0, and MPI_Reduce in rank 1.",
		},
		{
			"other communicators", member(t, 0, opBarrier, 0, "", 0), member(t, 1, opBarrier, 0, ""),
			apart + "the communicator is intracommunicator of ranks 0, id c0000000 in rank 0, and MPI_COMM_WORLD in rank 1.",
		},
	} {
		one, two := envelopeOf(t, c.one), envelopeOf(t, c.two)
		if got := strings.Join(one.Apart(&two), " "); got != c.want {
			t.Errorf("%s: %s", c.name, cmp.Diff(c.want, got))
		}
	}
	// Both types are there, and match: that is not the answer.
	sends, _ := export(t, member(t, 0, opReduce, 0, "MPI_SUM"), command.MatchSide{Peer: 1})
	recvs, _ := export(t, member(t, 1, opReduce, 1, "MPI_SUM"), command.MatchSide{Peer: 0, Receives: true})
	m, err := datatype.Match(sends[0], recvs[0])
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := m.Text(&b, 0); err != nil || !strings.Contains(b.String(), apart+"the root is rank 0") {
		t.Errorf("two roots: %v\n%s", err, &b)
	}
}

// TestCallsTellHandles: what two ranks say of their calls is the same only if it means the same.
func TestCallsTellHandles(t *testing.T) {
	texts := map[string]string{}
	for name, r := range map[string]*handle.Rank{
		"world": member(t, 0, opBarrier, 0, ""), "split": member(t, 0, opBarrier, 0, "", 0),
		"other": member(t, 0, opBarrier, 0, "", 1), "sum": member(t, 0, opReduce, 0, "MPI_SUM"),
		"max": member(t, 0, opReduce, 0, "MPI_MAX"),
	} {
		res, err := command.Run(r, inCall{}, "--call")
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(res.Text, "\n")
		if was, again := texts[line]; again {
			t.Errorf("%s and %s both say %s", was, name, line)
		}
		texts[line] = name
	}
	for _, want := range []string{
		"MPI_Barrier is being called: intracommunicator of ranks 1, id c0000001",
		"MPI_Reduce is being called: sends 1 × MPI_INT, receives 1 × MPI_INT, root (this rank), MPI_SUM, MPI_COMM_WORLD",
	} {
		if texts[want] == "" {
			t.Errorf("no call says %q: %s", want, fmt.Sprint(texts))
		}
	}
}
