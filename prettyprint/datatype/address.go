package datatype

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// place in an expanded type-tree: what one address names. It is a row of instances of a type, one instance, or a part
// of one with its leading indices fixed.
type Location struct {
	prefix, short string // the address up to t, in long and in short form
	t             *Type
	base          int64   // bytes from the start of the buffer
	row           int64   // >= 0: this many instances of t side by side; -1: one, or a part of one
	fixed         []int64 // indices given, fewer than t.stages()
}

// width is the number of children of the place in the expanded type-tree.
func (l Location) width() int64 {
	switch {
	case l.row >= 0:
		return l.row
	case l.t.isLeaf() || l.t.problem != nil:
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
		return Location{l.prefix + mark, l.short + mark, l.t, l.base + k*l.t.Figures().Extent, -1, nil}
	}
	fixed := slices.Concat(l.fixed, []int64{k})
	if len(fixed) < l.t.stages() {
		return Location{l.prefix, l.short, l.t, l.base, -1, fixed}
	}
	f := frame{t: l.t, base: l.base, idx: fixed}
	below := l.t.layout.child
	if list := l.t.layout.list; list != nil {
		below = list.child(int(fixed[0]))
	}
	inner := Location{l.prefix, l.short, l.t, l.base, -1, fixed}
	return Location{inner.Long(), inner.brief(), below, f.position(), -1, nil}
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

// Elements is the number of basic elements at and below the place.
func (l Location) Elements() int64 {
	switch {
	case l.row >= 0:
		return l.row * l.t.elements // checked when the view was made
	case len(l.fixed) == 0:
		return l.t.elements
	case l.t.layout.list != nil:
		i := int(l.fixed[0])
		return l.t.layout.list.length(i) * l.t.layout.list.child(i).elements
	}
	n := l.t.layout.child.elements
	for _, d := range l.t.layout.dims[len(l.fixed):] {
		n *= d.n
	}
	return n
}

// first is the number of the place's first element within its instance of t; row < 0.
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
	return k * l.t.layout.child.elements
}

// at follows the indices of an address down from the place.
func (l Location) at(a Address) (Location, error) {
	switch {
	case a.Instance == 0 && l.row < 0 && len(l.fixed) == 0: // the only instance
	case a.Instance >= 0:
		if a.Instance >= l.row {
			return l, fault.Errorf(fault.Address, 0, "The address %s names instance {%d}; the buffer has %d.", a,
				a.Instance, max(l.row, 1))
		}
		l = l.child(a.Instance)
	case l.row >= 0 && len(a.Index) > 0:
		return l, fault.Errorf(fault.Address, 0, "The buffer has %d instances of the datatype: say which one, as in "+
			"{0}%s.",
			l.row, brackets(a.Index))
	}
	for i, k := range a.Index {
		if err := l.isKind(a, a.kind(i)); err != nil {
			return l, err
		}
		w := l.width()
		if w == 0 && (l.t.isLeaf() || l.t.problem != nil) {
			return l, fault.Errorf(fault.Address, 0, "The address %s continues below %s, which is %s and has no parts.",
				a, l.brief(), l.t.Title())
		}
		if k >= w {
			has := fmt.Sprintf("indices there run from 0 to %d", w-1)
			if w == 0 {
				has = "it is empty"
			}
			return l, fault.Errorf(fault.Address, 0,
				"The address %s fits as far as %s, which is %s: %s, and [%d] was asked for.",
				a, l.brief(), l.TypeText(), has, k)
		}
		l = l.child(k)
	}
	return l, l.isKind(a, a.kind(len(a.Index)))
}

// isKind checks what an address in the long form says of a place on its way: an address of another type shall not be
// taken for one of this.
func (l Location) isKind(a Address, kind string) error {
	switch {
	case kind == "":
		return nil
	case l.row < 0 && len(l.fixed) == 0 && l.t.Label() == kind:
		return nil
	case l.row >= 0 || len(l.fixed) > 0:
		return fault.Errorf(fault.Address, 0,
			"The address %s says (%s) of %s, which is %s: in the long form, a kind is written where a datatype is.",
			a, kind, l.brief(), l.TypeText())
	}
	return fault.Errorf(fault.Address, 0, "The address %s says (%s) of %s, which is %s: it is an address of another "+
		"datatype.", a, kind, l.brief(), l.TypeText())
}

// Address names a place in an expanded type-tree: the indices of the paper's section IV.C, and for a buffer of several
// instances which one.
type Address struct {
	Instance int64 // -1: none given
	Index    []int64
	// of the long form: what is before each index, and what after the last; "" or missing: nothing
	Kinds []string
}

// kind is what the address says of the place that index i is one of.
func (a Address) kind(i int) string {
	if i < len(a.Kinds) {
		return a.Kinds[i]
	}
	return ""
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
	kindInWords = regexp.MustCompile(`^(?:STRUCT|DUP|CONTIGUOUS|H?VECTOR|H?INDEXED|H?INDEXED_BLOCK|SUBARRAY|DARRAY|RESIZED|` +
		`F90_[A-Z]+|UNKNOWN)$`)
)

// lastPart is the last part of an address: one of the three.
type lastPart struct {
	index, instance int64 // -1: it is not one
	kind            string
}

// splitAddress takes the last part of an address off the end of s. ok is false if s does not end in one. A basic type
// in brackets counts only when something of an address is before it, or it would swallow a Fortran index.
func splitAddress(s string) (rest string, last lastPart, ok bool) {
	m := addressEnd.FindStringSubmatchIndex(s)
	if m == nil {
		return s, last, false
	}
	num := func(g int) int64 {
		if m[2*g] < 0 {
			return -1
		}
		n, err := strconv.ParseInt(s[m[2*g]:m[2*g+1]], 10, 64)
		if err != nil { // cannot be: 18 digits fit
			return -1
		}
		return n
	}
	rest = strings.TrimRight(s[:m[0]], " \t")
	if rest == "" {
		return s, last, false
	}
	last = lastPart{num(1), num(2), ""}
	if m[6] >= 0 {
		last.kind = s[m[6]:m[7]]
		if !kindInWords.MatchString(last.kind) && !strings.HasSuffix(rest, "]") && !strings.HasSuffix(rest, "}") {
			return s, last, false
		}
	}
	return rest, last, true
}

// ParseAddress splits an expression that ends in an address of the expanded type-tree, in long or short form, at every
// place where the address may begin: the first candidate takes the whole as an expression, the last takes the longest
// address. So t[2][5] is tried as an expression, as t[2] with [5], and as t with [2][5].
func ParseAddress(s string) (exprs []string, addrs []Address) {
	s = strings.TrimSpace(s)
	cur := Address{Instance: -1}
	exprs, addrs = append(exprs, s), append(addrs, cur)
	for {
		rest, last, ok := splitAddress(s)
		// nothing of an address is before the instance
		if !ok || cur.Instance >= 0 || len(cur.Index) >= maxIndices {
			return exprs, addrs
		}
		cur.Index, cur.Kinds = slices.Clone(cur.Index), slices.Clone(cur.Kinds)
		if len(cur.Kinds) == 0 {
			cur.Kinds = []string{""}
		}
		switch {
		case last.index >= 0:
			cur.Index = slices.Insert(cur.Index, 0, last.index)
			cur.Kinds = slices.Insert(cur.Kinds, 0, "")
		case last.instance >= 0:
			cur.Instance = last.instance
		case cur.Kinds[0] != "": // two kinds of one place
			return exprs, addrs
		default:
			cur.Kinds[0] = last.kind
		}
		s = rest
		exprs, addrs = append(exprs, s), append(addrs, cur)
	}
}

// maxIndices of one address: the deepest type, with the most stages that are of any use.
const maxIndices = 4 * registry.MaxDepth

// Part is a datatype and a place in it.
type Part struct {
	Name string
	Type *Type
	At   Address
}

// Locate finds what a type with an address behind it names; the address may name any instance.
func (p Part) Locate() (Location, error) {
	if p.Type.problem != nil {
		return Location{}, p.Type.problem
	}
	root := Location{prefix: p.Name, short: p.Name, t: p.Type, row: -1}
	if p.At.Instance >= 0 {
		root.row = p.At.Instance + 1
	}
	var c Calc
	c.Mul(max(root.row, 1), p.Type.elements)
	c.Mul(max(root.row, 1), p.Type.Figures().Extent)
	if c.Bad {
		return root, fault.Errorf(fault.TooLarge, 0, "%d instances of the datatype %s are more than 2^62 elements or "+
			"bytes.", root.row, p.Type.Title())
	}
	return root.at(p.At)
}
