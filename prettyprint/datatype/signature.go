package datatype

import (
	"fmt"
	"slices"
	"strings"
)

// Signature is a datatype's type signature, compressed (paper, VI.A): the basic types in typemap order with how often
// each repeats, and sequences that repeat as groups: 3 (MPI_INT, 16 MPI_CHAR). It follows the tree of constructors, and
// finds what a list of blocks repeats, so that its length is that of the type's description, not that of its data.
type Signature struct {
	Items     []SignatureItem
	Truncated bool  // it continues, beyond what this package keeps,
	Rest      int64 // with so many basic elements

	n, elements int64 // entries as MPI counts them, and basic elements, of Items
	h           sigHash
}

// SignatureItem is a basic type or a group, Count times.
type SignatureItem struct {
	Count int64
	Basic *Type      // nil for a group
	Group *Signature // nil for a basic type
}

const (
	maxSignature = 1 << 16 // items of one level
	maxInline    = 64      // items of a part that become items of the whole; a longer one stays a group
	maxPeriod    = 32      // items that a repetition may have that no constructor names
)

// Signature returns the type signature of one instance.
func (t *Type) Signature() *Signature {
	if t.sig != nil {
		return t.sig
	}
	s := &Signature{}
	switch {
	case t.Problem != nil || t.Elements == 0:
	case t.isLeaf():
		s.push(SignatureItem{Count: 1, Basic: t})
	default:
		for _, r := range t.repeats() {
			s.add(r.child.Signature(), r.n)
		}
	}
	t.sig = s
	return s
}

// add appends n repetitions of sub.
func (s *Signature) add(sub *Signature, n int64) {
	switch {
	case len(sub.Items) == 1 && !sub.Truncated:
		it := sub.Items[0]
		it.Count = SatMul(it.Count, n)
		s.push(it)
	case n == 1 && len(sub.Items) <= maxInline && !sub.Truncated:
		for _, it := range sub.Items {
			s.push(it)
		}
	default:
		s.push(SignatureItem{Count: n, Group: sub})
	}
}

func (s *Signature) push(it SignatureItem) {
	if len(s.Items) >= maxSignature {
		s.Truncated = true
		s.Rest = SatAdd(s.Rest, it.elements())
		return
	}
	s.extend(it)
	if k := len(s.Items) - 1; k >= 0 && s.Items[k].same(it) {
		s.Items[k].Count = SatAdd(s.Items[k].Count, it.Count)
		return
	}
	s.Items = append(s.Items, it)
	s.fold()
}

// extend counts an item, and adds it to the hash.
func (s *Signature) extend(it SignatureItem) {
	n, h := it.hash()
	s.h, s.n, s.elements = s.h.then(h, n), SatAdd(s.n, n), SatAdd(s.elements, it.elements())
}

// fold makes a group of the items at the end if they repeat those before them, or adds them to a group before them that
// they repeat.
func (s *Signature) fold() {
	all := s.Items
	for p := 2; p <= maxPeriod && p < len(all); p++ {
		tail := all[len(all)-p:]
		before := &all[len(all)-p-1]
		if before.Group != nil && !before.Group.Truncated && equalItems(before.Group.Items, tail) {
			before.Count++
			s.Items = all[:len(all)-p]
			return
		}
		if len(all) < 2*p || !equalItems(all[len(all)-2*p:len(all)-p], tail) {
			continue
		}
		g := &Signature{Items: slices.Clone(tail)}
		for _, it := range tail {
			g.extend(it)
		}
		all[len(all)-2*p] = SignatureItem{Count: 2, Group: g}
		s.Items = all[:len(all)-2*p+1]
		return
	}
}

func equalItems(a, b []SignatureItem) bool {
	return slices.EqualFunc(a, b, func(x, y SignatureItem) bool { return x.Count == y.Count && x.same(y) })
}

// same reports whether two items repeat the same thing.
func (it SignatureItem) same(b SignatureItem) bool {
	if it.Basic != nil || b.Basic != nil {
		return it.Basic != nil && b.Basic != nil &&
			(it.Basic == b.Basic || it.Basic.isNamed() && b.Basic.isNamed() && it.Basic.Name == b.Basic.Name)
	}
	return it.Group == b.Group ||
		it.Group.n == b.Group.n && it.Group.h == b.Group.h && len(it.Group.Items) == len(b.Group.Items) &&
			!it.Group.Truncated && !b.Group.Truncated
}

// elements is the number of basic elements that the item stands for.
func (it SignatureItem) elements() int64 {
	if it.Basic != nil {
		return it.Count
	}
	return SatMul(it.Count, SatAdd(it.Group.elements, it.Group.Rest))
}

func (it SignatureItem) hash() (n int64, h sigHash) {
	if it.Basic != nil {
		u := it.Basic.signatureUnits()
		return SatMul(u.n, it.Count), u.h.times(u.n, it.Count)
	}
	return SatMul(it.Group.n, it.Count), it.Group.h.times(it.Group.n, it.Count)
}

// Text shows the signature, such as "5 MPI_INT, 7 MPI_CHAR" or "10 (MPI_INT, 2 MPI_DOUBLE)", with at most limit basic
// types and groups.
func (s *Signature) Text(limit int) string {
	if len(s.Items) == 0 {
		return "nothing"
	}
	return s.text(&limit)
}

func (s *Signature) text(limit *int) string {
	var out []string
	for i, it := range s.Items {
		if *limit <= 0 {
			out = append(out, fmt.Sprintf("... %d more", len(s.Items)-i))
			break
		}
		*limit--
		var what string
		if it.Basic != nil {
			what = it.Basic.Title()
		} else {
			what = "(" + it.Group.text(limit) + ")"
		}
		if it.Count != 1 {
			what = fmt.Sprintf("%d %s", it.Count, what)
		}
		out = append(out, what)
	}
	if s.Truncated && *limit > 0 {
		out = append(out, fmt.Sprintf("... and %s", BasicElements(s.Rest)))
	}
	return strings.Join(out, ", ")
}
