package decisions

import (
	"encoding/binary"
	"fmt"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Write makes the file that a rank in replay maps (the fixed layout of cohort_abi.h). It appears under its name
// complete, or not at all; a file of that name is replaced.
func (d *Plan) Write(path string) error {
	if err := atomicfile.Write(path, d.Encode()); err != nil {
		return fmt.Errorf("write decisions of rank %d: %w", d.Rank, err)
	}
	return nil
}

// Encode returns the bytes of the decisions file.
func (d *Plan) Encode() []byte {
	h := abi.Decisions{
		Magic: abi.DecisionsMagic, Version: abi.DecisionsVersion, Size: uint32(abi.Size[abi.Decisions]()),
		Rank: d.Rank, WorldSize: d.WorldSize, LastEvent: d.LastEvent, Finalized: flag(d.Finalized),
		CurrentOp: uint16(d.CurrentOp), Sparse: uint16(flag(d.Sparse)), Control: flag(d.Control), Hold: flag(d.Hold),
	}
	b := make([]byte, h.Size)
	b, h.NMatches, h.OffMatches = appendAll(b, d.Matches, func(m Match) abi.Match {
		return abi.Match{
			Event: m.Event, Source: m.Source, Tag: m.Tag, Op: uint32(m.Op),
			Flags: never(m.Never) | abi.DecisionFlag(m.Which<<abi.DecisionWhich),
		}
	})
	b, h.NPolls, h.OffPolls = appendAll(b, d.Polls, func(p Poll) abi.Poll {
		return abi.Poll{Event: p.Event, Failures: p.Failures, Op: uint32(p.Op), Flags: never(p.Event == abi.Never)}
	})
	h.NSets, h.OffSets = uint64(len(d.Sets)), uint64(len(b))
	for _, s := range d.Sets {
		b = append(b, abi.Bytes(&abi.Set{Event: s.Event, Op: uint32(s.Op), Count: uint32(len(s.Indices))})...)
		for _, i := range s.Indices {
			b = binary.LittleEndian.AppendUint32(b, i)
		}
		b = append(b, make([]byte, -len(b)&7)...)
	}
	h.LenSets = uint64(len(b)) - h.OffSets
	b, h.NChecks, h.OffChecks = appendAll(b, d.Checks, same[Check])
	b, h.NWaits, h.OffWaits = appendAll(b, d.Waits, same[Order])
	b, h.NGrants, h.OffGrants = appendAll(b, d.Grants, same[Order])
	data := uint64(len(b))
	for i := range d.Streams {
		b = append(b, d.Streams[i].Data...)
	}
	b, h.NStreams, h.OffStreams = appendAll(b, d.Streams, func(s Stream) abi.Stream {
		at := data
		data += uint64(len(s.Data))
		return abi.Stream{Thread: s.Thread, Count: s.Count, Offset: at, Bytes: uint64(len(s.Data))}
	})
	b, h.NTurns, h.OffTurns = appendAll(b, d.Turns, same[Turn])
	copy(b, abi.Bytes(&h))
	return b
}

// appendAll appends a section to a file; count and offset are what its header says of it.
func appendAll[E any, R abi.Struct](b []byte, list []E, record func(E) R) (file []byte, count, offset uint64) {
	count, offset = uint64(len(list)), uint64(len(b))
	for _, e := range list {
		r := record(e)
		b = append(b, abi.Bytes(&r)...)
	}
	return b, count, offset
}

func same[T any](t T) T { return t }

func never(set bool) abi.DecisionFlag { return abi.DecisionFlag(flag(set)) * abi.DecisionNever }

func flag(set bool) uint32 {
	if set {
		return 1
	}
	return 0
}
