package prettyprint_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// fig1 is the datatype of the paper's Fig. 1.
func fig1(im *prettyprinttest.Image) *prettyprinttest.Type {
	return im.Struct([]int64{1, 5, 7, 2, 1}, []int64{-4, 0, 47, 76, 100}, []*prettyprinttest.Type{
		im.Named("MPI_LB"), im.Named("MPI_INT"), im.Named("MPI_CHAR"), im.Named("MPI_DOUBLE"), im.Named("MPI_UB"),
	})
}

// fig5 is what the paper's Fig. 5 prints, from the first brace to the last.
const fig5 = `{
    kind = STRUCT,
    count = 5,
    entries = {{
        blocklength = 1,
        offset = -4,
        type = "MPI_LB"
    }, {
        blocklength = 5,
        offset = 0,
        type = "MPI_INT"
    }, {
        blocklength = 7,
        offset = 47,
        type = "MPI_CHAR"
    }, {
        blocklength = 2,
        offset = 76,
        type = "MPI_DOUBLE"
    }, {
        blocklength = 1,
        offset = 100,
        type = "MPI_UB"
    }}
}
`

func TestFig5(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	_, dt := openType(t, im, fig1(im))
	var s strings.Builder
	if err := dt.Constructor().Text(&s, view.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fig5, s.String()); diff != "" {
		t.Errorf("Fig. 5 (-paper +got):\n%s", diff)
	}
	// the paper's section IV.C: [3] is the block of doubles, [2][5](CHAR) the sixth character
	if f := dt.Computed; f != (datatype.Figures{Size: 43, LB: -4, Extent: 104, TrueLB: 0, TrueExtent: 92}) {
		t.Errorf("figures %+v", f)
	}
	if s := dt.Signature().Text(9); s != "5 MPI_INT, 7 MPI_CHAR, 2 MPI_DOUBLE" {
		t.Errorf("signature %q", s)
	}
	if g := dt.Gaps().String(); g != "2, 49 bytes" {
		t.Errorf("gaps %q", g)
	}
}

// fig1Buffer holds values for the datatype of Fig. 1.
func fig1Buffer(im *prettyprinttest.Image) uint64 {
	b := make([]byte, 104)
	for i := range 5 {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(-i*10))
	}
	copy(b[47:], "message")
	binary.LittleEndian.PutUint64(b[76:], math.Float64bits(0.1))
	binary.LittleEndian.PutUint64(b[84:], math.Float64bits(-2))
	return im.Alloc(b)
}

func TestBufferText(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	want := fig1(im)
	addr := fig1Buffer(im)
	r, dt := openType(t, im, want)
	b, err := r.Buffer("s", addr, dt, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit int
		want  string
	}{
		{0, `
  s(STRUCT)[1][0](INT)      ADDR+0  0
  s(STRUCT)[1][1](INT)      ADDR+4  -10
  s(STRUCT)[1][2](INT)      ADDR+8  -20
  s(STRUCT)[1][3](INT)      ADDR+12  -30
  s(STRUCT)[1][4](INT)      ADDR+16  -40
  s(STRUCT)[2][0..6](CHAR)  ADDR+47  "message"
  s(STRUCT)[3][0](DOUBLE)   ADDR+76  0.1
  s(STRUCT)[3][1](DOUBLE)   ADDR+84  -2
`},
		{7, `
  s(STRUCT)[1][0](INT)      ADDR+0  0
  s(STRUCT)[1][1](INT)      ADDR+4  -10
  s(STRUCT)[1][2](INT)      ADDR+8  -20
  s(STRUCT)[1][3](INT)      ADDR+12  -30
  s(STRUCT)[1][4](INT)      ADDR+16  -40
  s(STRUCT)[2][0..1](CHAR)  ADDR+47  "me"
  ... 7 more, with --from 7
`},
	} {
		var s strings.Builder
		if err := b.Text(&s, view.Options{MaxList: c.limit}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, "\n"+relative(s.String(), addr)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", c.limit, diff)
		}
	}
}

// TestBufferTree walks the tree of values as a DAP client opens it.
func TestBufferTree(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	want := fig1(im)
	addr := fig1Buffer(im)
	r, dt := openType(t, im, want)
	b, err := r.Buffer("s", addr, dt, 1)
	if err != nil {
		t.Fatal(err)
	}
	n := b.Node("buffer")
	kids, err := n.Children(0, n.Len())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range kids {
		got = append(got, k.Name+" | "+k.Value+" | "+k.Type)
	}
	if diff := cmp.Diff([]string{
		"[0][0] | LB at offset -4 | MPI_LB",
		"[1] | {0, -10, -20, -30, …} | 5 × MPI_INT",
		`[2] | "message" | 7 × MPI_CHAR`,
		"[3] | {0.1, -2} | 2 × MPI_DOUBLE",
		"[4][0] | UB at offset 100 | MPI_UB",
	}, got); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	if kids[3].Address != addr+76 {
		t.Errorf("address 0x%x", kids[3].Address)
	}
	of3, err := kids[3].Children(0, 2)
	if err != nil || len(of3) != 2 || of3[0].Value != "0.1" || of3[1].Value != "-2" || of3[1].Type != "MPI_DOUBLE" ||
		of3[1].Address != addr+84 {
		t.Errorf("below [3]: %+v, %v", of3, err)
	}
}

// TestNodeFieldCounts opens the constructor of every kind.
func TestNodeFieldCounts(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.OpenMPI)
	i := im.Named("MPI_INT")
	types := []*prettyprinttest.Type{
		i, im.Dup(i), im.Contiguous(2, i), im.Vector(2, 1, 3, i), im.Hvector(2, 1, 9, i),
		im.Indexed([]int64{1}, []int64{2}, i),
		im.Hindexed([]int64{1}, []int64{2}, i), im.IndexedBlock(2, []int64{1, 5}, i),
		im.HindexedBlock(2, []int64{1, 50}, i),
		im.Struct([]int64{1}, []int64{2}, []*prettyprinttest.Type{i}), im.Resized(0, 8, i),
		im.Subarray([]int64{4, 4}, []int64{2, 1}, []int64{0, 3}, true, i),
		im.Darray(1, []int64{5}, []prettyprinttest.Distribution{prettyprinttest.Block},
			[]int64{prettyprinttest.DefaultArgument}, []int64{2}, false, i),
	}
	leaf := func(combiner uint32, ints ...int64) *prettyprinttest.Type {
		h := uint64(0x9000 + combiner)
		rec := im.Datatype(prettyprinttest.TypeRecord{
			Combiner: combiner, Handle: h, BasicSize: 8, TypeSize: 8,
			Extent: 8, TrueExtent: 8, Integers: ints,
		})
		return &prettyprinttest.Type{Record: rec, Handle: h}
	}
	types = append(types, leaf(14, 15, 300), leaf(15, 15, 300), leaf(16, 9), leaf(99))
	all := im.Struct(make([]int64, len(types)), make([]int64, len(types)), types)
	_, dt := openType(t, im, all)
	for k, sub := range dt.Types {
		n := sub.Constructor()
		kids, err := n.Children(0, n.Len())
		if err != nil || len(kids) != n.Len() || kids[0].Value != sub.Combiner().String() {
			t.Errorf("type %d (%s): %d fields, %v; %d announced", k, sub.Combiner(), len(kids), err, n.Len())
		}
	}
	var s strings.Builder
	if err := dt.Constructor().Text(&s, view.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"distribution = BLOCK", "argument = default", "order = FORTRAN",
		"displacements = {1, 5}", "offsets = {1, 50}", "not decoded yet",
	} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("no %q in\n%s", want, s.String())
		}
	}
}

// TestSharedTypesDoNotExplode prints a type whose expanded constructor has 2^50 parts.
func TestSharedTypesDoNotExplode(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	ty := im.Named("MPI_INT")
	for range 50 {
		rec := im.Datatype(prettyprinttest.TypeRecord{
			Combiner: 10, State: 1, Handle: ty.Handle + 1, TypeSize: prettyprinttest.Unknown,
			LB:     prettyprinttest.Unknown,
			Extent: prettyprinttest.Unknown, TrueLB: prettyprinttest.Unknown, TrueExtent: prettyprinttest.Unknown,
			Integers: []int64{2, 1, 1}, Addresses: []int64{0, 0}, Types: []uint64{ty.Record, ty.Record},
		})
		ty = &prettyprinttest.Type{Record: rec, Handle: ty.Handle + 1}
	}
	_, dt := openType(t, im, ty)
	if dt.Elements != 1<<50 {
		t.Errorf("%d elements", dt.Elements)
	}
	var s strings.Builder
	if err := dt.Text(&s, "t", view.Options{MaxLines: 500}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(s.String(), "\n"); n > 5000 {
		t.Errorf("%d lines", n)
	}
	if got := dt.Signature().Text(5); got != "1125899906842624 MPI_INT" {
		t.Errorf("signature %s", got)
	}
}

// TestEmptyDarray: in MPICH a darray of which this rank has nothing does not align the struct that it is in, whichever
// dimension it is that leaves nothing (measured with MPICH 4.0.2).
func TestEmptyDarray(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	for empty := range 3 {
		procs, dist, sizes, dargs := []int64{1, 1, 1}, make([]prettyprinttest.Distribution, 3), []int64{1, 1, 1},
			make([]int64, 3)
		for i := range dist {
			dist[i], dargs[i] = prettyprinttest.None, prettyprinttest.DefaultArgument
		}
		procs[empty], dist[empty] = 2, prettyprinttest.Block
		d := im.Darray(1, sizes, dist, dargs, procs, false, im.Named("MPI_SHORT"))
		s := im.Struct([]int64{1, 1}, []int64{0, 2}, []*prettyprinttest.Type{d, im.Named("MPI_CHAR")})
		_, dt := openType(t, im, s)
		if f := dt.Computed; f.Extent != 3 {
			t.Errorf("dimension %d is empty: %+v", empty, f)
		}
	}
}

// TestOverlapWithoutGaps: three blocks of four integers, two integers apart.
func TestOverlapWithoutGaps(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	_, dt := openType(t, im, im.Vector(3, 4, 2, im.Named("MPI_INT")))
	if g := dt.Gaps().String(); g != "none; elements overlap" {
		t.Errorf("gaps %q", g)
	}
}
