package cohorttest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

var built struct {
	once sync.Once
	path string
	err  error
}

// binary is the path of cohort, which the first call builds: the one that users have, or one with the race detector.
func binary(t testing.TB) string {
	t.Helper()
	root := mpitest.Root(t)
	built.once.Do(func() {
		if built.err = dependOn(root); built.err == nil {
			built.path, built.err = build(root)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func build(root string) (string, error) {
	path := filepath.Join(base, "bin", "cohort")
	args := []string{"build", "-buildvcs=false", "-o", path}
	env := os.Environ()
	if withRace {
		args = append(args, "-race")
	} else {
		env = append(env, "CGO_ENABLED=0") // as in the Makefile
	}
	cmd := exec.Command("go", append(args, "./cmd/cohort")...)
	cmd.Dir, cmd.Env = root, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return path, nil
}

// dependOn opens all folders of the repository, so that `go test` knows that results depend on what is in them: it sees
// what a test opens, and not what a compiler that the test starts does.
func dependOn(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root &&
			(entry.Name()[0] == '.' || slices.Contains([]string{"bin", "node_modules"}, entry.Name())) {
			return filepath.SkipDir
		}
		return err
	})
}
