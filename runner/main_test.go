package runner

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/launch/self"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// TestMain makes the test binary its own cohort, as far as jobs need one.
func TestMain(m *testing.M) {
	if status, ok := self.Serve(os.Args[1:], nil); ok {
		os.Exit(status)
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
