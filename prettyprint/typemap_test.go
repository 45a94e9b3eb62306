package prettyprint_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

const maxOracle = 400 // entries of an explicit typemap

// drawType builds a random tree of constructors and its explicit typemap.
func drawType(t *rapid.T, im *prettyprinttest.Image, depth int) *prettyprinttest.Type {
	if depth == 0 {
		b := rapid.SampledFrom(prettyprinttest.Basics).Draw(t, "basic")
		if b.Size == 0 { // the markers are for structs
			return im.Named("MPI_INT")
		}
		return im.Named(b.Name)
	}
	kid := drawType(t, im, rapid.IntRange(0, depth-1).Draw(t, "depth"))
	room := int64(maxOracle / max(len(kid.Map), 1))
	if room < 2 {
		return kid
	}
	small := func(name string, lo, hi int64) int64 {
		return rapid.Int64Range(min(lo, hi), min(hi, max(lo, room))).Draw(t, name)
	}
	n := small("n", 0, 5)
	list := func(name string, lo, hi int64) []int64 {
		return rapid.SliceOfN(rapid.Int64Range(lo, hi), int(n), int(n)).Draw(t, name)
	}
	fortran := rapid.Bool().Draw(t, "fortran")
	switch rapid.IntRange(0, 11).Draw(t, "combiner") {
	case 0:
		return im.Dup(kid)
	case 1:
		return im.Contiguous(small("count", 0, 7), kid)
	case 2:
		return im.Vector(n, small("length", 0, 3), rapid.Int64Range(-6, 6).Draw(t, "stride"), kid)
	case 3:
		return im.Hvector(n, small("length", 0, 3), rapid.Int64Range(-100, 100).Draw(t, "stride"), kid)
	case 4:
		return im.Indexed(list("lengths", 0, 3), list("disps", -20, 20), kid)
	case 5:
		return im.Hindexed(list("lengths", 0, 3), list("disps", -200, 200), kid)
	case 6:
		return im.IndexedBlock(small("length", 0, 3), list("disps", -20, 20), kid)
	case 7:
		return im.HindexedBlock(small("length", 0, 3), list("disps", -200, 200), kid)
	case 8:
		types := make([]*prettyprinttest.Type, n)
		for i := range types {
			switch rapid.IntRange(0, 5).Draw(t, "entry") {
			case 0:
				types[i] = im.Named("MPI_LB")
			case 1:
				types[i] = im.Named("MPI_UB")
			case 2:
				types[i] = kid
			default:
				types[i] = drawType(t, im, rapid.IntRange(0, min(depth-1, 1)).Draw(t, "depth"))
			}
		}
		return im.Struct(list("lengths", 0, 3), list("disps", -200, 200), types)
	case 9:
		return im.Resized(rapid.Int64Range(-20, 20).Draw(t, "lb"), rapid.Int64Range(-5, 60).Draw(t, "extent"), kid)
	case 10:
		return drawSubarray(t, im, fortran, kid)
	}
	return drawDarray(t, im, fortran, kid)
}

func drawSubarray(t *rapid.T, im *prettyprinttest.Image, fortran bool,
	kid *prettyprinttest.Type,
) *prettyprinttest.Type {
	dims := rapid.IntRange(1, 3).Draw(t, "dims")
	var sizes, subs, starts []int64
	for range dims {
		size := rapid.Int64Range(1, 4).Draw(t, "size")
		sub := rapid.Int64Range(1, size).Draw(t, "sub")
		sizes, subs = append(sizes, size), append(subs, sub)
		starts = append(starts, rapid.Int64Range(0, size-sub).Draw(t, "start"))
	}
	return im.Subarray(sizes, subs, starts, fortran, kid)
}

func drawDarray(t *rapid.T, im *prettyprinttest.Image, fortran bool, kid *prettyprinttest.Type) *prettyprinttest.Type {
	dims := rapid.IntRange(1, 3).Draw(t, "dims")
	var sizes, dargs, procs []int64
	var dist []prettyprinttest.Distribution
	ranks := int64(1)
	for range dims {
		size := rapid.Int64Range(1, 7).Draw(t, "gsize")
		p := rapid.Int64Range(1, 3).Draw(t, "procs")
		d := prettyprinttest.Distribution(rapid.IntRange(0, 2).Draw(t, "dist"))
		arg := int64(prettyprinttest.DefaultArgument)
		switch {
		case d == prettyprinttest.None:
			p = 1
		case d == prettyprinttest.Block && rapid.Bool().Draw(t, "darg"):
			arg = (size+p-1)/p + rapid.Int64Range(0, 2).Draw(t, "more")
		case d == prettyprinttest.Cyclic && rapid.Bool().Draw(t, "darg"):
			arg = rapid.Int64Range(1, 4).Draw(t, "k")
		}
		ranks *= p
		sizes, dargs, procs, dist = append(sizes, size), append(dargs, arg), append(procs, p), append(dist, d)
	}
	return im.Darray(rapid.Int64Range(0, ranks-1).Draw(t, "rank"), sizes, dist, dargs, procs, fortran, kid)
}

func libraryOf(t *rapid.T) uint32 {
	return rapid.SampledFrom([]uint32{prettyprinttest.MPICH, prettyprinttest.OpenMPI}).Draw(t, "mpi")
}

func openType(t require, im *prettyprinttest.Image, want *prettyprinttest.Type) (*handle.Rank,
	*datatype.Type,
) {
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	dt, err := r.DatatypeOfHandle(want.Handle, false)
	if err != nil {
		t.Fatalf("DatatypeOfHandle: %v", err)
	}
	if err := dt.Problem; err != nil {
		t.Fatalf("Problem: %v", err)
	}
	return r, dt
}

type require interface {
	Fatalf(format string, args ...any)
}

// TestRandomTypes compares random trees of constructors with their explicit typemaps: order, displacements, figures,
// addresses, seeking, signature, blocks and gaps.
func TestRandomTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		im := prettyprinttest.NewImage(libraryOf(t))
		want := drawType(t, im, 4)
		_, dt := openType(t, im, want)

		if dt.Elements != int64(len(want.Map)) {
			t.Fatalf("%d elements, want %d", dt.Elements, len(want.Map))
		}
		figures := datatype.Figures{
			Size: want.Size, LB: want.LB, Extent: want.Extent(), TrueLB: want.TrueLB,
			TrueExtent: want.TrueUB - want.TrueLB,
		}
		if diff := cmp.Diff(figures, dt.Computed); diff != "" {
			t.Fatalf("figures (-want +got):\n%s", diff)
		}
		if dt.Depth != want.Depth {
			t.Fatalf("depth %d, want %d", dt.Depth, want.Depth)
		}
		n := 0
		for e := range dt.Typemap(0) {
			checkEntry(t, n, e, want.Map[n])
			n++
		}
		if n != len(want.Map) {
			t.Fatalf("the typemap ended after %d of %d entries", n, len(want.Map))
		}
		for i := range want.Map {
			for e := range dt.Typemap(int64(i)) {
				checkEntry(t, i, e, want.Map[i])
				break
			}
		}
		for e := range dt.Typemap(int64(len(want.Map))) {
			t.Fatalf("element past the end: %+v", e)
		}
		checkSignature(t, dt, want)
		checkBlocks(t, dt, want)
	})
}

func checkEntry(t *rapid.T, n int, e datatype.Element, want prettyprinttest.Entry) {
	if e.Index != int64(n) || e.Offset != want.Disp || e.Leaf.Name != want.Basic || pathOf(e) != want.Path {
		t.Fatalf("entry %d is (%d, %s, %d) at %s, want (%s, %d) at %s", n, e.Index, e.Leaf.Name, e.Offset, pathOf(e),
			want.Basic, want.Disp, want.Path)
	}
}

func pathOf(e datatype.Element) string {
	var s strings.Builder
	for _, st := range e.Path {
		for _, k := range st.Index {
			fmt.Fprintf(&s, "[%d]", k)
		}
	}
	return s.String()
}

func checkSignature(t *rapid.T, dt *datatype.Type, want *prettyprinttest.Type) {
	var got []string
	var expand func(s *datatype.Signature)
	expand = func(s *datatype.Signature) {
		for i, it := range s.Items {
			if i > 0 && it.Basic != nil && s.Items[i-1].Basic != nil && it.Basic.Name == s.Items[i-1].Basic.Name {
				t.Fatalf("the signature has %s twice in a row", it.Basic.Name)
			}
			for range it.Count {
				if it.Basic != nil {
					got = append(got, it.Basic.Name)
				} else {
					expand(it.Group)
				}
			}
		}
	}
	expand(dt.Signature())
	var expected []string
	for _, e := range want.Map {
		expected = append(expected, e.Basic)
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Fatalf("signature (-want +got):\n%s", diff)
	}
}

// checkBlocks counts the contiguous blocks one by one, and finds gaps and overlaps with a byte map.
func checkBlocks(t *rapid.T, dt *datatype.Type, want *prettyprinttest.Type) {
	blocks, end := int64(0), int64(0)
	used := map[int64]int{}
	for _, e := range want.Map {
		for _, p := range e.Parts {
			if from := e.Disp + p[0]; blocks == 0 || from != end {
				blocks++
			}
			end = e.Disp + p[0] + p[1]
			for b := e.Disp + p[0]; b < end; b++ {
				used[b]++
			}
		}
	}
	if dt.Blocks() != blocks {
		t.Fatalf("%d blocks, want %d", dt.Blocks(), blocks)
	}
	lb, ext := want.Data()
	exp := datatype.Gaps{Known: true}
	for b := lb; b < lb+ext; b++ {
		if used[b] == 0 {
			exp.Bytes++
			if used[b-1] > 0 {
				exp.Count++
			}
		}
		exp.Overlaps = exp.Overlaps || used[b] > 1
	}
	if diff := cmp.Diff(exp, dt.Gaps()); diff != "" {
		t.Fatalf("gaps (-want +got):\n%s", diff)
	}
}

// TestRandomBuffers compares the elements of random buffers, read in random pages, and the tree of values, with the
// oracle.
func TestRandomBuffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		im := prettyprinttest.NewImage(libraryOf(t))
		want := drawType(t, im, 3)
		count := rapid.Int64Range(0, 3).Draw(t, "count")
		lo, hi := int64(0), int64(0)
		for i := range count {
			for _, e := range want.Map {
				lo, hi = min(lo, i*want.Extent()+e.Disp), max(hi, i*want.Extent()+e.Disp+32)
			}
		}
		data := make([]byte, hi-lo)
		for i := range data {
			data[i] = byte(i*7 + i>>8)
		}
		addr := im.Alloc(data) - uint64(lo)
		r, dt := openType(t, im, want)
		b, err := r.Buffer("t", addr, dt, count)
		if err != nil {
			t.Fatalf("Buffer: %v", err)
		}
		if b.Len() != count*int64(len(want.Map)) {
			t.Fatalf("%d elements", b.Len())
		}
		from := rapid.Int64Range(0, b.Len()).Draw(t, "from")
		to := rapid.Int64Range(from, b.Len()).Draw(t, "to")
		vals, err := b.Elements(from, to)
		if err != nil {
			t.Fatalf("Elements: %v", err)
		}
		for i, v := range vals {
			n := from + int64(i)
			inst, e := n/int64(len(want.Map)), want.Map[n%int64(len(want.Map))]
			at := inst*want.Extent() + e.Disp
			var packed []byte
			for _, p := range e.Parts {
				packed = append(packed, data[at+p[0]-lo:][:p[1]]...)
			}
			path := fmt.Sprintf("t{%d}%s", inst, e.Path)
			if count == 1 {
				path = "t" + e.Path
			}
			if v.Index != n || v.Memory != addr+uint64(at) || short(v.Address) != path ||
				!bytes.Equal(v.Bytes, packed) {
				t.Fatalf("element %d: %+v, want disp %d, path %s, bytes %x", n, v, at, e.Path, packed)
			}
			checkSelect(t, b, v)
		}
		walkNodes(t, b, count*int64(len(want.Map)))
	})
}

// checkSelect takes an element's address as input and finds the same element, in both forms.
func checkSelect(t *rapid.T, b *datatype.Buffer, v datatype.Value) {
	for _, s := range []string{v.Address, short(v.Address)} {
		exprs, addrs := datatype.ParseAddress(s)
		last := len(exprs) - 1
		if exprs[last] != "t" {
			t.Fatalf("ParseAddress(%q) ends with the expression %q", s, exprs[last])
		}
		one, err := b.Select(addrs[last])
		if err != nil {
			t.Fatalf("Select(%s): %v", s, err)
		}
		vals, err := one.Elements(0, one.Len())
		if err != nil || len(vals) != 1 || vals[0].Memory != v.Memory || vals[0].Address != v.Address ||
			vals[0].Text != v.Text {
			t.Fatalf("Select(%s): %+v, %v; want %+v", s, vals, err, v)
		}
	}
}

// walkNodes opens the whole tree and counts its leaves.
func walkNodes(t *rapid.T, b *datatype.Buffer, elements int64) {
	leaves := int64(0)
	var walk func(n view.Node)
	walk = func(n view.Node) {
		kids, err := n.Children(0, n.Len())
		if err != nil || len(kids) != n.Len() {
			t.Fatalf("%s: %d children, %v; want %d", n.Name, len(kids), err, n.Len())
		}
		for _, k := range kids {
			walk(k)
		}
		if n.Len() == 0 && !strings.Contains(n.Value, "no elements") && !strings.Contains(n.Value, "at offset") {
			leaves++
		}
	}
	walk(b.Node("t"))
	if leaves != elements {
		t.Fatalf("the tree has %d leaves, want %d", leaves, elements)
	}
}
