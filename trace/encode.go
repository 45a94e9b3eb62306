package trace

import (
	"encoding/binary"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// encoder appends the fields of a record.
type encoder struct {
	b    []byte
	last uint64 // event of the order-mode record before
	err  *RuleError
}

// encode returns the bytes of a record at full length, after the others of a trace.
func encode(r Record, st *state) ([]byte, *RuleError) {
	e := &encoder{b: []byte{byte(r.kind())}, last: st.last}
	if v, ok := r.(*Value); ok {
		return appendValue(nil, v, &st.values), nil
	}
	r.fields(e)
	return e.b, e.err
}

func (e *encoder) Fail(want, got string) {
	if e.err == nil {
		e.err = &RuleError{want, got}
	}
}

func (e *encoder) Uint(_ string, _ int, v uint64) uint64 {
	e.b = binary.AppendUvarint(e.b, v)
	return v
}

func (e *encoder) Int(_ string, v int32) int32 {
	e.b = binary.AppendVarint(e.b, int64(v))
	return v
}

func (e *encoder) Fixed(_ string, bytes int, v uint64) uint64 {
	e.b = append(e.b, binary.LittleEndian.AppendUint64(nil, v)[:bytes]...)
	return v
}

func (e *encoder) String(_, v string) string {
	e.b = appendString(e.b, v)
	return v
}

func (e *encoder) Op(key string, v mpispec.Op) mpispec.Op {
	return mpispec.Op(e.Uint(key, 32, uint64(v)))
}

func (e *encoder) CommKind(key string, v abi.CommKind) abi.CommKind {
	return abi.CommKind(e.Fixed(key, 1, uint64(v)))
}

func (e *encoder) Index(_ string, v uint64) uint64 { return v }

func (e *encoder) Event(key string, v uint64) uint64 { return e.Uint(key, 64, v-e.last) + e.last }

func (e *encoder) Back(key string, event, v uint64) uint64 {
	distance := event - v
	if v == 0 {
		distance = 0
	}
	e.Uint(key, 64, distance)
	return v
}

func (e *encoder) Count(key string, _, n int) int { return int(e.Uint(key, 64, uint64(n))) }

func (e *encoder) List(_ string, n int) int { return n }
func (e *encoder) Next()                    {}
func (e *encoder) End()                     {}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
