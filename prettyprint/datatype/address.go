package datatype

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// Location is a place in an expanded type-tree: what one address names. It is a row of instances of a type, one
// instance, or a part of one with its leading indices fixed.
type Location struct {
	prefix, short string // the address up to t, in long and in short form
	t             *Type
	base          int64   // bytes from the start of the buffer
	row           int64   // >= 0: this many instances of t side by side; -1: one, or a part of one
	fixed         []int64 // indices given, fewer than t.stages()
}

// instances is the place of count instances of t, which Check allows.
func (t *Type) instances(name string, count int64) Location {
	if count == 1 {
		count = -1
	}
	return Location{prefix: name, short: name, t: t, row: count}
}

// Check is an error if there cannot be so many instances of t in what is of the user's.
func (t *Type) Check(count int64, what string) error {
	var c Calc
	c.Mul(count, t.Elements)
	c.Mul(count, t.Figures.Extent)
	c.Mul(count, t.Figures.Size)
	switch {
	case t.Problem != nil:
		return t.Problem
	case count < 0:
		return fault.Errorf(fault.Usage, 0, "The count of the %s is %d; MPI takes counts from 0 on.", what, count)
	case c.Bad:
		return fault.Errorf(fault.TooLarge, 0, "A %s of %d instances of the datatype %s has more than 2^62 elements "+
			"or bytes.", what, count, t.Title())
	}
	return nil
}

// width is the number of children of the place in the expanded type-tree.
func (l Location) width() int64 {
	switch {
	case l.row >= 0:
		return l.row
	case l.t.isLeaf() || l.t.Problem != nil:
		return 0
	case l.t.layout.list == nil:
		return l.t.layout.dims[len(l.fixed)].n
	case len(l.fixed) == 0:
		return int64(l.t.layout.list.n)
	}
	return l.t.layout.list.length(int(l.fixed[0]))
}

// child is the k-th place below, 0 <= k < width().
func (l Location) child(k int64) Location {
	if l.row >= 0 {
		mark := fmt.Sprintf("{%d}", k)
		return Location{l.prefix + mark, l.short + mark, l.t, l.base + k*l.t.Figures.Extent, -1, nil}
	}
	l.fixed = slices.Concat(l.fixed, []int64{k})
	if len(l.fixed) < l.t.stages() {
		return l
	}
	below, at := l.t.copyAt(l.fixed)
	return Location{abridged(l.Long()), abridged(l.brief()), below, l.base + at, -1, nil}
}

// Long is the address in the paper's long form: t(STRUCT)[2][5](CHAR).
func (l Location) Long() string {
	if l.row >= 0 {
		return l.prefix
	}
	return l.prefix + "(" + l.t.Label() + ")" + brackets(l.fixed)
}

// brief is the address in the paper's short form: t[2][5].
func (l Location) brief() string { return l.short + brackets(l.fixed) }

func brackets(idx []int64) string {
	var s strings.Builder
	for _, k := range idx {
		s.WriteByte('[')
		s.WriteString(strconv.FormatInt(k, 10))
		s.WriteByte(']')
	}
	return s.String()
}

// copies are those of one type that a part of an instance consists of.
func (l Location) copies() (n int64, child *Type) {
	if list := l.t.layout.list; list != nil {
		i := int(l.fixed[0])
		return list.length(i), list.child(i)
	}
	n = 1
	for _, d := range l.t.layout.dims[len(l.fixed):] {
		n *= d.n
	}
	return n, l.t.layout.child
}

// Elements is the number of basic elements at and below the place.
func (l Location) Elements() int64 {
	switch {
	case l.row >= 0:
		return l.row * l.t.Elements // see Check
	case len(l.fixed) == 0:
		return l.t.Elements
	}
	n, child := l.copies()
	return n * child.Elements
}

// TypeText says what lies at the place.
func (l Location) TypeText() string {
	n, t := l.row, l.t
	if n < 0 {
		if len(l.fixed) == 0 {
			return t.Title()
		}
		n, t = l.copies()
	}
	return fmt.Sprintf("%d × %s", n, t.Title())
}

// walk visits the elements [from, to) of the place. in is the instance that the element's path starts from.
func (l Location) walk(from, to int64, visit func(in *Location, e Element)) {
	in := l
	w := walker{n: from, visit: func(e Element) bool {
		visit(&in, e)
		return true
	}}
	if l.row < 0 {
		w.walk(l.t, l.base, l.first()+from, l.first()+to)
		return
	}
	for each := l.t.Elements; w.n < to; {
		k := w.n / each
		in = l.child(k)
		w.walk(in.t, in.base, w.n-k*each, min(to-k*each, each))
	}
}

// Start is the offset of the place: of its first element if it has one.
func (l Location) Start() int64 {
	at := l.base
	l.walk(0, min(l.Elements(), 1), func(_ *Location, e Element) { at = e.Offset })
	return at
}

// first is the number of the first element within its instance of t; row < 0.
func (l Location) first() int64 {
	switch {
	case len(l.fixed) == 0:
		return 0
	case l.t.layout.list != nil:
		return l.t.prefix()[l.fixed[0]]
	}
	k := int64(0)
	for i, d := range l.t.layout.dims {
		k *= d.n
		if i < len(l.fixed) {
			k += l.fixed[i]
		}
	}
	return k * l.t.layout.child.Elements
}

// at follows the indices of an address down from the place.
func (l Location) at(a Address) (Location, error) {
	bad := func(format string, args ...any) (Location, error) {
		return l, fault.Errorf(fault.Address, 0, format, args...)
	}
	switch {
	case a.Instance == 0 && l.row < 0 && len(l.fixed) == 0: // the only instance
	case a.Instance >= 0:
		if a.Instance >= l.row {
			return bad("The address %s names instance {%d}; the buffer has %d.", a, a.Instance, max(l.row, 1))
		}
		l = l.child(a.Instance)
	case l.row >= 0 && len(a.Index) > 0:
		return bad("The buffer has %d instances of the datatype: say which one, as in {0}%s.", l.row, brackets(a.Index))
	}
	for i, k := range a.Index {
		if err := l.isKind(a, i); err != nil {
			return l, err
		}
		w := l.width()
		switch {
		case k < w:
			l = l.child(k)
		case l.t.isLeaf() || l.t.Problem != nil:
			return bad("The address %s continues below %s, which is %s and has no parts.", a, l.brief(), l.t.Title())
		default:
			has := "it is empty"
			if w > 0 {
				has = fmt.Sprintf("indices there run from 0 to %d", w-1)
			}
			return bad("The address %s fits as far as %s, which is %s: %s, and [%d] was asked for.", a, l.brief(),
				l.TypeText(), has, k)
		}
	}
	return l, l.isKind(a, len(a.Index))
}

// isKind checks what an address in the long form says of a place on its way, before its index i: an address of another
// type shall not be taken for one of this.
func (l Location) isKind(a Address, i int) error {
	datatype := l.row < 0 && len(l.fixed) == 0
	if i >= len(a.Kinds) || a.Kinds[i] == "" || datatype && l.t.Label() == a.Kinds[i] {
		return nil
	}
	why := "in the long form, a kind is written where a datatype is"
	if datatype {
		why = "it is an address of another datatype"
	}
	return fault.Errorf(fault.Address, 0, "The address %s says (%s) of %s, which is %s: %s.", a, a.Kinds[i], l.brief(),
		l.TypeText(), why)
}

// Address names a place in an expanded type-tree: the indices of the paper's section IV.C, and for a buffer of several
// instances which one.
type Address struct {
	Instance int64 // -1: none given
	Index    []int64
	// of the long form: what is before each index, and what after the last; "" or missing: nothing
	Kinds []string
}

// IsZero reports whether the address names the whole.
func (a Address) IsZero() bool { return a.Instance < 0 && len(a.Index) == 0 }

func (a Address) String() string {
	s := ""
	if a.Instance >= 0 {
		s = fmt.Sprintf("{%d}", a.Instance)
	}
	return s + brackets(a.Index)
}

var (
	addressEnd  = regexp.MustCompile(`(?:\[\s*(\d{1,18})\s*\]|\{\s*(\d{1,18})\s*\}|\(([0-9]*[A-Z][A-Z0-9_]*)\))\s*$`)
	kindInWords = regexp.MustCompile(`^(?:STRUCT|DUP|CONTIGUOUS|H?VECTOR|H?INDEXED|H?INDEXED_BLOCK|SUBARRAY|` +
		`DARRAY|RESIZED|F90_[A-Z]+|UNKNOWN)$`)
)

// ParseAddress splits an expression that ends in an address of the expanded type-tree, in long or short form, at every
// place where the address may begin: the first candidate takes the whole as an expression, the last takes the longest
// address. So t[2][5] is tried as an expression, as t[2] with [5], and as t with [2][5].
func ParseAddress(s string) (exprs []string, addrs []Address) {
	cur := Address{Instance: -1}
	for s = strings.TrimSpace(s); ; {
		exprs, addrs = append(exprs, s), append(addrs, cur)
		m := addressEnd.FindStringSubmatch(s)
		// nothing of an address is before the instance
		if m == nil || cur.Instance >= 0 || len(cur.Index) >= maxIndices {
			return exprs, addrs
		}
		index, instance, kind := m[1], m[2], m[3]
		if s = strings.TrimRight(strings.TrimSuffix(s, m[0]), " \t"); s == "" {
			return exprs, addrs
		}
		kinds := []string{""}
		if len(cur.Kinds) > 0 {
			kinds = slices.Clone(cur.Kinds)
		}
		switch {
		case index != "":
			n, _ := strconv.ParseInt(index, 10, 64) // 18 digits fit
			cur.Index, kinds = slices.Insert(slices.Clone(cur.Index), 0, n), slices.Insert(kinds, 0, "")
		case instance != "":
			cur.Instance, _ = strconv.ParseInt(instance, 10, 64)
		// A basic type counts only when something of an address is before it, or it would swallow a Fortran index; and
		// no place has two kinds.
		case kinds[0] != "", !kindInWords.MatchString(kind) && !strings.HasSuffix(s, "]") && !strings.HasSuffix(s, "}"):
			return exprs, addrs
		default:
			kinds[0] = kind
		}
		cur.Kinds = kinds
	}
}

// maxIndices of an address that is typed.
const maxIndices = 4000

// maxAddress is how many bytes of an address are shown; of a longer one, in a type that is nested deeply, the middle is
// left out.
const maxAddress = 1 << 10

func abridged(address string) string {
	const head, tail = maxAddress / 2, maxAddress / 4
	if len(address) <= maxAddress {
		return address
	}
	return strings.ToValidUTF8(address[:head], "") + "…" + strings.ToValidUTF8(address[len(address)-tail:], "")
}

// Part is a datatype and a place in it.
type Part struct {
	Name string
	Type *Type
	At   Address
}

// Locate finds what a type with an address behind it names; the address may name any instance.
func (p Part) Locate() (Location, error) {
	root := Location{prefix: p.Name, short: p.Name, t: p.Type, row: -1}
	if p.At.Instance >= 0 {
		root.row = p.At.Instance + 1
	}
	if err := p.Type.Check(max(root.row, 1), "row"); err != nil {
		return root, err
	}
	return root.at(p.At)
}
