package dap

import (
	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

// acting is the rank of a DAP thread and the ranks that a command on it acts on: the focus if the rank is in it, else
// the rank alone; with single the rank alone.
func (k *call) acting(threadID int, single bool) (rank, thread int, ranks rankset.Set, err error) {
	d := k.d
	if rank, thread, err = k.thread(threadID); err != nil {
		return 0, 0, rankset.Set{}, err
	}
	focus, err := d.Job.Focus()
	if single || !focus.Contains(rank) {
		return rank, thread, rankset.New(rank), err
	}
	return rank, thread, focus, err
}

// thread is the rank and the debugger's thread number that a DAP thread id stands for.
func (k *call) thread(id int) (rank, thread int, err error) {
	n := k.d.Job.Ranks()
	rank, thread = protocol.RankThread(id)
	if rank < 0 || rank >= n {
		return 0, 0, refuse("%s names thread %d, which is none of the job's %d ranks: use an id that threads gives",
			k.asked, id, n)
	}
	return rank, thread, nil
}

// continueRequest is the request; the console's command is continueRanks.
func continueRequest(k *call, a godap.ContinueArguments) (any, error) {
	if !k.c.caps.cohort && !a.SingleThread {
		if err := k.checkChosen(a.ThreadId); err != nil {
			return nil, err
		}
	}
	return continueRanks(k, a)
}

func continueRanks(k *call, a godap.ContinueArguments) (any, error) {
	d := k.d
	rank, _, ranks, err := k.acting(a.ThreadId, a.SingleThread)
	if err != nil {
		return nil, err
	}
	d.cancelRun()
	k.c.view.want(-1)
	if d.breakpoints.causal() {
		err := k.continueSteered(ranks)
		// Which ranks continue, and when, is the run's affair: each is told by a continued event.
		return godap.ContinueResponseBody{AllThreadsContinued: false}, err
	}
	k.lockGate()
	before, err := d.Job.Status()
	if err != nil {
		return nil, err
	}
	resumed, err := k.resume(rank, ranks, backend.ResumeRequest{Kind: backend.Continue})
	if err != nil {
		return nil, err
	}
	all := true
	for _, r := range before {
		if r.State == job.Starting || (r.State == job.Stopped && !resumed.Contains(r.Rank)) {
			all = false
		}
	}
	return godap.ContinueResponseBody{AllThreadsContinued: all}, nil
}

// checkChosen refuses to continue a rank that nobody has chosen: an editor that shows one stop only may answer those of
// other ranks with continue by itself, which would let all go that the user has just stopped.
func (k *call) checkChosen(threadID int) error {
	rank, _, err := k.thread(threadID)
	if err != nil || k.c.view.chosen(rank) {
		return err
	}
	if _, err := k.stopped(rank); err != nil {
		return err
	}
	return quietly("%s of rank %d was not carried out, because another rank is shown as stopped, and nobody has "+
		"looked at this one: look at its stack first, continue the one that is shown, or send `singleThread`", k.asked, rank)
}

// resume resumes ranks, for a request on rank. It is an error if none was resumed, or rank was not.
func (k *call) resume(rank int, ranks rankset.Set, how backend.ResumeRequest) (rankset.Set, error) {
	d := k.d
	status, err := d.Job.Status()
	if err != nil {
		return rankset.Set{}, err
	}
	own := status[rank]
	if own.State != job.Stopped && (how.Kind != backend.Continue || ranks.Len() == 1) {
		return rankset.Set{}, notStopped("%s needs a stopped rank, and rank %d is %s", k.asked, rank, own.State)
	}
	// Of the rank that was asked for, the thread that was asked for steps; of each other one, the thread that has
	// stopped.
	if own.Stop != nil && own.Stop.Thread == how.Thread {
		how.Thread = 0
	}
	var resumed rankset.Set
	if how.Thread != 0 && ranks.Len() > 1 {
		resumed, err = d.Job.Resume(k.ctx, rankset.New(rank), how)
		if err != nil {
			return resumed, err
		}
		ranks, how.Thread = ranks.Without(rank), 0
	}
	more, err := d.Job.Resume(k.ctx, ranks, how)
	resumed = resumed.Union(more)
	k.c.view.resumed(resumed)
	if err != nil && !resumed.Empty() {
		k.c.say("important", sentence(err.Error())+"\n") // the others do run, and the client must know it
		err = nil
	}
	if err == nil && resumed.Empty() {
		err = notStopped("%s needs a stopped rank, and none of the ranks [%s] is stopped", k.asked, ranks)
	}
	return resumed, err
}

// lockGate holds this client's events back until the request is answered.
func (k *call) lockGate() {
	k.c.gate.Lock()
	k.onAnswered(k.c.gate.Unlock)
}

// stepArguments are those of next, stepIn and stepOut.
type stepArguments struct {
	ThreadId     int    `json:"threadId"` //nolint:staticcheck // DAP's name, as in go-dap
	SingleThread bool   `json:"singleThread"`
	Granularity  string `json:"granularity"`
	TargetId     int    `json:"targetId"` //nolint:staticcheck // likewise
}

// step makes the handler of one kind of step.
func step(kind backend.ResumeKind) func(*call, stepArguments) (any, error) {
	return func(k *call, a stepArguments) (any, error) {
		how := backend.ResumeRequest{Kind: kind}
		switch a.Granularity {
		case "", "statement", "line":
		case "instruction":
			how.Instruction = true
		default:
			return nil, refuse("%s does not know the granularity %s: use \"statement\", \"line\" or \"instruction\"",
				k.asked, quoteShort(a.Granularity))
		}
		if a.TargetId != 0 {
			return nil, refuse("%s cannot step into a chosen target: leave `targetId` out", k.asked)
		}
		rank, thread, ranks, err := k.acting(a.ThreadId, a.SingleThread)
		if err != nil {
			return nil, err
		}
		k.d.cancelRun()
		how.Thread = thread
		k.c.view.want(rank)
		k.lockGate()
		_, err = k.resume(rank, ranks, how)
		return nil, err
	}
}

// pauseArguments are DAP's, with singleThread as its sisters have it.
type pauseArguments struct {
	ThreadId     int  `json:"threadId"` //nolint:staticcheck // DAP's name, as in go-dap
	SingleThread bool `json:"singleThread"`
}

func pause(k *call, a pauseArguments) (any, error) {
	d := k.d
	rank, _, ranks, err := k.acting(a.ThreadId, a.SingleThread)
	if err != nil {
		return nil, err
	}
	d.srv.mu.Lock()
	d.pauses++
	d.srv.mu.Unlock()
	d.cancelRun()
	k.lockGate()
	status, err := d.Job.Status()
	if err != nil {
		return nil, err
	}
	switch own := status[rank]; {
	case own.State.Gone() && ranks.Len() == 1:
		return nil, refuse("pause cannot stop rank %d any more: %s", rank, own.Text)
	case own.State == job.Running:
		k.c.view.want(rank)
	default:
		k.c.view.want(-1)
	}
	return nil, d.Job.Interrupt(k.ctx, ranks)
}

// stopped is the status of a rank, if it is stopped.
func (k *call) stopped(rank int) (job.RankStatus, error) {
	status, err := k.d.Job.Status()
	if err != nil {
		return job.RankStatus{}, err
	}
	s := status[rank]
	if s.State != job.Stopped {
		return s, notStopped("%s needs a stopped rank, and rank %d is %s", k.asked, rank, s.State)
	}
	return s, nil
}
