package launch

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/queue"
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
	session *Session
	output  *queue.Queue[backend.Output] // Run mode, if the session wants it; else nil
	watched chan struct{}                // closed when the last event has been seen, and all output shown
	result  RankResult                   // owned by note until watched is closed
}

// RankResult is how a rank ended.
type RankResult struct {
	Exit *backend.Exited // nil: unknown
	Lost string          // why it is unknown: a sentence without its full stop
	// Order counts the ends of ranks from 1 in the order in which they became known: who was first.
	Order int
	// Stopped: its end became known after Session.Stop was called.
	Stopped bool
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

// HoldOutput stops the program's output, but for a bounded amount, until it is called with false. It does not block.
func (r *Rank) HoldOutput(hold bool) { r.client.HoldOutput(hold) }

// Info tells where the rank is.
func (r *Rank) Info() RankInfo {
	return RankInfo{Host: r.host, Pid: int(r.pid.Load()), AgentPid: r.agent}
}

// newRank accepts an agent.
func newRank(s *Session, a arrival) (*Rank, error) {
	r := &Rank{
		number: a.hello.Rank, host: a.hello.Host, agent: a.hello.Pid, job: a.hello.Namespace, session: s,
		watched: make(chan struct{}), debug: s.debugged(a.hello.Rank),
	}
	if s.options.Mode == Run && s.options.Output != nil {
		r.output = queue.New(mostOutput, func(o backend.Output) int { return len(o.Data) })
	}
	client, err := a.accept(r.note)
	if err != nil {
		return nil, err
	}
	r.client = client
	r.remote = &remote{client: client, debug: r.debug, pid: &r.pid}
	if r.output != nil {
		go r.show()
	}
	return r, nil
}

// mostOutput is never reached: the agent keeps to wire.Window, and no more than what the kernel keeps beyond it.
const mostOutput = 64 << 20

// note sees each event as it comes, and tells whether it is for the readers of the backend's events.
func (r *Rank) note(event backend.Event) bool {
	switch {
	case event.Control != nil:
		r.result.Control = *event.Control
	case event.Exited != nil:
		r.result.Exit = event.Exited
		r.over()
	case event.Ended != nil:
		if r.result.Exit == nil {
			r.result.Lost = event.Ended.Err
			if r.session.options.Mode == Run {
				defer r.session.agentLost()
			}
		}
		r.over()
		if r.output == nil {
			close(r.watched)
		} else {
			r.output.Close()
		}
	case event.Output != nil && r.output != nil:
		_ = r.output.Push(*event.Output) // it is open until Ended
		return false
	}
	return true
}

// over notes the end of the rank, once.
func (r *Rank) over() {
	if r.result.Order == 0 {
		r.result.Order, r.result.Stopped = r.session.rankOver(), r.session.stopped.Load()
	}
}

// show gives the output of a rank that has no debugger to whoever started the session, who may take their time.
func (r *Rank) show() {
	defer close(r.watched)
	for {
		o, ok := r.output.Pop(context.Background())
		if !ok {
			return
		}
		r.session.output(OutputChunk{Rank: r.number, Category: o.Category, Data: o.Data})
		r.client.Took(len(o.Data))
	}
}
