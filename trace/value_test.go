package trace

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// value draws a VALUE, and what must stand before it.
func (g *recordGen) value() {
	t := g.t
	thread := rapid.SampledFrom(append([]uint32{0}, g.threads...)).Draw(t, "thread")
	switch rapid.IntRange(0, 3).Draw(t, "value") {
	case 0:
		index := rapid.Uint32Range(1, 1<<20).Draw(t, "index")*64 + uint32(len(g.threads))
		g.threads = append(g.threads, index)
		g.all = append(g.all, &Thread{Index: index, ID: rapid.Uint64().Draw(t, "id")})
	case 1:
		g.steps += rapid.Uint64Range(0, 1<<40).Draw(t, "steps")
		g.all = append(g.all, &Turn{Steps: g.steps, Thread: thread})
	case 2:
		g.time += rapid.Float64Range(-1e-3, 1e3).Draw(t, "time")
		g.all = append(g.all, &Value{Thread: thread, What: abi.ValueWtime, Number: math.Float64bits(g.time)})
	default:
		kinds := []abi.ValueKind{
			abi.ValueWtime, abi.ValueWtick, abi.ValueClockGettime, abi.ValueArc4random,
			abi.ValueRandom, abi.ValueWindow,
		}
		v := &Value{Thread: thread, What: rapid.SampledFrom(kinds).Draw(t, "kind")}
		if v.What.IsBytes() {
			v.Bytes = string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes"))
		} else {
			v.Number = rapid.Uint64().Draw(t, "number")
		}
		g.all = append(g.all, v)
	}
}

// Times that a clock of nanoseconds gives, in any of the ways in which libraries make seconds of them, take two bytes
// each when they follow each other by up to half a microsecond.
func TestTimesAreShort(t *testing.T) {
	for form := range wtimeForms {
		rapid.Check(t, func(t *rapid.T) {
			ns := rapid.Int64Range(0, 4e15).Draw(t, "start")
			f := &buffer{}
			w := NewWriter(f, Header{Mode: abi.ModeOrder, WorldSize: 1})
			var want []uint64
			for i := range rapid.IntRange(2, 40).Draw(t, "n") {
				bits := wtime(ns, form)
				got, _, ok := nanoseconds(bits)
				if !ok || got != ns {
					t.Fatalf("%d ns is %v s, and that %d ns (%v)", ns, math.Float64frombits(bits), got, ok)
				}
				want = append(want, bits)
				before := len(w.buf)
				if err := w.Write(&Value{What: abi.ValueWtime, Number: bits}); err != nil {
					t.Fatal(err)
				}
				if i > 0 && len(w.buf)-before > 2 {
					t.Fatalf("time %d takes %d bytes", i, len(w.buf)-before)
				}
				ns += rapid.Int64Range(0, 500).Draw(t, "step")
			}
			if err := w.Finish(); err != nil {
				t.Fatal(err)
			}
			for rec, err := range f.reader(t).All() {
				if err != nil {
					t.Fatal(err)
				}
				if v := rec.(*Value); v.Number != want[0] {
					t.Fatalf("read %v, want %v", math.Float64frombits(v.Number), math.Float64frombits(want[0]))
				}
				want = want[1:]
			}
			if len(want) != 0 {
				t.Fatalf("%d times were not read", len(want))
			}
		})
	}
}

func TestValueRules(t *testing.T) {
	for name, records := range map[string][]Record{
		"a thread that was not declared": {&Value{Thread: 2, What: abi.ValueTime}},
		"a turn of no thread":            {&Turn{Thread: 3}},
		"the main thread declared":       {&Thread{}},
		"a thread twice":                 {&Thread{Index: 1, ID: 5}, &Thread{Index: 1, ID: 6}},
		"turns that go back":             {&Turn{Steps: 5}, &Turn{Steps: 4}},
		"a kind that is none":            {&Value{What: 15}},
	} {
		w := NewWriter(&buffer{}, Header{Mode: abi.ModeFull, WorldSize: 1})
		for i, r := range records {
			if err := w.Write(r); (err != nil) != (i == len(records)-1) {
				t.Errorf("%s: record %d: %v", name, i, err)
			}
		}
	}
}

// A short form without a time before that it can differ from is malformed.
func TestShortValueOfNothing(t *testing.T) {
	var b []byte
	s := valueState{last: map[uint64]uint64{valueKey(0, abi.ValueWtime): math.Float64bits(math.Pi)}}
	d := decoder{buf: append(b, 0), path: "x"}
	d.shortValue(kindShortValue, &s)
	if d.err == nil {
		t.Error("a difference to a time that is no number of nanoseconds was read")
	}
	if !bytes.Equal(appendValue(nil, &Value{What: abi.ValueWtime, Number: math.Float64bits(math.Pi)}, &s),
		[]byte{7, 1, 0}) {
		t.Error("the same time again does not take the long form")
	}
}

func TestCallNamesOfValues(t *testing.T) {
	for number, want := range map[uint32]string{
		0x101: "MPI_Wtime", 0x103: "clock_gettime",
		0x113: "values fetched by a one-sided call", 0x200: "a call of another thread", 0x1ff: "op 511",
	} {
		if got := CallName(number); got != want {
			t.Errorf("%#x is %q, want %q", number, got, want)
		}
	}
}
