package prettyprinttest

import (
	"cmp"
	"fmt"
	"slices"
)

// Entry is one entry of an explicit typemap.
type Entry struct {
	Basic string
	Disp  int64
	Parts [][2]int64 // bytes that it selects: offset from Disp, length
	Path  string     // its address in the expanded type-tree, short form
}

// Type is a datatype in a test: its explicit typemap, made by following the standard's definitions literally, and its
// record in an image.
type Type struct {
	im     *Image
	Record uint64
	Handle uint64
	Map    []Entry
	LB, UB int64
	Depth  int

	TrueLB, TrueUB int64

	core         *Type // what it is under another handle, or nil
	hasLB, hasUB bool  // explicit bounds
	marker       int   // -1 MPI_LB, 1 MPI_UB
	align        int64
	Size         int64
}

// Extent is the distance between two instances side by side.
func (t *Type) Extent() int64 { return t.UB - t.LB }

// Data returns where the first byte of data lies and how far it is to the end of the last.
func (t *Type) Data() (lb, extent int64) {
	first := true
	var ub int64
	for _, e := range t.Map {
		for _, p := range e.Parts {
			lo, hi := e.Disp+p[0], e.Disp+p[0]+p[1]
			if first || lo < lb {
				lb = lo
			}
			if first || hi > ub {
				ub = hi
			}
			first = false
		}
	}
	return lb, ub - lb
}

// Basics are the predefined types that tests build from: name, enum cohort_basic, size, alignment.
var Basics = []struct {
	Name         string
	Basic, Pair  uint32
	Size         uint32
	Align        int64
	TypeSize, Ex int64
}{
	{"MPI_CHAR", 1, 0, 1, 1, 1, 1},
	{"MPI_SHORT", 2, 0, 2, 2, 2, 2},
	{"MPI_INT", 2, 0, 4, 4, 4, 4},
	{"MPI_UNSIGNED_LONG", 3, 0, 8, 8, 8, 8},
	{"MPI_FLOAT", 4, 0, 4, 4, 4, 4},
	{"MPI_DOUBLE", 4, 0, 8, 8, 8, 8},
	{"MPI_C_DOUBLE_COMPLEX", 5, 0, 16, 8, 16, 16},
	{"MPI_BYTE", 8, 0, 1, 1, 1, 1},
	{"MPI_LONG_DOUBLE", 4, 0, 16, 16, 16, 16},
	{"MPI_SHORT_INT", 10, 2, 2, 4, 6, 8},
	{"MPI_DOUBLE_INT", 10, 4, 8, 8, 12, 16},
	{"MPI_LB", 11, 0, 0, 1, 0, 0},
	{"MPI_UB", 12, 0, 0, 1, 0, 0},
}

// Named returns a predefined type of Basics, which it adds to the image at the first call.
func (im *Image) Named(name string) *Type {
	if t, ok := im.named[name]; ok {
		return t
	}
	for i, b := range Basics {
		if b.Name != name {
			continue
		}
		t := &Type{im: im, Handle: 0x4c000000 + uint64(i), UB: b.Ex, align: b.Align, Size: b.TypeSize}
		switch b.Basic {
		case 11:
			t.marker, t.hasLB = -1, true
		case 12:
			t.marker, t.hasUB = 1, true
		case 10:
			second := (int64(b.Size) + 3) / 4 * 4
			t.Map = []Entry{{Basic: name, Parts: [][2]int64{{0, int64(b.Size)}, {second, 4}}}}
			t.TrueUB = second + 4
		default:
			t.Map = []Entry{{Basic: name, Parts: [][2]int64{{0, int64(b.Size)}}}}
			t.TrueUB = int64(b.Size)
		}
		t.Record = im.Datatype(TypeRecord{
			Combiner: 1, State: Committed, Handle: t.Handle, FHandle: int32(t.Handle), Basic: b.Basic, Pair: b.Pair,
			BasicSize: b.Size,
			TypeSize:  b.TypeSize, LB: 0, Extent: b.Ex, TrueLB: 0, TrueExtent: Unknown, Name: name,
		})
		im.named[name] = t
		return t
	}
	panic("prettyprinttest: no basic type " + name)
}

// copyOf is one copy of a type in a new one, at a displacement, with its place in the expanded tree.
type copyOf struct {
	t     *Type
	disp  int64
	path  string
	block int64
}

// build makes a type from copies of others in typemap order, by MPI-3.1, 4.1, and as the two libraries read it where
// they depart from it: see prettyprint/bounds.go. empty lists the entries of blocklength 0.
func (im *Image) build(combiner uint32, ints, addrs []int64, kids []*Type, copies, empty []copyOf,
	bounds func(t *Type),
) *Type {
	t := &Type{im: im, align: 1, Handle: 0x8c000000 + im.nextID}
	var types []uint64
	for _, k := range kids {
		types = append(types, k.Record)
		t.Depth = max(t.Depth, k.Depth+1)
	}
	for _, c := range copies {
		t.Size += c.t.Size
		for _, e := range c.t.Map {
			t.Map = append(t.Map, Entry{e.Basic, c.disp + e.Disp, e.Parts, c.path + e.Path})
		}
	}
	t.setTrue(copies)
	if im.MPI == MPICH {
		t.boundsMPICH(combiner, copies, empty)
	} else {
		t.boundsOpenMPI(copies)
	}
	if bounds != nil {
		bounds(t)
	}
	if len(copies) == 1 && len(empty) == 0 {
		if c := copies[0]; c.disp == 0 && c.t.marker == 0 && c.t.LB == t.LB && c.t.UB == t.UB {
			t.core = c.t.theCore()
		}
	}
	t.Record = im.Datatype(TypeRecord{
		Combiner: combiner, State: Committed, Handle: t.Handle, FHandle: -1, TypeSize: Unknown, LB: Unknown,
		Extent: Unknown,
		TrueLB: Unknown, TrueExtent: Unknown, Integers: ints, Addresses: addrs, Types: types,
	})
	return t
}

// setTrue finds the true bounds: in MPICH, types without data count with theirs.
func (t *Type) setTrue(copies []copyOf) {
	var lbs, ubs []int64
	for _, c := range copies {
		if c.t.marker == 0 && (t.im.MPI == MPICH || len(c.t.Map) > 0) {
			lbs, ubs = append(lbs, c.disp+c.t.TrueLB), append(ubs, c.disp+c.t.TrueUB)
		}
	}
	if len(lbs) > 0 {
		t.TrueLB, t.TrueUB = slices.Min(lbs), slices.Max(ubs)
	}
}

func (t *Type) theCore() *Type {
	if t.core != nil {
		return t.core
	}
	return t
}

// mixed reports whether copies are of more than one type.
func mixed(copies []copyOf) bool {
	var first *Type
	for _, c := range copies {
		if c.t.marker != 0 {
			continue
		}
		if first != nil && c.t.theCore() != first {
			return true
		}
		first = c.t.theCore()
	}
	return false
}

func (t *Type) boundsMPICH(combiner uint32, copies, empty []copyOf) {
	var lbs, ubs, markLB, markUB []int64
	all := slices.Concat(copies, empty)
	slices.SortStableFunc(all, func(a, b copyOf) int { return cmp.Compare(a.block, b.block) })
	for _, c := range all {
		switch used := len(empty) == 0 || c.path != ""; {
		case c.t.marker < 0: // the last one counts
			markLB = []int64{c.disp}
		case c.t.marker > 0:
			markUB = []int64{c.disp}
		case used:
			lbs, ubs = append(lbs, c.disp+c.t.LB), append(ubs, c.disp+c.t.UB)
			t.align = max(t.align, c.t.align)
		case combiner != 10:
			t.align = max(t.align, c.t.align)
		}
	}
	t.take(lbs, nil, ubs, nil)
	if combiner == 10 && mixed(all) {
		t.roundUp()
	}
	t.hasLB, t.hasUB = len(markLB) > 0, len(markUB) > 0
	t.take(nil, markLB, nil, markUB)
}

func (t *Type) boundsOpenMPI(copies []copyOf) {
	var lbs, ubs, givenLB, givenUB []int64
	for i, c := range copies {
		switch {
		case c.t.marker < 0:
			givenLB = append(givenLB, c.disp)
			continue
		case c.t.marker > 0:
			givenUB = append(givenUB, c.disp)
			continue
		case c.t.hasLB:
			givenLB = append(givenLB, c.disp+c.t.LB)
		default:
			lbs = append(lbs, c.disp+c.t.LB)
		}
		if c.t.hasUB {
			givenUB = append(givenUB, c.disp+c.t.UB)
		} else {
			ubs = append(ubs, c.disp+c.t.UB)
		}
		t.align = max(t.align, c.t.align)
		t.hasLB, t.hasUB = len(givenLB) > 0, len(givenUB) > 0
		t.take(lbs, givenLB, ubs, givenUB)
		if i+1 < len(copies) && c.joins(copies[i+1]) || t.hasUB {
			continue
		}
		t.roundUp()
		ubs = append(ubs, t.UB)
	}
	t.hasLB, t.hasUB = len(givenLB) > 0, len(givenUB) > 0
	t.take(lbs, givenLB, ubs, givenUB)
}

// joins reports whether Open MPI adds the two copies as one block.
func (c copyOf) joins(next copyOf) bool {
	return next.block == c.block || next.t == c.t && next.disp == c.disp+c.t.Extent()
}

// take sets the bounds: given ones outweigh others.
func (t *Type) take(lbs, givenLB, ubs, givenUB []int64) {
	if len(givenLB) > 0 {
		lbs = givenLB
	}
	if len(givenUB) > 0 {
		ubs = givenUB
	}
	if len(lbs) > 0 {
		t.LB = slices.Min(lbs)
	}
	if len(ubs) > 0 {
		t.UB = slices.Max(ubs)
	}
}

func (t *Type) roundUp() {
	for t.Extent() > 0 && t.Extent()%t.align != 0 {
		t.UB++
	}
}

// Dup is MPI_Type_dup.
func (im *Image) Dup(t *Type) *Type {
	return im.build(2, nil, nil, []*Type{t}, []copyOf{{t, 0, "[0]", 0}}, nil, func(n *Type) {
		n.LB, n.UB, n.hasLB, n.hasUB = t.LB, t.UB, t.hasLB, t.hasUB
	})
}

// Contiguous is MPI_Type_contiguous.
func (im *Image) Contiguous(n int64, t *Type) *Type {
	var c []copyOf
	for i := range n {
		c = append(c, copyOf{t, i * t.Extent(), fmt.Sprintf("[%d]", i), 0})
	}
	return im.build(3, []int64{n}, nil, []*Type{t}, c, nil, nil)
}

// blocks lays out blocks of copies side by side; empty lists the blocks of length 0.
func blocks(n int64, at func(i int64) (length, disp int64, t *Type)) (c, empty []copyOf) {
	for i := range n {
		length, disp, t := at(i)
		if length == 0 {
			empty = append(empty, copyOf{t, disp, "", i})
		}
		for j := range length {
			c = append(c, copyOf{t, disp + j*t.Extent(), fmt.Sprintf("[%d][%d]", i, j), i})
		}
	}
	return c, empty
}

// listed makes a type of blocks.
func (im *Image) listed(combiner uint32, ints, addrs []int64, kids []*Type, n int64,
	at func(i int64) (length, disp int64, t *Type),
) *Type {
	copies, empty := blocks(n, at)
	return im.build(combiner, ints, addrs, kids, copies, empty, nil)
}

// Vector is MPI_Type_vector; the stride is in extents.
func (im *Image) Vector(n, length, stride int64, t *Type) *Type {
	copies, empty := blocks(n, func(i int64) (int64, int64, *Type) { return length, i * stride * t.Extent(), t })
	return im.build(4, []int64{n, length, stride}, nil, []*Type{t}, sameBlock(copies), empty, nil)
}

// Hvector is MPI_Type_create_hvector; the stride is in bytes.
func (im *Image) Hvector(n, length, stride int64, t *Type) *Type {
	copies, empty := blocks(n, func(i int64) (int64, int64, *Type) { return length, i * stride, t })
	return im.build(5, []int64{n, length}, []int64{stride}, []*Type{t}, sameBlock(copies), empty, nil)
}

// sameBlock makes all copies one block: Open MPI adds a vector at once.
func sameBlock(c []copyOf) []copyOf {
	for i := range c {
		c[i].block = 0
	}
	return c
}

// Indexed is MPI_Type_indexed.
func (im *Image) Indexed(lengths, disps []int64, t *Type) *Type {
	n := int64(len(lengths))
	return im.listed(6, concat([]int64{n}, lengths, disps), nil, []*Type{t}, n, func(i int64) (int64, int64, *Type) {
		return lengths[i], disps[i] * t.Extent(), t
	})
}

// Hindexed is MPI_Type_create_hindexed.
func (im *Image) Hindexed(lengths, disps []int64, t *Type) *Type {
	n := int64(len(lengths))
	return im.listed(7, concat([]int64{n}, lengths), disps, []*Type{t}, n, func(i int64) (int64, int64, *Type) {
		return lengths[i], disps[i], t
	})
}

// IndexedBlock is MPI_Type_create_indexed_block.
func (im *Image) IndexedBlock(length int64, disps []int64, t *Type) *Type {
	n := int64(len(disps))
	return im.listed(8, concat([]int64{n, length}, disps), nil, []*Type{t}, n, func(i int64) (int64, int64, *Type) {
		return length, disps[i] * t.Extent(), t
	})
}

// HindexedBlock is MPI_Type_create_hindexed_block.
func (im *Image) HindexedBlock(length int64, disps []int64, t *Type) *Type {
	n := int64(len(disps))
	return im.listed(9, []int64{n, length}, disps, []*Type{t}, n, func(i int64) (int64, int64, *Type) {
		return length, disps[i], t
	})
}

// Struct is MPI_Type_create_struct.
func (im *Image) Struct(lengths, disps []int64, types []*Type) *Type {
	n := int64(len(lengths))
	return im.listed(10, concat([]int64{n}, lengths), disps, types, n, func(i int64) (int64, int64, *Type) {
		return lengths[i], disps[i], types[i]
	})
}

// Resized is MPI_Type_create_resized.
func (im *Image) Resized(lb, extent int64, t *Type) *Type {
	return im.build(13, nil, []int64{lb, extent}, []*Type{t}, []copyOf{{t, 0, "[0]", 0}}, nil, explicit(lb, lb+extent))
}

func explicit(lb, ub int64) func(t *Type) {
	return func(t *Type) { t.LB, t.UB, t.hasLB, t.hasUB = lb, ub, true, true }
}

// order is MPI_ORDER_C or MPI_ORDER_FORTRAN.
func (im *Image) order(fortran bool) int64 {
	o := int64(56)
	if im.MPI == OpenMPI {
		o = 0
	}
	if fortran {
		o++
	}
	return o
}

// visitArray calls visit for each position of an array in the order of memory, with the position in each dimension.
func visitArray(sizes []int64, fortran bool, visit func(pos []int64, linear int64)) {
	total := int64(1)
	for _, s := range sizes {
		total *= s
	}
	pos := make([]int64, len(sizes))
	for linear := range total {
		rest := linear
		for k := range sizes {
			d := len(sizes) - 1 - k
			if fortran {
				d = k
			}
			pos[d] = rest % sizes[d]
			rest /= sizes[d]
		}
		visit(pos, linear)
	}
}

// array makes a subarray or darray from the positions that in selects; local gives a position's number among those
// selected in dimension d.
func (im *Image) array(combiner uint32, ints, sizes []int64, fortran bool, t *Type,
	local func(d int, pos int64) (int64, bool),
) *Type {
	var c []copyOf
	total := int64(1)
	for _, s := range sizes {
		total *= s
	}
	visitArray(sizes, fortran, func(pos []int64, linear int64) {
		path := ""
		for d := range pos {
			k, in := local(d, pos[d])
			if !in {
				return
			}
			if fortran {
				path = fmt.Sprintf("[%d]", k) + path
			} else {
				path += fmt.Sprintf("[%d]", k)
			}
		}
		c = append(c, copyOf{t, linear * t.Extent(), path, 0})
	})
	return im.build(combiner, ints, nil, []*Type{t}, c, nil, explicit(0, total*t.Extent()))
}

// Subarray is MPI_Type_create_subarray.
func (im *Image) Subarray(sizes, subsizes, starts []int64, fortran bool, t *Type) *Type {
	ints := append(concat([]int64{int64(len(sizes))}, sizes, subsizes, starts), im.order(fortran))
	return im.array(11, ints, sizes, fortran, t, func(d int, pos int64) (int64, bool) {
		return pos - starts[d], pos >= starts[d] && pos < starts[d]+subsizes[d]
	})
}

// Distribution of a dimension of Darray.
type Distribution int64

// The distributions.
const (
	Block Distribution = iota
	Cyclic
	None
)

// DefaultArgument is MPI_DISTRIBUTE_DFLT_DARG.
const DefaultArgument = -1 << 40

// Darray is MPI_Type_create_darray.
func (im *Image) Darray(rank int64, sizes []int64, dist []Distribution, dargs, procs []int64, fortran bool,
	t *Type,
) *Type {
	size := int64(1)
	base, dflt := int64(121), int64(-49767)
	if im.MPI == OpenMPI {
		base, dflt = 0, -1
	}
	var dists, args []int64
	for i := range sizes {
		size *= procs[i]
		dists = append(dists, base+int64(dist[i]))
		if dargs[i] == DefaultArgument {
			args = append(args, dflt)
		} else {
			args = append(args, dargs[i])
		}
	}
	coords := make([]int64, len(sizes))
	for i, rest := len(sizes)-1, rank; i >= 0; i-- { // row-major: the last dimension varies fastest
		coords[i] = rest % procs[i]
		rest /= procs[i]
	}
	owner := func(d int, pos int64) int64 {
		switch {
		case dist[d] == None:
			return 0
		case dist[d] == Block && dargs[d] == DefaultArgument:
			return pos / ((sizes[d] + procs[d] - 1) / procs[d])
		case dist[d] == Block:
			return pos / dargs[d]
		case dargs[d] == DefaultArgument:
			return pos % procs[d]
		}
		return pos / dargs[d] % procs[d]
	}
	ints := append(concat([]int64{size, rank, int64(len(sizes))}, sizes, dists, args, procs), im.order(fortran))
	return im.array(12, ints, sizes, fortran, t, func(d int, pos int64) (int64, bool) {
		k := int64(0)
		for p := range pos {
			if owner(d, p) == coords[d] {
				k++
			}
		}
		return k, owner(d, pos) == coords[d]
	})
}

func concat(l ...[]int64) []int64 {
	var out []int64
	for _, s := range l {
		out = append(out, s...)
	}
	return out
}
