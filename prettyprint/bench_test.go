package prettyprint_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/picture"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// wholeMemory is mapped everywhere, and counts what is read: the buffer of a benchmark needs no memory of its own.
type wholeMemory struct {
	*prettyprinttest.Image // the registry
	reads, bytes           int
	lo, hi                 uint64 // of what was read of the buffer
}

const bufferAt = uint64(0x100000000000)

func (m *wholeMemory) ReadMemory(addr uint64, p []byte) (int, error) {
	if addr < bufferAt || addr >= bufferAt<<2 {
		return m.Image.ReadMemory(addr, p)
	}
	if m.reads == 0 {
		m.lo, m.hi = addr, addr
	}
	m.lo, m.hi = min(m.lo, addr), max(m.hi, addr+uint64(len(p)))
	m.reads++
	m.bytes += len(p)
	for i := range p {
		p[i] = byte(addr + uint64(i))
	}
	return len(p), nil
}

// benchType makes a registry with one type and returns its memory and address.
func benchType(b testing.TB, build func(im *prettyprinttest.Image) *prettyprinttest.Type) (*wholeMemory, uint64,
	uint64,
) {
	b.Helper()
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	ty := build(im)
	return &wholeMemory{Image: im}, im.Publish(), ty.Handle
}

func openBuffer(b testing.TB, mem registry.MemoryReader, registryAddr, rawHandle uint64, count int64) *datatype.Buffer {
	b.Helper()
	r, err := handle.Open(mem, registryAddr)
	if err != nil {
		b.Fatal(err)
	}
	dt, err := r.DatatypeOfHandle(rawHandle, false)
	if err != nil {
		b.Fatal(err)
	}
	buf, err := r.Buffer("t", bufferAt, dt, count)
	if err != nil {
		b.Fatal(err)
	}
	return buf
}

// indexed is 10^8 doubles in blocks blocks, with gaps as large as the data.
func indexed(im *prettyprinttest.Image, blocks int64) *prettyprinttest.Type {
	ints := []int64{blocks}
	length := 100_000_000 / blocks
	for range blocks {
		ints = append(ints, length)
	}
	for i := range blocks {
		ints = append(ints, i*2*length)
	}
	return rawType(im, 6, ints, nil, im.Named("MPI_DOUBLE"))
}

// BenchmarkFirstPage decodes an indexed type of 10^5 blocks from a fresh registry and shows the first page of its 10^8
// elements.
func BenchmarkFirstPage(b *testing.B) {
	mem, registryAddr, rawHandle := benchType(b, func(im *prettyprinttest.Image) *prettyprinttest.Type {
		return indexed(im, 100_000)
	})
	for b.Loop() {
		if err := openBuffer(b, mem, registryAddr, rawHandle, 1).Text(io.Discard, view.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkColumn reads and formats all of a vector column of 10^6 doubles.
func BenchmarkColumn(b *testing.B) {
	mem, registryAddr, rawHandle := benchType(b, func(im *prettyprinttest.Image) *prettyprinttest.Type {
		return rawType(im, 4, []int64{1_000_000, 1, 10}, nil, im.Named("MPI_DOUBLE"))
	})
	buf := openBuffer(b, mem, registryAddr, rawHandle, 1)
	for b.Loop() {
		if err := buf.Text(io.Discard, view.Options{MaxList: 1 << 20}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPicture draws a type of 10^5 blocks out of order, in both forms, from a fresh registry.
func BenchmarkPicture(b *testing.B) {
	mem, registryAddr, rawHandle := benchType(b, func(im *prettyprinttest.Image) *prettyprinttest.Type {
		return hugeTypes(im)["10^5 blocks out of order"]
	})
	for b.Loop() {
		r, err := handle.Open(mem, registryAddr)
		if err != nil {
			b.Fatal(err)
		}
		dt, err := r.DatatypeOfHandle(rawHandle, false)
		if err != nil {
			b.Fatal(err)
		}
		p, err := picture.ForWidth(dt, "t", 1, 80)
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(p.Text(io.Discard, false), p.SVG(io.Discard)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMatch compares 10^8 doubles in 10^5 blocks with a contiguous buffer.
func BenchmarkMatch(b *testing.B) {
	var other uint64
	mem, registryAddr, rawHandle := benchType(b, func(im *prettyprinttest.Image) *prettyprinttest.Type {
		other = rawType(im, 3, []int64{100_000_000}, nil, im.Named("MPI_DOUBLE")).Handle
		return indexed(im, 100_000)
	})
	for b.Loop() {
		r, err := handle.Open(mem, registryAddr)
		if err != nil {
			b.Fatal(err)
		}
		send, err := r.DatatypeOfHandle(rawHandle, false)
		if err != nil {
			b.Fatal(err)
		}
		recv, err := r.DatatypeOfHandle(other, false)
		if err != nil {
			b.Fatal(err)
		}
		m, err := datatype.Match(datatype.Side{Type: send, Count: 1}, datatype.Side{Type: recv, Count: 1})
		if err != nil || m.Verdict != datatype.MatchEqual {
			b.Fatal(m, err)
		}
	}
}

// TestPagesReadWhatTheyShow counts what is read of buffers of 10^8 elements: nothing before the first element of the
// page or after its last, and of the gaps between them only those that are cheaper to read than to leave out.
func TestPagesReadWhatTheyShow(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(im *prettyprinttest.Image) *prettyprinttest.Type
		from int64
		most int // bytes
		lo   uint64
		hi   uint64
	}{
		{"contiguous", func(im *prettyprinttest.Image) *prettyprinttest.Type {
			return rawType(im, 3, []int64{100_000_000}, nil, im.Named("MPI_DOUBLE"))
		}, 0, 1600, 0, 1600},
		{"contiguous, last page", func(im *prettyprinttest.Image) *prettyprinttest.Type {
			return rawType(im, 3, []int64{100_000_000}, nil, im.Named("MPI_DOUBLE"))
		}, 99_999_950, 400, 799_999_600, 800_000_000},
		{"indexed", func(im *prettyprinttest.Image) *prettyprinttest.Type {
			return indexed(im, 100_000)
		}, 900, 1600, 7200, 16000 + 800},
		{"far apart", func(im *prettyprinttest.Image) *prettyprinttest.Type {
			return rawType(im, 4, []int64{100_000_000, 1, 1000}, nil, im.Named("MPI_DOUBLE"))
		}, 5, 1600, 40000, 8000*204 + 8},
		{"close together", func(im *prettyprinttest.Image) *prettyprinttest.Type {
			return rawType(im, 4, []int64{100_000_000, 1, 2}, nil, im.Named("MPI_DOUBLE"))
		}, 0, 3200, 0, 3200},
	} {
		mem, registryAddr, rawHandle := benchType(t, c.make)
		var s strings.Builder
		if err := openBuffer(t, mem, registryAddr, rawHandle, 1).Text(&s, view.Options{From: c.from}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if mem.bytes > c.most || mem.lo < bufferAt+c.lo || mem.hi > bufferAt+c.hi || mem.reads > 200 {
			t.Errorf("%s: %d bytes in %d reads, from %d to %d; at most %d bytes, from %d to %d", c.name, mem.bytes,
				mem.reads, mem.lo-bufferAt, mem.hi-bufferAt, c.most, c.lo, c.hi)
		}
		if n := strings.Count(s.String(), "\n"); n < 50 || n > 201 {
			t.Errorf("%s: %d lines", c.name, n)
		}
	}
}
