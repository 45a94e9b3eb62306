package job

import (
	"context"

	"github.com/cohort-debugger/cohort/internal/queue"
	"github.com/cohort-debugger/cohort/rankset"
)

// A Stream is what a subscription delivers.
type Stream int

// The streams.
const (
	Everything Stream = iota
	WithoutOutput
)

// A Subscription is one ordered stream of a job's events. Its owner reads Events until it is closed, or calls Close.
type Subscription struct {
	// Ranks and Focus are as they were immediately before the first event of the stream.
	Ranks []RankStatus
	Focus rankset.Set

	stream Stream
	queue  *queue.Queue[Event]
	events <-chan Event
	end    context.CancelFunc
}

// Bounds of what waits for a subscriber, in bytes.
const (
	// mostBehind is how far a subscriber may be behind before the ranks' output is held.
	mostBehind = 1 << 20
	// mostQueued is what waits at most; only what cannot be held comes near it.
	mostQueued = 64 << 20
)

// Subscribe begins a stream: everything that happens from now on, in the job's order. A slow subscriber delays nobody,
// except that the ranks' output is held while one that wants it is far behind. One that leaves far too much unread
// loses the rest: its stream ends, and Overflowed tells. After Job.Close the stream delivers what is left and then is
// closed; subscribing to a closed job gives a closed stream.
func (j *Job) Subscribe(stream Stream) *Subscription {
	s := &Subscription{stream: stream, queue: queue.New(mostQueued, Event.weight)}
	ctx, cancel := context.WithCancel(context.Background())
	s.events, s.end = s.queue.Chan(ctx), cancel
	err := j.call(func() {
		s.Ranks, s.Focus = j.statuses(), j.focus
		j.subscribers[s] = struct{}{}
	})
	if err != nil {
		s.queue.Close()
	}
	return s
}

// Events delivers the stream. It is closed after the last event, or after Close.
func (s *Subscription) Events() <-chan Event { return s.events }

// More tells whether an event that is not held back waits behind the one that was read last.
func (s *Subscription) More() bool { return s.queue.Ready() }

// Unread tells whether anything waits, held back or not.
func (s *Subscription) Unread() bool { return s.queue.Weight() > 0 }

// HoldOutput holds output back until it is called with false, but for one event that may be on its way already. What
// ranks do overtakes it meanwhile; idleness, the end and marks do not, as they tell that the output before them is all.
// What is held back counts as unread: the ranks' own output is held when it is much.
func (s *Subscription) HoldOutput(hold bool) {
	if hold {
		s.queue.Hold(Event.endsOutput)
	} else {
		s.queue.Hold(nil)
	}
}

// endsOutput tells whether the event is output, or says that there is none left.
func (e Event) endsOutput() bool { return e.Output != nil || e.Idle || e.Ended != nil || e.Mark != nil }

// Overflowed tells whether the stream ended because too much of it was not read.
func (s *Subscription) Overflowed() bool { return s.queue.Overflowed() }

// Mark returns a channel that is closed when the reader has come to this place in the stream, and calls Event.Mark. It
// never is if the stream has ended.
func (s *Subscription) Mark() <-chan struct{} {
	reached := make(chan struct{})
	_ = s.queue.Push(Event{Mark: func() { close(reached) }})
	return reached
}

// Close ends the subscription and drops what was not read; when it returns Events is closed. It may be called more than
// once, and from any goroutine.
func (s *Subscription) Close() {
	s.queue.Discard()
	s.end()
	for range s.events { // the end is all that is wanted
	}
}

// weight is about how many bytes the event takes while it is queued.
func (e Event) weight() int {
	const each = 512
	if e.Output != nil {
		return each + len(e.Output.Text)
	}
	return each
}

// publish gives the event to every subscriber. Owner.
func (j *Job) publish(e Event) {
	j.seq++
	e.Seq = j.seq
	for s := range j.subscribers {
		if e.Output != nil && s.stream == WithoutOutput {
			continue
		}
		if s.queue.Push(e) != nil {
			delete(j.subscribers, s)
		}
	}
}

// holdOutput stops the ranks' output while a subscriber is far behind. Owner.
func (j *Job) holdOutput() {
	if j.held {
		return
	}
	var behind []*Subscription
	for s := range j.subscribers {
		if s.queue.Weight() > mostBehind {
			behind = append(behind, s)
		}
	}
	if len(behind) == 0 {
		return
	}
	j.setHeld(true)
	j.wg.Go(func() {
		for _, s := range behind {
			s.queue.Below(j.ctx, mostBehind/2)
		}
		j.post(func() {
			j.setHeld(false)
			j.holdOutput() // another may be behind by now
		})
	})
}

// setHeld holds the output of all ranks, or lets it go. Owner.
func (j *Job) setHeld(held bool) {
	j.held = held
	for _, r := range j.ranks {
		if hold := r.info.HoldOutput; hold != nil {
			hold(held)
		}
	}
}

// endSubscriptions lets each deliver what it has and end. Owner.
func (j *Job) endSubscriptions() {
	for s := range j.subscribers {
		s.queue.Close()
	}
	clear(j.subscribers)
}
