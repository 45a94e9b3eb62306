package trace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// packBytes packs a file in memory.
func packBytes(t fataler, file []byte, size int64) []byte {
	var out bytes.Buffer
	if err := pack(context.Background(), &out, bytes.NewReader(file), size, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readerOf(t fataler, b []byte) *Reader {
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), "memory")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPackedRoundTrip(t *testing.T) {
	bothModes(t, func(t *rapid.T, mode abi.Mode) {
		h := genHeader(mode).Draw(t, "header")
		want := genRecords(mode, 40).Draw(t, "records")
		f := write(t, h, want, rapid.Bool().Draw(t, "closed"))
		plain := f.reader(t)
		// what lies behind `committed` is not packed
		r := readerOf(t, packBytes(t, append(f.b, 1, 2, 3), int64(len(f.b))))
		if r.Header() != plain.Header() {
			t.Fatal(r.Header(), plain.Header())
		}
		got, err := readAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// longTrace takes several frames, and one chunk that is larger than a frame.
func longTrace(t fataler) ([]Record, *buffer) {
	records := []Record{worldComm()}
	for i := uint64(1); i <= 200_000; i++ {
		e := &Event{Index: i, Op: mpispec.OpSend, Gap: i * 7919 % 4099, Send: SendArgs{
			Dest: 1, Tag: int32(i),
			Bytes: i * i,
		}}
		if i == 100_000 {
			e = &Event{Index: i, Op: mpispec.OpWaitall}
			for k := range uint32(400_000) {
				e.Completed = append(e.Completed, Completion{ArrayIndex: k, Post: 1, Class: RequestSend})
			}
		}
		records = append(records, e)
	}
	return records, write(t, Header{Mode: abi.ModeFull}, records, true)
}

func TestPackedInManyFrames(t *testing.T) {
	want, f := longTrace(t)
	b := packBytes(t, f.b, int64(len(f.b)))
	p, err := openPacked(bytes.NewReader(b), int64(len(b)), "memory")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.size != int64(len(f.b)) || len(p.frames) < 4 {
		t.Fatalf("%d bytes in %d frames, want %d", p.size, len(p.frames), len(f.b))
	}
	got, err := readAll(readerOf(t, b))
	if err != nil {
		t.Fatal(err)
	}
	equalRecords(t, want, got)
	// Any part, in any order.
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, p.size+10).Draw(t, "at")
		part := make([]byte, rapid.IntRange(0, 3<<20).Draw(t, "length"))
		n, err := p.ReadAt(part, at)
		wantN, wantErr := bytes.NewReader(f.b).ReadAt(slices.Clip(part), at)
		if n != wantN || (err == nil) != (wantErr == nil) && len(part) > 0 {
			t.Fatalf("%d bytes at %d: %d %v, want %d %v", len(part), at, n, err, wantN, wantErr)
		}
		if n > 0 && !bytes.Equal(part[:n], f.b[at:at+int64(n)]) {
			t.Fatal("other bytes")
		}
	})
	// Any zstd unpacks it.
	dec, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	if all, err := io.ReadAll(dec); err != nil || !bytes.Equal(all, f.b) {
		t.Errorf("unpacked as a stream: %d bytes, %v", len(all), err)
	}
}

func orderTrace(t fataler) ([]Record, []byte) {
	var records []Record
	for i := uint64(1); i <= 60; i++ {
		records = append(records, &Match{Event: 2 * i, Op: mpispec.OpRecv, Source: int32(i * i % 5), Tag: 3})
	}
	f := write(t, Header{Mode: abi.ModeOrder}, records, true)
	return records, packBytes(t, f.b, int64(len(f.b)))
}

// Whatever is cut off or changed, the records are the ones that were written, or there is an error that says where.
func TestDamagedPacked(t *testing.T) {
	want, b := orderTrace(t)
	check := func(what string, b []byte) {
		t.Helper()
		r, err := NewReader(bytes.NewReader(b), int64(len(b)), "x.zst")
		if err == nil {
			var got []Record
			if got, err = readAll(r); err == nil {
				equalRecords(t, want, got)
			}
		}
		var format *FormatError
		if err != nil && !errors.As(err, &format) && !errors.As(err, new(*RefusedError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for size := range b {
		if _, err := NewReader(bytes.NewReader(b[:size]), int64(size), "x.zst"); err == nil {
			t.Errorf("the first %d of %d bytes are taken for a trace", size, len(b))
		}
	}
	for at := range b {
		for bit := range 8 {
			c := bytes.Clone(b)
			c[at] ^= 1 << bit
			check(fmt.Sprintf("bit %d of byte %d", bit, at), c)
		}
	}
}

// What unpacks to more than it says, or says that it unpacks to more than a frame may, costs no memory.
func TestPackedBombs(t *testing.T) {
	enc, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	bomb := enc.EncodeAll(make([]byte, 512<<20), nil)
	if len(bomb) > 1<<20 {
		t.Fatal(len(bomb))
	}
	entry := func(packed, length int) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(packed))
		return binary.LittleEndian.AppendUint32(b, uint32(length))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, c := range map[string]struct{ body, table []byte }{
		"a frame that is too large":             {bomb, entry(len(bomb), 512<<20)},
		"a frame that lies":                     {bomb, entry(len(bomb), abi.TraceHeaderSize)},
		"a frame that lies less":                {bomb, entry(len(bomb), int(packFrameMax))},
		"a table that is longer than the file":  {bomb[:100], bytes.Repeat(entry(100, 100), 3)},
		"frames that are longer than the file":  {bomb[:100], entry(1<<31, 100)},
		"frames that are shorter than the file": {bomb[:100], entry(50, 100)},
		"frames of nothing":                     {bomb[:100], append(entry(100, 0), entry(0, 0)...)},
		"no frames":                             {nil, nil},
	} {
		b := append(bytes.Clone(c.body), seekTable(c.table)...)
		r, err := NewReader(bytes.NewReader(b), int64(len(b)), "bomb")
		if err == nil {
			t.Errorf("%s: accepted as %v", name, r.Header())
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
}
