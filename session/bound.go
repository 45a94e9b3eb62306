package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// Bound is how the buffering of a replay is bounded.
type Bound struct {
	Limit   int // messages that may wait at a rank, as asked
	Most    int // that do, at some rank at some time, at most
	At      int // the first such rank
	Control []runner.ControlMessage
}

// BoundBuffering finds the control messages with which no more than limit messages wait at a rank in a replay, as far
// as the program allows it. It needs the event graph of the recording, which is obtained as Graph does. What cannot be
// bounded is a *RefusedError.
func BoundBuffering(ctx context.Context, rec *recording.Recording, limit int, o GraphOptions) (*Bound, error) {
	if limit < 1 {
		return nil, refuse("The buffering of a replay cannot be bounded to %d messages for each rank: at least 1 "+
			"must be let through.", limit)
	}
	graph, err := Graph(ctx, rec, o)
	if err != nil {
		return nil, err
	}
	_, bound, err := boundOf(rec, graph, limit)
	return bound, err
}

func boundOf(rec *recording.Recording, graph *causal.Graph, limit int) (*causal.Bounding, *Bound, error) {
	found, err := graph.BoundBuffering(limit)
	if _, ok := errors.AsType[*causal.RefusedError](err); ok {
		return nil, nil, refuse("The buffering of a replay of %s cannot be bounded: %v.", rec.Dir, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("bound the buffering of a replay: %w", err)
	}
	b := &Bound{Limit: limit}
	b.At, b.Most = found.Most()
	for _, c := range found.Control {
		b.Control = append(b.Control, runner.ControlMessage{
			From: c.After.Rank, After: c.After.Index, To: c.Before.Rank,
			Before: c.Before.Index,
		})
	}
	return found, b, nil
}

// Promise is what can be said before the replay.
func (b *Bound) Promise() string {
	how := fmt.Sprintf("%d control messages hold senders back", len(b.Control))
	if len(b.Control) < 2 {
		how = "Hardly any sender has to be held back"
	}
	if b.Most > b.Limit {
		return fmt.Sprintf("%s: at most %d messages wait at a rank (rank %d). No order of the run was found in which "+
			"it is %d.", how, b.Most, b.At, b.Limit)
	}
	return fmt.Sprintf("%s: at most %d messages wait at a rank for their receives.", how, max(b.Most, 1))
}
