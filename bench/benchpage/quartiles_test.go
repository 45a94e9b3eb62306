package benchpage

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestQuartiles(t *testing.T) {
	if diff := cmp.Diff(Quartiles{2, 3, 4}, QuartilesOf([]float64{5, 1, 4, 2, 3})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Quartiles{1.25, 1.5, 1.75}, QuartilesOf([]float64{2, 1})); diff != "" {
		t.Error(diff)
	}
	if !math.IsNaN(QuartilesOf(nil).Median) {
		t.Error("there is a median of nothing")
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 10), 1, 30).Draw(t, "values")
		q := QuartilesOf(values)
		below := func(limit float64) (n int) {
			for _, v := range values {
				if v < limit {
					n++
				}
			}
			return n
		}
		if !(slices.Min(values) <= q.Low && q.Low <= q.Median && q.Median <= q.High && q.High <= slices.Max(values)) {
			t.Fatalf("%v of %v are out of order", q, values)
		}
		if 2*below(q.Median) > len(values) {
			t.Fatalf("more than half of %v are below their median %v", values, q.Median)
		}
	})
}
