package cohorttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Kill ends one process of a job whose cohort is known: "cohort" itself, its "launcher", or the "agent", the "gdb"
// or the program ("rank") of a rank.
func (w *Workplace) Kill(cohort int, role string, rank int) {
	w.T.Helper()
	pid := cohort
	if role != "cohort" {
		pid = w.Part(cohort, role, rank)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		w.T.Fatalf("killing the %s (process %d): %v", role, pid, err)
	}
}

// Part is the id of one process of a job, named as for Kill. There must be exactly one.
func (w *Workplace) Part(cohort int, role string, rank int) int {
	w.T.Helper()
	var found []int
	var seen []string
	for _, line := range w.Processes() {
		pidText, _, _ := strings.Cut(line, " ")
		pid, err := strconv.Atoi(pidText)
		if err != nil {
			w.T.Fatal(err)
		}
		is := roleOf(pid, cohort)
		seen = append(seen, fmt.Sprintf("%s (%s)", line, is))
		if is == role && (role == "launcher" || rankOf(pid) == rank) {
			found = append(found, pid)
		}
	}
	if len(found) != 1 {
		w.T.Fatalf("%d processes are the %s of rank %d: %v", len(found), role, rank, seen)
	}
	return found[0]
}

func roleOf(pid, cohort int) string {
	dir := fmt.Sprintf("/proc/%d", pid)
	cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return "gone"
	}
	args := strings.Split(string(cmdline), "\x00")
	if len(args) < 2 {
		return "?"
	}
	name := filepath.Base(args[0])
	switch {
	case pid == cohort:
		return "cohort"
	case name == "cohort" && (args[1] == "agent" || args[1] == "guard"):
		return args[1]
	case strings.HasPrefix(name, "mpiexec"), strings.HasPrefix(name, "mpirun"):
		return "launcher"
	case name == "gdb":
		return "gdb"
	case strings.HasPrefix(name, "hydra"), strings.HasPrefix(name, "orted"), strings.HasPrefix(name, "prted"):
		return "helper of the launcher"
	}
	return "rank"
}

// rankOf reads the rank that the launcher gave a process; -1: none.
func rankOf(pid int) int {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return -1
	}
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"} {
		for v := range strings.SplitSeq(string(environ), "\x00") {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				if rank, err := strconv.Atoi(value); err == nil {
					return rank
				}
			}
		}
	}
	return -1
}
