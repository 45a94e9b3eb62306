// Package leftovers removes what an MPI library leaves on the host when its processes are killed instead of ending in
// good order.
//
// **Invariant:** only files of this user's and of one named job are touched.
package leftovers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// NamespaceVar is the environment variable in which a PMIx launcher tells a rank the name of its job.
const NamespaceVar = "PMIX_NAMESPACE"

// SessionDirVar tells mpirun of Open MPI 4 where to keep its session directory on its own host.
const SessionDirVar = "OMPI_MCA_orte_local_tmpdir_base"

// segmentDir is where Open MPI keeps shared memory, unless it was told otherwise.
const segmentDir = "/dev/shm"

// Remove removes the shared memory segments of an Open MPI 4 job, named by its PMIx namespace, which mpirun removes
// unless it is killed itself. All processes of the job must have ended. Other namespaces have none.
func Remove(namespace string) error { return remove(segmentDir, namespace) }

func remove(dir, namespace string) error {
	job, err := strconv.ParseUint(namespace, 10, 32)
	if err != nil {
		return nil //nolint:nilerr // not Open MPI 4: its namespaces are 32-bit numbers
	}
	var paths []string
	for _, kind := range []string{"vader_segment", "sm_segment"} {
		found, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("%s.*.%d.%x.*", kind, os.Getuid(), job)))
		if err != nil {
			return fmt.Errorf("looking for shared memory of a job: %w", err)
		}
		paths = append(paths, found...)
	}
	var failed error
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			continue // gone
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(stat.Uid) != os.Getuid() || !info.Mode().IsRegular() {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
