package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/launch/jobdir"
)

// enoughShm is what the shared memory of a job of a few ranks takes (Open MPI: 4 MiB per rank).
const enoughShm = 64 << 20

func machine(context.Context) []Check {
	cores := launch.Cores()
	count := Check{Name: "cores", Found: fmt.Sprintf("%d cores, %d hardware threads", cores, runtime.NumCPU())}
	if cores < 4 {
		count.Status = Note
		count.Costs = fmt.Sprintf("Jobs of more than %d ranks share cores and run slower; with MPICH, waiting ranks "+
			"then yield (see --yield).", cores)
	}
	checks := []Check{count, sharedMemory(), jobDirectory()}
	if os.Geteuid() == 0 {
		c := Check{Name: "user", Status: Note, Found: "You are root."}
		if os.Getenv("OMPI_ALLOW_RUN_AS_ROOT") != "1" || os.Getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != "1" {
			c.Costs = "Open MPI refuses to run programs as root."
			c.Fix = "Use another user; or, in a container, export OMPI_ALLOW_RUN_AS_ROOT=1 " +
				"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
		}
		checks = append(checks, c)
	}
	return checks
}

func sharedMemory() Check {
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil {
		return Check{
			Name: "shared memory", Status: Warning, Found: fmt.Sprintf("/dev/shm cannot be used: %v.", err),
			Costs: "MPI programs may not start, or run slowly.",
			Fix:   "mount -t tmpfs none /dev/shm, as root",
		}
	}
	free := fs.Bavail * uint64(fs.Bsize)
	c := Check{Name: "shared memory", Found: fmt.Sprintf("/dev/shm has %d MiB free", free>>20)}
	if free < enoughShm {
		c.Status, c.Costs = Warning, "MPI programs of more than a few ranks may fail with a bus error."
		c.Fix = "Enlarge it: mount -o remount,size=2G /dev/shm, as root; in Docker: docker run --shm-size=2g"
	}
	return c
}

func jobDirectory() Check {
	c := Check{Name: "job directory"}
	dir, err := jobdir.Create()
	if err != nil {
		c.Status, c.Found, c.Costs = Missing, err.Error(), "No job can be started."
		c.Fix = "Set TMPDIR to a directory of your own with a short path."
	} else if err := dir.Remove(); err != nil {
		c.Status, c.Found, c.Costs = Warning, err.Error(), "Directories of jobs stay behind."
	} else {
		c.Found = "Jobs have their sockets in " + filepath.Dir(dir.Path)
	}
	return c
}

func terminal(is bool) []Check {
	c := Check{Name: "terminal"}
	term := os.Getenv("TERM")
	switch {
	case !is:
		c.Status, c.Found = Note, "Standard output is not a terminal."
		c.Costs = "Here \"cohort debug\" works with --batch only."
	case term == "" || term == "dumb":
		c.Status, c.Found = Warning, fmt.Sprintf("TERM is %q.", term)
		c.Costs, c.Fix = "The terminal interface cannot draw.", "Use a terminal emulator, or export TERM=xterm-256color"
	case os.Getenv("COLORTERM") == "truecolor" || os.Getenv("COLORTERM") == "24bit":
		c.Found = term + ", 16 million colours"
	case strings.Contains(term, "256color"):
		c.Found = term + ", 256 colours"
	default:
		c.Found = term + ", few colours"
	}
	return []Check{c}
}
