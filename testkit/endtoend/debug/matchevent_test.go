package debug

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// matchSession is a replay of testdata/matchevent.c, in which messages have tags of their own.
type matchSession struct {
	*editor
	graph *causal.Graph
}

// message finds a message by its tag and sender, the n-th of them.
func (m *matchSession) message(tag int32, from, n int) causal.Exchange {
	m.t.Helper()
	for i := range m.graph.Events(from) {
		all, err := m.graph.Exchanges(causal.EventID{Rank: from, Index: i + 1})
		if err != nil {
			m.t.Fatal(err)
		}
		for _, x := range all {
			if x.Part != causal.PartSends || x.Tag != tag {
				continue
			}
			if n--; n <= 0 {
				return x
			}
		}
	}
	m.t.Fatalf("there is no message with tag %d of rank %d", tag, from)
	return causal.Exchange{}
}

// collective is the call of a rank in the only collective of that kind.
func (m *matchSession) collective(op mpispec.Op, rank int) causal.EventID {
	m.t.Helper()
	for i := range m.graph.Events(rank) {
		at := causal.EventID{Rank: rank, Index: i + 1}
		if c, ok := m.graph.CollectiveOf(at); ok && c.Op == op {
			return at
		}
	}
	m.t.Fatalf("there is no %s", op)
	return causal.EventID{}
}

// says checks what mpipp --match answers.
func (m *matchSession) says(ask string, parts ...string) {
	m.t.Helper()
	got := m.Console("mpipp --match "+ask, 0)
	for _, p := range parts {
		if !strings.Contains(got, p) {
			m.t.Errorf("mpipp --match %s answers, without %q,\n%s", ask, p, got)
		}
	}
	if strings.Contains(got, "But ") || strings.Contains(got, "This send is not") {
		m.t.Errorf("mpipp --match %s has an objection:\n%s", ask, got)
	}
}

func (m *matchSession) refuses(ask string, parts ...string) {
	m.t.Helper()
	m.Refused("evaluate", godap.EvaluateArguments{Expression: "mpipp --match " + ask, Context: "repl"}, parts...)
}

// standsAt checks that ranks have just ended calls.
func (m *matchSession) standsAt(events ...causal.EventID) {
	m.t.Helper()
	counters := m.counters()
	for _, e := range events {
		if counters[e.Rank] != e.Index {
			m.t.Errorf("rank %d has completed %d events, want %d", e.Rank, counters[e.Rank], e.Index)
		}
	}
	if err := m.graph.CheckCut(counters); err != nil {
		m.t.Error(err)
	}
}

// Types of messages that fit, are partial, differ or are truncated, of every kind of send and receive, compared by the
// numbers of their events in one session.
func TestDAPMatchOfRecordedEvents(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "openmpi") // no MPI knows of what happens here
	p := newDAPPlace(t, mpi)
	program := mpi.BuildFile(t, filepath.Join(mpitest.Root(t), "testkit", "endtoend", "debug", "testdata", "matchevent.c"))
	recorded := p.record("r.cohort", 4, nil, program)
	e := p.editor()
	e.Launch(protocol.LaunchArguments{Recording: recorded, StopOnEntry: true})
	e.ConfigurationDone()
	e.Expect(stops("entry", 0, 1, 2, 3)...)
	e.Console("cut 0:1", 0)
	m := &matchSession{editor: e, graph: graphOf(t, recorded)}
	m.refuses("0:5000", "here is no event 0:5000")

	equal := m.message(1, 0, 1)
	m.says(equal.Receive.String(),
		fmt.Sprintf("Event %s MPI_Recv receives the message of %s MPI_Send to %s MPI_Recv, tag 1, 20 bytes.",
			equal.Receive, equal.Send, equal.Receive),
		"send     particle (rank 0, event "+equal.Send.String()+" MPI_Send): STRUCT, 10 entries",
		"receive  particle (rank 1, event "+equal.Receive.String()+" MPI_Recv): STRUCT",
		"They match: all 10 entries agree.")
	m.standsAt(equal.Send, equal.Receive)

	partial := m.message(2, 1, 1)
	m.says(partial.Send.String(), "MPI_Bsend): VECTOR, 4 entries, 32 bytes",
		"They match: the receive is partial. The send ends after 4 entries, and the receive could take 4 more, "+
			"from MPI_DOUBLE{4}(DOUBLE) on.")
	m.standsAt(partial.Send, partial.Receive)

	m.says(m.message(3, 2, 1).Send.String(), "They do not match, which is an error: entry 0 is MPI_DOUBLE in the "+
		"send, at MPI_DOUBLE{0}(DOUBLE), and MPI_INT in the receive, at MPI_INT{0}(INT).")
	m.says(m.message(4, 3, 1).Receive.String(), "The message is truncated, which is an error: the receive ends "+
		"after 4 entries, and the send has 4 more, from MPI_INT{4}(INT) on.")

	wild := m.message(5, 2, 1)
	m.says(wild.Receive.String(), "MPI_Ssend", "could take 1 more",
		fmt.Sprintf("%s MPI_Recv): 3 × MPI_INT", wild.Receive))

	// Posted before a barrier, sent after it; the requests of the others are still pending then.
	posted := m.message(6, 2, 1)
	m.refuses(posted.Receive.String(), "has a part in 3 messages; say which is meant",
		"message 3    completes the receive of the message of")
	m.says(posted.Receive.String()+" from 2", "completes the receive of the message of", "MPI_Irecv): 2 × VECTOR",
		"could take 4 more")
	m.standsAt(posted.Send)
	m.says(m.message(6, 3, 1).Receive.String()+" from 3", "MPI_Irecv): 3 × VECTOR", "MPI_Isend): 4 × MPI_DOUBLE",
		"could take 8 more")
	m.says(m.message(6, 1, 1).Post.String(), "MPI_Irecv): VECTOR", "They match: all 4 entries agree.")

	// Two requests that one call starts, on both sides; the second time nothing moves.
	second, first := m.message(8, 1, 1), m.message(7, 1, 1)
	m.says(second.Send.String()+" tag 8", "MPI_Ssend_init): 2 × MPI_DOUBLE", "MPI_Recv_init): 2 × MPI_DOUBLE",
		"They match: all 2 entries agree.")
	m.standsAt(second.Send, second.Start)
	m.says(first.Send.String()+" to 2 tag 7", "MPI_Send_init): 7 × MPI_INT", "MPI_Recv_init): 8 × MPI_INT",
		"could take 1 more")
	m.standsAt(second.Send, second.Start)
	again := m.message(8, 1, 2)
	m.says(again.Receive.String(), again.Send.String()+" MPI_Ssend_init", "They match: all 2 entries agree.")

	ring := m.message(9, 0, 1)
	m.says(ring.Send.String()+" to 1", "MPI_Sendrecv",
		"entry 0 is MPI_DOUBLE in the send, at MPI_DOUBLE{0}(DOUBLE), and MPI_LONG in the receive")
	m.standsAt(ring.Send, ring.Receive)

	m.says(m.message(10, 3, 1).Post.String(), "MPI_Mprobe takes, for a later call to receive, the message of",
		"MPI_Mrecv): 5 × MPI_INT", "They match: all 5 entries agree.")
	m.says(m.message(11, 3, 1).Receive.String(), "MPI_Imrecv): 8 × MPI_FLOAT", "They do not match")

	late := m.message(12, 2, 1)
	m.says(late.Receive.String(), "MPI_Isend): 3 × MPI_INT", "They match: all 3 entries agree.")
	m.standsAt(late.Receive)

	m.says(m.message(14, 0, 1).Send.String(), "They match: all 4,096 entries agree.")
	m.says(m.message(15, 3, 1).Receive.String(), "rank 3, event", "They do not match")

	m.says(m.collective(mpispec.OpBcast, 0).String(), "MPI_Bcast is of a collective in which 2:", "column (rank 2",
		"They match: all 4 entries agree.")
	gather := m.collective(mpispec.OpGather, 1)
	m.refuses(gather.String(), "3 messages")
	m.says(gather.String()+" from 3", "They match: all 3 entries agree.")
	m.says(m.collective(mpispec.OpGatherv, 0).String()+" from 2", "They match: all 3 entries agree.")
	m.says(m.collective(mpispec.OpAllreduce, 1).String()+" from 2", "They match: all 3 entries agree.")

	m.refuses(equal.Send.String(), "has completed", "start it anew")
	e.Continue(0)
	e.Expect(daptest.Output("stdout", "[0] matchevent: done\n"))
	e.ends(0)
	p.NothingLeft()
}
