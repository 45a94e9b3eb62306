package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/session"
	"github.com/cohort-debugger/cohort/trace"
)

func newReplayCommand(std streams) *cobra.Command {
	var o runner.ReplayOptions
	var label bool
	var limit int
	cmd := &cobra.Command{
		Use:   "replay NAME.cohort [flags]",
		Short: "Run a recorded program again, each message in the recorded order",
		Long: `Replay runs the program of a recording again, without a debugger: every receive takes the
message that it took then.

The exit status is 0 only if every rank made the recorded calls and got to the end of its recording. It is 3
if a rank left the recording (what was recorded and what the rank did is printed), 2 if nothing was started
(another build of the program, a damaged or incomplete recording, ...), 1 if a rank did not get to its end for
another reason. A recording that was cut short is replayed as far as it goes.`,
		Example: `  cohort replay tsp.cohort
  cohort replay tsp.cohort --full        # also store the event graph, for causal cuts
  cohort replay tsp.cohort --bound-buffering 100`,
		Args: oneRecording(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := logger(cmd, std)
			if err != nil {
				return err
			}
			o.Recording, o.Log = args[0], log
			flush := passOutput(std, &o.Common, label, math.MaxInt32) // however many were recorded
			ctx, stop := withSignals(cmd.Context(), nil)
			defer stop()
			var bound *causal.Bounding
			if cmd.Flags().Changed("bound-buffering") {
				if bound, err = boundBuffering(ctx, std, o, limit); err != nil {
					return err
				}
				o.Control = bound.Control
			}
			result, err := runner.Replay(ctx, o)
			flush()
			if result == nil {
				return err
			}
			replaySummary(std.Err, result, bound)
			switch {
			case err != nil:
				return err
			case result.Diverged():
				return endWith(exitDiverged)
			case !result.OK():
				return endWith(exitFailure)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.Program, "program", "", "another copy of the recorded build of the program")
	f.BoolVar(&o.IncompleteOK, "incomplete-ok", false,
		"continue where the recording has no decisions: the replay may differ from there")
	f.BoolVar(&o.Full, "full", false, "also record every event, as the event graph of the recording")
	f.IntVar(&limit, "bound-buffering", 0,
		"hold senders back, so that at most `N` messages wait at a rank for their receives")
	f.DurationVar(&o.StallTimeout, "stall-timeout", 0,
		"end the replay when no rank has made an MPI call for so long, such as 30s\n"+
			"(default: 1m0s once all ranks wait within MPI calls)")
	f.StringVar(&o.Cwd, "cwd", "", "working directory of the ranks (default: the recorded one)")
	f.StringArrayVar(&o.Env, "env", nil, "NAME=VALUE to set for the ranks (may be repeated)")
	runFlags(cmd, &o.Common, &label)
	return cmd
}

// boundBuffering finds out what has to wait for what. A recording that has no event graph yet is replayed once for
// that.
func boundBuffering(ctx context.Context, std streams, o runner.ReplayOptions, limit int) (*causal.Bounding, error) {
	rec, _, err := runner.Open(o.Recording) // the replay itself says what there is to say
	if err != nil {
		return nil, err
	}
	bar := newProgressLine(std)
	defer bar.screen.clear()
	common := o.Common
	// these are of the replay that the user sees
	common.Stdin, common.Stdout, common.Stderr, common.Output = nil, nil, nil, nil
	bound, _, err := session.BoundBuffering(ctx, rec, limit, session.GraphOptions{
		Common: common, Program: o.Program, IncompleteOK: o.IncompleteOK, Progress: bar.show,
	})
	return bound, err
}

func replaySummary(w io.Writer, r *runner.ReplayResult, bound *causal.Bounding) {
	var b strings.Builder
	fmt.Fprintf(&b, "\ncohort: replayed %s of %s in %s, %s enforced\n",
		prose.Count(r.Events, "event"), prose.Count(uint64(len(r.Ranks)), "rank"), elapsed(r.Elapsed),
		prose.Count(r.Decisions, "decision"))
	for i, rank := range r.Ranks {
		switch {
		case rank.Divergence != nil:
			for _, line := range divergenceText(i, rank.Divergence) {
				fmt.Fprintf(&b, "  %s\n", line)
			}
			if calls := job.RecentCalls(i, rank.Recent); len(calls) > 0 {
				b.WriteString("  Its last calls were:\n")
				for _, line := range calls {
					fmt.Fprintf(&b, "    %s\n", line)
				}
			}
		case rank.Refused != "":
			fmt.Fprintf(&b, "  Rank %d refused to be replayed: %s\n", i, rank.Refused)
		}
	}
	switch {
	case r.OK() && r.CutShort && r.Stalled:
		b.WriteString("  No rank left the recording, which was cut short: the replay was ended where no rank could " +
			"continue.\n")
	case r.OK() && r.CutShort:
		b.WriteString("  No rank left the recording, which was cut short: the replay went as far as it goes.\n")
	case r.OK():
		b.WriteString("  No rank left the recording, and all got to its end.\n")
	case r.Stalled && r.CutShort:
		b.WriteString("  The replay was ended because no rank got on. The recording was cut short: what a rank " +
			"waits for here may be\n  what another did after the end of its recording.\n")
	case r.Stalled && r.Within:
		b.WriteString("  The replay was ended because all ranks waited within MPI calls and none got on. If the " +
			"program did something else than when it was recorded,\n" +
			"  what a rank waits for may never have been sent: `cohort debug` shows where each one waits.\n")
	case r.Stalled:
		b.WriteString("  The replay was ended because no rank made an MPI call any more.\n")
	}
	if hint := r.Hint(); hint != "" {
		fmt.Fprintf(&b, "  %s\n", hint)
	}
	if bound != nil {
		fmt.Fprintf(&b, "  %s\n", boundText(bound, r.Control))
	}
	for _, rank := range r.Ranks {
		// When a rank has left the recording the others were ended for that.
		if rank.Short != "" && !r.Diverged() {
			excuse := ""
			if rank.Excuse != "" {
				excuse = ", " + rank.Excuse
			}
			fmt.Fprintf(&b, "  %s%s.\n", strings.ToUpper(rank.Short[:1])+rank.Short[1:], excuse)
		}
	}
	if r.CutShort && r.Job.Stopped && r.OK() {
		b.WriteString("  The ranks that waited there were ended; a launcher may have complained about that.\n")
	}
	if r.Graph {
		fmt.Fprintf(&b, "  The event graph is in %s/graph.\n", r.Recording.Dir)
	}
	io.WriteString(w, b.String()) //nolint:errcheck // nowhere else to say it
}

// divergenceText says where a rank left the recording.
func divergenceText(rank int, d *backend.Divergence) []string {
	where := ""
	switch {
	case d.File != "":
		where = fmt.Sprintf(", at %s:%d", d.File, d.Line)
		if d.Function != "" {
			where += " in " + d.Function
		}
	case d.Function != "":
		where = ", in " + d.Function
	case d.CallSite != 0:
		where = fmt.Sprintf(", called from %#x", d.CallSite)
	}
	if d.Unnoticed {
		return []string{fmt.Sprintf("Rank %d left the recording: %s", rank, job.UnnoticedText(d))}
	}
	lines := []string{fmt.Sprintf("Rank %d left the recording at its event %d (%d:%d)%s.", rank, d.Event, rank, d.Event,
		where)}
	switch {
	case d.RecordedOp == "":
		lines = append(lines, "  recorded: nothing more")
	case d.RecordedEvent > d.Event:
		lines = append(lines, fmt.Sprintf("  recorded: another call, of which no decision was needed; the next one "+
			"that needed one is %s%s, event %d",
			d.RecordedOp, peer(d.RecordedSource, d.RecordedTag), d.RecordedEvent))
	default:
		lines = append(lines, fmt.Sprintf("  recorded: %s%s, event %d", d.RecordedOp,
			peer(d.RecordedSource, d.RecordedTag), d.RecordedEvent))
	}
	lines = append(lines, fmt.Sprintf("  now:      %s%s", d.ActualOp, peer(d.ActualSource, d.ActualTag)))
	if d.RecordedOp == trace.TurnName {
		lines = append(lines,
			"  The thread whose turn it is made no MPI call while this one waited for it, and nothing moved for 10 "+
				"s. The order in which threads take the program's own locks",
			"  is not recorded: if this one holds a lock that the other waits for, neither can continue.")
	}
	return lines
}

func peer(source, tag int) string {
	var parts []string
	for _, p := range []struct {
		name  string
		value int
	}{{"source", source}, {"tag", tag}} {
		switch p.value {
		case math.MinInt32:
		case -1:
			parts = append(parts, p.name+" any")
		default:
			parts = append(parts, fmt.Sprintf("%s %d", p.name, p.value))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// boundText is what a replay that was bounded says about it, in whole sentences; sent is how many control messages
// there were.
func boundText(b *causal.Bounding, sent uint64) string {
	how := fmt.Sprintf("%d control messages held senders back", sent)
	switch {
	case len(b.Control) == 0:
		how = "No control message was needed"
	case sent == 1:
		how = "1 control message held a sender back"
	}
	rank, most := b.Most()
	switch {
	case most > b.Limit:
		return fmt.Sprintf("%s: at most %d messages waited at a rank (rank %d). No order of the run was found in "+
			"which it is %d.", how, most, rank, b.Limit)
	case most == 1:
		return how + ": at most 1 message waited at a rank."
	}
	return fmt.Sprintf("%s: at most %d messages waited at a rank.", how, most)
}
