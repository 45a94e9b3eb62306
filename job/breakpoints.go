package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/rankset"
)

// breakpoints is what the user wants, and what the ranks have answered. Owned by the job's goroutine.
type breakpoints struct {
	bySource map[string]*sourceBreakpoints
	byID     map[int]*wantedBreakpoint
	unasked  int          // SetBreakpoints commands in flight that were sent without a caller
	removed  map[int]bool // temporary ones that are gone, by ID; who has not heard of it may still want one
}

type sourceBreakpoints struct {
	wanted []*wantedBreakpoint // in the order in which they were given
	sent   rankset.Set         // ranks that may have breakpoints of this source
}

type wantedBreakpoint struct {
	bp      Breakpoint
	perRank map[int]backend.Breakpoint
	failed  map[int]string // ranks whose backend could not set it, and why
	dirty   bool           // changed since it was published or given to a caller
	awaited bool           // a caller waits for it and will get it; until then it is not published
	shown   bool           // it was published or given as verified
	lost    rankset.Set    // ranks that have stopped at it, if it is temporary
}

func (w *wantedBreakpoint) wantedBy(rank int) bool {
	return !w.bp.Disabled && !w.lost.Contains(rank) && (w.bp.Ranks.Empty() || w.bp.Ranks.Contains(rank))
}

// stops are the ranks that stop because a rank has hit breakpoints. Owner.
func (j *Job) stops(rank int, ids []int) (stop rankset.Set) {
	for _, id := range ids {
		switch w := j.wanted.byID[id]; {
		case w == nil:
		case w.bp.Mode == ModeAll:
			return j.All()
		case w.bp.Mode == ModeFocus && j.focus.Contains(rank):
			stop = j.focus
		}
	}
	return stop
}

// request is what a rank is asked to have of a source; asked are those that the answer will be about, whatever is
// wanted by then.
func (s *sourceBreakpoints) request(source string, r *rank) (req backend.SetBreakpointsRequest,
	asked []*wantedBreakpoint,
) {
	req.Source = source
	for _, w := range s.wanted {
		if w.wantedBy(r.num) {
			asked = append(asked, w)
			req.Breakpoints = append(req.Breakpoints, backend.SourceBreakpoint{
				ID: w.bp.ID, Line: w.bp.Line, Function: w.bp.Function, Catch: w.bp.Catch, Watch: w.bp.watchOf(r),
				Address:   w.bp.Address,
				Condition: w.bp.Condition, HitCondition: w.bp.HitCondition, LogMessage: w.bp.LogMessage,
			})
		}
	}
	return req, asked
}

// watchOf is what a rank is to watch: in the frame that was chosen if it is the rank's, else in its UserFrame.
func (b *Breakpoint) watchOf(r *rank) backend.Watch {
	w := b.Watch
	if b.Source == backend.DataBreakpoints && r.stop != nil && (r.num != b.WatchRank || w.Frame == backend.FrameID{}) {
		w.Frame = backend.FrameID{Thread: r.stop.Thread, Level: UserFrame(r.stop.Frames) + r.hidden}
	}
	return w
}

// SetBreakpoints replaces all breakpoints of a source (as in backend.SetBreakpointsRequest) and returns what
// became of each, in order, when every rank concerned has answered or ctx ends. It is sent only to ranks that should
// have, or may have had, a breakpoint of that source; ranks that have not been launched get theirs when they are at
// their entry. A rank that is slow or cannot set one does not fail the call: the status names it, and an Event with
// Breakpoint follows when a late answer changes the status. What cannot be (a line 0, a rank that the job does not
// have, a number that is used twice) is the caller's to refuse.
func (j *Job) SetBreakpoints(ctx context.Context, source string, bps []Breakpoint) ([]BreakpointStatus, error) {
	var wanted []*wantedBreakpoint
	var s *sourceBreakpoints
	_, err := ask(ctx, j, j.All(), "set breakpoints", func(r *rank, a *answers[struct{}]) {
		if s == nil {
			s = j.replaceBreakpoints(source, bps)
			wanted = s.wanted
			for _, w := range wanted {
				w.awaited = true
			}
		}
		if r.entered && !r.state.Gone() {
			j.sendBreakpoints(r, source, s, a)
		}
	})
	if _, late := errors.AsType[*RanksError](err); err != nil && !late { // the statuses tell which ranks are late
		return nil, err
	}
	out := make([]BreakpointStatus, len(wanted))
	err = j.call(func() {
		for i, w := range wanted {
			out[i] = j.breakpointStatus(w)
			w.dirty, w.awaited, w.shown = false, false, out[i].Verified
		}
	})
	return out, err
}

// replaceBreakpoints makes bps the wanted ones of source. Owner.
func (j *Job) replaceBreakpoints(source string, bps []Breakpoint) *sourceBreakpoints {
	b := &j.wanted
	if b.byID == nil {
		b.byID, b.bySource = map[int]*wantedBreakpoint{}, map[string]*sourceBreakpoints{}
		b.removed = map[int]bool{}
	}
	s := b.bySource[source]
	if s == nil {
		s = &sourceBreakpoints{}
		b.bySource[source] = s
	}
	before := map[int]rankset.Set{}
	for _, w := range s.wanted {
		before[w.bp.ID] = w.lost
		delete(b.byID, w.bp.ID)
	}
	s.wanted = nil
	for _, bp := range bps {
		if bp.Mode == "" {
			bp.Mode = ModeRank
		}
		w := &wantedBreakpoint{bp: bp, perRank: map[int]backend.Breakpoint{}, failed: map[int]string{}}
		if w.lost = before[bp.ID]; b.removed[bp.ID] {
			w.lost = j.All()
		}
		s.wanted = append(s.wanted, w)
		b.byID[bp.ID] = w
	}
	return s
}

// sendAllBreakpoints gives a rank that has just come to its entry what it should have. Owner.
func (j *Job) sendAllBreakpoints(r *rank) {
	for _, source := range slices.Sorted(maps.Keys(j.wanted.bySource)) {
		j.sendBreakpoints(r, source, j.wanted.bySource[source], nil)
	}
}

// sendBreakpoints asks one rank, if it is concerned. a may be nil. Owner.
func (j *Job) sendBreakpoints(r *rank, source string, s *sourceBreakpoints, a *answers[struct{}]) {
	req, asked := s.request(source, r)
	if len(req.Breakpoints) == 0 && !s.sent.Contains(r.num) {
		return
	}
	if len(req.Breakpoints) > 0 {
		s.sent = s.sent.With(r.num)
	} else {
		s.sent = s.sent.Without(r.num)
	}
	if a != nil {
		a.expect(r.num)
	} else {
		j.wanted.unasked++
	}
	j.enqueue(r, func(ctx context.Context) func() {
		got, err := r.backend.SetBreakpoints(ctx, req)
		return func() {
			j.breakpointsAnswered(r, asked, got, err)
			if a == nil {
				j.wanted.unasked--
			} else {
				a.answer(r.num, struct{}{}, nil)
			}
			j.publishBreakpoints()
		}
	})
}

func (j *Job) breakpointsAnswered(r *rank, asked []*wantedBreakpoint, got []backend.Breakpoint, err error) {
	for i, w := range asked {
		w.dirty = true
		switch {
		case err != nil:
			w.failed[r.num] = err.Error()
		case i >= len(got):
			w.failed[r.num] = "its debugger did not say what became of it"
		default:
			w.perRank[r.num] = got[i]
			delete(w.failed, r.num)
		}
	}
}

// takeTemporary takes the temporary ones among the breakpoints at which a rank has stopped from those that have had
// their stop. Owner.
func (j *Job) takeTemporary(r *rank, ids []int) {
	for _, id := range ids {
		w := j.wanted.byID[id]
		if w == nil || !w.bp.Temporary || w.lost.Contains(r.num) {
			continue
		}
		lose := rankset.New(r.num)
		if w.bp.Mode == ModeAll || w.bp.Mode == ModeFocus {
			lose = j.All()
		}
		w.lost = w.lost.Union(lose)
		for n := range lose.Each {
			if o := j.ranks[n]; o.entered && !o.state.Gone() {
				j.sendBreakpoints(o, w.bp.Source, j.wanted.bySource[w.bp.Source], nil)
			}
		}
		left := slices.ContainsFunc(j.ranks, func(o *rank) bool { return !o.state.Gone() && w.wantedBy(o.num) })
		if !left && !j.wanted.removed[id] {
			j.wanted.removed[id] = true
			s := j.breakpointStatus(w)
			s.Removed = true
			j.publish(Event{Breakpoint: &s})
		}
	}
}

// Breakpoints tells what has become of all breakpoints, by ID.
func (j *Job) Breakpoints() (statuses map[int]BreakpointStatus, err error) {
	statuses = map[int]BreakpointStatus{}
	err = j.call(func() {
		for id, w := range j.wanted.byID {
			statuses[id] = j.breakpointStatus(w)
		}
	})
	return statuses, err
}

func (j *Job) onBreakpointChanged(r *rank, b backend.Breakpoint) {
	if w := j.wanted.byID[b.ID]; w != nil && w.wantedBy(r.num) {
		w.perRank[r.num] = b
		delete(w.failed, r.num)
		w.dirty = true
		j.publishBreakpoints()
	}
}

// publishBreakpoints publishes those that changed: one that has become verified at once, other changes together when
// all ranks that are asked without a caller have answered, so that N ranks do not make N events. Owner.
func (j *Job) publishBreakpoints() {
	for _, id := range sortedKeys(j.wanted.byID) {
		w := j.wanted.byID[id]
		if _, verified := w.actual(); !w.dirty || w.awaited || j.wanted.unasked > 0 && w.shown == verified {
			continue
		}
		s := j.breakpointStatus(w)
		w.dirty, w.shown = false, s.Verified
		j.publish(Event{Breakpoint: &s})
	}
}

// actual is what the lowest rank has that has it.
func (w *wantedBreakpoint) actual() (b backend.Breakpoint, verified bool) {
	lowest := -1
	for r, of := range w.perRank {
		if of.Verified && (lowest < 0 || r < lowest) {
			lowest, b = r, of
		}
	}
	return b, lowest >= 0
}

// breakpointStatus merges the ranks' answers. Owner.
func (j *Job) breakpointStatus(w *wantedBreakpoint) BreakpointStatus {
	s := BreakpointStatus{ID: w.bp.ID, Line: w.bp.Line}
	if backend.IsFile(w.bp.Source) {
		s.Source = w.bp.Source
	}
	if w.bp.Disabled {
		return BreakpointStatus{ID: w.bp.ID, Message: "It is disabled."}
	}
	if b, ok := w.actual(); ok {
		s.Verified, s.Line, s.Source = true, b.Line, cmp.Or(b.Source, s.Source)
	}
	if !backend.IsFile(s.Source) {
		s.Source = "" // it is at no place
	}
	texts := map[int]string{}
	var verified, not rankset.Builder
	for _, r := range j.ranks {
		text, concerned := w.text(r, &s)
		if !concerned {
			continue
		}
		if texts[r.num] = text; w.perRank[r.num].Verified && w.failed[r.num] == "" {
			verified.Add(r.num)
		} else {
			not.Add(r.num)
		}
	}
	if groups := groupBy(texts); len(groups) == 1 {
		s.Message = groups[0].key
		return s
	}
	maps.DeleteFunc(texts, func(_ int, text string) bool { return text == "" })
	s.Message = strings.Join(MergeTexts(texts), " ")
	if on := verified.Set(); !on.Empty() && !not.Set().Empty() {
		s.Message = "Verified on [" + on.String() + "]. " + s.Message
	}
	return s
}

// text says in a sentence what is particular about a breakpoint on one rank, "" if nothing is; concerned is false for a
// rank that does not have it, or does not matter any more.
func (w *wantedBreakpoint) text(r *rank, s *BreakpointStatus) (text string, concerned bool) {
	why, failed := w.failed[r.num]
	b, ok := w.perRank[r.num]
	switch {
	case !w.wantedBy(r.num):
		return "", false
	case failed:
		return "It could not be set: " + prose.Stop(why), true
	case !ok && r.state.Gone():
		return "", false
	case !ok && !r.entered:
		return "It will be set when the rank has started.", true
	case !ok:
		return "The rank's debugger has not answered yet.", true
	case !b.Verified && b.Message == "":
		return "It could not be set.", true
	case !b.Verified:
		return prose.Stop(b.Message), true
	case b.Line != s.Line:
		return strings.TrimSpace(fmt.Sprintf("It is at line %d. %s", b.Line, prose.Stop(b.Message))), true
	}
	return prose.Stop(b.Message), true
}
