package trace

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// decoder reads fields from one chunk's payload. The first fault sticks; what is read after it is zero.
type decoder struct {
	path string
	buf  []byte
	pos  int
	at   int    // where the field that was read last begins
	base int64  // file offset of buf[0]
	what string // record that is being read
	last uint64 // event of the order-mode record before it
	err  error
}

func (d *decoder) left() int { return len(d.buf) - d.pos }

func (d *decoder) failAt(at int, want, got string) {
	if d.err == nil {
		d.err = &FormatError{
			Path: d.path, Offset: d.base + int64(at), What: d.what, Want: want, Got: got, Kind: ErrMalformed,
		}
	}
}

func (d *decoder) Fail(want, got string) { d.failAt(d.at, want, got) }

// next returns the bytes of a field, nil after a fault. The end of the payload inside a record is malformed, not
// truncated: a record is never split, and `committed` only ever covers whole ones.
func (d *decoder) next(key string, n int) []byte {
	if d.err != nil {
		return nil
	}
	d.at = d.pos
	if d.left() < n {
		d.Fail(key, "the end of the chunk")
		return nil
	}
	d.pos += n
	return d.buf[d.at:d.pos]
}

func (d *decoder) Uint(key string, bits int, _ uint64) uint64 {
	if d.next(key, 1) == nil {
		return 0
	}
	v, n := binary.Uvarint(d.buf[d.at:])
	switch {
	case n <= 0:
		d.Fail(key+" as a varint", "one that does not end or exceeds 64 bits")
		return 0
	case v>>(bits-1) > 1:
		d.Fail(fmt.Sprintf("%s below 2^%d", key, bits), fmt.Sprint(v))
		return 0
	}
	d.pos = d.at + n
	return v
}

func (d *decoder) Int(key string, _ int32) int32 {
	u := d.Uint(key, 64, 0)
	v := unzigzag(u)
	if v < math.MinInt32 || v > math.MaxInt32 {
		d.Fail(key+" in 32 bits", fmt.Sprint(v))
		return 0
	}
	return int32(v)
}

func (d *decoder) Fixed(key string, bytes int, _ uint64) uint64 {
	var v [8]byte
	copy(v[:], d.next(key, bytes))
	return binary.LittleEndian.Uint64(v[:])
}

func (d *decoder) String(key, _ string) string { return string(d.next(key, d.Count(key, 1, 0))) }

func (d *decoder) Op(key string, _ mpispec.Op) mpispec.Op {
	op := mpispec.Op(d.Uint(key, 32, 0))
	if d.err == nil && !op.Known() {
		d.Fail("a known operation", fmt.Sprint(uint32(op)))
	}
	return op
}

func (d *decoder) CommKind(key string, _ abi.CommKind) abi.CommKind {
	return abi.CommKind(d.Fixed(key, 1, 0))
}

func (d *decoder) Index(_ string, v uint64) uint64 { return v }

func (d *decoder) Event(string, uint64) uint64 {
	v := d.Uint("event delta", 64, 0)
	if v > abi.Never-1-d.last {
		d.Fail("an event delta that fits", fmt.Sprint(v))
		return d.last
	}
	return d.last + v
}

func (d *decoder) Back(key string, event, _ uint64) uint64 {
	switch v := d.Uint(key, 64, 0); {
	case v == 0:
		return 0
	case v >= event:
		d.Fail(fmt.Sprintf("%s before event %d", key, event), fmt.Sprintf("one %d events before it", v))
		return 0
	default:
		return event - v
	}
}

// Count refuses more than the chunk has room for: so a count that lies allocates nothing.
func (d *decoder) Count(key string, size, _ int) int {
	v := d.Uint("length of "+key, 64, 0)
	if v > uint64(d.left()/size) {
		d.Fail(fmt.Sprintf("a length of %s that fits the %d bytes that follow", key, d.left()), fmt.Sprint(v))
		return 0
	}
	return int(v)
}

func (d *decoder) List(_ string, n int) int { return n }
func (d *decoder) Next()                    {}
func (d *decoder) End()                     {}

// rest reads what follows the kind byte of a record.
func (d *decoder) rest(kind abi.Record, st *state) Record {
	d.at, d.what, d.last = d.pos-1, "record", st.last
	switch {
	case int(kind) < len(kinds) && kinds[kind].make != nil:
		rec := kinds[kind].make()
		d.what = kinds[kind].name
		switch rec := rec.(type) {
		case *Value:
			d.value(rec, &st.values)
			return rec
		case *Event:
			rec.Index = st.events + 1
		}
		rec.fields(d)
		return rec
	case kind >= kindShortValue && kind <= kindShortLast:
		d.what = "VALUE"
		return d.shortValue(kind, &st.values)
	}
	d.Fail("a known kind of record", fmt.Sprintf("%#02x", uint8(kind)))
	return nil
}
