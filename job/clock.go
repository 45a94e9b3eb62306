package job

import "time"

// A Clock tells the time; tests inject their own (jobtest.Clock), so that none has to sleep.
type Clock interface {
	Now() time.Time
	// NewTimer returns a channel that receives once, when d has passed, and a function that releases the timer early.
	NewTimer(d time.Duration) (c <-chan time.Time, stop func())
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
