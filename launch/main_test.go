package launch

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/launch/agent"
	"github.com/cohort-debugger/cohort/launch/guard"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// TestMain makes the test binary its own agent: the launcher starts it as "launch.test agent --job DIR -- PROGRAM
// ARGS".
func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == "agent" && os.Args[2] == "--job" && os.Args[4] == "--" {
		os.Exit(runAgent(os.Args[3], os.Args[5:]))
	}
	if len(os.Args) == 4 && os.Args[1] == "guard" {
		if err := guard.Run(os.Args[3], os.Stdin, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			fmt.Fprintln(os.Stderr, "guard:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 5 && os.Args[1] == "hold-a-job" {
		if err := proctest.EndWithParent(); err != nil {
			fmt.Fprintln(os.Stderr, "hold-a-job:", err)
			os.Exit(1)
		}
		os.Exit(holdAJob(os.Args[2], os.Args[3], os.Args[4]))
	}
	for name, value := range map[string]string{"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if err := proctest.NoExitPause(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func runAgent(job string, program []string) int {
	version := Build()
	if v := os.Getenv("TEST_AGENT_VERSION"); v != "" {
		version = v
	}
	outcome, err := agent.Run(agent.Options{
		JobDir: job, Version: version, Program: program[0], Args: program[1:],
		NewBackend: newTestBackend,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return outcome.Mirror()
}
