package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/launch/agent"
)

// process is one that runs on this host, as far as /proc lets this user see it.
type process struct {
	pid, parent int
	command     []string
	rank, size  int // -1: its launcher, if any, did not say; size 0 likewise
	mpi         bool
	cohort      bool // has libcohort loaded
	tracer      int
	refused     error // why its environment cannot be read
}

func (p *process) String() string {
	return fmt.Sprintf("process %d (%s)", p.pid, strings.Join(p.command, " "))
}

// processTable is all that run.
type processTable map[int]*process

func readProcesses() processTable {
	all := processTable{}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			if p := readProcess(pid); p != nil {
				all[pid] = p
			}
		}
	}
	return all
}

// readProcess is nil for a process that has ended.
func readProcess(pid int) *process {
	p := &process{pid: pid, rank: -1}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch {
		case name == "State" && strings.HasPrefix(value, "Z"):
			return nil
		case name == "PPid":
			p.parent, _ = strconv.Atoi(value) // Linux writes a number
		case name == "TracerPid":
			p.tracer, _ = strconv.Atoi(value) // Linux writes a number
		}
	}
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		p.command = strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		p.refused = err
		return p
	}
	environment := map[string]string{}
	for v := range strings.SplitSeq(string(environ), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		environment[name] = value
	}
	if rank, size, err := agent.Rank(func(name string) string { return environment[name] }); err == nil {
		p.rank, p.size = rank, size
		p.readMaps()
	}
	return p
}

func (p *process) readMaps() {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		base := filepath.Base(strings.TrimSpace(line))
		p.mpi = p.mpi || strings.HasPrefix(base, "libmpi")
		p.cohort = p.cohort || cohortLibrary.MatchString(base)
	}
}

// runs tells whether it runs a program of that name or path; for an interpreter, also a script of it.
func (p *process) runs(program string) bool {
	names := p.command[:min(len(p.command), 2)]
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid)); err == nil {
		names = append(slices.Clone(names), exe)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return name == program || !strings.Contains(program, "/") && filepath.Base(name) == program
	})
}

// under tells whether p is a descendant of an ancestor.
func (t processTable) under(p *process, ancestor int) bool {
	for p != nil && p.pid != ancestor {
		p = t[p.parent]
	}
	return p != nil
}

// launcher is what has started a rank: its nearest ancestor that is no rank.
func (t processTable) launcher(p *process) int {
	for p != nil && p.rank >= 0 {
		if t[p.parent] == nil {
			return p.parent
		}
		p = t[p.parent]
	}
	if p == nil {
		return 0
	}
	return p.pid
}

// ranks are the processes of ranks that a target names, by rank.
func (t processTable) ranks(target protocol.AttachTarget) (map[int]*process, error) {
	var candidates []*process
	var err error
	if len(target.Pids) > 0 {
		candidates, err = t.byPids(target.Pids)
	} else {
		candidates, err = t.byProgram(target.Program)
	}
	if err != nil {
		return nil, err
	}
	found := map[int]*process{}
	for _, p := range candidates {
		other := found[p.rank]
		switch {
		case other == nil, p.mpi && !other.mpi, p.mpi == other.mpi && t.under(p, other.pid):
			found[p.rank] = p
		case p.mpi == other.mpi && !t.under(other, p.pid):
			return nil, refuse("Two processes say that they are rank %d: %v and %v. Name the process ids of the ranks "+
				"of one job.", p.rank, other, p)
		}
	}
	return found, nil
}

func (t processTable) byPids(pids []int) (found []*process, err error) {
	for _, pid := range pids {
		p := t[pid]
		switch {
		case p == nil:
			return nil, refuse("There is no process %d on this host. Attach to the launcher (mpiexec, mpirun), to a "+
				"rank, or to a program by its name, on the host where the ranks run.", pid)
		case p.refused != nil:
			return nil, refuse("%v cannot be looked at: %v. Be the user it belongs to, or root.", p, p.refused)
		case p.rank >= 0:
			found = append(found, p)
			continue
		}
		n := len(found)
		for _, child := range t {
			if child.rank >= 0 && t.under(child, pid) {
				found = append(found, child)
			}
		}
		if len(found) == n {
			return nil, refuse("%v is neither a rank nor a launcher of ranks on this host: nothing that it has "+
				"started has PMI_RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK or SLURM_PROCID in its environment. Name the process "+
				"ids of the ranks, or their program. (Ranks that srun starts are no children of srun.)", p)
		}
	}
	return found, nil
}

func (t processTable) byProgram(program string) (found []*process, err error) {
	jobs := map[int]bool{}
	for _, p := range t {
		if p.rank >= 0 && p.runs(program) && p.pid != os.Getpid() {
			found = append(found, p)
			jobs[t.launcher(p)] = true
		}
	}
	switch {
	case len(found) == 0:
		return nil, refuse("No rank of a job of this user's on this host runs %s. `ps` shows process ids: attach to "+
			"those of the ranks, or to that of their launcher.", program)
	case len(jobs) > 1:
		var launchers []string
		for pid := range jobs {
			launchers = append(launchers, strconv.Itoa(pid))
		}
		slices.Sort(launchers)
		return nil, refuse("Ranks of %d jobs run %s. Attach to one of them by its process id: %s.", len(jobs), program,
			strings.Join(launchers, ", "))
	}
	return found, nil
}
