package launch

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/wire"
)

// RankInfo is where a rank is.
type RankInfo struct {
	Host     string
	Pid      int // of the program; 0 until it has been launched
	AgentPid int
}

// Rank is one rank of a session.
type Rank struct {
	number  int
	host    string
	agent   int
	job     string // the launcher's name for it
	pid     atomic.Int64
	debug   bool
	client  *wire.Client
	remote  *remote
	watched chan struct{} // closed when the last event has been seen
	result  RankResult    // owned by watch until watched is closed
}

// RankResult is how a rank ended.
type RankResult struct {
	Exit *backend.Exited // nil: unknown
	Lost string          // why it is unknown: a sentence without its full stop
	// Order counts the ends of ranks from 1 in the order in which they became known: who was first.
	Order int
	// Control is the last that is known of the rank's counters.
	Control backend.ControlState
}

// Failed tells whether the rank ended otherwise than by exit(0).
func (r RankResult) Failed() bool { return r.Exit == nil || r.Exit.Code != 0 || r.Exit.Signal != "" }

// String says it in a few words.
func (r RankResult) String() string {
	switch {
	case r.Exit == nil && r.Lost != "":
		return "lost: " + r.Lost
	case r.Exit == nil:
		return "unknown"
	case r.Exit.Signal != "":
		return "killed by " + r.Exit.Signal
	default:
		return fmt.Sprintf("exited with status %d", r.Exit.Code)
	}
}

// Backend controls the rank. In Run mode only Control, Kill and Events work, the others return
// *backend.UnsupportedError. Events that nobody has read when Session.Stop has ended the job are dropped.
func (r *Rank) Backend() backend.Backend { return r.remote }

// Debugged tells whether the rank has a debugger.
func (r *Rank) Debugged() bool { return r.debug }

// Info tells where the rank is.
func (r *Rank) Info() RankInfo {
	return RankInfo{Host: r.host, Pid: int(r.pid.Load()), AgentPid: r.agent}
}

// newRank takes over the connection of an agent that has been accepted.
func newRank(s *Session, number int, hello wire.Hello, client *wire.Client) *Rank {
	events := make(chan backend.Event)
	r := &Rank{
		number: number, host: hello.Host, agent: hello.Pid, job: hello.Namespace, client: client,
		watched: make(chan struct{}),
		debug:   s.debugged(number),
	}
	r.remote = &remote{client: client, debug: r.debug, events: events, pid: &r.pid}
	queue := wire.NewQueue[backend.Event]()
	go r.watch(s, queue)
	go func() {
		defer close(events)
		for {
			event, ok := queue.Pop(context.Background())
			if !ok {
				return
			}
			select {
			case events <- event:
			case <-s.unread:
				return
			}
		}
	}()
	return r
}

// watch notes what the session must know of a rank, and passes all on.
func (r *Rank) watch(s *Session, queue *wire.Queue[backend.Event]) {
	defer close(r.watched)
	defer queue.Close()
	over := false
	note := func() {
		if !over {
			over = true
			r.result.Order = s.rankOver()
		}
	}
	for event := range r.client.Events() {
		switch {
		case event.Control != nil:
			r.result.Control = *event.Control
		case event.Exited != nil:
			r.result.Exit = event.Exited
			note()
		case event.Ended != nil:
			if r.result.Exit == nil {
				r.result.Lost = event.Ended.Err
			}
			note()
		case event.Output != nil && s.options.Mode == Run:
			if s.options.Output != nil {
				s.output(OutputChunk{Rank: r.number, Category: event.Output.Category, Data: event.Output.Data})
			}
			continue
		}
		queue.Push(event)
	}
	note()
	if s.options.Mode == Run && r.result.Exit == nil {
		s.agentLost()
	}
}
