package benchpage

import (
	"math"
	"slices"
)

// Quartiles are the three of some figures.
type Quartiles struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
}

// QuartilesOf finds them, by linear interpolation between neighbours; those of nothing are not numbers.
func QuartilesOf(values []float64) Quartiles {
	if len(values) == 0 {
		return Quartiles{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(part float64) float64 {
		position := part * float64(len(sorted)-1)
		low := int(position)
		high := min(low+1, len(sorted)-1)
		return sorted[low] + (position-float64(low))*(sorted[high]-sorted[low])
	}
	return Quartiles{at(0.25), at(0.5), at(0.75)}
}
