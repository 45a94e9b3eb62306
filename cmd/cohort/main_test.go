package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cohort-debugger/cohort/internal/proctest"
)

// TestMain makes the test binary be `cohort` too, for scripts, and for the agents that those start.
func TestMain(m *testing.M) {
	if err := proctest.NoExitPause(); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"cohort": func() {
		if !startedByCohort(os.Args[1:]) {
			if err := proctest.EndWithParent(); err != nil {
				fmt.Fprintln(os.Stderr, "cohort, for a test:", err)
				os.Exit(1)
			}
		}
		os.Exit(run(os.Args[1:], streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}})
}

// startedByCohort tells the processes that a cohort starts, and which are to end as they do for users.
func startedByCohort(args []string) bool {
	return len(args) > 0 && (args[0] == "agent" || args[0] == "guard")
}
