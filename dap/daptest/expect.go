package daptest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// Verdict is how an Expectation stands after an event.
type Verdict int

// The verdicts.
const (
	NotYet     Verdict = iota
	Met                // by this event
	Impossible         // it can no longer come
)

// Expectation is something that a test waits for. It is shown events in order until it is Met or Impossible; why says
// why it is impossible. It may keep state and is used once.
type Expectation interface {
	fmt.Stringer
	See(e Event) (v Verdict, why string)
}

// expectation is an Expectation made of functions.
type expectation struct {
	name string
	see  func(Event) (Verdict, string)
}

func (x *expectation) String() string                { return x.name }
func (x *expectation) See(e Event) (Verdict, string) { return x.see(e) }

// That makes an Expectation of a function.
func That(name string, see func(Event) (Verdict, string)) Expectation { return &expectation{name, see} }

// sessionOver is the verdict of what can only happen while the job lives.
func sessionOver(e Event) (Verdict, string) {
	if e.Name == "terminated" {
		return Impossible, "the session has terminated"
	}
	return NotYet, ""
}

// rankGone tells whether an event says that a rank has ended.
func rankGone(e Event, rank int) (bool, string) {
	switch e.Name {
	case protocol.EventRanks:
		var body protocol.RanksBody
		if e.Decode(&body) == nil {
			for _, r := range body.Ranks {
				if r.Rank == rank && (r.State == "exited" || r.State == "lost") {
					return true, fmt.Sprintf("rank %d is %s (%s)", rank, r.State, r.Reason)
				}
			}
		}
	case "thread":
		var body godap.ThreadEventBody
		if e.Decode(&body) == nil && body.Reason == "exited" && body.ThreadId == protocol.ThreadID(rank, 1) {
			return true, fmt.Sprintf("thread 1 of rank %d has exited", rank)
		}
	}
	return false, ""
}

// Stopped expects that a rank stops; reason "" any. It is impossible once the rank or the session has ended, or the
// rank has stopped for another reason.
func Stopped(rank int, reason string) Expectation {
	name := fmt.Sprintf("rank %d stops", rank)
	if reason != "" {
		name += fmt.Sprintf(" (%s)", reason)
	}
	return That(name, func(e Event) (Verdict, string) {
		if gone, why := rankGone(e, rank); gone {
			return Impossible, why
		}
		if e.Name != "stopped" {
			return sessionOver(e)
		}
		var body godap.StoppedEventBody
		if err := e.Decode(&body); err != nil {
			return Impossible, err.Error()
		}
		if r, _ := protocol.RankThread(body.ThreadId); r != rank {
			return NotYet, ""
		}
		if body.Text == "" {
			return NotYet, "" // another thread of the rank, which stands because this one's does
		}
		if reason == "" || body.Reason == reason {
			return Met, ""
		}
		return Impossible, fmt.Sprintf("rank %d has stopped for another reason: %s, %s", rank, body.Reason, body.Text)
	})
}

// Continued expects that the client is told that a rank continues.
func Continued(rank int) Expectation {
	return That(fmt.Sprintf("rank %d continues", rank), func(e Event) (Verdict, string) {
		if gone, why := rankGone(e, rank); gone {
			return Impossible, why
		}
		if e.Name != "continued" {
			return sessionOver(e)
		}
		var body godap.ContinuedEventBody
		if err := e.Decode(&body); err != nil {
			return Impossible, err.Error()
		}
		if r, _ := protocol.RankThread(body.ThreadId); r == rank || body.AllThreadsContinued {
			return Met, ""
		}
		return NotYet, ""
	})
}

// RankIs expects that cohort/ranks tells a state of a rank: "exited", "lost", "running", ...
func RankIs(rank int, state string) Expectation {
	return That(fmt.Sprintf("rank %d is %s", rank, state), func(e Event) (Verdict, string) {
		if e.Name != protocol.EventRanks {
			return sessionOver(e)
		}
		var body protocol.RanksBody
		if err := e.Decode(&body); err != nil {
			return Impossible, err.Error()
		}
		for _, r := range body.Ranks {
			switch {
			case r.Rank != rank:
			case r.State == state:
				return Met, ""
			case r.State == "exited" || r.State == "lost":
				return Impossible, fmt.Sprintf("rank %d is %s (%s)", rank, r.State, r.Reason)
			}
		}
		return NotYet, ""
	})
}

// Output expects output of a category ("" any) that holds text, in one piece or over several events of that category.
func Output(category, text string) Expectation {
	seen := map[string]string{}
	return That(fmt.Sprintf("output %q", text), func(e Event) (Verdict, string) {
		if e.Name != "output" {
			return sessionOver(e)
		}
		var body godap.OutputEventBody
		if err := e.Decode(&body); err != nil {
			return Impossible, err.Error()
		}
		if category != "" && body.Category != category {
			return NotYet, ""
		}
		seen[body.Category] += body.Output
		if strings.Contains(seen[body.Category], text) {
			return Met, ""
		}
		return NotYet, ""
	})
}

// Named expects an event by its name.
func Named(name string) Expectation {
	return That("event "+name, func(e Event) (Verdict, string) {
		if e.Name == name {
			return Met, ""
		}
		return sessionOver(e)
	})
}

// Idle expects that the job becomes idle.
func Idle() Expectation { return Named(protocol.EventIdle) }

// Terminated expects the end of the session.
func Terminated() Expectation { return Named("terminated") }

// Initialized expects that the server is ready for breakpoints.
func Initialized() Expectation { return Named("initialized") }

// CutReached expects that all ranks stand at a cut.
func CutReached() Expectation { return Named(protocol.EventCut) }

// Await waits until every expectation is met, by events after the cursor and in any order, and returns the events that
// met them, in the order of the expectations. It returns an error at once when one of them is impossible, and when no
// more events can come.
func (c *Client) Await(ctx context.Context, wanted ...Expectation) ([]Event, error) {
	got := make([]Event, len(wanted))
	open := make(map[int]Expectation, len(wanted))
	for i, w := range wanted {
		open[i] = w
	}
	c.mu.Lock()
	at := c.cursor
	c.mu.Unlock()
	for len(open) > 0 {
		e, err := c.next(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("waiting for %s: %w", describe(open), err)
		}
		at++
		for i, w := range open {
			switch v, why := w.See(e); v {
			case NotYet:
			case Met:
				got[i] = e
				delete(open, i)
			case Impossible:
				return nil, fmt.Errorf("waiting for %s: %s is no longer possible: %s", describe(open), w, why)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cursor = max(c.cursor, at)
	return got, nil
}

// next is the event of a number, waited for.
func (c *Client) next(ctx context.Context, at int) (Event, error) {
	for {
		c.mu.Lock()
		events, ended, changed := c.events, c.ended, c.changed
		c.mu.Unlock()
		if at < len(events) {
			return events[at], nil
		}
		if ended != nil {
			return Event{}, ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

func describe(open map[int]Expectation) string {
	names := make([]string, 0, len(open))
	for _, w := range open {
		names = append(names, w.String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Expect is Await for tests: it fails the test at once unless every expectation is met.
func (c *Client) Expect(wanted ...Expectation) []Event {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	events, err := c.Await(ctx, wanted...)
	if err != nil {
		c.tb.Fatalf("%v\n%s%s", err, c.Transcript(30), c.dump(err))
	}
	return events
}

// Seen are the events of a name that have come so far, from the first.
func (c *Client) Seen(name string) []Event {
	var out []Event
	for _, e := range c.Events() {
		if e.Name == name {
			out = append(out, e)
		}
	}
	return out
}
