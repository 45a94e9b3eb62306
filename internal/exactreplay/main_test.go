package exactreplay

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/launch/agent"
	"github.com/cohort-debugger/cohort/launch/guard"
)

// TestMain makes the test binary its own cohort, as far as jobs need one.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[2] == "--job" {
		os.Exit(asCohort(os.Args[1], os.Args[3], os.Args[4:]))
	}
	for name, value := range map[string]string{
		"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
		"OMPI_MCA_mpi_yield_when_idle": "1", // also with as many ranks as cores: other tests run on them
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func asCohort(command, job string, rest []string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if command == "guard" {
		if err := guard.Run(job, os.Stdin, log); err != nil {
			fmt.Fprintln(os.Stderr, "guard:", err)
			return 1
		}
		return 0
	}
	outcome, err := agent.Run(agent.Options{JobDir: job, Version: launch.Build(), Program: rest[1], Args: rest[2:], Log: log})
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return outcome.Mirror()
}
