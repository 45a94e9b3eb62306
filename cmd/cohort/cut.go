package main

import (
	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/internal/prose"
)

func newCutCommand(std streams) *cobra.Command {
	var (
		at     string
		asJSON bool
		flags  graphFlags
	)
	cmd := &cobra.Command{
		Use:   "cut RECORDING --at RANK:EVENT",
		Short: "Print the causal cut of an event of a recording",
		Long: `Prints the causal cut of an event: for every rank the earliest position that holds all that
happened before the event. It is where a causal breakpoint stops the other ranks. Events are numbered from 1
on each rank; "2:17" is the 17th of rank 2.

A standard send of 4,000 bytes or more counts as over only when its receive was posted, as MPIs send such
messages by rendezvous.

The cut is computed from the event graph. A recording in order mode has none yet: it is replayed once, and the
graph is kept in the recording.`,
		Example: `  cohort cut tsp.cohort --at 2:17
  cohort cut tsp.cohort --at 2:17 --json | jq .cut`,
		Args: oneRecording(" --at 2:17"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at == "" {
				return usageError("--at is missing. Write the event as RANK:EVENT, such as --at 2:17.")
			}
			event, err := causal.ParseEventID(at)
			if err != nil {
				return usageError("--at: %v", err)
			}
			ctx, cancel := withSignals(cmd.Context(), nil)
			defer cancel()
			_, graph, err := flags.open(ctx, std, args[0])
			if err != nil {
				return err
			}
			report, err := graph.ReportCausalCut(event)
			if err != nil {
				return usageError("%s", prose.Sentence(err.Error()))
			}
			return reply(std.Out, asJSON, report, report.Text())
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the event, `RANK:EVENT`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	flags.add(cmd)
	return cmd
}
