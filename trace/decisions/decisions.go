package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// DecisionMatch is the message that a wildcard receive or probe takes (struct cohort_match). Event is the event of the
// call that asked: of an Irecv its post, of a persistent receive its Start. Of one Startall the decisions come in the
// order of its array.
type DecisionMatch struct {
	Event       uint64
	Source, Tag int32
	Op          Op
	// Never: the receive took no message in the recording, with a wildcard or (if it was cancelled) without. Source is
	// its place in the array if Op is OpStartall, else 0; Tag is 0.
	Never bool
	Which uint32 // of an OpStartall: its place in the array
}

// DecisionPoll says that Failures polls fail before the poll that is Event succeeds (struct cohort_poll). With Never
// set no success follows: Event is the constant Never, and Op is OpNone.
type DecisionPoll struct {
	Event    uint64
	Failures uint64
	Op       Op
	Never    bool
}

// DecisionSet is the set of indices that a Waitany, Waitsome, Testany or Testsome completes, in order (struct
// cohort_set).
type DecisionSet struct {
	Event   uint64
	Op      Op
	Indices []uint32
}

// DecisionCheck is the hash that the calls of events 1..Event have (struct cohort_check).
type DecisionCheck struct {
	Event uint64
	Hash  uint32
}

// DecisionOrder is one side of a control message (struct cohort_order), which no recording holds: it is added to bound
// buffering. A wait is before Event begins, a grant when it has ended. The k-th grant of one rank to another is the
// k-th wait of that one for it.
type DecisionOrder struct {
	Event uint64
	Peer  uint32 // world rank
}

// Decisions is what a replay of one rank must enforce. Each array is in the order in which the rank needs it.
type Decisions struct {
	// Sparse: a wildcard receive or probe that is not among Matches is posted as the program asks (a recording in
	// ModeRacing).
	Sparse bool

	Rank, WorldSize uint32
	LastEvent       uint64 // the recording holds events 1..LastEvent
	Finalized       bool   // the recorded rank reached MPI_Finalize
	Matches         []DecisionMatch
	Polls           []DecisionPoll
	Sets            []DecisionSet
	Streams         []DecisionStream // what each thread is given
	Turns           []DecisionTurn
	Checks          []DecisionCheck
	Control         bool            // some rank of the replay has control messages
	Waits, Grants   []DecisionOrder // those of this one
	// cut short within this call, which was not complete; OpNone: outside MPI, or not known
	CurrentOp Op
	// Hold: not recorded either. The rank parks after LastEvent, and whoever replays lets it go on when the others need
	// it no more.
	Hold bool

	// What follows is no part of the decisions file.

	Modules []*Module // what called MPI
	Ended   Ended     // why the recording of this rank ends here, although the rank went on
}

// DecisionError is a trace whose records are well formed but contradict each other.
type DecisionError struct {
	Path   string
	Event  uint64
	Reason string
}

func (e *DecisionError) Error() string {
	return fmt.Sprintf("%s: the decision of event %d cannot be told: %s", e.Path, e.Event, e.Reason)
}

// DecisionOptions changes what BuildDecisions accepts.
type DecisionOptions struct {
	// AllowIncomplete accepts a trace with calls that record/replay does not cover.
	AllowIncomplete bool
}

// BuildDecisions reads the rest of a trace of either mode. Both modes of one execution give equal decisions. Errors:
// those of the Reader, *DecisionError, and *IncompleteError unless it is allowed.
func BuildDecisions(r *Reader, opt DecisionOptions) (*Decisions, error) {
	h := r.Header()
	b := newDecisionBuilder(r)
	var incomplete *IncompleteError
	sites := map[uint64]Site{}
	var ended bool
	var endPolls uint64
	for rec, err := range r.All() {
		if err != nil {
			return nil, err
		}
		switch rec := rec.(type) {
		case *Note:
			if incomplete == nil {
				incomplete = &IncompleteError{
					Path: r.Path(), Rank: int(h.Rank), Call: rec.Call, Event: rec.Event,
					Site: rec.Site,
				}
				incomplete.locate(sites, b.out.Modules)
			}
			incomplete.Count++
		case *End:
			ended, endPolls = rec.How == 1, rec.FailedPolls
		case *Module:
			b.out.Modules = append(b.out.Modules, rec)
		case *Site:
			if incomplete == nil {
				sites[rec.Index] = *rec
			}
		default:
			err = b.take(rec)
		}
		if err != nil {
			return nil, err
		}
	}
	if b.racing {
		b.out.Sparse = true
		if err := b.undecided(&h.Undecided); err != nil {
			return nil, err
		}
	}
	if incomplete == nil && h.Undecided.Overtaken > 0 {
		incomplete = &IncompleteError{
			Path: r.Path(), Rank: int(h.Rank), Event: h.Events + 1,
			Call: overtakenCall,
		}
	}
	if incomplete == nil && h.Incomplete > 0 {
		// The rank died, or the disk was full, between counting the call and writing its NOTE.
		incomplete = &IncompleteError{
			Path: r.Path(), Rank: int(h.Rank), Call: h.IncompleteCall,
			Event: h.IncompleteEvent,
		}
	}
	if incomplete != nil && !opt.AllowIncomplete {
		incomplete.Count = max(incomplete.Count, uint64(h.Incomplete))
		return nil, incomplete
	}
	b.finish(&h, ended, endPolls)
	if incomplete != nil {
		b.out.Checks = nil // what is not covered may well lead to other calls; that was said to be all right
	}
	return b.out, nil
}

// post names a receive: the event that posted it, and of a Startall its place in the array.
type post struct {
	event uint64
	which uint32
}

type decisionBuilder struct {
	values valueBuilder
	path   string
	out    *Decisions
	last   uint64
	racing bool
	full   bool
	events uint64       // completed, as the header has them
	runs   uint64       // receives in block races
	which  []uint32     // of each of out.Matches, its place in the array of a Startall
	posted map[post]int // index in out.Matches of what was promised
	// cancels are the receives of which it is known that they were cancelled before they took a message.
	cancels map[post]bool
	// full mode: persistent receives by the event of their _init (true: with a wildcard), their activations, and the
	// posts of receives with exact arguments that are not yet complete
	inits  map[uint64]bool
	active map[uint64]activation
	exact  map[uint64]bool
}

func newDecisionBuilder(r *Reader) *decisionBuilder {
	h := r.Header()
	return &decisionBuilder{
		path: r.Path(), out: &Decisions{Rank: h.Rank, WorldSize: h.WorldSize},
		racing: h.Mode == ModeRacing, full: h.Mode == ModeFull, events: h.Events,
		posted: map[post]int{}, cancels: map[post]bool{}, inits: map[uint64]bool{}, active: map[uint64]activation{},
		exact: map[uint64]bool{},
	}
}

// take takes in a record; one that says nothing of decisions is ignored.
func (b *decisionBuilder) take(rec Record) error {
	switch rec := rec.(type) {
	case *Run:
		return b.run(rec)
	case *Event:
		return b.event(rec)
	case *Match:
		return b.match(rec)
	case *Check:
		b.out.Checks = append(b.out.Checks, DecisionCheck{Event: rec.Event, Hash: rec.Hash})
	case *Value, *Thread, *Turn:
		b.values.add(rec)
	case *Poll:
		b.last = max(b.last, rec.Event)
		b.out.Polls = append(b.out.Polls, DecisionPoll{Event: rec.Event, Failures: rec.Failures, Op: rec.Op})
	case *Set:
		b.last = max(b.last, rec.Event)
		b.out.Sets = append(b.out.Sets, DecisionSet{Event: rec.Event, Op: rec.Op, Indices: rec.Indices})
	}
	return nil
}

// activation is a Start of a persistent receive.
type activation struct {
	post
	op Op
}

func (b *decisionBuilder) add(p post, m DecisionMatch) {
	m.Which = p.which
	b.out.Matches = append(b.out.Matches, m)
	b.which = append(b.which, p.which)
}

func (b *decisionBuilder) fault(event uint64, format string, args ...any) error {
	return &DecisionError{Path: b.path, Event: event, Reason: fmt.Sprintf(format, args...)}
}

func (b *decisionBuilder) promise(p post, op Op) error {
	if _, twice := b.posted[p]; twice {
		return b.fault(p.event, "its receive was promised twice")
	}
	b.posted[p] = len(b.out.Matches)
	b.add(p, DecisionMatch{Event: p.event, Source: int32(p.which), Op: op, Never: true})
	return nil
}

// cancelled takes in that a receive was cancelled before it took a message. One with a wildcard was promised; the
// promise stands unkept.
func (b *decisionBuilder) cancelled(p post, op Op) error {
	b.cancels[p] = true
	i, promised := b.posted[p]
	switch {
	case !promised:
		return b.promise(p, op)
	case !b.out.Matches[i].Never:
		m := &b.out.Matches[i]
		return b.fault(p.event, "its receive was cancelled, and yet took a message from %d with tag %d", m.Source,
			m.Tag)
	}
	return nil
}

func (b *decisionBuilder) keep(p post, source, tag int32) error {
	i, ok := b.posted[p]
	if !ok {
		return b.fault(p.event, "a message from %d with tag %d completes a wildcard receive that was not promised",
			source, tag)
	}
	m := &b.out.Matches[i]
	if !m.Never && (m.Source != source || m.Tag != tag) {
		return b.fault(p.event, "two messages complete it, from %d with tag %d and from %d with tag %d", m.Source,
			m.Tag, source, tag)
	}
	m.Never, m.Source, m.Tag = false, source, tag
	return nil
}

// match takes in an order-mode MATCH.
func (b *decisionBuilder) match(m *Match) error {
	if !b.full { // there only an EVENT says that its event is complete
		b.last = max(b.last, m.Event)
	}
	p := post{m.Event - m.Back, m.Which}
	switch {
	case b.racing && m.Source != PromiseSource:
		return b.raced(p, m.Op, m.Source, m.Tag)
	case m.IsPromise():
		return b.promise(p, m.Op)
	case m.IsCancelled():
		return b.cancelled(p, m.Op)
	case m.Back == 0:
		b.add(p, DecisionMatch{Event: m.Event, Source: m.Source, Tag: m.Tag, Op: m.Op})
		return nil
	default:
		return b.keep(p, m.Source, m.Tag)
	}
}

// event takes in an EVENT, and derives what order mode would have written.
func (b *decisionBuilder) event(e *Event) error {
	b.last = e.Index
	if e.Op.IsPoll() {
		b.out.Polls = append(b.out.Polls, DecisionPoll{Event: e.Index, Failures: e.FailedPolls, Op: e.Op})
	}
	wild := IsWildcard(e.Recv.AskedSource, e.Recv.AskedTag)
	switch e.Op.Class() {
	case ClassRecv, ClassProbe, ClassSendrecv:
		switch {
		case !wild || e.Op == OpMrecv:
		case e.Recv.Source == ProcNull: // the call failed
			b.add(post{}, DecisionMatch{Event: e.Index, Op: e.Op, Never: true})
		default:
			b.add(post{}, DecisionMatch{Event: e.Index, Source: e.Recv.Source, Tag: e.Recv.Tag, Op: e.Op})
		}
	case ClassIrecv:
		switch {
		case e.Op == OpImrecv:
		case wild:
			return b.promise(post{e.Index, 0}, e.Op)
		default:
			b.exact[e.Index] = true
		}
	case ClassRecvInit:
		b.inits[e.Index] = IsWildcard(e.Send.Dest, e.Send.Tag)
	case ClassStart:
		return b.start(e)
	case ClassCompletion:
		return b.completion(e)
	case ClassNone, ClassSend, ClassSendInit, ClassCollective, ClassIcollective, ClassCollectiveInit, ClassComm,
		ClassRequest,
		ClassOther: // no outcome to enforce
	}
	return nil
}

func (b *decisionBuilder) start(e *Event) error {
	for i, init := range e.Inits {
		wild, receives := b.inits[init]
		if !receives {
			continue
		}
		a := activation{post{e.Index, 0}, e.Op}
		if e.Op == OpStartall {
			a.which = uint32(i)
		}
		b.active[init] = a
		if !wild {
			continue
		}
		if err := b.promise(a.post, a.op); err != nil {
			return err
		}
	}
	return nil
}

func (b *decisionBuilder) completion(e *Event) error {
	if e.Op.HasSet() {
		s := DecisionSet{Event: e.Index, Op: e.Op}
		for i := range e.Completed {
			s.Indices = append(s.Indices, e.Completed[i].ArrayIndex)
		}
		b.out.Sets = append(b.out.Sets, s)
	}
	for i := range e.Completed {
		if err := b.completed(e, &e.Completed[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *decisionBuilder) completed(e *Event, c *Completion) error {
	if c.Post == 0 || (c.Class != RequestRecv && c.Class != RequestOther) {
		return nil
	}
	a := activation{post{c.Post, 0}, OpIrecv}
	wild, persistent := b.inits[c.Post]
	if persistent {
		var started bool
		if a, started = b.active[c.Post]; !started {
			return b.fault(e.Index, "it completes the persistent receive of event %d, which was not started", c.Post)
		}
	}
	exact := b.exact[c.Post] || (persistent && !wild)
	_, promised := b.posted[a.post]
	if e.Op != OpRequestGetStatus {
		delete(b.exact, c.Post)
	}
	switch {
	case !exact && !promised: // no receive, or one of a matched probe
		return nil
	case c.Class == RequestOther:
		return b.cancelled(a.post, a.op)
	case !promised:
		return nil
	}
	return b.keep(a.post, c.Source, c.Tag)
}

func (b *decisionBuilder) finish(h *Header, ended bool, endPolls uint64) {
	out := b.out
	out.Finalized = h.Closed || ended
	out.LastEvent, out.Ended = b.last, h.Ended
	if !ended {
		endPolls = h.Polls
	}
	switch {
	case h.Ended == EndedDiskCounting && b.racing:
		out.LastEvent, endPolls = max(h.Undecided.Whole, 1)-1, 0
	case h.Ended == EndedDiskCounting && h.Mode == ModeOrder:
		// The counter went on without the records. Of the event of the last record one may have been lost; before it
		// all are there.
		out.LastEvent = max(b.last, 1) - 1
		if n := len(out.Checks); n > 0 {
			out.LastEvent = max(out.LastEvent, out.Checks[n-1].Event)
		}
		endPolls = 0
	case h.Ended == EndedDiskCounting:
		endPolls = 0
	case h.Mode != ModeFull && out.Finalized:
		out.LastEvent = max(b.last, h.Events)
	case h.Mode == ModeOrder, b.racing:
		// Events without a decision leave no record. One that was in progress may have left some of its records.
		out.LastEvent = h.Events
	}
	if !out.Finalized && h.Ended == EndedNot && out.LastEvent == h.Events {
		out.CurrentOp = h.CurrentOp
	}
	b.sort()
	endPolls += out.trim()
	if endPolls > 0 {
		out.Polls = append(out.Polls, DecisionPoll{Event: Never, Failures: endPolls, Never: true})
	}
	b.values.finish(out)
}

// trim takes away what belongs to events after the last. It returns how many polls had failed before such a one.
func (d *Decisions) trim() (failures uint64) {
	d.Matches = slices.DeleteFunc(d.Matches, func(m DecisionMatch) bool { return m.Event > d.LastEvent })
	d.Sets = slices.DeleteFunc(d.Sets, func(s DecisionSet) bool { return s.Event > d.LastEvent })
	d.Checks = slices.DeleteFunc(d.Checks, func(c DecisionCheck) bool { return c.Event > d.LastEvent })
	d.Polls = slices.DeleteFunc(d.Polls, func(p DecisionPoll) bool {
		if p.Event > d.LastEvent {
			failures += p.Failures
		}
		return p.Event > d.LastEvent
	})
	return failures
}

// sort brings the matches into the order in which a replay needs them: of the posts, not of the completions.
func (b *decisionBuilder) sort() {
	place := make([]int, len(b.out.Matches))
	for i := range place {
		place[i] = i
	}
	slices.SortStableFunc(place, func(i, j int) int {
		return cmp.Or(cmp.Compare(b.out.Matches[i].Event, b.out.Matches[j].Event), cmp.Compare(b.which[i], b.which[j]))
	})
	sorted := make([]DecisionMatch, 0, len(place))
	for _, i := range place {
		sorted = append(sorted, b.out.Matches[i])
	}
	if len(sorted) > 0 {
		b.out.Matches = sorted
	}
}
