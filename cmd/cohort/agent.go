package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/launch/agent"
)

// newAgentCommand is what the launcher starts in front of each rank. It ends as the program did, so that the launcher
// behaves as it would without it.
func newAgentCommand(std streams) *cobra.Command {
	var job string
	cmd := &cobra.Command{
		Use:    "agent --job DIR -- PROGRAM [ARGUMENTS]",
		Short:  "One rank's end of a job; the launcher starts it",
		Long:   "The agent is started by mpiexec for cohort, once per rank. It is of no use by hand.",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := programArgs(cmd, args); err != nil {
				return err
			}
			if job == "" {
				return usageError("The agent is started by mpiexec for cohort, with --job. It is of no use by hand.")
			}
			// Its standard error is the launcher's, and in the end the user's: only what cannot be said through the job
			// belongs there.
			log := slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
			outcome, err := agent.Run(agent.Options{
				JobDir: job, Version: launch.Build(), Program: args[0], Args: args[1:], NewBackend: newBackend,
				Log: log,
			})
			if err != nil {
				return err
			}
			return endWith(outcome.Mirror())
		},
	}
	cmd.Flags().StringVar(&job, "job", "", "directory of the job")
	return cmd
}
