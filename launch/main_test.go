package launch

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/launch/agent"
)

// TestMain makes the test binary its own agent: the launcher starts it as "launch.test agent --job DIR -- PROGRAM ARGS".
func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == "agent" && os.Args[2] == "--job" && os.Args[4] == "--" {
		os.Exit(runAgent(os.Args[3], os.Args[5:]))
	}
	for name, value := range map[string]string{"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func runAgent(job string, program []string) int {
	version := Build()
	if v := os.Getenv("TEST_AGENT_VERSION"); v != "" {
		version = v
	}
	outcome, err := agent.Run(agent.Options{JobDir: job, Version: version, Program: program[0], Args: program[1:], NewBackend: newTestBackend})
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return outcome.Mirror()
}
