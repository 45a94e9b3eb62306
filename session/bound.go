package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// BoundBuffering finds the control messages with which no more than limit messages wait at a rank in a replay, as far
// as the program allows it. It needs the event graph of the recording, which is obtained as Graph does; the graph that
// it returns knows of the control messages, so that the ranks can be stopped at its cuts. What cannot be bounded is
// refused.
func BoundBuffering(ctx context.Context, rec *recording.Recording, limit int, o GraphOptions) (*causal.Bounding,
	*causal.Graph, error,
) {
	if limit < 1 {
		return nil, nil, refuse("The buffering of a replay cannot be bounded to %d messages for each rank: at least 1 "+
			"must be let through.", limit)
	}
	graph, err := Graph(ctx, rec, o)
	if err != nil {
		return nil, nil, err
	}
	bound, err := graph.BoundBuffering(limit)
	if errors.As(err, new(*causal.RefusedError)) {
		return nil, nil, refuse("The buffering of a replay of %s cannot be bounded: %v.", rec.Dir, err)
	}
	if err == nil {
		graph, err = graph.WithControl(bound.Control)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("bound the buffering of a replay: %w", err)
	}
	return bound, graph, nil
}

// announced is what can be said of a bound before the replay.
func announced(b *causal.Bounding) string {
	how := "Hardly any sender has to be held back"
	if len(b.Control) > 1 {
		how = fmt.Sprintf("%d control messages hold senders back", len(b.Control))
	}
	rank, most := b.Most()
	if most > b.Limit {
		return fmt.Sprintf("%s: at most %d messages wait at a rank (rank %d). No order of the run was found in which "+
			"it is %d.", how, most, rank, b.Limit)
	}
	return fmt.Sprintf("%s: at most %d messages wait at a rank for their receives.", how, max(most, 1))
}
