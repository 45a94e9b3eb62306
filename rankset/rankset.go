// Package rankset has sets of ranks, and their text: "0-3,7", "0-60:4".
package rankset

import (
	"fmt"
	"math/bits"
	"slices"
)

// A Set is a set of ranks. The zero value is the empty set. Values are immutable and may be shared between
// goroutines; compare them with Equal. Operations take time in proportion to the largest rank divided by 64, so 100,000
// ranks cost about 1,600 machine words.
type Set struct {
	words []uint64 // bit r%64 of words[r/64]; the last word is not zero, so that equal sets have equal words
}

const wordBits = 64

// New returns the set of the given ranks. It panics if one is negative: that is a defect of the caller, never
// input.
func New(ranks ...int) Set { return Set{}.With(ranks...) }

// All returns 0..n-1.
func All(n int) Set {
	var b Builder
	b.addRange(0, n-1, 1)
	return b.Set()
}

// Contains tells whether rank is in s.
func (s Set) Contains(rank int) bool {
	if rank < 0 || rank/wordBits >= len(s.words) {
		return false
	}
	return s.words[rank/wordBits]&(1<<(rank%wordBits)) != 0
}

// Each calls yield for each rank in ascending order until it returns false. It has the form of an iterator: `for r :=
// range s.Each`.
func (s Set) Each(yield func(rank int) bool) {
	for i, w := range s.words {
		for ; w != 0; w &= w - 1 {
			if !yield(i*wordBits + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// Len is the number of ranks in s.
func (s Set) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty tells whether s has no ranks.
func (s Set) Empty() bool { return len(s.words) == 0 }

// Min is the lowest rank, or -1 if s is empty.
func (s Set) Min() int {
	for r := range s.Each {
		return r
	}
	return -1
}

// Max is the highest rank, or -1 if s is empty.
func (s Set) Max() int {
	if len(s.words) == 0 {
		return -1
	}
	last := len(s.words) - 1
	return last*wordBits + bits.Len64(s.words[last]) - 1
}

// Slice returns the ranks in ascending order.
func (s Set) Slice() []int { return slices.AppendSeq(make([]int, 0, s.Len()), s.Each) }

// Equal tells whether s and t hold the same ranks.
func (s Set) Equal(t Set) bool { return slices.Equal(s.words, t.words) }

// Union returns the ranks that are in s or in t.
func (s Set) Union(t Set) Set {
	if len(s.words) < len(t.words) {
		s, t = t, s
	}
	w := slices.Clone(s.words)
	for i, x := range t.words {
		w[i] |= x
	}
	return Set{w}
}

// Intersect returns the ranks that are in s and in t.
func (s Set) Intersect(t Set) Set {
	w := slices.Clone(s.words[:min(len(s.words), len(t.words))])
	for i := range w {
		w[i] &= t.words[i]
	}
	return Set{trim(w)}
}

// Minus returns the ranks of s that are not in t.
func (s Set) Minus(t Set) Set {
	w := slices.Clone(s.words)
	for i := range min(len(w), len(t.words)) {
		w[i] &^= t.words[i]
	}
	return Set{trim(w)}
}

// With returns s and the given ranks. It panics if one is negative.
func (s Set) With(ranks ...int) Set {
	b := Builder{slices.Clone(s.words)}
	for _, r := range ranks {
		b.Add(r)
	}
	return b.Set()
}

// Without returns s without rank.
func (s Set) Without(rank int) Set { return s.Minus(New(rank)) }

func trim(w []uint64) []uint64 {
	for len(w) > 0 && w[len(w)-1] == 0 {
		w = w[:len(w)-1]
	}
	if len(w) == 0 {
		return nil
	}
	return w
}

// A Builder collects ranks in place; Set hands its memory over.
type Builder struct{ words []uint64 }

// Add adds a rank. It panics if it is negative.
func (b *Builder) Add(rank int) {
	if rank < 0 {
		panic(fmt.Sprintf("rankset: negative rank %d", rank))
	}
	if more := rank/wordBits + 1 - len(b.words); more > 0 {
		b.words = append(b.words, make([]uint64, more)...)
	}
	b.words[rank/wordBits] |= 1 << (rank % wordBits)
}

// addRange adds every stride-th of lo..hi.
func (b *Builder) addRange(lo, hi, stride int) {
	for r := lo; r <= hi; r += stride {
		b.Add(r)
		if hi-r < stride { // compared this way round, a huge stride cannot overflow
			return
		}
	}
}

// Set is the set of what was added.
func (b *Builder) Set() Set { return Set{trim(b.words)} }
