package datatype

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// share says how many bytes of a type are of one basic type.
type share struct {
	Leaf  *Type
	Bytes int64
}

// BasicKey is what two basic types have in common that a user would call the same.
func (t *Type) BasicKey() string {
	if t.Combiner() == abi.CombinerNamed && t.Name() != "" {
		return t.Name()
	}
	return t.Title() + t.handleText()
}

// shares collects bytes by basic type, in the order in which the basic types come.
type shares struct {
	list []share
	at   map[string]int
}

func (s *shares) add(leaf *Type, bytes int64) {
	if s.at == nil {
		s.at = map[string]int{}
	}
	key := leaf.BasicKey()
	i, ok := s.at[key]
	if !ok {
		i = len(s.list)
		s.at[key] = i
		s.list = append(s.list, share{Leaf: leaf})
	}
	s.list[i].Bytes = SatAdd(s.list[i].Bytes, bytes)
}

func (s *shares) addAll(t *Type, n int64) {
	for _, m := range t.Mix() {
		s.add(m.Leaf, SatMul(n, m.Bytes))
	}
}

// Mix is how many bytes one instance selects of each basic type, in the order of the typemap; bytes that it selects
// twice count twice.
func (t *Type) Mix() []share {
	if t.mixture != nil || t.problem != nil || t.elements == 0 {
		return t.mixture
	}
	var s shares
	switch {
	case t.isLeaf():
		s.add(t, t.own.Size)
	case t.layout.list == nil:
		s.addAll(t.layout.child, t.elements/t.layout.child.elements)
	default:
		l := t.layout.list
		for i := 0; i < l.n; { // blocks of one type are counted together: there may be millions
			child, n := l.child(i), int64(0)
			for ; i < l.n && l.child(i) == child; i++ {
				n = SatAdd(n, l.length(i))
			}
			if n > 0 {
				s.addAll(child, n)
			}
		}
	}
	t.mixture = s.list
	return t.mixture
}

// Tally counts the bytes that count instances of t select within h, by basic type. ok is false if the budget ended it.
func (t *Type) Tally(h Hull, count int64, budget *int64) (list []share, ok bool) {
	var s shares
	w := Window{Hull: h, Budget: budget, whole: s.addAll, Each: func(p Piece) bool {
		s.add(p.Leaf, SatMul(p.Copies, min(p.To, h.To)-max(p.From, h.From)))
		return true
	}}
	ok = w.WalkRow(t, count)
	return s.list, ok
}

// selects reports whether any byte within h is selected. ok is false if the budget ended the search.
func (t *Type) selects(h Hull, count int64, budget *int64) (found, ok bool) {
	w := Window{Hull: h, Budget: budget, Each: func(Piece) bool { found = true; return false }}
	w.WalkRow(t, count)
	return found, found || *budget >= 0
}

// NextUsed finds the first byte from `from` on, and before end, that is selected, or end.
func (t *Type) NextUsed(from, end, count int64, budget *int64) (int64, bool) {
	if found, ok := t.selects(Hull{from, end}, count, budget); !found {
		return end, ok
	}
	size := int64(64)
	lo, hi := from, end // the byte lies in [lo, hi)
	for ; size < end-from; size *= 2 {
		found, ok := t.selects(Hull{lo, from + size}, count, budget)
		if !ok {
			return end, false
		}
		if found {
			hi = from + size
			break
		}
		lo = from + size
		if size > MaxOffset/2 {
			break
		}
	}
	for lo+1 < hi {
		mid := lo + (hi-lo)/2
		found, ok := t.selects(Hull{lo, mid}, count, budget)
		if !ok {
			return end, false
		}
		if found {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo, true
}

// LastUsed finds the last byte before `end`, and from `from` on, that is selected; from-1 if there is none.
func (t *Type) LastUsed(from, end, count int64, budget *int64) (int64, bool) {
	if found, ok := t.selects(Hull{from, end}, count, budget); !found {
		return from - 1, ok
	}
	lo, hi := from, end
	for lo+1 < hi {
		mid := lo + (hi-lo)/2
		found, ok := t.selects(Hull{mid, hi}, count, budget)
		if !ok {
			return from - 1, false
		}
		if found {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, true
}

// LegendLetters gives each basic type a letter of its own, of its name if there is one left; after 26 they are '?'.
func LegendLetters(leaves []*Type) []byte {
	var taken [128]bool
	out := make([]byte, len(leaves))
	for i, t := range leaves {
		name := strings.ToUpper(trimMPI(t.Title()))
		out[i] = '?'
		for _, c := range []byte(name + "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			if c >= 'A' && c <= 'Z' && !taken[c] {
				out[i], taken[c] = c, true
				break
			}
		}
	}
	return out
}

// Dominant is the largest share.
func Dominant(list []share) (s share, ok bool) {
	if len(list) == 0 {
		return s, false
	}
	return slices.MaxFunc(list, func(a, b share) int { return cmp.Compare(a.Bytes, b.Bytes) }), true
}
