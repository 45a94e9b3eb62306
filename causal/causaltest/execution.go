package causaltest

import (
	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// Source makes all choices. Intn returns a number from 0 to n-1; n is at least 1. math/rand.Rand is one, and so is
// Rapid.
type Source interface{ Intn(n int) int }

// Config says what an execution is like.
type Config struct {
	Ranks int
	Steps int // calls that are begun, roughly; and as many deliveries of messages

	Collectives bool // also nonblocking ones, and the making of communicators
	Requests    bool // nonblocking and persistent calls, Wait and Test of all kinds, Cancel
	Probes      bool // also matched ones
	Sync        bool // Ssend, Issend
	Racy        bool // mostly wildcards, and messages to few ranks
}

// Everything is a configuration with all kinds of calls.
func Everything(ranks, steps int) Config {
	return Config{Ranks: ranks, Steps: steps, Collectives: true, Requests: true, Probes: true, Sync: true}
}

// Message is the truth about one message. Events that did not happen, or whose call had not returned at the end, are
// zero.
type Message struct {
	Send    causal.EventID // the call that sent it
	Done    causal.EventID // of a synchronous send: the call that ended it
	Post    causal.EventID // the call that posted the receive that took it (the Mprobe, if one did)
	Place   int            // of that receive among those that the call posted
	Start   causal.EventID // the call that began to receive it: Post, or of a matched probe the Mrecv or Imrecv
	Receive causal.EventID // the call that completed the receive
	Probes  []causal.EventID
	Sync    bool
	To      int // world rank
	Bytes   uint64
}

// Collective is the truth about one collective.
type Collective struct {
	Op       mpispec.Op
	Root     int // world rank, or -1
	Blocking bool
	Members  []causal.Member // in the order of the communicator's ranks
}

// Follows says whether the exit of member i must follow the entry of member j.
func (c *Collective) Follows(i, j int) bool {
	if i == j {
		return false
	}
	switch c.Op {
	case mpispec.OpBcast, mpispec.OpIbcast, mpispec.OpScatter:
		return c.Members[j].Rank == c.Root
	case mpispec.OpReduce, mpispec.OpIreduce, mpispec.OpGather:
		return c.Members[i].Rank == c.Root
	case mpispec.OpScan, mpispec.OpExscan:
		return j < i
	case mpispec.OpFinalize, mpispec.OpCommFree:
		return false
	default:
		return true
	}
}

// Execution is what happened in a run.
type Execution struct {
	Records     [][]trace.Record // per rank: its full trace
	Messages    []*Message
	Begun       []*Message // sent by calls that had not returned at the end: Send is no event of the traces
	Collectives []*Collective
	Order       []causal.EventID // the events in the order in which their calls returned
	// Unknown is how many wildcard receives took a message without a completion in the trace, and how many receives
	// were cancelled without one: then matching by the trace alone can be wrong, and says so.
	Unknown int
}

// Events returns the number of events of a rank.
func (x *Execution) Events(rank int) uint64 {
	var n uint64
	for _, r := range x.Records[rank] {
		if _, ok := r.(*trace.Event); ok {
			n++
		}
	}
	return n
}

// Run makes up an execution. The same choices make the same execution.
func Run(src Source, cfg Config) *Execution {
	s := newSim(src, cfg)
	for range cfg.Steps {
		s.deliver()
		r := s.ranks[src.Intn(len(s.ranks))]
		if r.blocked == nil {
			s.begin(r)
		}
		s.proceed()
	}
	s.windDown()
	return s.finish()
}
