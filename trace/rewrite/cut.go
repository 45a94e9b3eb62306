package trace

import (
	"cmp"
	"errors"
	"slices"
)

// repairCut is where a damaged trace is cut.
type repairCut struct {
	last  uint64 // the last event up to which all decisions are known
	polls uint64 // failed after the last that succeeded up to there
	// taken are the messages of receives that were posted up to there and completed later (full mode: what comes later
	// is left out).
	taken []DecisionMatch
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
func (s *salvaged) lastWhole(meta *RankMeta) (repairCut, error) {
	r, err := s.reader()
	if err != nil {
		return repairCut{}, err
	}
	b := newDecisionBuilder(r)
	for rec, err := range r.All() {
		if err == nil {
			err = b.take(rec)
		}
		if err != nil {
			return repairCut{}, err
		}
	}
	cut := repairCut{last: r.st.events}
	if !b.full {
		cut.last = max(r.st.last, 1) - 1
		if n := len(b.out.Checks); n > 0 {
			cut.last = max(cut.last, b.out.Checks[n-1].Event)
		}
	}
	for p, i := range b.posted {
		if b.out.Matches[i].Never && !b.cancels[p] && p.event <= cut.last {
			cut.last = p.event - 1
		}
	}
	cut.lastOfPolls(b.out.Polls, meta)
	for p, i := range b.posted {
		if m := b.out.Matches[i]; !m.Never && p.event <= cut.last {
			m.Which = p.which
			cut.taken = append(cut.taken, m)
		}
	}
	slices.SortFunc(cut.taken, func(x, y DecisionMatch) int {
		return cmp.Or(cmp.Compare(x.Event, y.Event), cmp.Compare(x.Which, y.Which))
	})
	return cut, nil
}

// lastOfPolls goes back to the last poll that succeeded if it is not known how many failed after it.
func (c *repairCut) lastOfPolls(polls []DecisionPoll, meta *RankMeta) {
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
	if meta.End.How == "" || meta.End.How == EndUnknown || meta.Polls != failures {
		c.last = before
	}
}

// write writes the trace up to the cut.
func (s *salvaged) write(path string, cut repairCut) error {
	r, err := s.reader()
	if err != nil {
		return err
	}
	h := r.Header()
	kept := Header{
		Mode: h.Mode, Flags: h.Flags, Rank: h.Rank, WorldSize: h.WorldSize, MPI: h.MPI, StartNS: h.StartNS,
		Events: cut.last, Polls: cut.polls, Ended: EndedRepaired,
	}
	if h.Incomplete > 0 && h.IncompleteEvent <= cut.last {
		kept.Incomplete, kept.IncompleteCall, kept.IncompleteEvent = h.Incomplete, h.IncompleteCall, h.IncompleteEvent
	}
	w, err := CreateFile(path, kept)
	if err != nil {
		return err
	}
	if h.Mode == ModeFull {
		err = cut.copyFull(w, r)
	} else {
		err = cut.copyOrder(w, r)
	}
	if err == nil {
		err = w.seal()
	}
	return errors.Join(err, w.Cut())
}

// copyOrder leaves out the decisions of later events, but not what receives took that were posted before.
func (c *repairCut) copyOrder(w *Writer, r *Reader) error {
	for rec, err := range r.All() {
		if err != nil {
			return err
		}
		keep := true
		switch rec := rec.(type) {
		case *Match:
			keep = rec.Event-rec.Back <= c.last
		case *Set:
			keep = rec.Event <= c.last
		case *Check:
			keep = rec.Event <= c.last
		case *Note:
			keep = rec.Event <= c.last
		case *Poll:
			keep = rec.Event <= c.last
		case *End:
			keep = false
		}
		if !keep {
			continue
		}
		if err := w.Write(rec); err != nil {
			return err
		}
	}
	return nil
}

// copyFull ends with the last event, and adds what receives took that were not complete by then, as the rank itself
// does when that becomes known.
func (c *repairCut) copyFull(w *Writer, r *Reader) error {
	b := newDecisionBuilder(r)
	for rec, err := range r.All() {
		if err != nil {
			return err
		}
		e, isEvent := rec.(*Event)
		if isEvent && e.Index > c.last {
			break
		}
		switch rec := rec.(type) {
		case *End:
			continue
		case *Note:
			if rec.Event > c.last {
				continue
			}
		}
		if err = b.take(rec); err == nil {
			err = w.Write(rec)
		}
		if err != nil {
			return err
		}
	}
	now := max(c.last, r.st.last) + 1
	for _, m := range c.taken {
		if i, promised := b.posted[post{m.Event, m.Which}]; !promised || !b.out.Matches[i].Never {
			continue
		}
		if err := w.Write(&Match{
			Event: now, Op: m.Op, Source: m.Source, Tag: m.Tag, Back: now - m.Event,
			Which: m.Which,
		}); err != nil {
			return err
		}
	}
	return nil
}
