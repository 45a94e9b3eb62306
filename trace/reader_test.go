package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

func TestRoundTrip(t *testing.T) {
	bothModes(t, func(t *rapid.T, mode abi.Mode) {
		h := genHeader(mode).Draw(t, "header")
		want := genRecords(mode, 60).Draw(t, "records")
		closed := rapid.Bool().Draw(t, "closed")
		r := write(t, h, want, closed).reader(t)
		got, err := readAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		gh := r.Header()
		if gh.Closed != closed || gh.Committed != uint64(r.size) {
			t.Fatalf("closed %v, committed %d of %d bytes", gh.Closed, gh.Committed, r.size)
		}
		h.Closed, h.Committed, h.Events = gh.Closed, gh.Committed, gh.Events
		if d := cmp.Diff(h, gh); d != "" {
			t.Fatal(d)
		}
	})
}

func worldComm() *Comm {
	return &Comm{Index: 0, GlobalID: WorldID, CommKind: abi.CommIntra, MyRank: 0, Members: []uint32{0, 1}}
}

// Many chunks, and bytes beyond `committed`, which are no part of the trace.
func TestManyChunks(t *testing.T) {
	want := []Record{worldComm()}
	for i := uint64(1); i <= 50_000; i++ {
		want = append(want, &Event{Index: i, Op: mpispec.OpSend, Gap: i, Send: SendArgs{
			Dest: 1, Tag: int32(i),
			Bytes: i * i,
		}})
	}
	for _, closed := range []bool{true, false} {
		f := write(t, Header{Mode: abi.ModeFull}, want, closed)
		f.b = append(f.b, bytes.Repeat([]byte{0xff}, 100_000)...)
		got, err := readAll(f.reader(t))
		if err != nil {
			t.Fatal(err)
		}
		equalRecords(t, want, got)
	}
}

// equalRecords compares long traces; cmp.Diff takes seconds for them.
func equalRecords(t *testing.T, want, got []Record) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			t.Fatal(cmp.Diff(want[i], got[i]))
		}
	}
}

// A Waitall of more requests than a chunk holds.
func TestLargeRecord(t *testing.T) {
	big := &Event{Index: 2, Op: mpispec.OpWaitall}
	for i := range uint32(60_000) {
		big.Completed = append(big.Completed, Completion{ArrayIndex: i, Post: 1, Class: RequestSend})
	}
	want := []Record{&Event{Index: 1, Op: mpispec.OpFinalize}, big, &Event{Index: 3, Op: mpispec.OpFinalize}}
	f := write(t, Header{Mode: abi.ModeFull}, want, true)
	got, err := readAll(f.reader(t))
	if err != nil {
		t.Fatal(err)
	}
	equalRecords(t, want, got)
}

// A file that ends early yields its whole records, then ErrTruncated, whatever the byte at which it ends.
func TestTruncatedAtEveryByte(t *testing.T) {
	records := []Record{worldComm()}
	for i := uint64(1); i <= 40; i++ {
		records = append(records, &Event{Index: i, Op: mpispec.OpSend, Gap: i * 1000, Send: SendArgs{
			Dest: 1,
			Tag:  int32(i),
		}})
	}
	for _, closed := range []bool{true, false} {
		f := write(t, Header{Mode: abi.ModeFull}, records, closed)
		for size := range len(f.b) {
			r, err := NewReader(bytes.NewReader(f.b[:size]), int64(size), "cut")
			if size < abi.TraceHeaderSize {
				if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrNotTrace) {
					t.Fatalf("%d bytes: %v", size, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(r)
			if !errors.Is(err, ErrTruncated) {
				t.Fatalf("%d bytes: %v", size, err)
			}
			equalRecords(t, records[:len(got)], got)
			if size == len(f.b)-1 && len(got) != len(records)-1 {
				t.Fatalf("without the last byte %d of %d records are read", len(got), len(records))
			}
		}
	}
}

// One flipped bit in a sealed chunk is never taken for a trace.
func TestFlippedBit(t *testing.T) {
	f := write(t, Header{Mode: abi.ModeFull}, []Record{
		worldComm(),
		&Event{Index: 1, Op: mpispec.OpSend, Send: SendArgs{Dest: 1, Tag: 5, Bytes: 8}},
		&Event{Index: 2, Op: mpispec.OpFinalize},
		&End{How: 1},
	}, true)
	for at := abi.TraceHeaderSize; at < len(f.b); at++ {
		if at >= abi.TraceHeaderSize+12 && at < abi.TraceHeaderSize+16 {
			continue // flags of the chunk: reserved
		}
		for bit := range 8 {
			f.b[at] ^= 1 << bit
			if _, err := readAll(f.reader(t)); err == nil {
				t.Errorf("bit %d of byte %d: no error", bit, at)
			}
			f.b[at] ^= 1 << bit
		}
	}
}

func TestBadInput(t *testing.T) {
	good := func() []byte {
		return write(t, Header{Mode: abi.ModeFull, WorldSize: 2}, []Record{worldComm(), &Event{
			Index: 1,
			Op:    mpispec.OpFinalize,
		}},
			false).b
	}
	payload := func(mode abi.Mode, b ...byte) []byte {
		h := Header{Version: abi.TraceVersion, Mode: mode, Committed: uint64(abi.TraceHeaderSize + chunkHeaderSize +
			int64(len(b)))}
		file := h.encode()
		file = binary.LittleEndian.AppendUint32(file, abi.ChunkMagic)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(b)))
		file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(b, castagnoli))
		file = binary.LittleEndian.AppendUint32(file, 0)
		file = binary.LittleEndian.AppendUint64(file, 1)
		return append(file, b...)
	}
	patch := func(at int, b ...byte) []byte {
		file := good()
		copy(file[at:], b)
		return file
	}
	world := full(t, worldComm())
	after := func(b ...byte) []byte { return payload(abi.ModeFull, append(bytes.Clone(world), b...)...) }
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "not a Cohort trace"},
		{"another file", []byte("\x7fELF, or something else"), "not a Cohort trace"},
		{"version", patch(8, 1), "version 1; this cohort reads version 3"},
		{"header size", patch(12, 1), "a header of 144 bytes"},
		{"mode off", patch(16, 0), `mode "off"`},
		{"mode replay", patch(16, 4), `mode "replay"`},
		{"rank", patch(24, 2), "a rank below the world size 2"},
		{"committed", patch(48, 0, 0), "at least 4096 committed bytes"},
		{"chunk magic", patch(abi.TraceHeaderSize, 'X'), "the magic of a chunk"},
		{"chunk length", patch(abi.TraceHeaderSize+4, 0xff, 0xff), "bytes in the chunk"},
		{"first event", patch(abi.TraceHeaderSize+16, 9), "a chunk that begins at event 1"},
		{"kind", payload(abi.ModeFull, 0x1e), "a known kind of record"},
		{"op", payload(abi.ModeFull, 5, 126), "a known operation"},
		{"event in order mode", payload(abi.ModeOrder, 5, 120, 0, 0, 0, 0), "order-mode records"},
		{"match in full mode", payload(abi.ModeFull, 0x10, 1, 9, 0, 0, 0), "EVENT records"},
		{"match of event 0", payload(abi.ModeOrder, 0x10, 0, 9, 0, 0, 0), "an event from 1 on"},
		{"match back too far", payload(abi.ModeOrder, 0x10, 2, 10, 0, 0, 2), "back from event 2"},
		{
			"endless varint", payload(abi.ModeFull, 0x06, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				0x01),
			"does not end",
		},
		{"cut varint", payload(abi.ModeFull, 0x06, 0x80), "does not end"},
		{"undeclared comm", payload(abi.ModeFull, 5, 40, 0, 0, 0, 0, 7, 1, 0), "communicator 7"},
		{"undeclared new comm", after(5, 100, 0, 0, 0, 0, 0, 1, 0, 9), "communicator 8"},
		{"undeclared site", payload(abi.ModeFull, 5, 120, 3, 0, 0, 0), "site 3"},
		{"undeclared module", payload(abi.ModeFull, 3, 1, 4, 0), "module 4"},
		{"comm twice", after(world...), "communicator 0 again"},
		{"polls before a send", after(5, 1, 0, 2, 0, 0, 0, 2, 0, 0), "no failed polls before a Send"},
		{"string that lies", payload(abi.ModeFull, 4, 1, 0xff, 0xff, 0xff, 0x7f), "length of call that fits"},
		{
			"count that lies", payload(abi.ModeFull, 5, 27, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f),
			"length of done that fits",
		},
		{
			"ranks that lie", payload(abi.ModeFull, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 200, 1, 0,
				0),
			"length of members that fits",
		},
		{"back to nothing", payload(abi.ModeFull, 5, 24, 0, 0, 0, 0, 1, 1), "init before event 1"},
		{"back before the first", payload(abi.ModeFull, 5, 26, 0, 0, 0, 0, 1, 0, 1, 1), "post before event 1"},
		{"class of request", payload(abi.ModeFull, 5, 26, 0, 0, 0, 0, 1, 0, 0, 5), "a class of request"},
		{"tag beyond 32 bits", after(5, 1, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0), "tag in 32 bits"},
		{"after END", payload(abi.ModeFull, 6, 0, 1, 6, 0, 1), "nothing after END"},
		{"ends inside", payload(abi.ModeFull, 5, 120, 0, 0), "the end of the chunk"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(c.file), int64(len(c.file)), "bad.trace")
			if err == nil {
				_, err = readAll(r)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "bad.trace") {
				t.Fatalf("got %v, want it to name the file and say %q", err, c.want)
			}
			var f *FormatError
			if !errors.As(err, &f) && !errors.As(err, new(*RefusedError)) {
				t.Errorf("%T is no typed error", err)
			}
			if f != nil && (f.Offset > int64(len(c.file)) || f.Kind == nil) {
				t.Errorf("offset %d, kind %v", f.Offset, f.Kind)
			}
			if r != nil {
				if _, again := r.Next(); again == nil {
					t.Error("the error does not repeat")
				}
			}
		})
	}
}

// full is a record at full length, as the first of a trace.
func full(t fataler, r Record) []byte {
	st := newState(abi.ModeOrder)
	b, broken := encode(r, &st)
	if broken != nil {
		t.Fatal(broken)
	}
	return b
}

func TestWriterRefuses(t *testing.T) {
	for _, c := range []struct {
		mode abi.Mode
		rec  Record
		want string
	}{
		{abi.ModeFull, &Event{Index: 2, Op: mpispec.OpFinalize}, "expected event 1, found event 2"},
		{abi.ModeFull, &Event{Index: 1, Op: mpispec.OpSend}, "communicator 0"},
		{abi.ModeFull, &Event{Index: 1, Op: mpispec.OpNone}, "a known operation"},
		{abi.ModeFull, &Event{Index: 1, Op: mpispec.OpStart, Inits: []uint64{1}}, "init before event 1"},
		{
			abi.ModeFull, &Event{Index: 1, Op: mpispec.OpWait, Completed: []Completion{{Post: 4, Class: 1}}},
			"post before event 1",
		},
		{abi.ModeFull, &Match{Event: 1, Op: mpispec.OpRecv}, "EVENT records"},
		{abi.ModeOrder, &Match{Event: 3, Op: mpispec.OpRecv, Back: 3}, "back from event 3"},
		{abi.ModeOrder, &Set{Event: 0, Op: mpispec.OpWaitany}, "an event from 1"},
	} {
		w := NewWriter(&buffer{}, Header{Mode: c.mode})
		if err := w.Write(c.rec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", fmt.Sprintf("%+v", c.rec), err, c.want)
		}
	}
}

func TestFileOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rank-0.trace")
	w, err := CreateFile(path, Header{Mode: abi.ModeFull, WorldSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{&Event{Index: 1, Op: mpispec.OpFinalize}, &End{How: 1}}
	for _, rec := range want {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateFile(path, Header{Mode: abi.ModeFull}); err == nil {
		t.Error("an existing trace was overwritten")
	}
	r, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(r)
	if err := errors.Join(err, r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzReader: whatever the bytes, the reader ends with typed errors only; and what it reads can be written and read
// again.
func FuzzReader(f *testing.F) {
	f.Add(write(f, Header{Mode: abi.ModeFull, WorldSize: 2}, []Record{
		worldComm(), &Module{Path: "/bin/p", BuildID: "x"}, &Site{Index: 1}, &Note{Event: 1, Call: "MPI_Get"},
		&Event{Index: 1, Op: mpispec.OpIrecv, Site: 1, Recv: RecvArgs{AskedSource: -1, AskedTag: -1}},
		&Event{
			Index: 2, Op: mpispec.OpTestsome, FailedPolls: 3,
			Completed: []Completion{{Post: 1, Class: RequestRecv, Source: 1, Tag: 2, Bytes: 3}},
		},
		&Event{Index: 3, Op: mpispec.OpCommDup, Coll: CollArgs{Root: -1, NewComm: 1}}, &Event{
			Index: 4,
			Op:    mpispec.OpFinalize,
		},
		&End{How: 1},
	}, false).b)
	f.Add(write(f, Header{Mode: abi.ModeOrder}, []Record{
		&Match{Event: 3, Op: mpispec.OpIrecv, Source: NoSource}, &Poll{Event: 4, Op: mpispec.OpTest, Failures: 9},
		&Set{Event: 4, Op: mpispec.OpTestany, Indices: []uint32{1}},
		&Match{Event: 4, Op: mpispec.OpIrecv, Source: 1, Tag: 2, Back: 1}, &End{},
	}, true).b)
	_, packed := orderTrace(f)
	f.Add(packed)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b), int64(len(b)), "fuzz")
		if err != nil {
			typed(t, err)
			return
		}
		got, err := readAll(r)
		if err != nil {
			typed(t, err)
		}
		again, err := readAll(write(t, r.Header(), got, true).reader(t))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, again); d != "" {
			t.Fatal(d)
		}
	})
}

func typed(t *testing.T, err error) {
	t.Helper()
	if !errors.As(err, new(*FormatError)) && !errors.As(err, new(*RefusedError)) {
		t.Fatalf("%T is no typed error: %v", err, err)
	}
}

func BenchmarkReader(b *testing.B) {
	records := []Record{worldComm()}
	for i := uint64(1); i <= 100_000; i++ {
		records = append(records,
			&Event{Index: i, Op: mpispec.OpSend, Gap: 1500, Duration: 700, Send: SendArgs{
				Dest: 1, Tag: 3,
				Bytes: 4096,
			}})
	}
	f := write(b, Header{Mode: abi.ModeFull}, records, true)
	b.ReportMetric(float64(len(f.b)-abi.TraceHeaderSize)/100_000, "bytes/event")
	b.SetBytes(int64(len(f.b)))
	for b.Loop() {
		n := 0
		for _, err := range f.reader(b).All() {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != len(records) {
			b.Fatal(fmt.Sprint(n))
		}
	}
}
