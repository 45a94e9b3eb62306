package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// What the dynamic linker loads into a program is the user's to say, not a recording's.
func TestAReplayTakesNoLoaderSettingsFromTheRecording(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		r, _ := recordSteps(t, mpi, "LD_PRELOAD=libm.so.6", "LD_BIND_NOW=1", "KEPT=1")
		p, err := PrepareReplay(testContext(t), ReplayOptions{
			Common: Common{MPI: mpi.Name}, Recording: r.Recording.Dir, Env: []string{"LD_BIND_NOW=2"},
		})
		if err != nil {
			t.Fatal(err)
		}
		env := p.Launch.Env
		if !slices.Contains(env, "KEPT=1") || !slices.Contains(env, "LD_BIND_NOW=2") ||
			slices.ContainsFunc(env, func(v string) bool {
				return strings.HasPrefix(v, "LD_") &&
					v != "LD_BIND_NOW=2"
			}) {
			t.Errorf("the ranks would be started with %q", env)
		}
		notes := strings.Join(p.Notes, "\n")
		if !strings.Contains(notes, "LD_PRELOAD=libm.so.6, LD_BIND_NOW=1") || !strings.Contains(notes, "--env") {
			t.Errorf("the user is told: %s", notes)
		}
	})
}
