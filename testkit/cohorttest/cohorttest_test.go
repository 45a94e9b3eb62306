package cohorttest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

func TestMain(m *testing.M) { Main(m) }

// victimVar makes TestVictim the one that TestNothingOutlivesAKilledTest kills.
const victimVar = "COHORT_TEST_VICTIM"

// A test process that is killed runs no cleanup, and what it has started ends all the same: here a cohort that waits
// for clients.
func TestNothingOutlivesAKilledTest(t *testing.T) {
	Slow(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victimVar+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	dir, found := strings.CutPrefix(strings.TrimSpace(line), "victim in ")
	if !found || len(marked(dir)) != 1 {
		t.Fatalf("it said %q, %v, and has the processes %v", line, err, marked(dir))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	left := awaitNone(func() []string {
		dirs, err := filepath.Glob(filepath.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		return append(marked(dir), dirs...)
	})
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestVictim(t *testing.T) {
	if os.Getenv(victimVar) == "" {
		t.Skip("it is of use to TestNothingOutlivesAKilledTest only")
	}
	w := New(t, mpitest.MPI{})
	w.Listen(w.Path("c.sock"))
	fmt.Println("victim in", w.Dir)
	<-w.Ctx.Done()
}
