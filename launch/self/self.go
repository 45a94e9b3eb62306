// Package self makes a program other than cohort its own cohort, as far as jobs need one: the launcher starts it as the
// agent of each rank, and a job as its guard.
package self

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/launch/agent"
	"github.com/cohort-debugger/cohort/launch/guard"
)

// Serve acts as agent or guard if that is what the arguments (without the program) ask for, and returns the exit
// status. False: they do not. newBackend makes the ranks' debuggers; nil: they have none.
func Serve(args []string, newBackend agent.NewBackend) (status int, ok bool) {
	if len(args) < 3 || args[1] != "--job" {
		return 0, false
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	switch job, rest := args[2], args[3:]; {
	case args[0] == "guard":
		if err := guard.Run(job, os.Stdin, log); err != nil {
			fmt.Fprintln(os.Stderr, "guard:", err)
			return 1, true
		}
		return 0, true
	case args[0] == "agent" && len(rest) >= 2:
		outcome, err := agent.Run(agent.Options{
			JobDir: job, Version: launch.Build(), Program: rest[1], Args: rest[2:],
			NewBackend: newBackend, Log: log,
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
			return 1, true
		}
		return outcome.Mirror(), true
	}
	return 0, false
}
