package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// TestMain makes the test binary be `cohort` too, for scripts, and for the agents that those start.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "cohort" { // it is the test itself
		prepare()
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

// prepare sets what all processes of the tests inherit.
func prepare() {
	if err := proctest.NoExitPause(); err != nil {
		panic(err)
	}
	for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
		if err := os.Setenv(name, "1"); err != nil {
			panic(err)
		}
	}
}

// startedByCohort tells the processes that a cohort starts, and which are to end as they do for users.
func startedByCohort(args []string) bool {
	return len(args) > 0 && (args[0] == "agent" || args[0] == "guard")
}
