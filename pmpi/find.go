package pmpi

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cohort-debugger/cohort/internal/tool"
)

// Installation is one MPI on this machine. Paths are absolute.
type Installation struct {
	MPI     MPI
	Mpiexec string
	Mpicc   string
}

// FindMPI finds the mpiexec and mpicc of an MPI: of "mpich", "openmpi", or the one that a given mpiexec (a path, or a
// name in PATH) belongs to. It runs `mpiexec --version` and `mpicc -show`, nothing of the user's. A part that is not
// there is a *MissingError.
func FindMPI(which string) (Installation, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*tool.Timeout)
	defer cancel()
	switch which {
	case "mpich":
		return findFamily(ctx, MPICH)
	case "openmpi":
		return findFamily(ctx, OpenMPI)
	case "":
		return Installation{}, errors.New("no MPI was named; use mpich, openmpi, or the path of an mpiexec")
	}
	path, err := exec.LookPath(which)
	if err != nil {
		return Installation{}, fmt.Errorf("%q is neither mpich nor openmpi nor the path of an mpiexec that can be "+
			"executed: %w", which, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return Installation{}, fmt.Errorf("finding %s: %w", which, err)
	}
	mpi, err := launcherFamily(ctx, path)
	if err != nil {
		return Installation{}, err
	}
	return findCompiler(ctx, Installation{MPI: mpi, Mpiexec: path}, siblings(path, mpi))
}

var families = map[MPI]struct {
	name, title string
	launchers   []string
	compilers   []string
	runtime     string // Debian package of mpiexec
	develop     string // Debian package of mpicc
}{
	MPICH: {
		"mpich", "MPICH",
		[]string{"mpiexec.mpich", "mpiexec.hydra", "mpirun.mpich", "mpiexec", "mpirun"},
		[]string{"mpicc.mpich", "mpicc"},
		"mpich", "libmpich-dev",
	},
	OpenMPI: {
		"openmpi", "Open MPI",
		[]string{"mpiexec.openmpi", "mpirun.openmpi", "orterun", "prterun", "mpiexec", "mpirun"},
		[]string{"mpicc.openmpi", "mpicc"},
		"openmpi-bin", "libopenmpi-dev",
	},
}

func findFamily(ctx context.Context, mpi MPI) (Installation, error) {
	found := Installation{MPI: mpi}
	for _, name := range families[mpi].launchers {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if is, err := launcherFamily(ctx, path); err == nil && is == mpi {
			if path, err = filepath.Abs(path); err == nil {
				found.Mpiexec = path
				break
			}
		}
	}
	if found.Mpiexec == "" {
		return Installation{}, &MissingError{mpi, "mpiexec", families[mpi].launchers, families[mpi].runtime}
	}
	return findCompiler(ctx, found, siblings(found.Mpiexec, mpi))
}

// siblings are the places where the mpicc of a launcher may be: beside it or what it links to, under its suffix or
// without one, then in PATH.
func siblings(launcher string, mpi MPI) []string {
	dirs := []string{filepath.Dir(launcher)}
	if resolved, err := filepath.EvalSymlinks(launcher); err == nil && filepath.Dir(resolved) != dirs[0] {
		dirs = append(dirs, filepath.Dir(resolved))
	}
	names := families[mpi].compilers
	if _, suffix, ok := strings.Cut(filepath.Base(launcher), "."); ok {
		names = append([]string{"mpicc." + suffix}, names...)
	}
	var paths []string
	for _, dir := range dirs {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return append(paths, families[mpi].compilers...)
}

func findCompiler(ctx context.Context, found Installation, candidates []string) (Installation, error) {
	for _, candidate := range candidates {
		path, err := exec.LookPath(candidate)
		if err != nil {
			continue
		}
		show, err := wrapperShow(ctx, path)
		if err != nil || show.mpi != found.MPI {
			continue
		}
		if found.Mpicc, err = filepath.Abs(path); err != nil {
			return Installation{}, fmt.Errorf("finding %s: %w", candidate, err)
		}
		return found, nil
	}
	return Installation{}, &MissingError{found.MPI, "mpicc", candidates, families[found.MPI].develop}
}

// launcherFamily asks a launcher for its version.
func launcherFamily(ctx context.Context, path string) (MPI, error) {
	out, err := tool.Ask(ctx, path, "--version")
	switch {
	case strings.Contains(out, "HYDRA"), strings.Contains(out, "Intel(R) MPI"):
		return MPICH, nil
	case strings.Contains(out, "Open MPI"), strings.Contains(out, "OpenRTE"), strings.Contains(out, "PRTE"):
		return OpenMPI, nil
	case err != nil:
		return UnknownMPI, fmt.Errorf("asking %s for its version: %w", path, err)
	default:
		first, _, _ := strings.Cut(out, "\n")
		return UnknownMPI, fmt.Errorf("%s is neither MPICH's nor Open MPI's mpiexec: asked for its version, it said %q",
			path, first)
	}
}
