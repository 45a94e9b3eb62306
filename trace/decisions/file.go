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

// Sizes of the mirror of struct cohort_decisions and its entries.
const (
	decisionsMagic = 0x00434544484f43
	headerSize     = 184
	matchSize      = 24
	pollSize       = 24
	setSize        = 16
	checkSize      = 16
	orderSize      = 16

	flagNever       = 1 // COHORT_DECISION_NEVER
	matchWhichShift = 8 // COHORT_DECISION_WHICH
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
	le := binary.LittleEndian
	b := make([]byte, headerSize,
		headerSize+len(d.Matches)*matchSize+len(d.Polls)*pollSize+len(d.Sets)*(setSize+8))
	for _, m := range d.Matches {
		b = le.AppendUint64(b, m.Event)
		b = le.AppendUint32(b, uint32(m.Source))
		b = le.AppendUint32(b, uint32(m.Tag))
		b = le.AppendUint32(b, uint32(m.Op))
		b = le.AppendUint32(b, flag(m.Never)*flagNever|m.Which<<matchWhichShift)
	}
	polls := len(b)
	for _, p := range d.Polls {
		b = le.AppendUint64(b, p.Event)
		b = le.AppendUint64(b, p.Failures)
		b = le.AppendUint32(b, uint32(p.Op))
		b = le.AppendUint32(b, flag(p.Never)*flagNever)
	}
	sets := len(b)
	for _, s := range d.Sets {
		b = le.AppendUint64(b, s.Event)
		b = le.AppendUint32(b, uint32(s.Op))
		b = le.AppendUint32(b, uint32(len(s.Indices)))
		for _, i := range s.Indices {
			b = le.AppendUint32(b, i)
		}
		if len(s.Indices)%2 == 1 {
			b = le.AppendUint32(b, 0)
		}
	}
	checks := len(b)
	for _, c := range d.Checks {
		b = le.AppendUint64(b, c.Event)
		b = le.AppendUint64(b, uint64(c.Hash))
	}
	waits := len(b)
	b = appendOrders(b, d.Waits)
	grants := len(b)
	b = appendOrders(b, d.Grants)
	le.PutUint64(b[144:], uint64(len(d.Waits)))
	le.PutUint64(b[152:], uint64(waits))
	le.PutUint64(b[160:], uint64(len(d.Grants)))
	le.PutUint64(b[168:], uint64(grants))
	le.PutUint32(b[176:], flag(d.Control))
	le.PutUint32(b[180:], flag(d.Hold))
	le.PutUint64(b[0:], decisionsMagic)
	le.PutUint32(b[8:], abi.DecisionsVersion)
	le.PutUint32(b[12:], headerSize)
	le.PutUint32(b[16:], d.Rank)
	le.PutUint32(b[20:], d.WorldSize)
	le.PutUint64(b[24:], uint64(len(d.Matches)))
	le.PutUint64(b[32:], uint64(len(d.Polls)))
	le.PutUint64(b[40:], uint64(len(d.Sets)))
	le.PutUint64(b[48:], headerSize)
	le.PutUint64(b[56:], uint64(polls))
	le.PutUint64(b[64:], uint64(sets))
	le.PutUint64(b[72:], uint64(checks-sets))
	le.PutUint64(b[80:], d.LastEvent)
	le.PutUint32(b[88:], flag(d.Finalized))
	le.PutUint32(b[92:], uint32(d.CurrentOp)|flag(d.Sparse)<<16)
	le.PutUint64(b[96:], uint64(len(d.Checks)))
	le.PutUint64(b[104:], uint64(checks))
	return d.encodeValues(b, 112)
}

func appendOrders(b []byte, orders []Order) []byte {
	for _, o := range orders {
		b = binary.LittleEndian.AppendUint64(b, o.Event)
		b = binary.LittleEndian.AppendUint64(b, uint64(o.Peer))
	}
	return b
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
	le := binary.LittleEndian
	bad := func(at int, what, want, got string) (*Plan, error) {
		return nil, &trace.FormatError{
			Path:   name,
			Offset: int64(at),
			What:   what,
			Want:   want,
			Got:    got,
			Kind:   trace.ErrMalformed,
		}
	}
	if len(b) < headerSize || le.Uint64(b) != decisionsMagic {
		return bad(0, "header", "the magic of a decisions file", fmt.Sprintf("a file of %d bytes without it", len(b)))
	}
	if v := le.Uint32(b[8:]); v != abi.DecisionsVersion {
		return nil, &trace.VersionError{
			Path:      name,
			What:      "decisions file",
			Found:     int64(v),
			Supported: abi.DecisionsVersion,
		}
	}
	d := &Plan{
		Rank: le.Uint32(b[16:]), WorldSize: le.Uint32(b[20:]), LastEvent: le.Uint64(b[80:]),
		Finalized: le.Uint32(b[88:]) == 1,
		CurrentOp: mpispec.Op(le.Uint16(b[92:])), Sparse: le.Uint16(b[94:]) != 0,
	}
	section := func(countAt, offsetAt int, size uint64) (count uint64, rest []byte, ok bool) {
		count, offset := le.Uint64(b[countAt:]), le.Uint64(b[offsetAt:])
		if offset > uint64(len(b)) || count > (uint64(len(b))-offset)/size {
			return 0, nil, false
		}
		return count, b[offset:], true
	}
	n, rest, ok := section(24, 48, matchSize)
	if !ok {
		return bad(24, "matches", "entries inside the file", fmt.Sprint(le.Uint64(b[24:])))
	}
	for ; n > 0; n, rest = n-1, rest[matchSize:] {
		d.Matches = append(d.Matches, Match{
			Event: le.Uint64(rest), Source: int32(le.Uint32(rest[8:])), Tag: int32(le.Uint32(rest[12:])),
			Op: mpispec.Op(le.Uint32(rest[16:])), Never: le.Uint32(rest[20:])&flagNever != 0,
			Which: le.Uint32(rest[20:]) >> matchWhichShift,
		})
	}
	if n, rest, ok = section(32, 56, pollSize); !ok {
		return bad(32, "polls", "entries inside the file", fmt.Sprint(le.Uint64(b[32:])))
	}
	for ; n > 0; n, rest = n-1, rest[pollSize:] {
		d.Polls = append(d.Polls, Poll{
			Event: le.Uint64(rest), Failures: le.Uint64(rest[8:]), Op: mpispec.Op(le.Uint32(rest[16:])),
			Never: le.Uint32(rest[20:])&flagNever != 0,
		})
	}
	if n, rest, ok = section(40, 64, setSize); !ok {
		return bad(40, "sets", "entries inside the file", fmt.Sprint(le.Uint64(b[40:])))
	}
	for ; n > 0; n-- {
		at := len(b) - len(rest)
		if len(rest) < setSize {
			return bad(at, "set", "an entry", fmt.Sprintf("%d bytes", len(rest)))
		}
		s := Set{Event: le.Uint64(rest), Op: mpispec.Op(le.Uint32(rest[8:]))}
		count := int(le.Uint32(rest[12:]))
		rest = rest[setSize:]
		words := count + count%2
		if words > len(rest)/4 {
			return bad(at, "set", fmt.Sprintf("%d indices", count), fmt.Sprintf("%d bytes", len(rest)))
		}
		for i := range count {
			s.Indices = append(s.Indices, le.Uint32(rest[4*i:]))
		}
		d.Sets = append(d.Sets, s)
		rest = rest[4*words:]
	}
	if n, rest, ok = section(96, 104, checkSize); !ok {
		return bad(96, "checks", "entries inside the file", fmt.Sprint(le.Uint64(b[96:])))
	}
	for ; n > 0; n, rest = n-1, rest[checkSize:] {
		d.Checks = append(d.Checks, Check{Event: le.Uint64(rest), Hash: uint32(le.Uint64(rest[8:]))})
	}
	d.Control, d.Hold = le.Uint32(b[176:]) != 0, le.Uint32(b[180:]) != 0
	for _, orders := range []struct {
		of   *[]Order
		at   int
		what string
	}{{&d.Waits, 144, "waits"}, {&d.Grants, 160, "grants"}} {
		if n, rest, ok = section(orders.at, orders.at+8, orderSize); !ok {
			return bad(orders.at, orders.what, "entries inside the file", fmt.Sprint(le.Uint64(b[orders.at:])))
		}
		for ; n > 0; n, rest = n-1, rest[orderSize:] {
			*orders.of = append(*orders.of, Order{Event: le.Uint64(rest), Peer: le.Uint32(rest[8:])})
		}
	}
	if err := d.decodeValues(b, 112); err != nil {
		return bad(112, "values", "streams and turns inside the file", err.Error())
	}
	return d, nil
}

func flag(set bool) uint32 {
	if set {
		return 1
	}
	return 0
}
