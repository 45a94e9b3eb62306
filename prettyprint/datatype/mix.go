package datatype

// share says how many bytes of a type are of one basic type.
type share struct {
	Leaf  *Type
	Bytes int64
}

// BasicKey is what two basic types have in common that a user would call the same.
func (t *Type) BasicKey() string {
	if t.isNamed() {
		return t.Name
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
	if t.mixture != nil || t.Problem != nil || t.Elements == 0 {
		return t.mixture
	}
	var s shares
	if t.isLeaf() {
		s.add(t, t.Computed.Size)
	} else {
		for _, r := range t.repeats() {
			s.addAll(r.child, r.n)
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
	at, found, ok := t.bisect(Hull{from, end}, false, count, budget)
	if !found {
		return end, ok
	}
	return at, true
}

// LastUsed finds the last byte before `end`, and from `from` on, that is selected; from-1 if there is none.
func (t *Type) LastUsed(from, end, count int64, budget *int64) (int64, bool) {
	at, found, ok := t.bisect(Hull{from, end}, true, count, budget)
	if !found {
		return from - 1, ok
	}
	return at, true
}

// bisect finds the first byte within h that is selected, or the last.
func (t *Type) bisect(h Hull, last bool, count int64, budget *int64) (at int64, found, ok bool) {
	if found, ok = t.selects(h, count, budget); !found {
		return 0, false, ok
	}
	for h.From+1 < h.To {
		mid := h.From + (h.To-h.From)/2
		half, other := Hull{h.From, mid}, Hull{mid, h.To}
		if last {
			half, other = other, half
		}
		switch found, ok = t.selects(half, count, budget); {
		case !ok:
			return 0, false, false
		case found:
			h = half
		default:
			h = other
		}
	}
	return h.From, true, true
}
