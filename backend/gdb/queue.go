package gdb

import "github.com/cohort-debugger/cohort/backend"

// eventQueue is the ordered stream of events, buffered without bound so that nobody who pushes waits for
// whoever reads. It closes out after an Ended event.
type eventQueue struct {
	in   chan backend.Event
	out  chan backend.Event
	done chan struct{} // closed once Ended was pushed
}

func newEventQueue() *eventQueue {
	q := &eventQueue{in: make(chan backend.Event), out: make(chan backend.Event), done: make(chan struct{})}
	go q.run()
	return q
}

func (q *eventQueue) push(e backend.Event) {
	select {
	case q.in <- e:
	case <-q.done:
	}
}

func (q *eventQueue) run() {
	defer close(q.out)
	var waiting []backend.Event
	in := q.in
	for in != nil || len(waiting) > 0 {
		var out chan backend.Event
		var first backend.Event
		if len(waiting) > 0 {
			out, first = q.out, waiting[0]
		}
		select {
		case e := <-in:
			waiting = append(waiting, e)
			if e.Ended != nil {
				in = nil
				close(q.done)
			}
		case out <- first:
			waiting[0] = backend.Event{}
			waiting = waiting[1:]
		}
	}
}
