package decisions

import (
	"math"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// raced takes in one receive that raced. It may be there twice: a rank that dies leaves it in the table and in the
// file.
func (b *Builder) raced(p trace.Posting, op mpispec.Op, source, tag int32) error {
	i, known := b.posted[p]
	switch {
	case !known:
		b.posted[p] = len(b.out.Matches)
		b.add(p, Match{Source: source, Tag: tag, Op: op})
		return nil
	case b.out.Matches[i].Never:
		return b.fault(p.Event, "its receive was cancelled, and yet took a message from %d with tag %d", source, tag)
	}
	return b.took(p, source, tag)
}

func (b *Builder) racedRun(first uint64, op mpispec.Op, source, tag int32, count, stride, which uint32) error {
	for i := range uint64(count) {
		if err := b.raced(trace.Posting{Event: first + i*uint64(stride), Which: which}, op, source, tag); err != nil {
			return err
		}
	}
	return nil
}

// runsMost bounds what a header that lies can make of a few bytes.
const runsMost = math.MaxUint32 >> 2

func (b *Builder) run(r *trace.Run) error {
	b.last = max(b.last, r.Event)
	if b.runs += uint64(r.Count); b.runs > runsMost {
		return b.fault(r.Event, "the block races of the trace hold more than %d receives", uint64(runsMost))
	}
	return b.racedRun(r.Event-r.Back, r.Op, r.Source, r.Tag, r.Count, r.Stride, 0)
}

func (b *Builder) undecided(all []abi.Pending) error {
	for _, p := range all {
		if last := p.Event + uint64(p.Count-1)*uint64(p.Stride); b.runs > runsMost || last > b.events+1 {
			return b.fault(p.Event, "an undecided receive lies behind the end, which is event %d", b.events)
		}
		b.runs += uint64(p.Count)
		op := mpispec.Op(p.Op)
		if err := b.racedRun(p.Event, op, p.Source, p.Tag, p.Count, p.Stride, p.Which); err != nil {
			return err
		}
	}
	return nil
}
