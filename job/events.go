package job

import (
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
)

// readEvents carries a backend's events to the owner, until the backend closes them or the job ends.
func (j *Job) readEvents(r *rank, events <-chan backend.Event) {
	for {
		select {
		case e, ok := <-events:
			if !ok {
				j.post(func() {
					j.onEnded(r, backend.Ended{Err: "the connection to its debugger closed without a farewell"})
				})
				return
			}
			j.post(func() { j.onEvent(r, e) })
		case <-j.done:
			return
		}
	}
}

// onEvent is the one place where what happens to a rank becomes part of the model. Owner.
func (j *Job) onEvent(r *rank, e backend.Event) {
	switch {
	case e.Stopped != nil:
		j.onStopped(r, e.Stopped)
	case e.Resumed:
		j.onResumed(r)
	case e.Exited != nil:
		j.onExited(r, *e.Exited)
	case e.Output != nil:
		j.publishOutput(j.out.add(time.Now(), r.num, e.Output.Category, e.Output.Data))
	case e.Control != nil:
		r.control = *e.Control
		j.publishRank(r)
	case e.Changed != nil:
		j.onBreakpointChanged(r, *e.Changed)
	case e.Ended != nil:
		j.onEnded(r, *e.Ended)
	default:
		j.log.Warn("a backend sent an event without content", "rank", r.num)
	}
}

func (j *Job) onStopped(r *rank, s *backend.Stopped) {
	if r.state.Gone() {
		j.log.Warn("a rank stopped after its end", "rank", r.num, "reason", s.Reason)
		return
	}
	if s.Reason == backend.ReasonEntry {
		if r.entered { // Launch has returned the same stop
			return
		}
		r.entered = true
	}
	if r.resuming { // it has gone on and stopped before Resume was answered
		r.resuming = false
		j.setRunning(r)
	}
	j.setStopped(r, s)
}

// setRunning publishes that the rank runs. Owner.
func (j *Job) setRunning(r *rank) {
	j.setState(r, Running)
	j.publishRank(r)
}

// setStopped publishes that the rank has stopped, and stops the others if it must. Owner.
func (j *Job) setStopped(r *rank, s *backend.Stopped) {
	stop := *s
	stop.Frames, r.hidden = HideInternal(s.Frames)
	stop.Text = stopText(r.num, s)
	if s.Control.Present {
		r.control = s.Control
	}
	hidden := r.hidden
	j.setState(r, Stopped)
	r.stop, r.hidden = &stop, hidden
	r.epoch++
	r.countHits(s.Breakpoints)
	j.publishRank(r)
	j.takeTemporary(r, s.Breakpoints)
	for other := range j.stops(r.num, s.Breakpoints).Without(r.num).Each {
		j.interrupt(j.ranks[other], nil)
	}
}

func (j *Job) onResumed(r *rank) {
	if r.state == Stopped {
		j.setRunning(r)
	}
}

func (j *Job) onExited(r *rank, e backend.Exited) {
	if r.state.Gone() {
		j.log.Warn("a rank exited after its end", "rank", r.num, "code", e.Code, "signal", e.Signal)
		return
	}
	if r.resuming {
		r.resuming = false
		j.setRunning(r)
	}
	r.exit = &e
	j.setState(r, Exited)
	j.publishRank(r)
}

// onEnded: the backend is gone. It comes once by Ended and again when the events are closed. Owner.
func (j *Job) onEnded(r *rank, e backend.Ended) {
	if r.finished {
		return
	}
	r.finished = true
	r.cancel()
	j.publishOutput(j.out.end(time.Now(), r.num))
	if r.state.Gone() {
		r.changed()
		return
	}
	j.setLost(r, lostText(r, e))
}

// setLost publishes that the rank is lost. Owner.
func (j *Job) setLost(r *rank, why string) {
	r.lost = why
	j.setState(r, Lost)
	j.publishRank(r)
}

func (j *Job) publishOutput(lines []Output) {
	for _, o := range joined(lines) {
		j.publish(Event{Output: &o})
	}
	if len(lines) > 0 {
		j.holdOutput()
	}
}

// mostJoined bounds the text of one event, in bytes; a longer line is not broken.
const mostJoined = 64 << 10

// joined makes one output of successive lines of the same ranks.
func joined(lines []Output) []Output {
	var out []Output
	for len(lines) > 0 {
		first, n, size := lines[0], 1, len(lines[0].Text)
		for n < len(lines) && lines[n].follows(lines[n-1]) && size+len(lines[n].Text) <= mostJoined {
			size += len(lines[n].Text)
			n++
		}
		if n > 1 {
			var text strings.Builder
			text.Grow(size)
			for _, l := range lines[:n] {
				text.WriteString(l.Text)
			}
			first.Text = text.String()
		}
		out, lines = append(out, first), lines[n:]
	}
	return out
}

// follows tells whether the output is what the same ranks printed in the lines behind other.
func (o Output) follows(other Output) bool {
	return o.Category == other.Category && strings.HasSuffix(other.Text, "\n") && o.Ranks.Equal(other.Ranks)
}
