package trace

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// A VALUE of MPI_Wtime of the main thread that is near to the one before it has one of these kinds.
const (
	kindShortValue            = abi.RecordTime
	kindShortLast  abi.Record = 0x3f
)

// TurnName is how a divergence names, instead of an operation, that it was another thread's turn to call MPI.
const TurnName = "a call of another thread"

// CallName names the call of a number that a rank wrote into its control block: "MPI_Recv", "none" for 0, "uncovered
// call" for OpOther (the recording's note says which), and "op N" for a number that this version does not know.
func CallName(number uint32) string {
	op, kind := mpispec.Op(number), abi.ValueKind(number-abi.DivergedValue)
	switch {
	case op == mpispec.OpNone:
		return "none"
	case op == mpispec.OpOther:
		return "uncovered call"
	case op.Known():
		return op.Call()
	case number == abi.DivergedTurn:
		return TurnName
	case kind == abi.ValueFetched:
		return "values fetched by a one-sided call"
	case kind == abi.ValueWindow:
		return "the content of a window"
	case kind.Known():
		return kind.String()
	}
	return fmt.Sprintf("op %d", number)
}

// ValueKinds is a set of kinds of values: bit 1 << kind.
type ValueKinds uint32

// Names are the functions that values of these kinds come from, in the order of their kinds.
func (s ValueKinds) Names() []string {
	var names []string
	for k := range abi.ValueKind(32) {
		if s&(1<<k) != 0 {
			names = append(names, k.String())
		}
	}
	return names
}

// Value is something that a program was given and that another run would not be given: the time, random bytes, what a
// one-sided call fetched. It belongs to no event: the values of one thread come in the order in which the thread got
// them.
type Value struct {
	Thread uint32 // index of a Thread; 0 is the main thread
	What   abi.ValueKind
	Number uint64 // unless What.IsBytes()
	Bytes  string
}

func (*Value) kind() abi.Record { return abi.RecordValue }

// fields are not those of the file, which depend on the values before.
func (*Value) fields(Fields) {}

// Thread declares a thread of the rank. Index 0, the process's first thread, is never declared. The ID of a thread is
// the same in every run in which the program makes its threads in the same way: it depends on the thread that made it,
// and on how many that had made before.
type Thread struct {
	Index uint32
	ID    uint64
}

func (*Thread) kind() abi.Record { return abi.RecordThread }

func (t *Thread) fields(f Fields) {
	Number(f, "index", &t.Index)
	t.ID = f.Fixed("id", 8, t.ID)
}

// Turn says that the thread with index Thread makes the MPI calls from there on: after Steps calls, failed polls
// included. Before the first Turn it is the main thread.
type Turn struct {
	Steps  uint64
	Thread uint32
}

func (*Turn) kind() abi.Record { return abi.RecordTurn }

func (t *Turn) fields(f Fields) {
	Number(f, "steps", &t.Steps)
	Number(f, "thread", &t.Thread)
}

// valueState is what the values so far mean for the next.
type valueState struct {
	threads declared
	last    map[uint64]uint64 // the last number by thread and kind
	steps   uint64            // of the last Turn
}

func newValueState() valueState {
	return valueState{threads: declared{0: true}, last: map[uint64]uint64{}}
}

func valueKey(thread uint32, what abi.ValueKind) uint64 { return uint64(thread)<<8 | uint64(what) }

// add checks a Value, Thread or Turn against those before it and takes it in.
func (s *valueState) add(r Record) *RuleError {
	switch r := r.(type) {
	case *Value:
		if !r.What.Known() {
			return broken("a known kind of value", "%s", r.What)
		}
		if !r.What.IsBytes() {
			s.last[valueKey(r.Thread, r.What)] = r.Number
		}
		return s.threads.need("thread", uint64(r.Thread))
	case *Thread:
		return s.threads.add("thread", uint64(r.Index))
	case *Turn:
		if r.Steps < s.steps {
			return broken(fmt.Sprintf("a turn after %d steps or more", s.steps), "%d", r.Steps)
		}
		s.steps = r.Steps
		return s.threads.need("thread", uint64(r.Thread))
	}
	return nil
}

// wtimeForms is in how many ways wtime knows MPI libraries to make seconds of nanoseconds.
const wtimeForms = 4

// wtime makes seconds of nanoseconds; the bits depend on the way. The conversions keep Go from fusing a multiplication
// with an addition, which would round differently.
func wtime(ns int64, form int) uint64 {
	s, f := ns/1e9, ns%1e9
	if form&2 != 0 { // a difference of two times, of which the earlier one has the greater fraction
		s, f = s+1, f-1e9
	}
	if form&1 != 0 {
		return math.Float64bits(float64(s) + float64(float64(f)/1e9))
	}
	return math.Float64bits(float64(s) + float64(1e-9*float64(f)))
}

// nanoseconds is the number of nanoseconds that a value of MPI_Wtime stands for, and in which way; ok is false if in
// none.
func nanoseconds(bits uint64) (ns int64, form int, ok bool) {
	v := math.Float64frombits(bits)
	if !(v >= 0 && v < 9e9) {
		return 0, 0, false
	}
	ns = int64(v*1e9 + 0.5)
	for form := range wtimeForms {
		if bits == wtime(ns, form) {
			return ns, form, true
		}
	}
	return 0, 0, false
}

// shortLimit bounds the difference that a short form holds, in nanoseconds.
const shortLimit = 1 << 40

// value reads a VALUE after its kind byte.
func (d *decoder) value(v *Value, s *valueState) {
	head := d.Uint("thread and kind", 64, 0)
	v.Thread, v.What = uint32(head>>5), abi.ValueKind(head&31)
	if head>>5 > math.MaxUint32 {
		d.Fail("a thread below 2^32", fmt.Sprint(head>>5))
	}
	if v.What.IsBytes() {
		v.Bytes = d.String("bytes", "")
	} else {
		v.Number = s.last[valueKey(v.Thread, v.What)] + uint64(unzigzag(d.Uint("difference", 64, 0)))
	}
}

// shortValue reads a short form. Its kind byte holds in bits 3 and 4 how seconds are made of nanoseconds and below that
// the lowest bits of the difference.
func (d *decoder) shortValue(kind abi.Record, s *valueState) *Value {
	u := d.Uint("difference", 64, 0)<<3 | uint64(kind&7)
	before, _, ok := nanoseconds(s.last[valueKey(0, abi.ValueWtime)])
	ns := before + unzigzag(u)
	if d.err == nil && (!ok || u >= shortLimit || ns < 0 || ns >= 9e18) {
		d.Fail("a difference to a time before", fmt.Sprint(u))
		ns = 0
	}
	return &Value{What: abi.ValueWtime, Number: wtime(ns, int(kind>>3&3))}
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// appendValue appends a VALUE with its kind byte, in the form that the interposer chooses.
func appendValue(b []byte, v *Value, s *valueState) []byte {
	last := s.last[valueKey(v.Thread, v.What)]
	if v.What == abi.ValueWtime && v.Thread == 0 {
		before, _, ok := nanoseconds(last)
		ns, form, ok2 := nanoseconds(v.Number)
		if u := zigzag(ns - before); ok && ok2 && u < shortLimit {
			return binary.AppendUvarint(append(b, byte(kindShortValue)|byte(form<<3)|byte(u&7)), u>>3)
		}
	}
	b = binary.AppendUvarint(append(b, byte(abi.RecordValue)), uint64(v.Thread)<<5|uint64(v.What))
	if v.What.IsBytes() {
		return appendString(b, v.Bytes)
	}
	return binary.AppendUvarint(b, zigzag(int64(v.Number-last)))
}
