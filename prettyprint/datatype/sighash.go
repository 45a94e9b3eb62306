package datatype

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// Signatures are compared by polynomial hashes (Karp and Rabin, "Efficient randomized pattern-matching algorithms",
// 1987) over the tree of constructors: the hash of n copies, and that of the first k entries, follow from those of the
// parts, so that two signatures of 10^8 entries are compared, and their first difference found, without expanding
// either. Two moduli of 61 bits with bases drawn at random for each process make a false "equal" less likely than
// 10^-15 for every length that can be counted; a difference that is reported is always looked up and real.

// sigHash is the hash of a sequence of basic types.
type sigHash struct{ a, b uint64 }

const mersenne61 = 1<<61 - 1

// hashBases draws the bases once for a process: the hashes of two registries must be comparable.
var hashBases = sync.OnceValue(func() [2]uint64 {
	//nolint:gosec // the bases guard against accidents, not against adversaries
	return [2]uint64{1<<32 + rand.Uint64N(1<<60), 1<<32 + rand.Uint64N(1<<60)}
})

func mulMod(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	s := lo&mersenne61 + (lo>>61 | hi<<3)
	return foldMod(s)
}

func foldMod(s uint64) uint64 {
	s = s&mersenne61 + s>>61
	if s >= mersenne61 {
		s -= mersenne61
	}
	return s
}

func addMod(x, y uint64) uint64 { return foldMod(x + y) }

func powMod(x uint64, n int64) uint64 {
	r := uint64(1)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r = mulMod(r, x)
		}
		x = mulMod(x, x)
	}
	return r
}

// then is the hash of h followed by a sequence of n entries with the hash o.
func (h sigHash) then(o sigHash, n int64) sigHash { return h.shifted(shiftBy(n), o) }

// shiftBy is what a sequence is multiplied by before n entries follow it.
func shiftBy(n int64) sigHash {
	b := hashBases()
	return sigHash{powMod(b[0], n), powMod(b[1], n)}
}

func (h sigHash) shifted(by, o sigHash) sigHash {
	return sigHash{addMod(mulMod(h.a, by.a), o.a), addMod(mulMod(h.b, by.b), o.b)}
}

// times is the hash of k copies of a sequence of n entries.
func (h sigHash) times(n, k int64) sigHash {
	var out sigHash
	for have := n; k > 0; k >>= 1 { // h is the hash of `have` entries
		if k&1 != 0 {
			out = out.then(h, have)
		}
		if k > 1 {
			h = h.then(h, have)
			have = SatMul(have, 2)
		}
	}
	return out
}

// token is the hash of one entry, from its name.
func token(name string) sigHash {
	// FNV-1a with two offsets; what is random are the bases.
	a, b := uint64(14695981039346656037), uint64(0x9E3779B97F4A7C15)
	for _, c := range []byte(name) {
		a = (a ^ uint64(c)) * 1099511628211
		b = (b ^ uint64(c)) * 1099511628211
	}
	return sigHash{foldMod(a), foldMod(b)}
}

// units describe a type's signature as MPI compares it (MPI-3.1, 3.3.1): a pair type counts as the two types that it is
// defined by (MPI-3.1, 5.9.4), so that MPI_DOUBLE_INT matches a struct of MPI_DOUBLE and MPI_INT.
type units struct {
	n       int64
	h       sigHash
	names   []string  // of a leaf
	before  []int64   // of a list: entries before each block
	hashTo  []sigHash // and their hashes
	unclear bool      // holds a type that is not decoded
}

// unitNames are the names by which a basic type matches.
func (t *Type) unitNames() []string {
	switch t.Combiner() {
	case abi.CombinerF90Real:
		return []string{fmt.Sprintf("MPI_Type_create_f90_real(%d,%d)", t.integers.At(0), t.integers.At(1))}
	case abi.CombinerF90Complex:
		return []string{fmt.Sprintf("MPI_Type_create_f90_complex(%d,%d)", t.integers.At(0), t.integers.At(1))}
	case abi.CombinerF90Integer:
		return []string{fmt.Sprintf("MPI_Type_create_f90_integer(%d)", t.integers.At(0))}
	case abi.CombinerUnknown:
		return []string{fmt.Sprintf("unknown type at 0x%x", t.addr)} // like no other
	default:
	}
	name := registry.Alias(t.Name())
	if name == "" {
		return []string{fmt.Sprintf("unnamed type 0x%x", t.Handle())}
	}
	if t.basic() != abi.BasicPair {
		return []string{name}
	}
	if rest, ok := strings.CutPrefix(name, "MPI_2"); ok {
		return []string{"MPI_" + rest, "MPI_" + rest}
	}
	return []string{strings.TrimSuffix(name, "_INT"), "MPI_INT"}
}

// signatureUnits must not be asked of a type with a problem.
func (t *Type) signatureUnits() *units {
	if t.units != nil {
		return t.units
	}
	u := &units{unclear: t.opaque}
	t.units = u
	switch {
	case t.elements == 0:
	case t.isLeaf():
		u.names = t.unitNames()
		for _, name := range u.names {
			u.h = u.h.then(token(name), 1)
		}
		u.n = int64(len(u.names))
	case t.layout.list == nil:
		child := t.layout.child.signatureUnits()
		k := t.elements / t.layout.child.elements
		u.n, u.h = SatMul(child.n, k), child.h.times(child.n, k)
	default:
		l := t.layout.list
		u.before, u.hashTo = make([]int64, l.n+1), make([]sigHash, l.n+1)
		var last struct { // most blocks are like the one before them
			child  *Type
			length int64
			n      int64
			h      sigHash
			shift  sigHash
		}
		for i := range l.n {
			k, ch := l.length(i), l.child(i)
			if i == 0 || ch != last.child || k != last.length {
				last.child, last.length, last.n, last.h = ch, k, 0, sigHash{}
				if k > 0 && ch.elements > 0 {
					child := ch.signatureUnits()
					last.n, last.h = SatMul(child.n, k), child.h.times(child.n, k)
				}
				last.shift = shiftBy(last.n)
			}
			u.before[i+1] = SatAdd(u.before[i], last.n)
			u.hashTo[i+1] = u.hashTo[i].shifted(last.shift, last.h)
		}
		u.n, u.h = u.before[l.n], u.hashTo[l.n]
	}
	return u
}

// hashOf is the hash of the first k entries of count instances side by side.
func (t *Type) hashOf(k int64) sigHash {
	u := t.signatureUnits()
	if u.n == 0 {
		return sigHash{}
	}
	return u.h.times(u.n, k/u.n).then(t.hashWithin(k%u.n), k%u.n)
}

// hashWithin is the hash of the first k < n entries of one instance.
func (t *Type) hashWithin(k int64) sigHash {
	u := t.signatureUnits()
	switch {
	case k == 0:
		return sigHash{}
	case t.isLeaf():
		return token(u.names[0]) // k is 1 of 2
	case t.layout.list == nil:
		return t.layout.child.hashOf(k)
	}
	i := u.blockOf(k)
	rest := k - u.before[i]
	return u.hashTo[i].then(t.layout.list.child(i).hashOf(rest), rest)
}

// blockOf finds the block that holds entry k.
func (u *units) blockOf(k int64) int {
	return sort.Search(len(u.before)-1, func(i int) bool { return u.before[i+1] > k })
}

// elementOf finds the basic element that holds entry k of one instance, and which of its entries it is.
func (t *Type) elementOf(k int64) (element int64, name string) {
	u := t.signatureUnits()
	if t.isLeaf() {
		return 0, u.names[k]
	}
	child, first := t.layout.child, int64(0)
	if l := t.layout.list; l != nil {
		i := u.blockOf(k)
		child, first = l.child(i), t.prefix()[i]
		k -= u.before[i]
	}
	n := child.signatureUnits().n
	element, name = child.elementOf(k % n)
	return first + k/n*child.elements + element, name
}
