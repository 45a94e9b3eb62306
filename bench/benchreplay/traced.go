package benchreplay

import (
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// Traced is what a recording in mode racing holds, and what it would have to.
type Traced struct {
	Sent   uint64 `json:"sent"`   // messages
	Traced uint64 `json:"traced"` // receives and probes that the trace tells of
	causal.TraceBound
	causal.RaceCounts
}

// traced replays the last recording in mode racing, insists that it is that run, and finds the races of it in the event
// graph.
func (j *job) traced(ctx context.Context) (*Traced, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	var output collector
	if err := j.replay(ctx, Racing, true, &output); err != nil {
		return nil, fmt.Errorf("replaying the recording in mode racing: %w; the ranks wrote:\n%s", err, output.text())
	}
	saw, err := orders(output.text(), j.program.Ranks)
	if err == nil {
		err = j.compare(saw, Racing)
	}
	if err != nil {
		return nil, err
	}
	rec, err := recording.Open(j.recording(Racing))
	if err != nil {
		return nil, fmt.Errorf("the recording in mode racing: %w", err)
	}
	summary, err1 := recording.Summarize(rec)
	traces, err2 := rec.Graph()
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("the recording in mode racing: %w", err)
	}
	graph, err := causal.Load(traces, causal.Options{})
	if err != nil {
		return nil, fmt.Errorf("the event graph of the recording in mode racing: %w", err)
	}
	t := &Traced{Sent: summary.Messages, Traced: summary.Wildcards}
	if t.TraceBound, t.RaceCounts, err = graph.Bound(nil); err != nil {
		return nil, fmt.Errorf("the races of the recording in mode racing: %w", err)
	}
	return t, nil
}

// optimal says how far from the least trace it is, as the paper does.
func (t *Traced) optimal() string {
	switch {
	case t.Traced <= t.Least:
		return "optimal"
	case t.Least == 0:
		return "at least 0"
	}
	return fmt.Sprintf("within %.0f%% (at least %d)", 100*(float64(t.Traced)/float64(t.Least)-1), t.Least)
}
