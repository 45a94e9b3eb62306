package trace

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// KindRun is the kind of Run.
const KindRun Kind = 0x14

// Run is a block race in ModeRacing: Count receives or probes took messages of one source and tag. The calls that asked
// are the events Event - Back, and from there each Stride events on. A single one is a Match.
type Run struct {
	Event         uint64 // at which it became known that they race
	Op            Op     // of the calls that asked
	Source, Tag   int32
	Back          uint64
	Count, Stride uint32
}

// Kind implements Record.
func (*Run) Kind() Kind { return KindRun }

// check returns the rule that the run breaks, if there is one.
func (r *Run) check() *broken {
	switch {
	case r.Back == 0 || r.Back >= r.Event:
		return &broken{fmt.Sprintf("back from event %d to an earlier one", r.Event), fmt.Sprint(r.Back)}
	case r.Count < 2 || r.Stride == 0:
		return &broken{
			"two receives or more at different events",
			fmt.Sprintf("%d, %d events apart", r.Count, r.Stride),
		}
	case uint64(r.Count-1)*uint64(r.Stride) > r.Back:
		return &broken{
			fmt.Sprintf("receives up to event %d", r.Event),
			fmt.Sprintf("%d from event %d on, %d events apart", r.Count, r.Event-r.Back, r.Stride),
		}
	case r.Op == OpStartall:
		return &broken{"a run of calls that post one receive", r.Op.String()}
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
		d.fail(ErrMalformed, at, b.want, b.got)
	}
	return r
}

func appendRun(b []byte, r *Run, last uint64) []byte {
	b = append(appendUv(b, r.Event-last), byte(r.Op))
	return appendUv(appendSv(b, r.Source, r.Tag), r.Back, uint64(r.Count), uint64(r.Stride))
}

func (p *textParser) run() *Run {
	return &Run{
		Event: p.u64("event"), Op: p.op(), Source: p.i32("source"), Tag: p.i32("tag"), Back: p.u64("back"),
		Count: p.u32("count"), Stride: p.u32("stride"),
	}
}

func runText(r *Run) string {
	return fmt.Sprintf("run event=%d op=%s source=%d tag=%d back=%d count=%d stride=%d", r.Event, r.Op, r.Source, r.Tag,
		r.Back, r.Count, r.Stride)
}

// Pending is receives of ModeRacing of which it was not known, when the rank ended, whether they raced (struct
// cohort_pending): they count as if they did. Those of the events Event, Event + Stride, ...
type Pending struct {
	Event         uint64
	Count, Stride uint32
	Source, Tag   int32
	Op            Op
	Which         uint32 // OpStartall only: place in its array
}

// Undecided is what stands in the header page of a trace in ModeRacing (struct cohort_undecided).
type Undecided struct {
	// Whole is 0, or the number of events plus 1 whose decisions are in the file: after them the disk was full.
	Whole uint64
	// Overtaken is how many receives were under way that had taken a message which is not known, although it matters.
	Overtaken uint32
	Count     int // of Table
	Table     [pendingMax]Pending
}

// Pending returns the receives that were undecided. The slice is a part of u.
func (u *Undecided) Pending() []Pending { return u.Table[:u.Count] }

func (u *Undecided) add(p Pending) {
	u.Table[u.Count] = p
	u.Count++
}

const (
	undecidedOffset  = 512 // COHORT_UNDECIDED_OFFSET
	pendingOffset    = undecidedOffset + 32
	pendingSize      = 32
	pendingMax       = (HeaderSize - pendingOffset) / pendingSize
	pendingStartall  = ":"
	undecidedTextKey = "undecided"
)

func (u *Undecided) encode(page []byte) {
	le := binary.LittleEndian
	le.PutUint64(page[undecidedOffset:], u.Whole)
	le.PutUint32(page[undecidedOffset+8:], u.Overtaken)
	for i := range u.Count {
		p, b := &u.Table[i], page[pendingOffset+i*pendingSize:]
		le.PutUint64(b, p.Event)
		le.PutUint32(b[8:], p.Count)
		le.PutUint32(b[12:], p.Stride)
		le.PutUint32(b[16:], uint32(p.Source))
		le.PutUint32(b[20:], uint32(p.Tag))
		le.PutUint32(b[24:], uint32(p.Op))
		le.PutUint32(b[28:], p.Which)
	}
}

func decodeUndecided(path string, page []byte) (Undecided, error) {
	le := binary.LittleEndian
	u := Undecided{Whole: le.Uint64(page[undecidedOffset:]), Overtaken: le.Uint32(page[undecidedOffset+8:])}
	for i := range pendingMax {
		at := pendingOffset + i*pendingSize
		b := page[at:]
		p := Pending{
			Event: le.Uint64(b), Count: le.Uint32(b[8:]), Stride: le.Uint32(b[12:]), Source: int32(le.Uint32(b[16:])),
			Tag: int32(le.Uint32(b[20:])), Op: Op(le.Uint32(b[24:])), Which: le.Uint32(b[28:]),
		}
		if p.Count == 0 {
			continue
		}
		if b := p.check(); b != nil {
			return u, &FormatError{
				Path: path, Offset: int64(at), What: "header", Want: b.want, Got: b.got,
				Kind: ErrMalformed,
			}
		}
		u.add(p)
	}
	return u, nil
}

func (p *Pending) check() *broken {
	switch {
	case p.Event == 0 || !p.Op.Known():
		return &broken{"an undecided receive of a known operation", fmt.Sprintf("%s of event %d", p.Op, p.Event)}
	case p.Count > 1 && p.Stride == 0:
		return &broken{"undecided receives at different events", fmt.Sprintf("%d at event %d", p.Count, p.Event)}
	case p.Count > 1 && p.Event > Never-uint64(p.Count)*uint64(p.Stride):
		return &broken{
			"undecided receives whose events fit 64 bits",
			fmt.Sprintf("%d from event %d on", p.Count, p.Event),
		}
	case p.Which != 0 && p.Op != OpStartall:
		return &broken{"which only with Startall", p.Op.String()}
	}
	return nil
}

func (u *Undecided) text() string {
	var all []string
	for _, p := range u.Pending() {
		all = append(all, fmt.Sprintf("%d:%d:%d:%s:%d:%d:%d", p.Event, p.Count, p.Stride, p.Op, p.Source, p.Tag,
			p.Which))
	}
	return fmt.Sprintf(" whole=%d overtaken=%d %s=[%s]", u.Whole, u.Overtaken, undecidedTextKey, strings.Join(all, ","))
}

func (p *textParser) undecided() Undecided {
	u := Undecided{Whole: p.u64("whole"), Overtaken: p.u32("overtaken")}
	items := p.items(undecidedTextKey)
	if len(items) > pendingMax {
		p.fail(fmt.Sprintf("at most %d undecided receives", pendingMax), strconv.Itoa(len(items)))
		return u
	}
	for _, item := range items {
		parts := strings.Split(item, pendingStartall)
		if len(parts) != 7 {
			p.fail("undecided as event:count:stride:op:source:tag:which", strconv.Quote(item))
			return u
		}
		op, ok := ParseOp(parts[3])
		if !ok {
			p.fail("the name of an operation", strconv.Quote(parts[3]))
		}
		one := Pending{
			Event: p.uint(undecidedTextKey, parts[0], 64), Count: uint32(p.uint(undecidedTextKey, parts[1], 32)),
			Stride: uint32(p.uint(undecidedTextKey, parts[2], 32)), Op: op, Source: p.int(undecidedTextKey, parts[4]),
			Tag: p.int(undecidedTextKey, parts[5]), Which: uint32(p.uint(undecidedTextKey, parts[6], 32)),
		}
		if b := one.check(); p.err == nil && b != nil {
			p.fail(b.want, b.got)
		}
		if p.err == nil && one.Count == 0 {
			p.fail("one undecided receive or more", strconv.Quote(item))
		}
		u.add(one)
	}
	return u
}

// ---- decisions of a recording in ModeRacing: only of the receives that raced; the others take what comes, and it is
// what they took

// raced takes in one receive that raced. It may be there twice: a rank that dies leaves it in the table and in the
// file.
func (b *decisionBuilder) raced(p post, op Op, source, tag int32) error {
	if i, twice := b.posted[p]; twice {
		if m := &b.out.Matches[i]; m.Never || m.Source != source || m.Tag != tag {
			return b.fault(p.event, "two messages complete it, from %d with tag %d and from %d with tag %d", m.Source,
				m.Tag, source, tag)
		}
		return nil
	}
	b.posted[p] = len(b.out.Matches)
	b.add(p, DecisionMatch{Event: p.event, Source: source, Tag: tag, Op: op})
	return nil
}

func (b *decisionBuilder) racedRun(first uint64, op Op, source, tag int32, count, stride, which uint32) error {
	for i := range uint64(count) {
		if err := b.raced(post{first + i*uint64(stride), which}, op, source, tag); err != nil {
			return err
		}
	}
	return nil
}

// runsMost bounds what a header that lies can make of a few bytes.
const runsMost = math.MaxUint32 >> 2

func (b *decisionBuilder) run(r *Run) error {
	b.last = max(b.last, r.Event)
	if b.runs += uint64(r.Count); b.runs > runsMost {
		return b.fault(r.Event, "the block races of the trace hold more than %d receives", uint64(runsMost))
	}
	return b.racedRun(r.Event-r.Back, r.Op, r.Source, r.Tag, r.Count, r.Stride, 0)
}

func (b *decisionBuilder) undecided(u *Undecided) error {
	for _, p := range u.Pending() {
		if last := p.Event + uint64(p.Count-1)*uint64(p.Stride); b.runs > runsMost || last > b.events+1 {
			return b.fault(p.Event, "an undecided receive lies behind the end, which is event %d", b.events)
		}
		b.runs += uint64(p.Count)
		if err := b.racedRun(p.Event, p.Op, p.Source, p.Tag, p.Count, p.Stride, p.Which); err != nil {
			return err
		}
	}
	return nil
}
