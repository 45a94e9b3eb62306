package mpitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// pythonWithMPI4py is the first python3 in PATH that has mpi4py; a user's own in front of the system's often has not.
var pythonWithMPI4py = sync.OnceValue(func() string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		python := filepath.Join(dir, "python3")
		if exec.Command(python, "-c", "import mpi4py").Run() == nil { //nolint:noctx // it ends by itself
			return python
		}
	}
	return ""
})

// Python is a Python with mpi4py, which is Open MPI's on Debian.
func Python(t testing.TB) string {
	t.Helper()
	python := pythonWithMPI4py()
	if python == "" {
		Missing(t, "mpitest: no python3 in PATH has mpi4py (make setup installs it)")
	}
	return python
}

// Library is the path of the shared library that programs of an MPI load.
func (m MPI) Library(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ldd", m.Build(t, "hello.c")).Output()
	if err != nil {
		t.Fatalf("mpitest: asking which libraries hello needs: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) > 2 &&
			(strings.HasPrefix(fields[0], "libmpi.so") || strings.HasPrefix(fields[0], "libmpich.so")) {
			return fields[2]
		}
	}
	t.Fatalf("mpitest: hello needs no MPI library:\n%s", out)
	return ""
}

// Loads builds loads.c, which is linked to no MPI.
func (m MPI) Loads(t testing.TB) string {
	t.Helper()
	return m.Build(t, "loads.c", "-Wl,--as-needed", "-ldl")
}
