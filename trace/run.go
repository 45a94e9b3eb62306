package trace

import (
	"fmt"
	"unsafe"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// KindRun is the kind of Run.
const KindRun = Kind(abi.RecordRace)

// Run is a block race in ModeRacing: Count receives or probes took messages of one source and tag. The calls that asked
// are the events Event - Back, and from there each Stride events on. A single one is a Match.
type Run struct {
	Event         uint64     // at which it became known that they race
	Op            mpispec.Op // of the calls that asked
	Source, Tag   int32
	Back          uint64
	Count, Stride uint32
}

// Kind implements Record.
func (*Run) Kind() Kind { return KindRun }

// check returns the rule that the run breaks, if there is one.
func (r *Run) check() *RuleError {
	switch {
	case r.Back == 0 || r.Back >= r.Event:
		return &RuleError{fmt.Sprintf("back from event %d to an earlier one", r.Event), fmt.Sprint(r.Back)}
	case r.Count < 2 || r.Stride == 0:
		return &RuleError{
			"two receives or more at different events",
			fmt.Sprintf("%d, %d events apart", r.Count, r.Stride),
		}
	case uint64(r.Count-1)*uint64(r.Stride) > r.Back:
		return &RuleError{
			fmt.Sprintf("receives up to event %d", r.Event),
			fmt.Sprintf("%d from event %d on, %d events apart", r.Count, r.Event-r.Back, r.Stride),
		}
	case r.Op == mpispec.OpStartall:
		return &RuleError{"a run of calls that post one receive", r.Op.String()}
	}
	return nil
}

func (d *decoder) run(last uint64) *Run {
	at := d.pos
	r := &Run{
		Event: d.delta(last), Op: d.op(), Source: d.sv("source"), Tag: d.sv("tag"), Back: d.uv("back"),
		Count: d.uv32("count"), Stride: d.uv32("stride"),
	}
	if b := r.check(); b != nil && d.err == nil {
		d.fail(ErrMalformed, at, b.Want, b.Got)
	}
	return r
}

func appendRun(b []byte, r *Run, last uint64) []byte {
	b = appendUv(b, r.Event-last, uint64(r.Op))
	return appendUv(appendSv(b, r.Source, r.Tag), r.Back, uint64(r.Count), uint64(r.Stride))
}

// Pending is receives of ModeRacing of which it was not known, when the rank ended, whether they raced (struct
// cohort_pending): they count as if they did. Those of the events Event, Event + Stride, ...
type Pending struct {
	Event         uint64
	Count, Stride uint32
	Source, Tag   int32
	Op            mpispec.Op
	Which         uint32 // OpStartall only: place in its array
}

// Undecided is what stands in the header page of a trace in ModeRacing (struct cohort_undecided).
type Undecided struct {
	// Whole is 0, or the number of events plus 1 whose decisions are in the file: after them the disk was full.
	Whole uint64
	// Overtaken is how many receives were under way that had taken a message which is not known, although it matters.
	Overtaken uint32
	Count     int // of Table
	Table     [abi.PendingMax]Pending
}

// Pending returns the receives that were undecided. The slice is a part of u.
func (u *Undecided) Pending() []Pending { return u.Table[:u.Count] }

// Add adds to the table, which must have room for it.
func (u *Undecided) Add(p Pending) {
	u.Table[u.Count] = p
	u.Count++
}

func (u *Undecided) encode() abi.Undecided {
	out := abi.Undecided{Whole: u.Whole, Overtaken: u.Overtaken}
	for i, p := range u.Pending() {
		out.Pending[i] = abi.Pending{
			Event: p.Event, Count: p.Count, Stride: p.Stride, Source: p.Source, Tag: p.Tag, Op: uint32(p.Op),
			Which: p.Which,
		}
	}
	return out
}

// decode is the inverse of encode, of a header page; path is for messages.
func (u *Undecided) decode(path string, in *abi.Undecided) error {
	u.Whole, u.Overtaken = in.Whole, in.Overtaken
	for i, q := range in.Pending {
		p := Pending{
			Event: q.Event, Count: q.Count, Stride: q.Stride, Source: q.Source, Tag: q.Tag, Op: mpispec.Op(q.Op),
			Which: q.Which,
		}
		if p.Count == 0 {
			continue
		}
		if b := p.Check(); b != nil {
			at := abi.UndecidedOffset + int(unsafe.Offsetof(in.Pending)) + i*abi.Size[abi.Pending]()
			return &FormatError{
				Path: path, Offset: int64(at), What: "header", Want: b.Want, Got: b.Got, Kind: ErrMalformed,
			}
		}
		u.Add(p)
	}
	return nil
}

// Check returns the rule that the entry breaks, or nil.
func (p *Pending) Check() *RuleError {
	switch {
	case p.Event == 0 || !p.Op.Known():
		return &RuleError{"an undecided receive of a known operation", fmt.Sprintf("%s of event %d", p.Op, p.Event)}
	case p.Count > 1 && p.Stride == 0:
		return &RuleError{"undecided receives at different events", fmt.Sprintf("%d at event %d", p.Count, p.Event)}
	case p.Count > 1 && p.Event > abi.Never-uint64(p.Count)*uint64(p.Stride):
		return &RuleError{
			"undecided receives whose events fit 64 bits",
			fmt.Sprintf("%d from event %d on", p.Count, p.Event),
		}
	case p.Which != 0 && p.Op != mpispec.OpStartall:
		return &RuleError{"which only with Startall", p.Op.String()}
	}
	return nil
}

// ---- decisions of a recording in ModeRacing: only of the receives that raced; the others take what comes, and it is
// what they took
