package decisions

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// Match is the message that a wildcard receive or probe takes (struct cohort_match). Event is the event of the
// call that asked: of an Irecv its post, of a persistent receive its Start. Of one Startall the decisions come in the
// order of its array.
type Match struct {
	Event       uint64
	Source, Tag int32
	Op          mpispec.Op
	// Never: the receive took no message in the recording, with a wildcard or (if it was cancelled) without. Source is
	// its place in the array if Op is OpStartall, else 0; Tag is 0.
	Never bool
	Which uint32 // of an OpStartall: its place in the array
}

// What is as it is in a trace, or in the decisions file.
type (
	// Poll says that Failures polls fail before the poll that is Event succeeds; with the event Never no success
	// follows.
	Poll = trace.Poll
	// Set is the set of indices that a Waitany, Waitsome, Testany or Testsome completes, in order.
	Set = trace.Set
	// Check is the hash that the calls of events 1..Event have.
	Check = abi.Check
	// Order is one side of a control message, which no recording holds: it is added to bound buffering. A wait is
	// before Event begins, a grant when it has ended. The k-th grant of one rank to another is the k-th wait of that
	// one for it.
	Order = abi.Order
	// Turn says which thread, by its id, makes the MPI calls after Steps of them.
	Turn = abi.Turn
)

// Plan is what a replay of one rank must enforce. Each array is in the order in which the rank needs it.
type Plan struct {
	// Sparse: a wildcard receive or probe that is not among Matches is posted as the program asks (a recording in
	// ModeRacing).
	Sparse bool

	Rank, WorldSize uint32
	LastEvent       uint64 // the recording holds events 1..LastEvent
	Finalized       bool   // the recorded rank reached MPI_Finalize
	Matches         []Match
	Polls           []Poll
	Sets            []Set
	Streams         []Stream // what each thread is given
	Turns           []Turn
	Checks          []Check
	Control         bool    // some rank of the replay has control messages
	Waits, Grants   []Order // those of this one
	// cut short within this call, which was not complete; OpNone: outside MPI, or not known
	CurrentOp mpispec.Op
	// Hold: not recorded either. The rank parks after LastEvent, and whoever replays lets it continue when the others
	// need it no more.
	Hold bool

	// What follows is no part of the decisions file.

	Modules []*trace.Module // what called MPI
	Ended   abi.Ended       // why the recording of this rank ends here, although the rank continued
	// Unrecorded are the clocks and random numbers that the program asked and that are not recorded: what it did
	// because of them it may do otherwise in a replay.
	Unrecorded trace.ValueKinds
}

// Options changes what Build accepts.
type Options struct {
	// AllowIncomplete accepts a trace with calls that record/replay does not cover.
	AllowIncomplete bool
}

// Build reads the rest of a trace of any mode. All modes of one execution give equal decisions, but that one in
// ModeRacing has fewer. Errors: those of the Reader, *IncompleteError unless it is allowed, and that records contradict
// each other.
func Build(r *trace.Reader, opt Options) (*Plan, error) {
	h := r.Header()
	b := NewBuilder(r)
	var incomplete *IncompleteError
	uncovered := func(call string, event uint64) {
		if incomplete == nil {
			incomplete = &IncompleteError{Path: r.Path(), Rank: int(h.Rank), Call: call, Event: event}
		}
	}
	sites := map[uint64]trace.Site{}
	var ended bool
	var endPolls uint64
	for rec, err := range r.All() {
		if err != nil {
			return nil, err
		}
		switch rec := rec.(type) {
		case *trace.Note:
			if uncovered(rec.Call, rec.Event); incomplete.Count == 0 {
				incomplete.locate(sites[rec.Site], b.out.Modules)
			}
			incomplete.Count++
		case *trace.End:
			ended, endPolls = rec.How == 1, rec.FailedPolls
		case *trace.Module:
			b.out.Modules = append(b.out.Modules, rec)
		case *trace.Site:
			sites[rec.Index] = *rec
		default:
			if err := b.Take(rec); err != nil {
				return nil, err
			}
		}
	}
	if b.mode == abi.ModeRacing {
		b.out.Sparse = true
		if err := b.undecided(h.Pending()); err != nil {
			return nil, err
		}
	}
	if h.Undecided.Overtaken > 0 {
		uncovered(overtakenCall, h.Events+1)
	}
	if h.Incomplete > 0 {
		// The rank died, or the disk was full, between counting the call and writing its NOTE.
		uncovered(h.IncompleteCall, h.IncompleteEvent)
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

// Posting names the receive that the message is for.
func (m *Match) Posting() trace.Posting { return trace.Posting{Event: m.Event, Which: m.Which} }

// Builder makes a Plan of records. It is for one goroutine at a time.
type Builder struct {
	values valueBuilder
	path   string
	out    *Plan
	last   uint64
	mode   abi.Mode
	events uint64                // completed, as the header has them
	runs   uint64                // receives in block races
	posted map[trace.Posting]int // index in out.Matches of the receives with a wildcard that were posted
	// cancels are the receives of which it is known that they were cancelled before they took a message.
	cancels map[trace.Posting]bool
	// full mode: the receives under way; of a persistent one whether it has a wildcard
	receives trace.Requests[bool, receive]
}

// NewBuilder is for the records of r, which are handed to Take.
func NewBuilder(r *trace.Reader) *Builder {
	h := r.Header()
	return &Builder{
		path:    r.Path(),
		out:     &Plan{Rank: h.Rank, WorldSize: h.WorldSize},
		mode:    h.Mode,
		events:  h.Events,
		posted:  map[trace.Posting]int{},
		cancels: map[trace.Posting]bool{},
	}
}

// Take takes in a record; one that says nothing of decisions is ignored.
func (b *Builder) Take(rec trace.Record) error {
	switch rec := rec.(type) {
	case *trace.Run:
		return b.run(rec)
	case *trace.Event:
		return b.event(rec)
	case *trace.Match:
		return b.match(rec)
	case *trace.Check:
		b.out.Checks = append(b.out.Checks, Check{Event: rec.Event, Hash: uint64(rec.Hash)})
	case *trace.Value, *trace.Thread, *trace.Turn:
		b.values.add(rec)
	case *trace.Poll:
		b.last = max(b.last, rec.Event)
		b.out.Polls = append(b.out.Polls, *rec)
	case *trace.Set:
		b.last = max(b.last, rec.Event)
		b.out.Sets = append(b.out.Sets, *rec)
	}
	return nil
}

// Plan returns the decisions of the records so far, in the order in which they became known; it is the Builder's.
func (b *Builder) Plan() *Plan { return b.out }

// Posted reports whether a receive is one whose message becomes known after the call that posted it.
func (b *Builder) Posted(r trace.Posting) bool {
	_, posted := b.posted[r]
	return posted
}

// Open reports whether a receive is Posted, and the records so far say neither what it took nor that it was cancelled.
func (b *Builder) Open(r trace.Posting) bool {
	i, posted := b.posted[r]
	return posted && b.out.Matches[i].Never && !b.cancels[r]
}

// receive is one that is under way.
type receive struct {
	trace.Posting
	op   mpispec.Op
	wild bool
}

func (b *Builder) add(p trace.Posting, m Match) {
	m.Event, m.Which = p.Event, p.Which
	b.out.Matches = append(b.out.Matches, m)
}

func (b *Builder) fault(event uint64, format string, args ...any) error {
	return fmt.Errorf("%s: the decision of event %d cannot be told: %s", b.path, event, fmt.Sprintf(format, args...))
}

func (b *Builder) post(p trace.Posting, op mpispec.Op) error {
	if _, twice := b.posted[p]; twice {
		return b.fault(p.Event, "its receive was posted twice")
	}
	b.posted[p] = len(b.out.Matches)
	b.add(p, Match{Source: int32(p.Which), Op: op, Never: true})
	return nil
}

// cancelled takes in that a receive was cancelled before it took a message. One with a wildcard was
// posted, and stays without a message.
func (b *Builder) cancelled(p trace.Posting, op mpispec.Op) error {
	b.cancels[p] = true
	i, posted := b.posted[p]
	switch {
	case !posted:
		return b.post(p, op)
	case !b.out.Matches[i].Never:
		m := &b.out.Matches[i]
		return b.fault(p.Event, "its receive was cancelled, and yet took a message from %d with tag %d", m.Source,
			m.Tag)
	}
	return nil
}

func (b *Builder) took(p trace.Posting, source, tag int32) error {
	i, ok := b.posted[p]
	if !ok {
		return b.fault(p.Event, "a message from %d with tag %d completes a wildcard receive that was not posted",
			source, tag)
	}
	m := &b.out.Matches[i]
	if !m.Never && (m.Source != source || m.Tag != tag) {
		return b.fault(p.Event, "two messages complete it, from %d with tag %d and from %d with tag %d", m.Source,
			m.Tag, source, tag)
	}
	m.Never, m.Source, m.Tag = false, source, tag
	return nil
}

// match takes in an order-mode MATCH.
func (b *Builder) match(m *trace.Match) error {
	if b.mode != abi.ModeFull { // there only an EVENT says that its event is complete
		b.last = max(b.last, m.Event)
	}
	p := m.Posting()
	switch {
	case b.mode == abi.ModeRacing && m.Source != trace.NoSource:
		return b.raced(p, m.Op, m.Source, m.Tag)
	case m.IsPost():
		return b.post(p, m.Op)
	case m.IsCancelled():
		return b.cancelled(p, m.Op)
	case m.Back == 0:
		b.add(p, Match{Source: m.Source, Tag: m.Tag, Op: m.Op})
		return nil
	default:
		return b.took(p, m.Source, m.Tag)
	}
}

// event takes in an EVENT, and derives what order mode would have written.
func (b *Builder) event(e *trace.Event) error {
	b.last = e.Index
	if e.Op.IsPoll() {
		b.out.Polls = append(b.out.Polls, Poll{Event: e.Index, Failures: e.FailedPolls, Op: e.Op})
	}
	wild := trace.IsWildcard(e.Recv.AskedSource, e.Recv.AskedTag)
	switch e.Op.Class() {
	case mpispec.ClassRecv, mpispec.ClassProbe, mpispec.ClassSendrecv:
		m := Match{Source: e.Recv.Source, Tag: e.Recv.Tag, Op: e.Op}
		if m.Source == trace.ProcNull { // the call failed
			m = Match{Op: e.Op, Never: true}
		}
		if wild && e.Op != mpispec.OpMrecv {
			b.add(trace.Posting{Event: e.Index}, m)
		}
	case mpispec.ClassIrecv:
		if e.Op == mpispec.OpImrecv {
			return nil
		}
		r := receive{trace.Posting{Event: e.Index}, e.Op, wild}
		b.receives.Post(e.Index, r)
		if wild {
			return b.post(r.Posting, e.Op)
		}
	case mpispec.ClassRecvInit:
		b.receives.Init(e.Index, trace.IsWildcard(e.Send.Dest, e.Send.Tag))
	case mpispec.ClassStart:
		return b.start(e)
	case mpispec.ClassCompletion:
		return b.completion(e)
	case mpispec.ClassNone, mpispec.ClassSend, mpispec.ClassSendInit, mpispec.ClassCollective, mpispec.ClassIcollective,
		mpispec.ClassCollectiveInit, mpispec.ClassComm, mpispec.ClassRequest, mpispec.ClassOther:
		// no outcome to enforce
	}
	return nil
}

func (b *Builder) start(e *trace.Event) error {
	for i, init := range e.Inits {
		p := b.receives.Persistent(init)
		if p == nil {
			continue
		}
		r := receive{trace.Posting{Event: e.Index, Which: trace.Which(e.Op, i)}, e.Op, p.Init}
		p.Start(r)
		if !r.wild {
			continue
		}
		if err := b.post(r.Posting, r.op); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) completion(e *trace.Event) error {
	if e.Op.HasSet() {
		s := Set{Event: e.Index, Op: e.Op}
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

func (b *Builder) completed(e *trace.Event, c *trace.Completion) error {
	if c.Post == 0 || (c.Class != trace.RequestRecv && c.Class != trace.RequestOther) {
		return nil
	}
	if p := b.receives.Persistent(c.Post); p != nil && p.Starts == 0 {
		return b.fault(e.Index, "it completes the persistent receive of event %d, which was not started", c.Post)
	}
	r, underway := b.receives.Of(c.Post)
	b.receives.Complete(e, c.Post)
	switch {
	case !underway: // no receive, or one of a matched probe
		return nil
	case c.Class == trace.RequestOther:
		return b.cancelled(r.Posting, r.op)
	case !r.wild:
		return nil
	}
	return b.took(r.Posting, c.Source, c.Tag)
}

func (b *Builder) finish(h *trace.Header, ended bool, endPolls uint64) {
	out := b.out
	out.Finalized = h.Closed || ended
	out.LastEvent, out.Ended, out.Unrecorded = b.last, h.Ended, h.Unrecorded
	if !ended {
		endPolls = h.Polls
	}
	switch {
	case h.Ended == abi.EndedDiskCounting && h.Mode == abi.ModeRacing:
		out.LastEvent, endPolls = max(h.Undecided.Whole, 1)-1, 0
	case h.Ended == abi.EndedDiskCounting && h.Mode == abi.ModeOrder:
		// The counter continued without the records. Of the event of the last record one may have been lost; before it
		// all are there.
		out.LastEvent = max(b.last, 1) - 1
		if n := len(out.Checks); n > 0 {
			out.LastEvent = max(out.LastEvent, out.Checks[n-1].Event)
		}
		endPolls = 0
	case h.Ended == abi.EndedDiskCounting:
		endPolls = 0
	case h.Mode != abi.ModeFull && out.Finalized:
		out.LastEvent = max(b.last, h.Events)
	case h.Mode != abi.ModeFull:
		// Events without a decision leave no record. One that was in progress may have left some of its records.
		out.LastEvent = h.Events
	}
	if !out.Finalized && h.Ended == abi.EndedNot && out.LastEvent == h.Events {
		out.CurrentOp = h.CurrentOp
	}
	b.sort()
	endPolls += out.trim()
	if endPolls > 0 {
		out.Polls = append(out.Polls, Poll{Event: abi.Never, Failures: endPolls})
	}
	b.values.finish(out)
}

// trim takes away what belongs to events after the last. It returns how many polls had failed before such a one.
func (d *Plan) trim() (failures uint64) {
	d.Matches = slices.DeleteFunc(d.Matches, func(m Match) bool { return m.Event > d.LastEvent })
	d.Sets = slices.DeleteFunc(d.Sets, func(s Set) bool { return s.Event > d.LastEvent })
	d.Checks = slices.DeleteFunc(d.Checks, func(c Check) bool { return c.Event > d.LastEvent })
	d.Polls = slices.DeleteFunc(d.Polls, func(p Poll) bool {
		if p.Event > d.LastEvent {
			failures += p.Failures
		}
		return p.Event > d.LastEvent
	})
	return failures
}

// sort brings the matches into the order in which a replay needs them: of the posts, not of the completions.
func (b *Builder) sort() {
	slices.SortStableFunc(b.out.Matches, func(x, y Match) int {
		return cmp.Or(cmp.Compare(x.Event, y.Event), cmp.Compare(x.Which, y.Which))
	})
}
