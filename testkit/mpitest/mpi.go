package mpitest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// RequireVar is the environment variable that turns "skipped, MPI is missing" into a failure when it is "1".
const RequireVar = "COHORT_REQUIRE_MPI"

// stopTimeout is how long a launcher may take to end its ranks after it was asked to, before it is killed.
const stopTimeout = 10 * time.Second

// MPI is one installed MPI. The fields are absolute paths, except Name; Mpifort is empty where there is no Fortran
// compiler.
type MPI struct {
	Name    string // "mpich" or "openmpi"
	Mpicc   string
	Mpifort string
	Mpicxx  string
	// Mpiexec starts programs of this MPI. It is of another MPI where its own cannot (Need).
	Mpiexec string
	// openMPILaunches: Mpiexec is Open MPI's.
	openMPILaunches bool
}

// binDirs are where systems other than Debian keep the commands of an MPI, with their plain names.
var binDirs = map[string][]string{
	"mpich":   {"/usr/lib64/mpich/bin", "/usr/lib/mpich/bin", "/opt/mpich/bin"},
	"openmpi": {"/usr/lib64/openmpi/bin", "/usr/lib/openmpi/bin", "/opt/openmpi/bin"},
}

// Names are the MPIs that Each goes through.
func Names() []string { return []string{"mpich", "openmpi"} }

// Find looks for an MPI by name ("mpich" or "openmpi"). The error names the first command that is missing.
func Find(name string) (MPI, error) {
	if !slices.Contains(Names(), name) {
		return MPI{}, fmt.Errorf("mpitest: no MPI is called %q; there are %s", name, strings.Join(Names(), ", "))
	}
	mpi := MPI{
		Name: name, Mpicc: find(name, "mpicc"), Mpifort: find(name, "mpifort"), Mpicxx: find(name, "mpicxx"),
		Mpiexec: find(name, "mpiexec"),
	}
	mpi.openMPILaunches = name == "openmpi"
	for command, path := range map[string]string{"mpicc": mpi.Mpicc, "mpiexec": mpi.Mpiexec} {
		if path == "" {
			return MPI{}, fmt.Errorf("mpitest: %s is not installed: found neither %s.%s on PATH nor %s in %s (make "+
				"setup installs it)",
				name, command, name, command, strings.Join(binDirs[name], ", "))
		}
	}
	return mpi, nil
}

func find(name, command string) string {
	if path, err := exec.LookPath(command + "." + name); err == nil {
		return path
	}
	for _, dir := range binDirs[name] {
		if path, err := exec.LookPath(filepath.Join(dir, command)); err == nil {
			return path
		}
	}
	return ""
}

// Need returns the named MPI, or skips or fails the test (see the package comment).
//
// The MPICH of Ubuntu 24.04 is built for PMIx, and so no rank that its own mpiexec starts knows of the others; Open
// MPI's mpiexec starts its programs as it should. So what starts two ranks that know of each other is tried, once for
// each installation.
func Need(t testing.TB, name string) MPI {
	t.Helper()
	mpi, err := Find(name)
	if err != nil {
		Missing(t, err.Error())
	}
	return mpi.withWorkingLauncher(t)
}

// Missing ends the test because something that only `make setup` brings is not installed: skipped with the reason, or
// failed where COHORT_REQUIRE_MPI is 1.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(RequireVar) == "1" {
		t.Fatalf("%s (%s=1, so this is a failure)", reason, RequireVar)
	}
	t.Skip(reason)
}

// Each runs a subtest for each MPI, named after it.
func Each(t *testing.T, test func(t *testing.T, mpi MPI)) {
	t.Helper()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) { test(t, Need(t, name)) })
	}
}

// EachParallel is Each for tests that mind nobody beside them: t and its subtests run in parallel with others.
func EachParallel(t *testing.T, test func(t *testing.T, mpi MPI)) {
	t.Helper()
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, Need(t, name))
		})
	}
}

// Flags are the launcher flags without which a test may not start n ranks on a small machine: Open MPI refuses more
// ranks than cores, and binds the ranks of jobs that run at the same time to the same cores.
func (m MPI) Flags() []string {
	if m.openMPILaunches {
		return []string{"--oversubscribe", "--bind-to", "none"}
	}
	return nil
}

// Env is the environment for a launcher, for use as exec.Cmd.Env: this process's, with what lets Open MPI run as root,
// and with the equivalent of Flags for launchers that are started by others.
func (m MPI) Env() []string {
	env := os.Environ()
	if m.openMPILaunches {
		env = append(
			env,
			"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", // Open MPI 4
			"PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1", // Open MPI 5
			"OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
			"OMPI_MCA_hwloc_base_binding_policy=none", "PRTE_MCA_hwloc_default_binding_policy=none",
		)
	}
	return env
}

// Command prepares `mpiexec -n N PROG ARGS`, with Flags and Env. When ctx ends the launcher is asked to end its ranks
// (SIGTERM), and killed if it has not after 10 s. It is asked too when the process that starts the command is killed:
// Start it in a test without goroutines that end locked to their thread, which would count as that.
func (m MPI) Command(ctx context.Context, n int, prog string, args ...string) *exec.Cmd {
	all := append(m.Flags(), "-n", strconv.Itoa(n), prog)
	cmd := exec.CommandContext(ctx, m.Mpiexec, append(all, args...)...)
	cmd.Env = m.Env()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return cmd
}
