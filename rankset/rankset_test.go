package rankset

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"0-3,7", "0-3,7"},
		{"all", "0-63"},
		{"0-63:4", "0-60:4"},
		{" 7 , 0-3 ", "0-3,7"},
		{"3,2,1", "1-3"},
		{"0,2,4", "0,2,4"},
		{"10,12,14", "10-14:2"},
		{"0,2,4,6", "0-6:2"},
		{"0,2,4-7", "0,2,4-7"},
		{"5,all", "0-63"},
		{"0-1", "0-1"},
		{"63", "63"},
		{"0-63:9223372036854775807", "0"},
	} {
		got, err := Parse(c.in, 64)
		if err != nil || got.String() != c.want {
			t.Errorf("Parse(%q) = %v, %v; want %s", c.in, got, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 4, `an empty rank set was given; write ranks such as "0-3,7", or "all"`},
		{"  ", 4, `an empty rank set was given; write ranks such as "0-3,7", or "all"`},
		{"0,,1", 4, `the rank set "0,,1" has an empty item between its commas; write it such as "0-3,7"`},
		{"4", 4, `the rank set "4" names rank 4, but the job has ranks 0 to 3`},
		{"1", 1, `the rank set "1" names rank 1, but the job has only rank 0`},
		{"0-99999999999999999999", 4, `the rank set "0-99999999999999999999" names rank 99999999999999999999, but the job has ranks 0 to 3`},
		{"3-1", 4, `in the rank set "3-1" the range "3-1" runs backwards; write "1-3"`},
		{"-1", 4, `in the rank set "-1", "" is not a rank; write ranks such as "0-3,7", or "all"`},
		{"x", 4, `in the rank set "x", "x" is not a rank; write ranks such as "0-3,7", or "all"`},
		{"+1", 4, `in the rank set "+1", "+1" is not a rank; write ranks such as "0-3,7", or "all"`},
		{"0-3:0", 4, `in the rank set "0-3:0" the stride "0" is not a whole number of at least 1`},
		{"0-3:", 4, `in the rank set "0-3:" the stride "" is not a whole number of at least 1`},
		{"2:2", 4, `in the rank set "2:2" the stride in "2:2" needs a range in front of it, such as "0-3:2"`},
		{"0-3-4", 5, `in the rank set "0-3-4", "3-4" is not a rank; write ranks such as "0-3,7", or "all"`},
		{"none", 4, `in the rank set "none", "none" is not a rank; write ranks such as "0-3,7", or "all"`},
	} {
		if _, err := Parse(c.in, c.n); err == nil || err.Error() != c.want {
			t.Errorf("Parse(%q, %d):\n got %v\nwant %s", c.in, c.n, err, c.want)
		}
	}
}

func ranksGen(n int) *rapid.Generator[map[int]bool] {
	return rapid.Custom(func(t *rapid.T) map[int]bool {
		m := map[int]bool{}
		for range rapid.IntRange(0, 6).Draw(t, "pieces") { // ranges with strides, so that texts get interesting
			lo := rapid.IntRange(0, n-1).Draw(t, "lo")
			stride := rapid.IntRange(1, 9).Draw(t, "stride")
			for i, r := 0, lo; r < n && i < 20; i, r = i+1, r+stride {
				m[r] = true
			}
		}
		for _, r := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 8).Draw(t, "more") {
			m[r] = true
		}
		return m
	})
}

func toSet(m map[int]bool) Set { return New(slices.Sorted(maps.Keys(m))...) }

func sameAs(t *rapid.T, what string, s Set, m map[int]bool) {
	t.Helper()
	want := slices.Sorted(maps.Keys(m))
	if !slices.Equal(s.Slice(), want) || s.Len() != len(want) || s.Empty() != (len(want) == 0) {
		t.Fatalf("%s: got %v, want %v", what, s.Slice(), want)
	}
	if !s.Equal(New(want...)) {
		t.Fatalf("%s: words are not canonical", what)
	}
	lo, hi := -1, -1
	if len(want) > 0 {
		lo, hi = want[0], want[len(want)-1]
	}
	if s.Min() != lo || s.Max() != hi {
		t.Fatalf("%s: Min, Max = %d, %d; want %d, %d", what, s.Min(), s.Max(), lo, hi)
	}
}

// The oracle is a map.
func TestRankSetAlgebra(t *testing.T) {
	const n = 300
	rapid.Check(t, func(t *rapid.T) {
		a, b := ranksGen(n).Draw(t, "a"), ranksGen(n).Draw(t, "b")
		union, both, minus := maps.Clone(a), map[int]bool{}, map[int]bool{}
		for r := range b {
			union[r] = true
		}
		for r := range a {
			if b[r] {
				both[r] = true
			} else {
				minus[r] = true
			}
		}
		x, y := toSet(a), toSet(b)
		sameAs(t, "a", x, a)
		sameAs(t, "union", x.Union(y), union)
		sameAs(t, "intersect", x.Intersect(y), both)
		sameAs(t, "minus", x.Minus(y), minus)
		r := rapid.IntRange(0, n-1).Draw(t, "r")
		if x.Contains(r) != a[r] || x.Contains(-1) || x.Contains(n+1000) {
			t.Fatal("Contains is wrong")
		}
		with, without := maps.Clone(a), maps.Clone(a)
		with[r] = true
		delete(without, r)
		sameAs(t, "with", x.With(r), with)
		sameAs(t, "without", x.Without(r), without)
		sameAs(t, "a, unchanged", x, a)
		sameAs(t, "b, unchanged", y, b)
	})
}

func TestRankSetTextRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		m := ranksGen(n).Draw(t, "ranks")
		s := toSet(m)
		if s.Empty() {
			if s.String() != "none" {
				t.Fatalf("the empty set is %q", s)
			}
			return
		}
		text := s.String()
		back, err := Parse(text, n)
		if err != nil || !back.Equal(s) {
			t.Fatalf("%v -> %q -> %v, %v", s.Slice(), text, back.Slice(), err)
		}
		if plain := len(listText(s.Slice())); len(text) > plain {
			t.Fatalf("%q is longer than the plain list (%d)", text, plain)
		}
	})
}

func listText(ranks []int) string {
	items := make([]string, len(ranks))
	for i, r := range ranks {
		items[i] = strconv.Itoa(r)
	}
	return strings.Join(items, ",")
}

func TestRankSetOf100000(t *testing.T) {
	const n = 100_000
	all := All(n)
	if all.String() != "0-99999" || all.Len() != n {
		t.Fatal(all.String())
	}
	odd, err := Parse("1-99999:2", n)
	if err != nil || odd.Len() != n/2 || odd.String() != "1-99999:2" {
		t.Fatal(odd.String(), err)
	}
	if even := all.Minus(odd); even.String() != "0-99998:2" || !even.Union(odd).Equal(all) {
		t.Fatal(even.String())
	}
}

func BenchmarkRankSetString100000(b *testing.B) {
	odd, _ := Parse("1-99999:2", 100_000)
	for b.Loop() {
		_ = odd.String()
	}
}

// FuzzParse: whatever is given, the answer is a set within bounds that survives its own text, or an error.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"0-3,7", "all", "0-63:4", "1,,2", "9-1", "0-9:0", "all:2", "18446744073709551616",
		"0-9:9223372036854775807", "-", ":", "１",
	} {
		f.Add(s, 64)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > 1<<16 || len(text) > 1<<12 {
			return
		}
		s, err := Parse(text, n)
		if err != nil {
			return
		}
		if s.Max() >= n {
			t.Fatalf("%q gave rank %d of %d", text, s.Max(), n)
		}
		if s.Empty() {
			if n != 0 {
				t.Fatalf("%q gave an empty set", text)
			}
			return
		}
		back, err := Parse(s.String(), n)
		if err != nil || !back.Equal(s) {
			t.Fatalf("%q -> %q -> %v, %v", text, s, back, err)
		}
	})
}

func TestInOrder(t *testing.T) {
	for _, c := range []struct {
		in   []int
		want string
	}{
		{nil, ""},
		{[]int{5}, "5"},
		{[]int{0, 1, 2, 3, 7}, "0-3,7"},
		{[]int{0, 4, 8, 12}, "0-12:4"},
		{[]int{0, 4}, "0,4"},
		{[]int{3, 2, 1, 0}, "3,2,1,0"},
		{[]int{4, 5, 0, 1}, "4-5,0-1"},
		{[]int{1, 1, 1}, "1,1,1"},
		{[]int{4294967294, -1, 0, 1}, "4294967294,?,0-1"},
		{[]int{-1, 0, -1, -1}, "?,0,?,?"},
		{[]int{-1, 1, 3, 5, 7, 9}, "?,1-9:2"},
	} {
		if got := InOrder(c.in); got != c.want {
			t.Errorf("%v: %s, want %s", c.in, got, c.want)
		}
	}
}
