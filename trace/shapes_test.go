package trace

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Few shapes in any order: every short form comes, and places are reused.
func TestShortFormsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []Record
		event := uint64(0)
		kinds := rapid.SampledFrom([]int{3, 200}).Draw(t, "kinds")
		for range rapid.IntRange(1, 300).Draw(t, "n") {
			k := rapid.IntRange(0, kinds).Draw(t, "shape")
			event += uint64(k%7) + 1
			value := rapid.SampledFrom([]uint64{0, 1, 2, 126, 127, 128, 300, 1 << 31}).Draw(t, "value")
			switch k % 4 {
			case 0:
				tag := rapid.SampledFrom([]int32{0, int32(k), -1, math.MaxInt32, math.MinInt32}).Draw(t, "tag")
				want = append(want, &Match{
					Event: event, Op: mpispec.OpRecv, Source: int32(value & 0x7fffffff),
					Tag: tag,
				})
			case 1:
				want = append(want, &Match{Event: event, Op: mpispec.OpIrecv, Source: NoSource})
			case 2:
				want = append(want, &Poll{Event: event, Op: mpispec.OpIprobe, Failures: value << (k % 33)})
			default:
				s := &Set{Event: event, Op: mpispec.OpWaitsome}
				for i := range k % 5 {
					s.Indices = append(s.Indices, uint32(value)+uint32(i))
				}
				want = append(want, s)
			}
		}
		got, err := readAll(write(t, Header{Mode: abi.ModeOrder}, want, true).reader(t))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

// What a loop of wildcard receives takes, before it is packed: a byte per record once the shapes are known.
func TestLoopsAreShort(t *testing.T) {
	const rounds = 1000
	for name, loop := range map[string]func(round, event uint64) []Record{
		"recv": func(round, event uint64) []Record {
			return []Record{&Match{Event: event, Op: mpispec.OpRecv, Source: int32(round * 7 % 3), Tag: 7}}
		},
		"recv with tags that count up": func(round, event uint64) []Record {
			return []Record{&Match{Event: event, Op: mpispec.OpRecv, Source: int32(round * 7 % 3), Tag: int32(round)}}
		},
		"iprobe and recv": func(round, event uint64) []Record {
			return []Record{
				&Poll{Event: 2*event - 1, Op: mpispec.OpIprobe, Failures: round % 100},
				&Match{Event: 2*event - 1, Op: mpispec.OpIprobe, Source: int32(round * 7 % 3), Tag: 7},
			}
		},
		"irecv and waitany": func(round, event uint64) []Record {
			return []Record{
				&Match{Event: 2*event - 1, Op: mpispec.OpIrecv, Source: NoSource},
				&Set{Event: 2 * event, Op: mpispec.OpWaitany, Indices: []uint32{0}},
				&Match{Event: 2 * event, Op: mpispec.OpIrecv, Source: int32(round * 7 % 3), Tag: 7, Back: 1},
			}
		},
	} {
		w := NewWriter(&buffer{}, Header{Mode: abi.ModeOrder})
		n := 0
		for i := range uint64(rounds) {
			for _, r := range loop(i, i+1) {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
				n++
			}
		}
		if len(w.buf) > n+60 {
			t.Errorf("%s: %d records take %d bytes", name, n, len(w.buf))
		}
	}
}

func TestBadShortForms(t *testing.T) {
	match := full(t, &Match{Event: 1, Op: mpispec.OpRecv, Source: 1, Tag: 2})
	posted := full(t, &Match{Event: 1, Op: mpispec.OpIrecv, Source: NoSource})
	set := full(t, &Set{Event: 1, Op: mpispec.OpWaitsome, Indices: []uint32{1, 2, 3}})
	far := full(t, &Poll{Event: 0xffffffff, Op: mpispec.OpTest})
	if len(far) > 8 {
		t.Fatal(len(far))
	}
	for name, b := range map[string][]byte{
		"nothing is expected yet":   {0x80},
		"no such place":             {0x41, 0},
		"a place that is not taken": slices.Concat(match, []byte{0x41, 0}),
		"no value":                  slices.Concat(match, []byte{0x40}),
		"a source above 31 bits":    slices.Concat(match, []byte{0x40, 0xff, 0xff, 0xff, 0xff, 0x0f}),
		"a post with a value":       slices.Concat(posted, []byte{0x40, 1}),
		"a SET that ends too soon":  slices.Concat(set, []byte{0x40, 1, 2}),
		"a value that exceeds 64 bits": slices.Concat(match,
			[]byte{0x40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),
		"an expected value beyond 64 bits": slices.Concat(match, match,
			[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),
		"in full mode: what is not known":    nil,
		"an expected shape without its rest": slices.Concat(set, []byte{0x80}),
	} {
		mode := abi.ModeOrder
		if b == nil {
			mode, b = abi.ModeFull, []byte{0x80}
		}
		w := NewWriter(&buffer{}, Header{Mode: mode})
		w.buf = b
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		got, err := readAll(w.dst.(*buffer).reader(t))
		if err == nil {
			t.Errorf("%s: accepted as %v", name, got)
		}
	}
}
