package plaingdb_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/plaingdb"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// TestMain makes the test binary be the decoder too, which gdb's script starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "gdb-decoder" {
		err := proctest.EndWithParent()
		if err == nil {
			err = plaingdb.Serve(os.Stdin, os.Stdout, "of a test")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := proctest.NoExitPause(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
