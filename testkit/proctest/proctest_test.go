package proctest_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// TestMain makes the test binary a parent and a child too.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCTEST_ROLE") {
	case "parent": // starts the child, says its pid and waits to be killed
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PROCTEST_ROLE=child")
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = cmd.Wait() // only if the child fails
		os.Exit(1)
	case "child":
		if err := proctest.EndWithParent(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stdout, os.Getpid())
		select {}
	}
	os.Exit(m.Run())
}

func TestEndWithParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), "PROCTEST_ROLE=parent")
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatalf("the child does not say that it runs: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	proctest.WaitGone(t, child)
}
