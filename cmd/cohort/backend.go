package main

import (
	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb"
	"github.com/cohort-debugger/cohort/handles"
	"github.com/cohort-debugger/cohort/launch/agent"
)

// newBackend is how an agent gets its rank's debugger.
func newBackend(options agent.BackendOptions) (backend.Backend, error) {
	g := gdb.New(gdb.Options{Log: options.Log})
	return handles.Around(g, handles.New(g), options.Log), nil
}
