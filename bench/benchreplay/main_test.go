package benchreplay

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/launch/self"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// TestMain makes the test binary its own cohort.
func TestMain(m *testing.M) {
	if status, ok := self.Serve(os.Args[1:], nil); ok {
		os.Exit(status)
	}
	for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
		if err := os.Setenv(name, "1"); err != nil {
			panic(err)
		}
	}
	if err := proctest.NoExitPause(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
