package datatype

import (
	"fmt"
	"hash/maphash"
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
func (h sigHash) then(o sigHash, n int64) sigHash {
	b := hashBases()
	return sigHash{addMod(mulMod(h.a, powMod(b[0], n)), o.a), addMod(mulMod(h.b, powMod(b[1], n)), o.b)}
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

// tokenSeeds make the hashes of names, for each of the two.
var tokenSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// token is the hash of one entry, from its name.
func token(name string) sigHash {
	return sigHash{maphash.String(tokenSeeds[0], name) % mersenne61, maphash.String(tokenSeeds[1], name) % mersenne61}
}

// units describe a type's signature as MPI compares it (MPI-3.1, 3.3.1): a pair type counts as the two types that it is
// defined by (MPI-3.1, 5.9.4), so that MPI_DOUBLE_INT matches a struct of MPI_DOUBLE and MPI_INT.
type units struct {
	n      int64
	h      sigHash
	names  []string  // of a leaf
	before []int64   // of others: entries before each of repeats
	hashTo []sigHash // and their hashes
}

// unitNames are the names by which a basic type matches.
func (t *Type) unitNames() []string {
	switch t.Combiner() {
	case abi.CombinerF90Real:
		return []string{fmt.Sprintf("MPI_Type_create_f90_real(%d,%d)", t.Integers.At(0), t.Integers.At(1))}
	case abi.CombinerF90Complex:
		return []string{fmt.Sprintf("MPI_Type_create_f90_complex(%d,%d)", t.Integers.At(0), t.Integers.At(1))}
	case abi.CombinerF90Integer:
		return []string{fmt.Sprintf("MPI_Type_create_f90_integer(%d)", t.Integers.At(0))}
	case abi.CombinerUnknown:
		return []string{fmt.Sprintf("unknown type at 0x%x", t.Address)} // like no other
	default:
	}
	name := registry.Alias(t.Name)
	if name == "" {
		return []string{fmt.Sprintf("unnamed type 0x%x", t.Handle)}
	}
	if t.basic() != abi.BasicPair {
		return []string{name}
	}
	if rest, ok := strings.CutPrefix(name, "MPI_2"); ok {
		return []string{"MPI_" + rest, "MPI_" + rest}
	}
	return []string{strings.TrimSuffix(name, "_INT"), "MPI_INT"}
}

// signatureUnits must not be asked of a type with a Problem.
func (t *Type) signatureUnits() *units {
	if t.units != nil {
		return t.units
	}
	u := &units{}
	t.units = u
	switch {
	case t.Elements == 0:
	case t.isLeaf():
		u.names = t.unitNames()
		for _, name := range u.names {
			u.h = u.h.then(token(name), 1)
		}
		u.n = int64(len(u.names))
	default:
		for _, r := range t.repeats() {
			u.before, u.hashTo = append(u.before, u.n), append(u.hashTo, u.h)
			child := r.child.signatureUnits()
			n := SatMul(child.n, r.n)
			u.n, u.h = SatAdd(u.n, n), u.h.then(child.h.times(child.n, r.n), n)
		}
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
	}
	i := u.repeatOf(k)
	k -= u.before[i]
	return u.hashTo[i].then(t.repeats()[i].child.hashOf(k), k)
}

// repeatOf finds the one of repeats that holds entry k.
func (u *units) repeatOf(k int64) int {
	return sort.Search(len(u.before), func(i int) bool { return u.before[i] > k }) - 1
}

// elementOf finds the basic element that holds entry k of one instance, and which of its entries it is.
func (t *Type) elementOf(k int64) (element int64, name string) {
	u := t.signatureUnits()
	if t.isLeaf() {
		return 0, u.names[k]
	}
	i := u.repeatOf(k)
	k -= u.before[i]
	r := t.repeats()[i]
	n := r.child.signatureUnits().n
	element, name = r.child.elementOf(k % n)
	return r.before + k/n*r.child.Elements + element, name
}
