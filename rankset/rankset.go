package job

import (
	"fmt"
	"math/bits"
	"slices"
)

// A RankSet is a set of ranks. The zero value is the empty set. Values are immutable and may be shared between
// goroutines; compare them with Equal. Operations take time in proportion to the largest rank divided by 64, so 100,000
// ranks cost about 1,600 machine words.
type RankSet struct {
	words []uint64 // bit r%64 of words[r/64]; the last word is not zero, so that equal sets have equal words
}

const wordBits = 64

// NewRankSet returns the set of the given ranks. It panics if one is negative: that is a defect of the caller, never
// input.
func NewRankSet(ranks ...int) RankSet {
	var b rankSetBuilder
	for _, r := range ranks {
		b.add(r)
	}
	return b.set()
}

// AllRanks returns 0..n-1.
func AllRanks(n int) RankSet {
	var b rankSetBuilder
	if n > 0 {
		b.addRange(0, n-1)
	}
	return b.set()
}

// Contains tells whether rank is in s.
func (s RankSet) Contains(rank int) bool {
	if rank < 0 || rank/wordBits >= len(s.words) {
		return false
	}
	return s.words[rank/wordBits]&(1<<(rank%wordBits)) != 0
}

// Each calls yield for each rank in ascending order until it returns false. It has the form of an iterator: `for r :=
// range s.Each`.
func (s RankSet) Each(yield func(rank int) bool) {
	for i, w := range s.words {
		for ; w != 0; w &= w - 1 {
			if !yield(i*wordBits + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// Len is the number of ranks in s.
func (s RankSet) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty tells whether s has no ranks.
func (s RankSet) Empty() bool { return len(s.words) == 0 }

// Min is the lowest rank, or -1 if s is empty.
func (s RankSet) Min() int {
	for r := range s.Each {
		return r
	}
	return -1
}

// Max is the highest rank, or -1 if s is empty.
func (s RankSet) Max() int {
	if len(s.words) == 0 {
		return -1
	}
	last := len(s.words) - 1
	return last*wordBits + bits.Len64(s.words[last]) - 1
}

// Slice returns the ranks in ascending order.
func (s RankSet) Slice() []int {
	out := make([]int, 0, s.Len())
	for r := range s.Each {
		out = append(out, r)
	}
	return out
}

// Equal tells whether s and t hold the same ranks.
func (s RankSet) Equal(t RankSet) bool { return slices.Equal(s.words, t.words) }

// Union returns the ranks that are in s or in t.
func (s RankSet) Union(t RankSet) RankSet {
	if len(s.words) < len(t.words) {
		s, t = t, s
	}
	w := slices.Clone(s.words)
	for i, x := range t.words {
		w[i] |= x
	}
	return RankSet{w}
}

// Intersect returns the ranks that are in s and in t.
func (s RankSet) Intersect(t RankSet) RankSet {
	w := slices.Clone(s.words[:min(len(s.words), len(t.words))])
	for i := range w {
		w[i] &= t.words[i]
	}
	return RankSet{trim(w)}
}

// Minus returns the ranks of s that are not in t.
func (s RankSet) Minus(t RankSet) RankSet {
	w := slices.Clone(s.words)
	for i := range min(len(w), len(t.words)) {
		w[i] &^= t.words[i]
	}
	return RankSet{trim(w)}
}

// With returns s and the given ranks. It panics if one is negative.
func (s RankSet) With(ranks ...int) RankSet {
	b := rankSetBuilder{slices.Clone(s.words)}
	for _, r := range ranks {
		b.add(r)
	}
	return b.set()
}

// Without returns s without rank.
func (s RankSet) Without(rank int) RankSet {
	if !s.Contains(rank) {
		return s
	}
	w := slices.Clone(s.words)
	w[rank/wordBits] &^= 1 << (rank % wordBits)
	return RankSet{trim(w)}
}

func trim(w []uint64) []uint64 {
	for len(w) > 0 && w[len(w)-1] == 0 {
		w = w[:len(w)-1]
	}
	if len(w) == 0 {
		return nil
	}
	return w
}

// A rankSetBuilder collects ranks in place; set hands its memory over.
type rankSetBuilder struct{ words []uint64 }

func (b *rankSetBuilder) add(rank int) {
	if rank < 0 {
		panic(fmt.Sprintf("job: negative rank %d", rank))
	}
	b.grow(rank)
	b.words[rank/wordBits] |= 1 << (rank % wordBits)
}

// addRange adds lo..hi, whole words at a time.
func (b *rankSetBuilder) addRange(lo, hi int) {
	b.grow(hi)
	for lo <= hi {
		if lo%wordBits == 0 && hi-lo >= wordBits-1 {
			b.words[lo/wordBits] = ^uint64(0)
			lo += wordBits
			continue
		}
		b.add(lo)
		lo++
	}
}

func (b *rankSetBuilder) grow(rank int) {
	if need := rank/wordBits + 1; need > len(b.words) {
		b.words = append(b.words, make([]uint64, need-len(b.words))...)
	}
}

func (b *rankSetBuilder) set() RankSet { return RankSet{trim(b.words)} }
