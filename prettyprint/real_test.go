package prettyprint_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"

	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// dump is memory of a real rank as far as a decoder has looked at it, in one piece of bytes that can be damaged: u64
// address of cohort_registry, then spans of u64 address, u32 length, bytes.
type dump []byte

type dumpSpan struct {
	addr uint64
	data []byte
}

func (d dump) registry() uint64 {
	if len(d) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(d)
}

func (d dump) spans() (out []dumpSpan) {
	for d = d[min(8, len(d)):]; len(d) >= 12; {
		s := dumpSpan{addr: binary.LittleEndian.Uint64(d)}
		n := int(min(binary.LittleEndian.Uint32(d[8:]), uint32(len(d)-12)))
		s.data, d = d[12:12+n], d[12+n:]
		out = append(out, s)
	}
	return out
}

// dumped is a MemoryReader of a dump, however damaged.
type dumped struct{ spans []dumpSpan }

func (m dumped) ReadMemory(addr uint64, p []byte) (int, error) {
	n := 0
	for n < len(p) {
		at, got := addr+uint64(n), 0
		for _, s := range m.spans {
			if off := at - s.addr; at >= s.addr && off < uint64(len(s.data)) {
				got = copy(p[n:], s.data[off:])
				break
			}
		}
		if got == 0 {
			return n, prettyprinttest.ErrUnmapped
		}
		n += got
	}
	return n, nil
}

// recorder remembers what is read from a rank.
type recorder struct {
	registry.MemoryReader
	seen map[uint64][]byte
}

func (r recorder) ReadMemory(addr uint64, p []byte) (int, error) {
	n, err := r.MemoryReader.ReadMemory(addr, p)
	for i := range n { // by 16 bytes: reads overlap
		at := addr + uint64(i)
		if r.seen[at&^15] == nil {
			r.seen[at&^15] = make([]byte, 16)
		}
		r.seen[at&^15][at&15] = p[i]
	}
	return n, err
}

func (r recorder) dump(registryAddr uint64) dump {
	d := binary.LittleEndian.AppendUint64(nil, registryAddr)
	addrs := make([]uint64, 0, len(r.seen))
	for a := range r.seen {
		addrs = append(addrs, a)
	}
	slices.Sort(addrs)
	for i := 0; i < len(addrs); {
		var data []byte
		j := i
		for ; j < len(addrs) && addrs[j] == addrs[i]+uint64(16*(j-i)); j++ {
			data = append(data, r.seen[addrs[j]]...)
		}
		d = binary.LittleEndian.AppendUint64(d, addrs[i])
		d = binary.LittleEndian.AppendUint32(d, uint32(len(data)))
		d = append(d, data...)
		i = j
	}
	return d
}

// realDumps are the registries of testdata: of ranks of testdata/live.c with 40 random types, on each MPI. They are
// written anew by COHORT_WRITE_CORPUS=1 go test -run TestRealRegistry.
func realDumps(t testing.TB) map[string]dump {
	t.Helper()
	out := map[string]dump{}
	for _, mpi := range mpitest.Names() {
		f, err := os.Open(filepath.Join("testdata", "registry-"+mpi+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if out[mpi], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		// An interposer of another version would have written another number, and is refused before anything is
		// decoded.
		setVersion(out[mpi], prettyprinttest.NewImage(prettyprinttest.MPICH).Version)
	}
	return out
}

func setVersion(d dump, version uint32) {
	for _, s := range d.spans() {
		if off := d.registry() - s.addr; d.registry() >= s.addr && off+12 <= uint64(len(s.data)) {
			binary.LittleEndian.PutUint32(s.data[off+8:], version)
		}
	}
}

// TestRealRegistry decodes the registries of testdata, or makes them.
func TestRealRegistry(t *testing.T) {
	if os.Getenv("COHORT_WRITE_CORPUS") == "1" {
		mpitest.Each(t, writeDump)
	}
	for mpi, d := range realDumps(t) {
		r, err := handle.Open(dumped{d.spans()}, d.registry())
		if err != nil {
			t.Fatal(err)
		}
		types, err := datatypesOf(r)
		if err != nil || len(types) < 60 {
			t.Errorf("%s: %d types, %v", mpi, len(types), err)
		}
		kinds := map[abi.Combiner]int{}
		for _, dt := range types {
			countKinds(dt, kinds)
			if d := dt.Differences(); len(d) > 0 {
				t.Errorf("%s: %s: %v", mpi, dt.Title(), d)
			}
		}
		if len(kinds) != 16 {
			t.Errorf("%s: %v", mpi, kinds)
		}
		explore(t, dumped{d.spans()}, d.registry(), d.registry())
	}
}

func writeDump(t *testing.T, mpi mpitest.MPI) {
	j := startLive(t, mpi, 1, "types", "5", "40")
	file, err := os.Open(fmt.Sprintf("/proc/%d/mem", j.pids[0]))
	if err != nil {
		t.Fatal(err)
	}
	registryAddr := registryAddress(t, j, 0)
	rec := recorder{procMemory{file}, map[uint64][]byte{}}
	r, err := handle.Open(rec, registryAddr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := datatypesOf(r); err != nil {
		t.Fatal(err)
	}
	if _, err := command.Run(r, variables{}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.CommByName("MPI_COMM_WORLD"); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(rec.dump(registryAddr)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "registry-"+mpi.Name+".gz"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := j.done(); err != nil {
		t.Error(err)
	}
}

// TestDamagedRealRegistry damages real registries where it hurts: anywhere, and in the words of records.
func TestDamagedRealRegistry(t *testing.T) {
	dumps := realDumps(t)
	rapid.Check(t, func(t *rapid.T) {
		d := slices.Clone(dumps[rapid.SampledFrom(mpitest.Names()).Draw(t, "mpi")])
		spans := d.spans()
		for range rapid.IntRange(1, 8).Draw(t, "faults") {
			s := rapid.SampledFrom(spans).Draw(t, "span")
			at := rapid.IntRange(0, len(s.data)/8-1).Draw(t, "word") * 8
			switch rapid.IntRange(0, 3).Draw(t, "fault") {
			case 0:
				s.data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			case 1:
				binary.LittleEndian.PutUint64(s.data[at:], rapid.Uint64().Draw(t, "value"))
			case 2: // a pointer elsewhere into the registry
				to := rapid.SampledFrom(spans).Draw(t, "to")
				binary.LittleEndian.PutUint64(s.data[at:],
					to.addr+uint64(rapid.IntRange(0, len(to.data)).Draw(t, "offset"))&^7)
			case 3:
				binary.LittleEndian.PutUint32(s.data[at:], rapid.Uint32Max(1000).Draw(t, "small"))
			}
		}
		defer endless().Stop()
		exploreSome(t, dumped{spans}, d.registry(), d.registry(), 16, rapid.IntRange(0, 15).Draw(t, "types"))
	})
}

func FuzzRealRegistry(f *testing.F) {
	for _, d := range realDumps(f) {
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := dump(data)
		defer endless().Stop()
		explore(t, dumped{d.spans()}, d.registry(), d.registry())
	})
}
