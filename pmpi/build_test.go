package pmpi_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// compiler is an MPI compiler that tells what mpicc does, and otherwise runs a command, for what takes no compiling.
func compiler(t *testing.T, mpi mpitest.MPI, command string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mpicc")
	script := "#!/bin/sh\ncase $1 in -show) exec " + mpi.Mpicc + " -show;; esac\n" + command + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// touches makes what it is asked for, empty.
const touches = `while [ "$1" != -o ]; do shift; done; : >"$2"`

// TestBuildAtOnce: several builders at once share one result, and leave nothing else in the cache.
func TestBuildAtOnce(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		cache := filepath.Join(t.TempDir(), "cache")
		mpicc := compiler(t, mpi, touches)
		results := make([]pmpi.Library, 3)
		errs := make([]error, len(results))
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() {
				results[i], errs[i] = pmpi.Build(t.Context(), pmpi.Options{Mpicc: mpicc, CacheDir: cache})
			})
		}
		all.Wait()
		for i, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
			if results[i] != results[0] || results[i].MPI.String() != mpi.Name {
				t.Errorf("builder %d: %+v, and builder 0: %+v", i, results[i], results[0])
			}
		}
		entries, err := os.ReadDir(cache)
		if err != nil || len(entries) != 1 {
			t.Errorf("the cache holds %v, %v", entries, err)
		}
		if info, err := os.Stat(cache); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the cache's mode: %v, %v", info.Mode(), err)
		}
	})
}

func TestBuildSaysWhatTheCompilerSaid(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	cache := filepath.Join(t.TempDir(), "cache")
	mpicc := compiler(t, mpi, "echo 'no space left on the moon' >&2; exit 3")
	_, err := pmpi.Build(t.Context(), pmpi.Options{Mpicc: mpicc, CacheDir: cache})
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(err.Error(), "no space left on the moon") {
		t.Errorf("found %v", err)
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) != 0 {
		t.Errorf("the failed build left %v, %v", entries, err)
	}
}

func TestBuildRefuses(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	if _, err := pmpi.Build(t.Context(), pmpi.Options{Mpicc: "cohort-has-no-such-compiler"}); err == nil {
		t.Error("built with a compiler that is not there")
	}
	if _, err := pmpi.Build(t.Context(), pmpi.Options{Mpicc: "/bin/true"}); err == nil {
		t.Error("built with /bin/true")
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := pmpi.Build(t.Context(), pmpi.Options{Mpicc: mpi.Mpicc, CacheDir: open}); err == nil ||
		!strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a cache that anyone can write to: %v", err)
	}
}

// A directory or a library that somebody else could have put there is not loaded into the user's programs.
func TestBuildRefusesWhatIsNotTheUsers(t *testing.T) {
	mpi := mpitest.Need(t, "mpich")
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	cache := filepath.Join(t.TempDir(), "cache")
	options := pmpi.Options{Mpicc: compiler(t, mpi, touches), CacheDir: cache}
	library, err := pmpi.Build(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(library.Path), cache} {
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := pmpi.Build(t.Context(), options); err == nil ||
			!strings.Contains(err.Error(), dir+" belongs to another user") {
			t.Errorf("%s: %v", dir, err)
		}
		if err := os.Chown(dir, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pmpi.Build(t.Context(), options); err != nil {
		t.Errorf("given back: %v", err)
	}
}
