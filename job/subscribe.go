package job

import "sync"

// A Subscription is one ordered stream of a job's events. Its owner reads Events until it is closed, or calls Close.
type Subscription struct {
	events   chan Event
	in       chan Event // from the owner goroutine
	end      chan struct{}
	closed   chan struct{}
	once     sync.Once
	snapshot []RankStatus
	focus    RankSet
	idle     bool
}

// Subscribe begins a stream: everything that happens from now on, in the job's order. buffer is a hint for the capacity
// of the channel; what does not fit is kept in a queue without bound, so a slow subscriber delays nobody. After
// Job.Close the stream delivers what is left and then is closed; subscribing to a closed job gives a closed stream.
func (j *Job) Subscribe(buffer int) *Subscription {
	s := &Subscription{
		events: make(chan Event, max(buffer, 0)),
		in:     make(chan Event),
		end:    make(chan struct{}),
		closed: make(chan struct{}),
	}
	go s.pump()
	err := j.call(func() {
		s.snapshot = j.statuses()
		s.focus = j.focus
		s.idle = j.idle
		j.subscribers[s] = struct{}{}
	})
	if err != nil {
		close(s.end)
	}
	return s
}

// Events delivers the stream. It is closed after the last event, or after Close.
func (s *Subscription) Events() <-chan Event { return s.events }

// Snapshot is how the ranks stood, what the focus was and whether the job was idle immediately before the first event
// of the stream.
func (s *Subscription) Snapshot() (ranks []RankStatus, focus RankSet, idle bool) {
	return s.snapshot, s.focus, s.idle
}

// Close ends the subscription and drops what was not read. It may be called more than once, and from any goroutine.
func (s *Subscription) Close() { s.once.Do(func() { close(s.closed) }) }

// pump is the queue without bound between the owner, which must not block, and the reader, which may.
func (s *Subscription) pump() {
	defer close(s.events)
	var queue []Event
	end := s.end
	for end != nil || len(queue) > 0 {
		var out chan Event
		var next Event
		if len(queue) > 0 {
			out, next = s.events, queue[0]
		}
		select {
		case e := <-s.in:
			queue = append(queue, e)
		case out <- next:
			queue[0] = Event{} // let go of what it points to
			queue = queue[1:]
		case <-end:
			end = nil
		case <-s.closed:
			return
		}
	}
}

// publish gives the event to every subscriber. Owner.
func (j *Job) publish(e Event) {
	j.seq++
	e.Seq = j.seq
	for s := range j.subscribers {
		select {
		case s.in <- e:
		case <-s.closed:
			delete(j.subscribers, s)
		}
	}
}

// endSubscriptions lets each deliver what it has and end. Owner.
func (j *Job) endSubscriptions() {
	for s := range j.subscribers {
		close(s.end)
	}
	clear(j.subscribers)
}
