package exactreplay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// patience is how long one run may take. It is generous: whatever hangs is a failure, and nothing waits for it in vain.
const patience = 8 * time.Minute

// stall ends a replay in which nothing moves: what a deadlock is, as the programs pause for milliseconds at most.
const stall = 2 * time.Minute

// outputs gathers what each rank writes, apart, as ranks that write at the same time may break each other's lines.
type outputs struct {
	mu   sync.Mutex
	text map[int]*strings.Builder
}

func (o *outputs) take(chunk launch.OutputChunk) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text == nil {
		o.text = map[int]*strings.Builder{}
	}
	if o.text[chunk.Rank] == nil {
		o.text[chunk.Rank] = &strings.Builder{}
	}
	o.text[chunk.Rank].Write(chunk.Data)
}

// all is what the launcher and the ranks wrote, one after another.
func (o *outputs) all(ranks int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for rank := -1; rank < ranks; rank++ {
		if text := o.text[rank]; text != nil {
			b.WriteString(text.String())
		}
	}
	return b.String()
}

// job is a program with what it is given.
type job struct {
	mpi     mpitest.MPI
	program string
	ranks   int
	args    []string
}

func (j job) common(out *outputs) runner.Common {
	c := runner.Common{MPI: j.mpi.Name, Output: out.take}
	if j.mpi.Name == "openmpi" {
		c.LauncherArgs = []string{"--bind-to", "none"}
	}
	return c
}

// perturbed is the environment in which senders are slow in the way of a seed.
func perturbed(seed int) []string { return []string{fmt.Sprintf("PERTURB=%d", seed)} }

// record returns the recording's directory and what the ranks wrote. An error means that the program failed, or that it
// cannot be replayed from the recording; *trace.IncompleteError: that it made calls that are not covered.
func (j job) record(ctx context.Context, dir, mode string, seed int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out outputs
	r, err := runner.Record(ctx, runner.RecordOptions{
		Common: j.common(&out), Ranks: j.ranks, Program: j.program, Args: j.args, Env: perturbed(seed), Dir: dir,
		Mode: mode,
	})
	text := out.all(j.ranks)
	switch {
	case err != nil && r != nil:
		return text, fmt.Errorf("recording in mode %s was ended: %w; events %s\n%s", mode, err, positions(r.Job), text)
	case err != nil:
		return text, fmt.Errorf("recording in mode %s: %w", mode, err)
	case r.Status() != 0:
		return text, fmt.Errorf("the program exited with %d while it was recorded in mode %s:\n%s", r.Status(), mode,
			text)
	case r.Problem != nil:
		return text, fmt.Errorf("the recording in mode %s is of no use: %w", mode, r.Problem)
	case len(r.Refusals) > 0:
		return text, fmt.Errorf("an interposer refused to record in mode %s: %v", mode, r.Refusals)
	}
	for _, rank := range r.Recording.Meta.PerRank {
		if i := rank.Incomplete; i != nil {
			return text, &decisions.IncompleteError{
				Path: dir, Rank: rank.Rank, Call: i.Call, Event: i.Event,
				Count: i.Count,
			}
		}
	}
	return text, nil
}

func positions(result launch.Result) string {
	var b strings.Builder
	for i, r := range result.Ranks {
		fmt.Fprintf(&b, " %d:%d(op %d)", i, r.Control.Events, r.Control.CurrentOp)
	}
	return b.String()
}

// replay runs a recording again and returns what the ranks wrote.
func (j job) replay(ctx context.Context, dir string, full bool, seed int) (string, error) {
	return j.replayWith(ctx, runner.ReplayOptions{Recording: dir, Env: perturbed(seed), Full: full})
}

// replayBounded does it with control messages. The recording must have its graph.
func (j job) replayBounded(ctx context.Context, dir string, limit, seed int) (string, error) {
	bound, err := boundOf(dir, limit)
	if err != nil {
		return "", err
	}
	return j.replayWith(ctx, runner.ReplayOptions{Recording: dir, Env: perturbed(seed), Control: bound.Control})
}

func (j job) replayWith(ctx context.Context, o runner.ReplayOptions) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out outputs
	o.Common, o.StallTimeout = j.common(&out), stall
	r, err := runner.Replay(ctx, o)
	text := out.all(j.ranks)
	if r != nil && !r.OK() {
		var b strings.Builder
		for i, rank := range r.Ranks {
			fmt.Fprintf(&b, "  rank %d: %d of %d events; %s%s", i, rank.Events, rank.Recorded, rank.Refused, rank.Short)
			if rank.Divergence != nil {
				fmt.Fprintf(&b, " diverged: %+v", *rank.Divergence)
			}
			b.WriteString("\n")
		}
		return text, errors.Join(err,
			fmt.Errorf("the replay did not get to the end of the recording (stalled: %t):\n%s", r.Stalled, b.String()))
	}
	if err != nil {
		return text, fmt.Errorf("replaying: %w", err)
	}
	return text, nil
}

// boundOf finds the control messages of a replay, as package session does.
func boundOf(dir string, limit int) (*causal.Bounding, error) {
	rec, err := recording.Open(dir)
	if err != nil {
		return nil, err
	}
	traces, err := rec.Graph()
	if err != nil {
		return nil, err
	}
	graph, err := causal.Load(traces, causal.Options{SyncBytes: 4000})
	if err != nil {
		return nil, err
	}
	return graph.BoundBuffering(limit)
}

// checkGraph reads what a full recording or replay left: every trace whole, and nothing in the graph that has no
// partner. Some kinds of problems may be excepted.
func checkGraph(dir string, but ...causal.ProblemKind) error {
	rec, err := recording.Open(dir)
	if err != nil {
		return err
	}
	if err := rec.Verify(); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	traces, err := rec.Graph()
	if err != nil {
		return err
	}
	graph, err := causal.Load(traces, causal.Options{})
	if err != nil {
		return fmt.Errorf("the event graph: %w", err)
	}
	problems := slices.DeleteFunc(slices.Clone(graph.Problems()), func(p causal.Problem) bool {
		return slices.Contains(but, p.Kind)
	})
	var all []error
	for i, p := range problems {
		if i < 5 {
			all = append(all, fmt.Errorf("the event graph: %s", p))
		}
	}
	if len(problems) > 5 {
		all = append(all, fmt.Errorf("and %d more", len(problems)-5))
	}
	return errors.Join(all...)
}

// sameDecisions compares what a replay of an order recording decided (in its event graph) with what was recorded.
func sameDecisions(dir string) error {
	rec, err := recording.Open(dir)
	if err != nil {
		return err
	}
	graph, err := rec.Graph()
	if err != nil {
		return err
	}
	for rank := range rec.Meta.Ranks {
		recorded, err := rec.Decisions(rank, decisions.Options{})
		if err != nil {
			return err
		}
		reader, err := graph.Rank(rank)
		if err != nil {
			return err
		}
		replayed, err := decisions.Build(reader, decisions.Options{})
		if err := errors.Join(err, reader.Close()); err != nil {
			return fmt.Errorf("the decisions of rank %d's full trace: %w", rank, err)
		}
		if err := compareDecisions(recorded, replayed); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	return nil
}

func compareDecisions(recorded, replayed *decisions.Plan) error {
	for i := range max(len(recorded.Matches), len(replayed.Matches)) {
		if i >= len(recorded.Matches) || i >= len(replayed.Matches) || recorded.Matches[i] != replayed.Matches[i] {
			return fmt.Errorf("wildcard %d of (%d recorded, %d replayed) differs: %+v, replayed %+v", i,
				len(recorded.Matches), len(replayed.Matches),
				at(recorded.Matches, i), at(replayed.Matches, i))
		}
	}
	for i := range max(len(recorded.Polls), len(replayed.Polls)) {
		if i >= len(recorded.Polls) || i >= len(replayed.Polls) || recorded.Polls[i] != replayed.Polls[i] {
			return fmt.Errorf("poll %d differs: %+v, replayed %+v", i, at(recorded.Polls, i), at(replayed.Polls, i))
		}
	}
	for i := range max(len(recorded.Sets), len(replayed.Sets)) {
		if a, b := fmt.Sprint(at(recorded.Sets, i)), fmt.Sprint(at(replayed.Sets, i)); a != b {
			return fmt.Errorf("set %d differs: %s, replayed %s", i, a, b)
		}
	}
	if recorded.LastEvent != replayed.LastEvent || recorded.Finalized != replayed.Finalized {
		return fmt.Errorf("%d events (finalized: %t) were recorded, %d (%t) replayed", recorded.LastEvent,
			recorded.Finalized, replayed.LastEvent, replayed.Finalized)
	}
	return nil
}

func at[T any](list []T, i int) any {
	if i >= len(list) {
		return "nothing"
	}
	return list[i]
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)
	return ctx
}
