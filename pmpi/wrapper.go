package pmpi

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cohort-debugger/cohort/internal/tool"
)

// wrapper is what an MPI compiler wrapper says about itself.
type wrapper struct {
	show        string // the whole answer to -show
	mpi         MPI
	compiler    string   // the compiler that it runs
	libraries   []string // names given with -l
	libraryDirs []string
}

// wrapperShow asks an mpicc what it would run. The family is read from the mpi.h that it would include.
func wrapperShow(ctx context.Context, mpicc string) (wrapper, error) {
	out, err := tool.Ask(ctx, mpicc, "-show")
	if err != nil {
		return wrapper{}, fmt.Errorf("asking %s what it would run (-show): %w: %s", mpicc, err, strings.TrimSpace(out))
	}
	w := wrapper{show: strings.TrimSpace(out)}
	fields := strings.Fields(out)
	if len(fields) == 0 {
		return wrapper{}, fmt.Errorf("asking %s what it would run (-show): it said nothing", mpicc)
	}
	w.compiler = fields[0]
	var includes []string
	for i := 1; i < len(fields); i++ {
		take := func(prefix string) (string, bool) {
			value, ok := strings.CutPrefix(fields[i], prefix)
			if ok && value == "" && i+1 < len(fields) {
				i++
				value = fields[i]
			}
			return value, ok
		}
		if dir, ok := take("-I"); ok {
			includes = append(includes, dir)
		} else if dir, ok := take("-L"); ok {
			w.libraryDirs = append(w.libraryDirs, dir)
		} else if name, ok := take("-l"); ok {
			w.libraries = append(w.libraries, name)
		}
	}
	for _, dir := range append(includes, "/usr/local/include", "/usr/include") {
		header, err := os.ReadFile(filepath.Join(dir, "mpi.h"))
		if err != nil {
			continue
		}
		switch text := string(header); {
		case strings.Contains(text, "OMPI_MAJOR_VERSION"), strings.Contains(text, "OPEN_MPI"):
			w.mpi = OpenMPI
		case strings.Contains(text, "MPICH_VERSION"), strings.Contains(text, "I_MPI_VERSION"):
			w.mpi = MPICH
		}
		break
	}
	return w, nil
}

// library is the path of the MPI library that the wrapper links to; empty if it is not found where the wrapper says.
func (w wrapper) library() string {
	dirs := append(append([]string{}, w.libraryDirs...), newLibrarySearch().system...)
	for _, name := range w.libraries {
		for _, dir := range dirs {
			path := filepath.Join(dir, "lib"+name+".so")
			if resolved, err := filepath.EvalSymlinks(path); err == nil && isMPILibrary(resolved) {
				return resolved
			}
		}
	}
	return ""
}
