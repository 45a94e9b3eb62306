package main

import (
	"log/slog"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/delve"
	"github.com/cohort-debugger/cohort/backend/gdb"
	"github.com/cohort-debugger/cohort/handles"
	"github.com/cohort-debugger/cohort/internal/executable"
	"github.com/cohort-debugger/cohort/launch/agent"
)

// newBackend is how an agent gets its rank's debugger: Delve for a program that the Go tools built, gdb for all others,
// unless the user has chosen.
func newBackend(options agent.BackendOptions) (backend.Backend, error) {
	switch options.Debugger {
	case "gdb":
		return withMPI(gdb.New(gdb.Options{Log: options.Log}), options.Log), nil
	case "delve":
		return withMPI(delve.New(delve.Options{Log: options.Log}), options.Log), nil
	case "":
	default:
		return nil, &backend.LaunchError{
			Program: options.Program, Reason: "There is no debugger \"" + options.Debugger + "\". Name gdb or delve.",
		}
	}
	path, err := executable.Find(options.Program, options.Cwd)
	options.Debugger = "gdb" // which says what is wrong with the program, if anything is
	if err == nil && executable.IsGo(path) {
		options.Debugger = "delve"
	}
	return newBackend(options)
}

func withMPI(rank backend.Debugger, log *slog.Logger) backend.Backend {
	return handles.Around(rank, handles.New(rank), log)
}
