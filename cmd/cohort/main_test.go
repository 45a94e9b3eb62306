package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary be `cohort` too, for scripts, and for the agents that those start.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cohort": func() { os.Exit(run(os.Args[1:], streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})) }})
}
