package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// GraphOptions say how to obtain an event graph.
type GraphOptions struct {
	Common       runner.Common // of the replay, if one is needed
	Program      string        // another copy of the recorded program
	IncompleteOK bool
	Progress     func(text string, done, total int64) // may be nil
}

// rendezvous is the size in bytes from which a standard send counts as over only when its receive was posted, in cuts:
// MPIs send large messages by rendezvous, and a rank would not get through the send to a position behind it while the
// receiver stands before the receive. Open MPI's limit is 4096 with its header, MPICH's is higher. Too small a number
// makes a cut hold a receive that it need not; too large a one makes a cut that cannot be reached.
const rendezvous = 4000

// Graph returns the event graph of a recording: of its own events if it was recorded in full mode, else of those that
// one replay in full mode yields, which are kept in the recording (the four phases of Thoai & Volkert).
func Graph(ctx context.Context, rec *recording.Recording, o GraphOptions) (*causal.Graph, error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	full := rec.Meta.Mode == abi.ModeFull.String()
	if !full && !rec.HasGraph() {
		if err := obtain(ctx, rec, o); err != nil {
			return nil, err
		}
	}
	o.Progress("reading the event graph", 0, 0)
	traces, err := rec.Graph()
	if err != nil {
		return nil, err
	}
	return causal.Load(traces, causal.Options{SyncBytes: rendezvous})
}

func obtain(ctx context.Context, rec *recording.Recording, o GraphOptions) error {
	const what = "replaying once in full mode to obtain the event graph"
	if o.Common.Note != nil {
		o.Common.Note("Replaying once to obtain the event graph, which is kept. This runs " +
			runner.Describe(&rec.Meta, o.Program) + ".")
	}
	options := runner.ReplayOptions{
		Common: o.Common, Recording: rec.Dir, Program: o.Program, IncompleteOK: o.IncompleteOK, Full: true,
		Progress: func(done, total uint64) { o.Progress(what, int64(done), int64(total)) },
	}
	// What the ranks print was seen when they were recorded.
	options.Output = discard
	result, err := runner.Replay(ctx, options)
	if err != nil {
		return fmt.Errorf("the recording must be replayed once to obtain its event graph: %w", err)
	}
	if result.Graph {
		return nil
	}
	var why []string
	for i, r := range result.Ranks {
		switch {
		case r.Divergence != nil:
			why = append(why, fmt.Sprintf("rank %d left the recording at event %d", i, r.Divergence.Event))
		case r.Refused != "":
			why = append(why, fmt.Sprintf("rank %d: %s", i, r.Refused))
		case r.Short != "":
			why = append(why, r.Short)
		}
	}
	return errors.New("The event graph could not be obtained, because the replay did not get to the end of the " +
		"recording: " + strings.TrimSpace(strings.Join(why, "; ")+". "+result.Hint()))
}
