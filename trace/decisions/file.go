package decisions

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
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
	b, h.NMatches, h.OffMatches = appendAll(b, d.Matches, func(m *Match) abi.Match {
		return abi.Match{
			Event: m.Event, Source: m.Source, Tag: m.Tag, Op: uint32(m.Op),
			Flags: never(m.Never) | abi.DecisionFlag(m.Which<<abi.DecisionWhich),
		}
	})
	b, h.NPolls, h.OffPolls = appendAll(b, d.Polls, func(p *Poll) abi.Poll {
		return abi.Poll{Event: p.Event, Failures: p.Failures, Op: uint32(p.Op), Flags: never(p.Never)}
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
	b, h.NChecks, h.OffChecks = appendAll(b, d.Checks, func(c *Check) abi.Check {
		return abi.Check{Event: c.Event, Hash: uint64(c.Hash)}
	})
	order := func(o *Order) abi.Order { return abi.Order{Event: o.Event, Peer: o.Peer} }
	b, h.NWaits, h.OffWaits = appendAll(b, d.Waits, order)
	b, h.NGrants, h.OffGrants = appendAll(b, d.Grants, order)
	data := uint64(len(b))
	for i := range d.Streams {
		b = append(b, d.Streams[i].Data...)
	}
	b, h.NStreams, h.OffStreams = appendAll(b, d.Streams, func(s *Stream) abi.Stream {
		at := data
		data += uint64(len(s.Data))
		return abi.Stream{Thread: s.Thread, Count: s.Count, Offset: at, Bytes: uint64(len(s.Data))}
	})
	b, h.NTurns, h.OffTurns = appendAll(b, d.Turns, func(t *Turn) abi.Turn {
		return abi.Turn{Steps: t.Steps, Thread: t.Thread}
	})
	copy(b, abi.Bytes(&h))
	return b
}

// appendAll appends a section to a file; count and offset are what its header says of it.
func appendAll[E any, R abi.Struct](b []byte, list []E, record func(*E) R) (file []byte, count, offset uint64) {
	count, offset = uint64(len(list)), uint64(len(b))
	for i := range list {
		r := record(&list[i])
		b = append(b, abi.Bytes(&r)...)
	}
	return b, count, offset
}

func never(set bool) abi.DecisionFlag { return abi.DecisionFlag(flag(set)) * abi.DecisionNever }

// Read reads a decisions file: what Write wrote. Errors: those of the file system, *FormatError,
// *VersionError.
func Read(path string) (*Plan, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read decisions: %w", err)
	}
	return Decode(path, b)
}

// Decode is the inverse of Encode; name is for messages.
func Decode(name string, b []byte) (*Plan, error) {
	f := &file{name: name, bytes: b}
	h := abi.Read[abi.Decisions](b)
	if len(b) < abi.Size[abi.Decisions]() || h.Magic != abi.DecisionsMagic {
		f.fail("header", "the magic of a decisions file", fmt.Sprintf("a file of %d bytes without it", len(b)))
		return nil, f.err
	}
	if h.Version != abi.DecisionsVersion {
		return nil, &trace.VersionError{
			Path: name, What: "decisions file", Found: int64(h.Version), Supported: abi.DecisionsVersion,
		}
	}
	order := func(o abi.Order) Order { return Order{Event: o.Event, Peer: o.Peer} }
	d := &Plan{
		Rank: h.Rank, WorldSize: h.WorldSize, LastEvent: h.LastEvent, Finalized: h.Finalized == 1,
		CurrentOp: mpispec.Op(h.CurrentOp), Sparse: h.Sparse != 0, Control: h.Control != 0, Hold: h.Hold != 0,
		Matches: section(f, "matches", h.NMatches, h.OffMatches, func(m abi.Match) Match {
			return Match{
				Event: m.Event, Source: m.Source, Tag: m.Tag, Op: mpispec.Op(m.Op), Never: m.Flags&abi.DecisionNever != 0,
				Which: uint32(m.Flags) >> abi.DecisionWhich,
			}
		}),
		Polls: section(f, "polls", h.NPolls, h.OffPolls, func(p abi.Poll) Poll {
			return Poll{
				Event: p.Event, Failures: p.Failures, Op: mpispec.Op(p.Op), Never: p.Flags&abi.DecisionNever != 0,
			}
		}),
		Sets: f.sets(h.NSets, h.OffSets),
		Checks: section(f, "checks", h.NChecks, h.OffChecks, func(c abi.Check) Check {
			return Check{Event: c.Event, Hash: uint32(c.Hash)}
		}),
		Waits:  section(f, "waits", h.NWaits, h.OffWaits, order),
		Grants: section(f, "grants", h.NGrants, h.OffGrants, order),
		Streams: section(f, "streams", h.NStreams, h.OffStreams, func(s abi.Stream) Stream {
			data := f.from("values", s.Bytes, s.Offset, 1)
			data = data[:min(s.Bytes, uint64(len(data)))]
			return Stream{Thread: s.Thread, Count: s.Count, Data: append([]byte(nil), data...)}
		}),
		Turns: section(f, "turns", h.NTurns, h.OffTurns, func(t abi.Turn) Turn {
			return Turn{Steps: t.Steps, Thread: t.Thread}
		}),
	}
	if f.err != nil {
		return nil, f.err
	}
	return d, nil
}

// file is a decisions file that is being read. Of what is wrong with it err has the first.
type file struct {
	name  string
	bytes []byte
	err   error
}

func (f *file) fail(what, want, got string) {
	if f.err == nil {
		f.err = &trace.FormatError{Path: f.name, What: what, Want: want, Got: got, Kind: trace.ErrMalformed}
	}
}

// from returns the file from an offset on, if so many entries of a size are there; else nil, and the file is at fault.
func (f *file) from(what string, count, offset, size uint64) []byte {
	length := uint64(len(f.bytes))
	if offset > length || count > (length-offset)/size {
		f.fail(what, "entries inside the file", fmt.Sprintf("%d at offset %d of %d", count, offset, length))
		return nil
	}
	return f.bytes[offset:]
}

// section reads entries of one kind; none if they are not inside the file.
func section[R abi.Struct, E any](f *file, what string, count, offset uint64, entry func(R) E) []E {
	size := abi.Size[R]()
	rest := f.from(what, count, offset, uint64(size))
	if rest == nil {
		return nil
	}
	var list []E
	for range count {
		list = append(list, entry(abi.Read[R](rest)))
		rest = rest[size:]
	}
	return list
}

// sets reads the entries that have indices after them.
func (f *file) sets(count, offset uint64) []Set {
	size := abi.Size[abi.Set]()
	rest := f.from("sets", count, offset, uint64(size))
	var list []Set
	for range count {
		r := abi.Read[abi.Set](rest)
		words := int(r.Count) + int(r.Count%2)
		if len(rest) < size || words > (len(rest)-size)/4 {
			f.fail("set", fmt.Sprintf("%d indices", r.Count), fmt.Sprintf("%d bytes", len(rest)))
			return nil
		}
		s := Set{Event: r.Event, Op: mpispec.Op(r.Op)}
		rest = rest[size:]
		for i := range int(r.Count) {
			s.Indices = append(s.Indices, binary.LittleEndian.Uint32(rest[4*i:]))
		}
		list = append(list, s)
		rest = rest[4*words:]
	}
	return list
}

func flag(set bool) uint32 {
	if set {
		return 1
	}
	return 0
}
