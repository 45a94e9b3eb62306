package prettyprint_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
)

// inCall is a resolver whose rank is in the call that the registry has.
type inCall struct{ variables }

func (inCall) Thread() int32 { return 7 }

// The operations of enum cohort_op.
const (
	opIsend, opRecv, opIrecv, opSendrecv, opSendInit, opRecvInit, opStartall, opWaitall, opBcast, opGather, opAlltoallv,
	opAllreduce = 5, 9, 10, 11, 19, 23, 25, 27, 41, 42, 49, 52
)

// exchanging is a rank, 2 of 4, that is in a call after event 20; it has posted two receives and a send, and has three
// persistent requests.
type exchanging struct {
	im     *prettyprinttest.Image
	world  uint64
	int_   uint64
	double uint64
}

func newExchanging() *exchanging {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	x := &exchanging{im: im, int_: im.Named("MPI_INT").Record, double: im.Named("MPI_DOUBLE").Record}
	x.world = im.Comm(prettyprinttest.CommRecord{
		Kind: 1, Handle: 0x44000000, GlobalID: 1, Size: 4, Rank: 2,
		Name: "MPI_COMM_WORLD", Members: []uint32{0, 1, 2, 3},
	})
	x.request(0x98000002, abi.RequestActive, 10, 0, opIrecv, func(a *prettyprinttest.Action) {
		a.Receive = side(4096, 3, x.int_, -1, 7)
	})
	x.request(0x98000001, abi.RequestActive, 11, 0, opIrecv, func(a *prettyprinttest.Action) {
		a.Receive = side(4096, 2, x.int_, 1, 7)
	})
	x.request(0x98000003, abi.RequestActive, 12, 0, opIsend, func(a *prettyprinttest.Action) {
		a.Send = side(4096, 4, x.double, 3, 8)
	})
	persistent := abi.ObjectState(abi.RequestActive | abi.RequestPersistent)
	x.request(0x98000004, persistent, 1, 15, opSendInit, func(a *prettyprinttest.Action) {
		a.Send = side(4096, 5, x.int_, 0, 9)
	})
	x.request(0x98000005, persistent, 2, 15, opSendInit, func(a *prettyprinttest.Action) {
		a.Send = side(4096, 6, x.int_, 0, 9)
	})
	x.request(0x98000006, persistent, 3, 15, opRecvInit, func(a *prettyprinttest.Action) {
		a.Receive = side(4096, 7, x.int_, 0, 9)
	})
	return x
}

func (x *exchanging) request(rawHandle uint64, state abi.ObjectState, event, started uint64, op uint32,
	change func(a *prettyprinttest.Action),
) {
	x.im.Request(prettyprinttest.RequestRecord{
		ObjectRecord: prettyprinttest.ObjectRecord{Handle: rawHandle, State: state, Event: event}, StartEvent: started,
		Action: action(op, x.world, change),
	})
}

// call is what the rank is in.
func (x *exchanging) call(op uint32, change func(a *prettyprinttest.Action), requests ...uint32) *exchanging {
	c := prettyprinttest.CallRecord{
		Tid: 7, Active: 1, Event: 20, Action: action(op, x.world, change),
		NRequests: int64(len(requests)),
	}
	if len(requests) > 0 {
		var b []byte
		for _, h := range requests {
			b = binary.LittleEndian.AppendUint32(b, h)
		}
		c.Requests, c.Action.Comm = x.im.Alloc(b), 0
	}
	x.im.Call(c)
	return x
}

// export asks as a console of two ranks does, and says what comes: count, type, whom it is for, and the call.
func export(t *testing.T, r *handle.Rank, m command.MatchSide) ([]datatype.Side, string) {
	t.Helper()
	result, err := command.Run(r, inCall{}, strings.TrimPrefix(m.ExportLine(), "mpipp "))
	if err != nil {
		return nil, err.Error()
	}
	var sides []datatype.Side
	var all []string
	for line := range strings.Lines(result.Text) {
		s, err := datatype.Import(line)
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, s)
		all = append(all, fmt.Sprintf("%d %s, %s, peer %d, tag %d", s.Count, s.Type.Title(), s.Envelope.Name(),
			s.Envelope.Peer, s.Envelope.Tag))
	}
	return sides, strings.Join(all, "\n")
}

func TestSidesOfCallsAndEvents(t *testing.T) {
	const none = 0x2c000000
	send, recv := command.MatchSide{Peer: -1}, command.MatchSide{Peer: -1, Receives: true}
	event := func(m command.MatchSide, event uint64, callName string, which int) command.MatchSide {
		m.Event, m.Call, m.Which = event, callName, which
		return m
	}
	peer := func(m command.MatchSide, rank int) command.MatchSide {
		m.Peer = rank
		return m
	}
	sendrecv := func(x *exchanging) *exchanging {
		return x.call(opSendrecv, func(a *prettyprinttest.Action) {
			a.Send, a.Receive = side(4096, 1, x.int_, 3, 1), side(4096, 2, x.double, 1, -1)
		})
	}
	waitall := func(x *exchanging) *exchanging {
		return x.call(opWaitall, func(*prettyprinttest.Action) {}, 0x98000001, none, 0x98000003, 0x98000002)
	}
	for _, c := range []struct {
		name string
		in   func(x *exchanging) *exchanging
		ask  command.MatchSide
		want string
	}{
		{"the two sides of a call", sendrecv, send, "1 MPI_INT, MPI_Sendrecv, peer 3, tag 1"},
		{"the other", sendrecv, recv, "2 MPI_DOUBLE, MPI_Sendrecv, peer 1, tag -1"},
		{
			"the call by its event", sendrecv, event(recv, 21, "MPI_Sendrecv", 0),
			"2 MPI_DOUBLE, MPI_Sendrecv, peer 1, tag -1",
		},
		{"a receive sends nothing", func(x *exchanging) *exchanging {
			return x.call(opRecv, func(a *prettyprinttest.Action) { a.Receive = side(4096, 2, x.int_, 1, 7) })
		}, send, "MPI_Recv sends nothing: it receives up to 2 × MPI_INT from rank 1, tag 7, MPI_COMM_WORLD."},
		// In the order of their posting, not of the array.
		{"what is waited for", waitall, recv, "3 MPI_INT, MPI_Irecv, request [3] of MPI_Waitall, peer -1, tag 7\n2 " +
			"MPI_INT, MPI_Irecv, request [0] of MPI_Waitall, peer 1, tag 7"},
		{"the only send", waitall, send, "4 MPI_DOUBLE, MPI_Isend, request [2] of MPI_Waitall, peer 3, tag 8"},
		{
			"no send among them", func(x *exchanging) *exchanging {
				return x.call(opWaitall, func(*prettyprinttest.Action) {}, 0x98000001, 0x98000002)
			}, send,
			"None of the requests of MPI_Waitall is a send: MPI_Irecv receives up to 3 × MPI_INT from any rank, tag " +
				"7, MPI_COMM_WORLD; MPI_Irecv receives up to 2 × MPI_INT from rank 1, tag 7, MPI_COMM_WORLD.",
		},
		{
			"all are complete", func(x *exchanging) *exchanging {
				return x.call(opWaitall, func(*prettyprinttest.Action) {}, none, none)
			}, send,
			"MPI_Waitall has ended: its requests are complete, and MPI_REQUEST_NULL now.",
		},
		{"nothing that has data", func(x *exchanging) *exchanging {
			return x.call(40, func(*prettyprinttest.Action) {})
		}, send, "MPI_Barrier sends nothing."},
		{"pending since that event", sendrecv, event(recv, 12, "MPI_Irecv", 0), "2 MPI_INT, MPI_Irecv, peer 1, tag 7"},
		{
			"of the other kind", sendrecv, event(send, 12, "MPI_Irecv", 0),
			"The rank is not in the call of its event 12, and has no request of it.",
		},
		{
			"no longer there", sendrecv, event(recv, 5, "MPI_Recv", 0),
			"The rank is not in the call of its event 5, and has no request of it.",
		},
		{
			"started by that event", sendrecv, event(recv, 15, "MPI_Startall", 2),
			"7 MPI_INT, MPI_Recv_init, peer 0, tag 9",
		},
		{
			"one of two", sendrecv, event(send, 15, "MPI_Startall", 1),
			"The rank is not in the call of its event 15, which started 2 requests, and which of them is meant is " +
				"not known any more.",
		},
		{
			"not by the event that made it", sendrecv, event(recv, 4, "MPI_Recv_init", 0),
			"The rank is not in the call of its event 4, and has no request of it.",
		},
		{"in the call that starts them", func(x *exchanging) *exchanging {
			return x.call(opStartall, func(*prettyprinttest.Action) {}, 0x98000004, 0x98000005, 0x98000006)
		}, event(send, 21, "MPI_Startall", 1), "6 MPI_INT, MPI_Send_init, peer 0, tag 9"},
		{
			"a poll that fails is another call", func(x *exchanging) *exchanging {
				return x.call(30, func(*prettyprinttest.Action) {}, 0x98000001)
			}, event(recv, 21, "MPI_Start", 0),
			"The rank is not in the call of its event 21, and has no request of it.",
		},
		{
			"beyond the array", func(x *exchanging) *exchanging {
				return x.call(opStartall, func(*prettyprinttest.Action) {}, 0x98000004)
			}, event(send, 21, "MPI_Startall", 1),
			"MPI_Startall is given 1 request, and number 1 was asked for.",
		},
		{"a part for each", gather, recv, "3 MPI_INT, MPI_Gather, peer -3, tag -3"},
		{"an array of parts", alltoallv, peer(recv, 3), "9 MPI_INT, MPI_Alltoallv, peer -3, tag -3"},
		{"whose part is not known", alltoallv, recv, "MPI_Alltoallv has a buffer with a part for each of 4 ranks; " +
			"name the type and count of one with mpipp --match."},
		{"in place", func(x *exchanging) *exchanging {
			return x.call(opAllreduce, func(a *prettyprinttest.Action) {
				a.Send, a.Receive = prettyprinttest.NoSide,
					side(4096, 3, x.double, prettyprinttest.None32, prettyprinttest.None32)
				a.Send.Flags = 3
			})
		}, send, "3 MPI_DOUBLE, MPI_Allreduce, peer -3, tag -3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := c.in(newExchanging())
			r, err := handle.Open(x.im, x.im.Publish())
			if err != nil {
				t.Fatal(err)
			}
			if _, got := export(t, r, c.ask); got != c.want {
				t.Error(cmp.Diff(c.want, got))
			}
		})
	}
}

// gather is MPI_Gather at the root, which receives 3 from each.
func gather(x *exchanging) *exchanging {
	return x.call(opGather, func(a *prettyprinttest.Action) {
		a.Root, a.Send = 2, side(4096, 3, x.int_, prettyprinttest.None32, prettyprinttest.None32)
		a.Receive = side(4096, 3, x.int_, prettyprinttest.None32, prettyprinttest.None32)
		a.Receive.Flags, a.Receive.N = 1|1<<8, 4
	})
}

// alltoallv receives 3 × (i + 1) - 3 from rank i.
func alltoallv(x *exchanging) *exchanging {
	counts, displs := make([]byte, 16), make([]byte, 16)
	for i := range 4 {
		binary.LittleEndian.PutUint32(counts[4*i:], uint32(3*i))
	}
	c, d := x.im.Alloc(counts), x.im.Alloc(displs)
	return x.call(opAlltoallv, func(a *prettyprinttest.Action) {
		a.Receive = side(4096, -1, x.int_, prettyprinttest.None32, prettyprinttest.None32)
		a.Receive.Flags, a.Receive.N, a.Receive.Counts, a.Receive.Displs = 1|1<<2, 4, c, d
	})
}

func TestPickMatch(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.OpenMPI)
	double := im.Named("MPI_DOUBLE")
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		t.Fatal(err)
	}
	dt, err := r.DatatypeOfHandle(double.Handle, false)
	if err != nil {
		t.Fatal(err)
	}
	of := func(count, self, peer, tag int64) datatype.Side {
		return datatype.Side{
			Type: dt, Count: count,
			Envelope: &datatype.Envelope{Call: "MPI_X", Comm: 1, Self: self, Peer: peer, Tag: tag},
		}
	}
	named := datatype.Side{Type: dt, Count: 9}
	for _, c := range []struct {
		name         string
		sends, recvs []datatype.Side
		send, recv   int64 // counts
		note, err    string
	}{
		{
			"one of each, which do not fit",
			[]datatype.Side{of(1, 0, 2, 5)},
			[]datatype.Side{of(2, 1, 0, 5)},
			1, 2,
			"", "",
		},
		{
			"only one fits",
			[]datatype.Side{of(1, 0, 2, 5), of(2, 0, 1, 5)},
			[]datatype.Side{of(3, 1, 0, 4), of(4, 1, -1, -1)},
			2, 4, "", "",
		},
		{
			"several fit",
			[]datatype.Side{of(1, 0, 1, 5), of(2, 0, 1, 5)},
			[]datatype.Side{of(3, 1, 0, 5)},
			1, 3,
			"Of 2 sends and 1 receive that could be meant", "",
		},
		{
			"none fits",
			[]datatype.Side{of(1, 0, 1, 5), of(2, 0, 1, 6)},
			[]datatype.Side{of(3, 1, 0, 7)},
			0, 0, "",
			"Of 2 sends and 1 receive none fit each other by communicator, rank and tag: MPI_X sends MPI_DOUBLE to " +
				"rank 1, tag 5; " +
				"MPI_X sends 2 × MPI_DOUBLE to rank 1, tag 6; MPI_X receives 3 × MPI_DOUBLE from rank 0, tag 7.",
		},
		{
			"a type that was named",
			[]datatype.Side{named},
			[]datatype.Side{of(3, 1, 0, 7), of(4, 1, 0, 7)},
			9, 3,
			"Of 1 send and 2 receives", "",
		},
	} {
		send, recv, note, err := datatype.PickMatch(c.sends, c.recvs)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v; want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil || send.Count != c.send || recv.Count != c.recv || !strings.HasPrefix(note, c.note) ||
			(note == "") != (c.note == "") {
			t.Errorf("%s: %d and %d are chosen, %q, %v", c.name, send.Count, recv.Count, note, err)
		}
	}
}

func TestParseMatchEvent(t *testing.T) {
	five := 5
	for _, c := range []struct {
		line string
		want command.MatchEvent
		err  string
	}{
		{"2:17", command.MatchEvent{At: "2:17"}, ""},
		{" 2:17  from 0 ", command.MatchEvent{At: "2:17", From: "0"}, ""},
		{"2:17 from [0] to 3:4 tag 5 message 2", command.MatchEvent{
			At: "2:17", From: "0", To: "3:4", Tag: &five,
			Number: 2,
		}, ""},
		{"2:17 from", command.MatchEvent{}, `nothing follows "from"`},
		{"2:17 from x", command.MatchEvent{}, `"x" is neither a rank nor an event`},
		{"2:17 tag x", command.MatchEvent{}, `"x" is no tag`},
		{"2:17 message 0", command.MatchEvent{}, "counted from 1"},
		{"2:17 to 1 by 2", command.MatchEvent{}, `"by" is none of these`},
		{"2:17 column to MPI_INT", command.MatchEvent{}, `"column" is none of these`},
	} {
		got, ours, err := command.ParseMatchEvent(c.line)
		if c.err != "" {
			if !ours || err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v; want %q", c.line, err, c.err)
			}
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" || !ours || err != nil {
			t.Errorf("%q: %s %v", c.line, d, err)
		}
	}
	for _, line := range []string{"", "[0] to [1]", "column to MPI_INT", "2:x", "-1:2", "2:17x"} {
		if _, ours, _ := command.ParseMatchEvent(line); ours {
			t.Errorf("%q is taken for an event", line)
		}
	}
}
