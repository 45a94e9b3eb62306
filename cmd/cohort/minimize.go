package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/session"
	"github.com/cohort-debugger/cohort/trace/recording"
)

func newTraceMinimizeCommand(std streams) *cobra.Command {
	var graph graphFlags
	var to outputFlags
	cmd := &cobra.Command{
		Use:   "minimize RECORDING [-o OUTPUT]",
		Short: "Reduce a recording to the decisions that its replay needs",
		Long: `Writes a recording of the same run that holds only the wildcard decisions that a replay needs:
those of receives and probes that could have taken another message ("cohort races" lists them). The others
take what they took in any case. Failed polls, and the order in which Waitany and its like complete requests,
stay as they are.

It says how far that is from the least possible trace: Netzer & Miller's lower bound on the messages that a
trace must tell of.

The event graph is needed: a recording in order or racing mode is replayed once to obtain it, and it is kept
in the recording. The output replays like any other recording.`,
		Example: `  cohort trace minimize tsp.cohort
  cohort trace minimize tsp.cohort -o small.cohort --json`,
		Args: oneRecording(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := to.path(args[0])
			ctx, cancel := withSignals(cmd.Context(), nil)
			defer cancel()
			rec, events, err := graph.open(ctx, std, args[0])
			if err != nil {
				return err
			}
			small, report, err := session.Minimize(rec, events, out, recording.CreateOptions{Overwrite: to.force})
			if err != nil {
				return err
			}
			if err := small.Pack(ctx, nil); err != nil {
				return fmt.Errorf("packing the traces of %s: %w", out, err)
			}
			report.BytesTo = small.TraceSize()
			return reply(std.Out, to.asJSON, report, minimizeText(report))
		},
	}
	to.addFlags(cmd, "min")
	cmd.Flags().StringVar(&graph.program, "program", "", graphProgramUsage)
	return cmd
}

// minimizeText prints a report for people.
func minimizeText(r *session.MinimizeReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: of %s in %s a replay needs %d (%s of %s).\n", r.From,
		prose.Count(r.Wildcards, "wildcard decision"), "mode "+r.Mode,
		r.Kept, percent(r.Kept, r.Messages), prose.Count(r.Messages, "message"))
	if r.Never > 0 {
		fmt.Fprintf(&b, "Of these %d are of receives that never took a message.\n", r.Never)
	}
	told := r.Kept - r.Never
	switch {
	case told == 0:
		b.WriteString("No message raced: the replay takes the same messages whatever the timing.\n")
	case r.Optimal:
		fmt.Fprintf(&b, "That is optimal: no trace can tell of fewer than %s.\n", prose.Count(r.Bound.Least, "message"))
	default:
		if told == r.Bound.Traced {
			fmt.Fprintf(&b, "No less can be enforced by naming the sources of receives: each of these %d could have "+
				"taken another message.\n", told)
		}
		fmt.Fprintf(&b, "A trace that could also tag messages when they are sent would have to tell of at least %d "+
			"(Netzer & Miller's bound); this one is at most %s longer.\n",
			r.Bound.Least, percent(told-r.Bound.Least, r.Bound.Least))
	}
	fmt.Fprintf(&b, "%s was written, in mode racing: %d bytes of traces, %s has %d.\n", r.To, r.BytesTo, r.From,
		r.BytesFrom)
	return b.String()
}
