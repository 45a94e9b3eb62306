package decisions

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// AddValues adds the values, threads and turns of records to the plan.
func (d *Plan) AddValues(records []trace.Record) {
	var values valueBuilder
	for _, r := range records {
		values.add(r)
	}
	values.finish(d)
}

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
		return nil, trace.RefuseVersion("decisions file", name, int64(h.Version), abi.DecisionsVersion)
	}
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
			return Poll{Event: p.Event, Failures: p.Failures, Op: mpispec.Op(p.Op)}
		}),
		Sets:   f.sets(h.NSets, h.OffSets),
		Checks: section(f, "checks", h.NChecks, h.OffChecks, same[Check]),
		Waits:  section(f, "waits", h.NWaits, h.OffWaits, same[Order]),
		Grants: section(f, "grants", h.NGrants, h.OffGrants, same[Order]),
		Streams: section(f, "streams", h.NStreams, h.OffStreams, func(s abi.Stream) Stream {
			data := f.from("values", s.Bytes, s.Offset, 1)
			data = data[:min(s.Bytes, uint64(len(data)))]
			return Stream{Thread: s.Thread, Count: s.Count, Data: append([]byte(nil), data...)}
		}),
		Turns: section(f, "turns", h.NTurns, h.OffTurns, same[Turn]),
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
