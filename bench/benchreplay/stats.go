package benchreplay

import (
	"github.com/cohort-debugger/cohort/bench/benchpage"
)

// seconds are the times of samples.
func seconds(samples []Sample) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = s.Seconds
	}
	return values
}

// median of something of samples.
func median(samples []Sample, of func(Sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return benchpage.QuartilesOf(values).Median
}
