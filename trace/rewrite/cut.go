package rewrite

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// repairCut is where a damaged trace is cut.
type repairCut struct {
	last  uint64 // the last event up to which all decisions are known
	polls uint64 // failed after the last that succeeded up to there
	// matched are the messages of receives that were posted up to there and completed later (full mode: what comes
	// later is left out).
	matched []decisions.Match
}

// lastWhole finds where to cut. What the salvaged chunks hold is whole up to the event before the last record (in full
// mode the last EVENT), or up to the last CHECK. Three things can be about an event that is complete and be written
// later, and so be lost:
//
//   - what an open receive with a wildcard took: without it a later receive could be given that message. So the cut is
//     before the first that has none here.
//   - how many polls failed since the last that succeeded: the cut is at that one, unless the next success is here, or
//     it is known that none failed.
//   - that a call is not covered: the header says which was the first.
func lastWhole(whole *trace.Salvaged, meta *recording.RankMeta) (repairCut, error) {
	r, err := whole.Reader()
	if err != nil {
		return repairCut{}, err
	}
	b := decisions.NewBuilder(r)
	var cut repairCut
	full := r.Header().Mode == abi.ModeFull
	for rec, err := range r.All() {
		if err == nil {
			err = b.Take(rec)
		}
		if err != nil {
			return repairCut{}, err
		}
		if e, isEvent := rec.(*trace.Event); isEvent {
			cut.last = e.Index
		} else if event, ok := eventOf(rec); ok && !full {
			cut.last = max(event, 1) - 1
		}
	}
	plan := b.Plan()
	if n := len(plan.Checks); n > 0 && !full {
		cut.last = max(cut.last, plan.Checks[n-1].Event)
	}
	for _, m := range plan.Matches {
		if b.Open(m.Posting()) && m.Event <= cut.last {
			cut.last = m.Event - 1
		}
	}
	cut.lastOfPolls(plan.Polls, meta)
	for _, m := range plan.Matches {
		if b.Posted(m.Posting()) && !m.Never && m.Event <= cut.last {
			cut.matched = append(cut.matched, m)
		}
	}
	slices.SortFunc(cut.matched, func(x, y decisions.Match) int {
		return cmp.Or(cmp.Compare(x.Event, y.Event), cmp.Compare(x.Which, y.Which))
	})
	return cut, nil
}

// lastOfPolls goes back to the last poll that succeeded if it is not known how many failed after it.
func (c *repairCut) lastOfPolls(polls []decisions.Poll, meta *recording.RankMeta) {
	var before, failures uint64
	for _, p := range polls {
		if p.Event > c.last {
			c.polls = p.Failures
			return
		}
		before = p.Event
		failures += p.Failures
	}
	// else all that ever failed are known
	if meta.End.Unknown() || meta.Polls != failures {
		c.last = before
	}
}

// write writes the trace up to the cut.
func (c *repairCut) write(whole *trace.Salvaged, path string) error {
	r, err := whole.Reader()
	if err != nil {
		return err
	}
	h := r.Header()
	kept := sameRank(h)
	kept.Events, kept.Polls, kept.Ended = c.last, c.polls, abi.EndedRepaired
	if h.Incomplete > 0 && h.IncompleteEvent <= c.last {
		kept.Incomplete, kept.IncompleteCall, kept.IncompleteEvent = h.Incomplete, h.IncompleteCall, h.IncompleteEvent
	}
	w, err := trace.CreateFile(path, kept)
	if err != nil {
		return err
	}
	if err = c.copy(w, r); err == nil {
		err = w.Seal()
	}
	return errors.Join(err, w.Cut())
}

// copy ends with the last event. In full mode it adds what receives took that were not complete by then, as the rank
// itself does when that becomes known.
func (c *repairCut) copy(w *trace.Writer, r *trace.Reader) error {
	b := decisions.NewBuilder(r)
	now := c.last + 1
	for rec, err := range r.All() {
		if e, isEvent := rec.(*trace.Event); isEvent && e.Index > c.last {
			break
		}
		if err == nil && c.keeps(rec) {
			if err = b.Take(rec); err == nil {
				err = w.Write(rec)
			}
		}
		if err != nil {
			return err
		}
		if m, isMatch := rec.(*trace.Match); isMatch {
			now = max(now, m.Event+1)
		}
	}
	for _, m := range c.matched {
		if !b.Open(m.Posting()) {
			continue
		}
		if err := w.Write(&trace.Match{
			Event: now, Op: m.Op, Source: m.Source, Tag: m.Tag, Back: now - m.Event, Which: m.Which,
		}); err != nil {
			return err
		}
	}
	return nil
}

// keeps leaves out the decisions of later events, but not what receives took that were posted before.
func (c *repairCut) keeps(rec trace.Record) bool {
	switch rec := rec.(type) {
	case *trace.Match:
		return rec.Event-rec.Back <= c.last
	case *trace.Check:
		return rec.Event <= c.last
	case *trace.Note:
		return rec.Event <= c.last
	case *trace.End:
		return false
	}
	event, ok := eventOf(rec)
	return !ok || event <= c.last
}
