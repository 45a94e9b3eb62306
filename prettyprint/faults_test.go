package prettyprint_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/picture"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

func unknownFigures(r prettyprinttest.TypeRecord) prettyprinttest.TypeRecord {
	r.TypeSize, r.LB, r.Extent = prettyprinttest.Unknown, prettyprinttest.Unknown, prettyprinttest.Unknown
	r.TrueLB, r.TrueExtent = prettyprinttest.Unknown, prettyprinttest.Unknown
	return r
}

func TestOpenErrors(t *testing.T) {
	image := func(change func(im *prettyprinttest.Image)) (*prettyprinttest.Image, uint64) {
		im := prettyprinttest.NewImage(prettyprinttest.MPICH)
		change(im)
		addr := im.Publish()
		return im, addr
	}
	header := func(b ...uint64) (*prettyprinttest.Image, uint64) {
		im := prettyprinttest.NewImage(prettyprinttest.MPICH)
		var w []byte
		for _, v := range b {
			w = binary.LittleEndian.AppendUint64(w, v)
		}
		addr := im.Alloc(append(w, make([]byte, abi.Size[abi.Registry]()-len(w))...))
		return im, addr
	}
	const magic = 0x00474552484f43
	for _, c := range []struct {
		name string
		make func() (*prettyprinttest.Image, uint64)
		kind fault.Kind
		want string
	}{
		{"no symbol", func() (*prettyprinttest.Image, uint64) {
			im,
				_ := image(func(*prettyprinttest.Image) {})
			return im, 0
		}, fault.NoInterposer, "Start it with `cohort debug`"},
		{"unmapped", func() (*prettyprinttest.Image, uint64) {
			im, _ := image(func(*prettyprinttest.Image) {})
			return im, 0x1000
		}, fault.Unreadable, "memory at 0x1000"},
		{"other bytes", func() (*prettyprinttest.Image, uint64) {
			return image(func(im *prettyprinttest.Image) { im.Magic = 1 })
		}, fault.NoInterposer, "is not Cohort's registry"},
		{"empty", func() (*prettyprinttest.Image, uint64) { return header() }, fault.NotReady, "MPI_Init"},
		{"version", func() (*prettyprinttest.Image, uint64) {
			return image(func(im *prettyprinttest.Image) { im.Version = 7 })
		}, fault.Version, "version 7"},
		{"size", func() (*prettyprinttest.Image, uint64) {
			return header(magic, abi.RegistryVersion|40<<32, 1|4<<32)
		}, fault.Corrupt, "40 bytes"},
		{"mpi", func() (*prettyprinttest.Image, uint64) {
			return header(magic, abi.RegistryVersion|uint64(abi.Size[abi.Registry]())<<32, 9|4<<32)
		}, fault.Corrupt, "MPI number 9"},
		{"handle size", func() (*prettyprinttest.Image, uint64) {
			return header(magic, abi.RegistryVersion|uint64(abi.Size[abi.Registry]())<<32, 1|5<<32)
		}, fault.Corrupt, "a handle has 5 bytes"},
	} {
		im, addr := c.make()
		_, err := handle.Open(im, addr)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want kind %d and %q", c.name, err, c.kind, c.want)
		}
	}
	im, addr := header(magic, abi.RegistryVersion|uint64(abi.Size[abi.Registry]())<<32, 1|4<<32)
	r, err := handle.Open(im, addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.DatatypeOfHandle(5, false); !fault.Is(err, fault.NotReady) {
		t.Errorf("before initialisation: %v", err)
	}
}

func TestCorruptTypes(t *testing.T) {
	const h = 0x8c000001
	for _, c := range []struct {
		name string
		make func(im *prettyprinttest.Image)
		kind fault.Kind
		want string
	}{
		{"a cycle", func(im *prettyprinttest.Image) {
			at := im.Datatype(unknownFigures(prettyprinttest.TypeRecord{Combiner: 2, Handle: h, Types: []uint64{0}}))
			patch(im, at, uint64(abi.Size[abi.Datatype]()), at)
		}, fault.Corrupt, "made of itself"},
		{"too deep", func(im *prettyprinttest.Image) {
			rec := im.Named("MPI_INT").Record
			im.Compact = true
			for i := range registry.MaxDepth + 10 {
				r := unknownFigures(prettyprinttest.TypeRecord{Combiner: 2, Types: []uint64{rec}})
				if i == registry.MaxDepth+9 {
					r.Handle = h
				}
				rec = im.Datatype(r)
			}
		}, fault.TooLarge, "constructors deep, which is beyond what Cohort shows"},
		{"a huge record", func(im *prettyprinttest.Image) {
			im.Datatype(prettyprinttest.TypeRecord{
				Combiner: 10, Handle: h, OverrideSize: math.MaxUint32,
				OverrideIntegers: 400 << 20,
			})
		}, fault.TooLarge, "Cohort reads at most"},
		{"counts beyond the record", func(im *prettyprinttest.Image) {
			im.Datatype(prettyprinttest.TypeRecord{Combiner: 10, Handle: h, OverrideIntegers: 1000})
		}, fault.Corrupt, "claims 1000 integers"},
		{"a record that is not mapped to its end", func(im *prettyprinttest.Image) {
			im.Datatype(prettyprinttest.TypeRecord{
				Combiner: 10, Handle: h, OverrideSize: 90 << 20,
				OverrideIntegers: 10 << 20,
			})
		}, fault.Unreadable, "The arguments of a datatype"},
		{"a null type", func(im *prettyprinttest.Image) {
			im.Datatype(prettyprinttest.TypeRecord{Combiner: 2, Handle: h, Types: []uint64{0}})
		}, fault.Corrupt, "cannot be there"},
		{"an unknown combiner", func(im *prettyprinttest.Image) {
			im.Datatype(prettyprinttest.TypeRecord{Combiner: 42, Handle: h})
		}, fault.Corrupt, "unknown combiner 42"},
		{"a negative count", func(im *prettyprinttest.Image) {
			im.Datatype(unknownFigures(prettyprinttest.TypeRecord{
				Combiner: 3, Handle: h, Integers: []int64{-1},
				Types: []uint64{im.Named("MPI_INT").Record},
			}))
		}, fault.Corrupt, "count -1"},
		{"missing arguments", func(im *prettyprinttest.Image) {
			im.Datatype(unknownFigures(prettyprinttest.TypeRecord{
				Combiner: 10, Handle: h, Integers: []int64{2, 1, 1},
				Addresses: []int64{0},
			}))
		}, fault.Corrupt, "its counts ask for 3, 2 and 2"},
		{"another handle", func(im *prettyprinttest.Image) {
			at := im.Datatype(prettyprinttest.TypeRecord{Combiner: 1, Handle: h, Basic: 2, BasicSize: 4})
			patch(im, at, 8, 0x77)
		}, fault.Corrupt, "the record says 0x77"},
	} {
		im := prettyprinttest.NewImage(prettyprinttest.MPICH)
		c.make(im)
		r, err := handle.Open(im, im.Publish())
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.DatatypeOfHandle(h, false)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want kind %d and %q", c.name, err, c.kind, c.want)
		}
	}
}

// patch overwrites 8 bytes of a record.
func patch(im *prettyprinttest.Image, at, offset, v uint64) {
	for _, r := range im.Regions() {
		var probe [1]byte
		if n, err := im.ReadMemory(at, probe[:]); n == 1 && err == nil && len(r) >= int(offset)+8 &&
			sameMemory(im, at, r) {
			binary.LittleEndian.PutUint64(r[offset:], v)
		}
	}
}

func sameMemory(im *prettyprinttest.Image, at uint64, r []byte) bool {
	b := make([]byte, len(r))
	n, err := im.ReadMemory(at, b)
	return err == nil && n == len(r) && bytes.Equal(b, r)
}

// TestProblems has types whose records are sound and whose layout cannot be known; they are shown, with the reason.
func TestProblems(t *testing.T) {
	const h = 0x8c000001
	for _, c := range []struct {
		name string
		rec  func(im *prettyprinttest.Image) prettyprinttest.TypeRecord
		want string
	}{
		{"too many elements", func(im *prettyprinttest.Image) prettyprinttest.TypeRecord {
			return prettyprinttest.TypeRecord{
				Combiner: 3, Integers: []int64{1 << 61},
				Types: []uint64{im.Named("MPI_INT").Record},
			}
		}, "more than 2^62"},
		{"a displacement out of range", func(im *prettyprinttest.Image) prettyprinttest.TypeRecord {
			return prettyprinttest.TypeRecord{
				Combiner: 7, Integers: []int64{1, 1}, Addresses: []int64{math.MaxInt64},
				Types: []uint64{im.Named("MPI_INT").Record},
			}
		}, "more than 2^62"},
		{"a stride that overflows", func(im *prettyprinttest.Image) prettyprinttest.TypeRecord {
			return prettyprinttest.TypeRecord{
				Combiner: 4, Integers: []int64{3, 1, math.MinInt64},
				Types: []uint64{im.Named("MPI_INT").Record},
			}
		}, "more than 2^62"},
		{"a subarray beyond its array", func(im *prettyprinttest.Image) prettyprinttest.TypeRecord {
			return prettyprinttest.TypeRecord{
				Combiner: 11, Integers: []int64{1, 4, 3, 2, 56},
				Types: []uint64{im.Named("MPI_INT").Record},
			}
		}, "takes 3 from 2 in a dimension of size 4"},
		{"an order that is none", func(im *prettyprinttest.Image) prettyprinttest.TypeRecord {
			return prettyprinttest.TypeRecord{
				Combiner: 11, Integers: []int64{1, 4, 3, 1, 0},
				Types: []uint64{im.Named("MPI_INT").Record},
			}
		}, "neither MPI_ORDER_C"},
		{"a distribution that is none", func(im *prettyprinttest.Image) prettyprinttest.TypeRecord {
			return prettyprinttest.TypeRecord{
				Combiner: 12, Integers: []int64{1, 0, 1, 4, 7, 1, 1, 56},
				Types: []uint64{im.Named("MPI_INT").Record},
			}
		}, "the distribution 7"},
		{"made of one not decoded", func(im *prettyprinttest.Image) prettyprinttest.TypeRecord {
			u := im.Datatype(unknownFigures(prettyprinttest.TypeRecord{Combiner: 99, Name: "MPI_Type_new"}))
			return prettyprinttest.TypeRecord{Combiner: 3, Integers: []int64{2}, Types: []uint64{u}}
		}, "created by MPI_Type_new"},
		{"a basic type without a size", func(*prettyprinttest.Image) prettyprinttest.TypeRecord {
			return prettyprinttest.TypeRecord{Combiner: 1, Basic: 2, Name: "MPI_INT"}
		}, "a value of"},
	} {
		im := prettyprinttest.NewImage(prettyprinttest.MPICH)
		rec := unknownFigures(c.rec(im))
		rec.Handle = h
		im.Datatype(rec)
		r, err := handle.Open(im, im.Publish())
		if err != nil {
			t.Fatal(err)
		}
		dt, err := r.DatatypeOfHandle(h, false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := dt.Problem; err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: problem %v, want %q", c.name, err, c.want)
		}
		if _, err := r.Buffer("t", 0x1000, dt, 1); err == nil {
			t.Errorf("%s: a buffer can be viewed", c.name)
		}
		var s strings.Builder
		if err := dt.Text(&s, "t", view.Options{}); err != nil || !strings.Contains(s.String(), c.want) {
			t.Errorf("%s: %v in\n%s", c.name, err, s.String())
		}
	}
}

// TestPartlyDecoded shows a buffer of a struct that holds a type of known size whose contents are not decoded.
func TestPartlyDecoded(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	u := im.Datatype(prettyprinttest.TypeRecord{
		Combiner: 99, Name: "MPI_Type_new", TypeSize: 8, Extent: 8,
		TrueExtent: 8,
	})
	i := im.Named("MPI_INT")
	s := im.Struct([]int64{1, 1}, []int64{0, 16}, []*prettyprinttest.Type{i, {Record: u, UB: 8}})
	addr := im.Alloc(make([]byte, 32))
	r, dt := openType(t, im, s)
	b, err := r.Buffer("t", addr, dt, 1)
	if err != nil {
		t.Fatal(err)
	}
	vals, err := b.Elements(0, b.Len())
	if err != nil || len(vals) != 2 || vals[0].Text != "0" ||
		vals[1].Text != "not decoded yet: 8 bytes of a type made by MPI_Type_new" {
		t.Errorf("%+v, %v", vals, err)
	}
}

// TestUnmapped has a buffer with a hole: all that is mapped is shown.
func TestUnmapped(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	c := im.Contiguous(3*4096/4, im.Named("MPI_INT"))
	const base = 0x10000000
	page := make([]byte, 4096)
	for i := range page {
		page[i] = 1
	}
	im.Map(base, page)
	im.Map(base+2*4096, page[:4090])
	r, dt := openType(t, im, c)
	b, err := r.Buffer("t", base, dt, 1)
	if err != nil {
		t.Fatal(err)
	}
	vals, err := b.Elements(0, b.Len())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range vals {
		want := "16843009"
		switch at := uint64(base + 4*i); {
		case at >= base+4096 && at < base+2*4096:
			want = fmt.Sprintf("unmapped at 0x%x", at)
		case at >= base+2*4096+4088:
			want = fmt.Sprintf("unmapped at 0x%x", max(at, base+2*4096+4090))
		}
		if v.Text != want || strings.HasPrefix(want, "unmapped") != (v.Bytes == nil) {
			t.Fatalf("element %d: %+v, want %s", i, v, want)
		}
	}
	all, err := r.Buffer("t", 0x20000000, dt, 1)
	if err != nil {
		t.Fatal(err)
	}
	if vals, err = all.Elements(0, 3); err != nil || vals[2].Text != "unmapped at 0x20000008" {
		t.Errorf("%+v, %v", vals, err)
	}
	if top, err := r.Buffer("t", math.MaxUint64-5, dt, 1); err != nil {
		t.Error(err)
	} else if vals, err := top.Elements(0, 3); err != nil || vals[0].Bytes != nil || vals[1].Bytes != nil {
		t.Errorf("%+v, %v", vals, err)
	}
}

// TestLazy views 10^8 elements in a type of 10^5 blocks: a page must read only what it shows, wherever it lies.
func TestLazy(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	lengths, disps := make([]int64, 100_000), make([]int64, 100_000)
	for i := range lengths {
		lengths[i], disps[i] = 1000, int64(i)*2000
	}
	rec := im.Datatype(unknownFigures(prettyprinttest.TypeRecord{
		Combiner: 6, State: 1, Handle: 0x8c000001, Integers: append(append([]int64{100_000}, lengths...), disps...),
		Types: []uint64{im.Named("MPI_DOUBLE").Record},
	}))
	r, dt := openType(t, im, &prettyprinttest.Type{Record: rec, Handle: 0x8c000001})
	if dt.Elements != 100_000_000 {
		t.Fatalf("%d elements", dt.Elements)
	}
	b, err := r.Buffer("t", 0x100000000, dt, 1)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0x100000000 + 8*(99_999*2000+900))
	data := make([]byte, 800)
	for i := range 100 {
		binary.LittleEndian.PutUint64(data[8*i:], math.Float64bits(float64(i)))
	}
	im.Map(last, data)
	im.Reads, im.Bytes = 0, 0
	vals, err := b.Elements(99_999_900, 100_000_000)
	if err != nil || len(vals) != 100 || vals[99].Text != "99" || short(vals[99].Address) != "t[99999][999]" {
		t.Fatalf("%d values, %+v, %v", len(vals), vals[len(vals)-1], err)
	}
	if im.Reads != 1 || im.Bytes != 800 {
		t.Errorf("%d reads of %d bytes for a page of 800 bytes", im.Reads, im.Bytes)
	}
	im.Reads, im.Bytes = 0, 0
	n := b.Node("t")
	if n.Len() != 100_000 {
		t.Fatalf("%d children", n.Len())
	}
	kids, err := n.Children(99_990, 100_000)
	if err != nil || len(kids) != 10 || kids[9].Len() != 1000 {
		t.Fatalf("%+v, %v", kids, err)
	}
	leaves, err := kids[9].Children(900, 1000)
	if err != nil || leaves[99].Value != "99" {
		t.Fatalf("%+v, %v", leaves, err)
	}
	if im.Reads > 200 {
		t.Errorf("%d reads", im.Reads)
	}
}

// registry is a damaged or sound image in one flat piece of memory.
type flat struct {
	base uint64
	data []byte
	read int
}

func (f *flat) ReadMemory(addr uint64, p []byte) (int, error) {
	f.read++
	if addr < f.base || addr-f.base >= uint64(len(f.data)) {
		return 0, prettyprinttest.ErrUnmapped
	}
	if n := copy(p, f.data[addr-f.base:]); n < len(p) {
		return n, prettyprinttest.ErrUnmapped
	}
	return len(p), nil
}

// flatten copies a compact image into one piece.
func flatten(im *prettyprinttest.Image, registryAddr uint64) *flat {
	const base = 0x7f0000001000
	f := &flat{base: base}
	for _, r := range im.Regions() {
		f.data = append(f.data, make([]byte, (len(f.data)+15)/16*16-len(f.data))...)
		f.data = append(f.data, r...)
	}
	if uint64(len(f.data)) != registryAddr+uint64(abi.Size[abi.Registry]())-base {
		panic("the image is not compact")
	}
	return f
}

func richImage(mpi uint32) *prettyprinttest.Image {
	im := prettyprinttest.NewImage(mpi)
	im.Compact = true
	i, d := im.Named("MPI_INT"), im.Named("MPI_DOUBLE_INT")
	v := im.Vector(3, 2, 4, d)
	s := im.Struct([]int64{1, 2, 3}, []int64{0, 8, 100}, []*prettyprinttest.Type{i, v, im.Named("MPI_CHAR")})
	im.Indexed([]int64{1, 2}, []int64{5, 0}, im.Subarray([]int64{4, 4}, []int64{2, 2}, []int64{1, 1}, true, s))
	im.Darray(1, []int64{9, 5}, []prettyprinttest.Distribution{prettyprinttest.Cyclic, prettyprinttest.Block},
		[]int64{2, prettyprinttest.DefaultArgument}, []int64{2, 1}, false, im.Resized(-4, 30, im.Dup(s)))
	im.HindexedBlock(2, []int64{-7, 9},
		im.IndexedBlock(1, []int64{3, 3}, im.Hvector(2, 1, -50, im.Hindexed([]int64{2}, []int64{4}, i))))
	im.Tombstone(0x1234)
	im.Comm(prettyprinttest.CommRecord{
		Kind: 3, Handle: 0x44000000, GlobalID: 1, Size: 4, Rank: 2,
		Name: "MPI_COMM_WORLD", Members: []uint32{0, 1, 2, 3}, Dims: []int32{2, 2}, Periods: []int32{0, 1},
		Coords: []int32{1, 0},
	})
	im.Comm(prettyprinttest.CommRecord{
		Kind: 2, Handle: 0x84000000, GlobalID: 2, ParentID: 1, Size: 1,
		Members: []uint32{0}, Remote: []uint32{1, 3},
	})
	objectsImage(im)
	return im
}

// explore does all that a user can do with a registry. It must end, without a panic, whatever the bytes are.
func explore(t require, mem registry.MemoryReader, addr, buffer uint64) {
	exploreSome(t, mem, addr, buffer, 1, 0)
}

// exploreSome looks at every n-th type only, from the k-th on.
func exploreSome(t require, mem registry.MemoryReader, addr, buffer uint64, n, k int) {
	check := func(err error) {
		var e *fault.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("an error that is not a *prettyprint.Error: %T %v", err, err)
		}
	}
	r, err := handle.Open(mem, addr)
	if err != nil {
		check(err)
		return
	}
	types, err := datatypesOf(r)
	check(err)
	opt := view.Options{MaxList: 5, MaxLines: 50, MaxDepth: 10}
	for i, dt := range types {
		if i%n != k {
			continue
		}
		check(dt.Text(io.Discard, "t", opt))
		check(dt.Node("t").Text(io.Discard, opt))
		_, err := r.DatatypeOfHandle(dt.Handle, false)
		check(err)
		if f := dt.FHandle; f != registry.NoFortran {
			_, err := r.DatatypeOfHandle(uint64(f), true)
			check(err)
		}
		if dt.Depth > 0 {
			exploreType(t, dt, check)
		}
		b, err := r.Buffer("t", buffer, dt, 3)
		if err != nil {
			check(err)
			continue
		}
		check(b.Text(io.Discard, opt))
		check(b.Node("t").Text(io.Discard, opt))
		if n := b.Len(); n > 0 {
			_, err := b.Elements(n-1, n)
			check(err)
		}
	}
	for _, h := range []uint64{0x44000000, 0x84000000, 0x1234, 0} {
		m, err := r.CommOfHandle(h, false)
		check(err)
		if err == nil {
			check(m.Node("c").Text(io.Discard, opt))
		}
		_, err = r.DatatypeOfHandle(h, false)
		check(err)
	}
	_, err = r.CommOfHandle(uint64(0), true)
	check(err)
	exploreCommands(r, check)
}

// exploreType draws, compares and exports a type.
func exploreType(t require, dt *datatype.Type, check func(error)) {
	p, err := picture.ForWidth(dt, "t", 2, 80)
	check(err)
	if err == nil {
		check(p.Text(io.Discard, true))
		check(p.SVG(io.Discard))
	}
	s := datatype.Side{Name: "t", Type: dt, Count: 2}
	m, err := datatype.Match(s, s)
	check(err)
	if err == nil {
		check(m.Text(io.Discard, 3))
		check(m.Node().Text(io.Discard, view.Options{}))
		if m.Verdict == datatype.MatchDifferent || m.Verdict == datatype.MatchTruncated {
			t.Fatalf("a type does not match itself: %s", m.Explain())
		}
	}
	text, err := s.Export()
	check(err)
	if err == nil {
		_, err := datatype.Import(text)
		check(err)
	}
}

// exploreCommands runs what a user types, with literals for expressions.
func exploreCommands(r *handle.Rank, check func(error)) {
	for _, line := range []string{
		"--request 0x98000010", "--buffer --request 0x98000013", "--group 0x88000001", "--win 0xa0000001",
		"--file 0x5000", "--op 0x98000001", "--errhandler 0x94000001",
		"--info 0x9c000001", "--status fst", "--stack 0x98000010", "MPI_SUM",
	} {
		res, err := command.Run(r,
			variables{"fst": {HasAddr: true, Address: 0x7f0000001000, Array: true, Language: backend.Fortran}},
			line)
		check(err)
		if err == nil {
			check(res.Node.Text(io.Discard, view.Options{MaxList: 5, MaxLines: 50, MaxDepth: 5}))
		}
	}
	exploreSides(r, check)
	calls, err := call.InProgress(r, nil)
	check(err)
	for _, c := range calls {
		check(c.Text(new(strings.Builder), view.Options{MaxList: 5, MaxLines: 50}))
	}
	for _, declared := range []string{
		"MPI_Request", "MPI_Group", "MPI_Win", "MPI_File", "MPI_Op", "MPI_Errhandler",
		"MPI_Info", "MPI_Status", "MPI_Datatype", "MPI_Comm",
	} {
		for _, h := range []uint64{0x98000010, 0x9c000001, 77, 0} {
			n, err := call.Describe(r, declared, h, h == 77)
			check(err)
			if err == nil {
				check(n.Text(io.Discard, view.Options{MaxList: 5, MaxLines: 50, MaxDepth: 5}))
			}
		}
	}
	for _, line := range []string{
		"", "--tree MPI_INT", "--tree 0x8c000003[1]", "--layout MPI_DOUBLE_INT 3",
		"--match MPI_INT 2 to 0x8c000004", "MPI_COMM_WORLD", "0x84000000",
	} {
		res, err := command.Run(r, variables{}, "--list 5 "+line)
		check(err)
		if err == nil {
			check(res.Node.Text(io.Discard, view.Options{MaxList: 5, MaxLines: 50, MaxDepth: 5}))
		}
	}
}

// exploreSides asks for what is compared with another rank's.
func exploreSides(r *handle.Rank, check func(error)) {
	for _, m := range []command.MatchSide{
		{Peer: 1},
		{Peer: 3, Receives: true},
		{Peer: -1, Receives: true, Event: 12, Call: "MPI_Irecv"},
		{Peer: 1, Event: 13, Call: "MPI_Waitall"},
		{Peer: 1, Event: 13, Call: "MPI_Startall", Which: 2},
		{Peer: 0, Args: []string{"0x98000010"}},
	} {
		res, err := command.Run(r, inCall{}, strings.TrimPrefix(m.ExportLine(), "mpipp "))
		check(err)
		if err != nil {
			continue
		}
		for line := range strings.Lines(res.Text) {
			_, err := datatype.Import(line)
			check(err)
		}
	}
}

// TestMutatedImages damages sound images word by word.
func TestMutatedImages(t *testing.T) {
	images := map[uint32]*flat{}
	registryAddr := map[uint32]uint64{}
	for _, mpi := range []uint32{prettyprinttest.MPICH, prettyprinttest.OpenMPI} {
		im := richImage(mpi)
		registryAddr[mpi] = im.Publish()
		images[mpi] = flatten(im, registryAddr[mpi])
		explore(t, images[mpi], registryAddr[mpi], images[mpi].base)
	}
	rapid.Check(t, func(t *rapid.T) {
		mpi := libraryOf(t)
		f := &flat{base: images[mpi].base, data: append([]byte(nil), images[mpi].data...)}
		for range rapid.IntRange(1, 6).Draw(t, "faults") {
			at := mutationPoint(t, f)
			switch rapid.IntRange(0, 3).Draw(t, "fault") {
			case 0:
				f.data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			case 1:
				binary.LittleEndian.PutUint64(f.data[at&^7:], rapid.Uint64().Draw(t, "word"))
			case 2:
				// a pointer to some record, or into one
				binary.LittleEndian.PutUint64(f.data[at&^7:], f.base+uint64(mutationPoint(t, f))&^15)
			case 3:
				binary.LittleEndian.PutUint32(f.data[at&^3:], rapid.Uint32Max(100).Draw(t, "small"))
			}
		}
		explore(t, f, registryAddr[mpi], f.base)
	})
}

func mutationPoint(t *rapid.T, f *flat) int { return rapid.IntRange(0, len(f.data)-8).Draw(t, "at") }

// endless makes what takes longer than any decoding may a failure, with the stack that shows where.
func endless() *time.Timer {
	const limit = 2 * time.Minute // seconds on a busy machine
	return time.AfterFunc(limit, func() {
		debug.SetTraceback("all")
		panic("the decoder did not end within " + limit.String())
	})
}

func FuzzRegistry(f *testing.F) {
	var registryAddr uint64
	for _, mpi := range []uint32{prettyprinttest.MPICH, prettyprinttest.OpenMPI} {
		im := richImage(mpi)
		registryAddr = im.Publish()
		f.Add(flatten(im, registryAddr).data)
	}
	f.Add([]byte("COHREG\x00\x00\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const base = 0x7f0000001000
		addr := registryAddr
		if addr >= base+uint64(len(data)) {
			addr = base
		}
		defer endless().Stop()
		explore(t, &flat{base: base, data: data}, addr, base)
	})
}
