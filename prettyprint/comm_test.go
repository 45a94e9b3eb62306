package prettyprint_test

import (
	"testing"

	"github.com/cohort-debugger/cohort/prettyprint/handle"
)

func TestRankSet(t *testing.T) {
	for _, c := range []struct {
		in   []uint32
		want string
	}{
		{nil, ""},
		{[]uint32{5}, "5"},
		{[]uint32{0, 1, 2, 3, 7}, "0-3,7"},
		{[]uint32{0, 4, 8, 12}, "0-12:4"},
		{[]uint32{0, 4}, "0,4"},
		{[]uint32{3, 2, 1, 0}, "3,2,1,0"},
		{[]uint32{4, 5, 0, 1}, "4-5,0-1"},
		{[]uint32{1, 1, 1}, "1,1,1"},
		{[]uint32{0xfffffffe, 0xffffffff, 0, 1}, "4294967294,?,0-1"},
	} {
		if got := handle.RankSet(c.in); got != c.want {
			t.Errorf("%v: %s, want %s", c.in, got, c.want)
		}
	}
}
