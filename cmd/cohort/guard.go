package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/launch/guard"
)

// newGuardCommand waits for the end of a job; should cohort be killed, it ends and removes what is left of the job.
func newGuardCommand(std streams) *cobra.Command {
	var job string
	cmd := &cobra.Command{
		Use:    "guard --job DIR",
		Short:  "Cleans up after a job whose cohort was killed; cohort starts it",
		Long:   "The guard is started by cohort, once per job. It is of no use by hand.",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if job == "" {
				return usageError("The guard is started by cohort, with --job. It is of no use by hand.")
			}
			return guard.Run(job, std.In, slog.New(slog.DiscardHandler))
		},
	}
	cmd.Flags().StringVar(&job, "job", "", "directory of the job")
	return cmd
}
