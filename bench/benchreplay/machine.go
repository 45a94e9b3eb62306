package benchreplay

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/internal/tool"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/runner"
)

// Machine is what the figures belong to.
type Machine struct {
	CPU     string            `json:"cpu"`
	Cores   int               `json:"cores"`
	Memory  string            `json:"memory"`
	Kernel  string            `json:"kernel"`
	System  string            `json:"system"`
	MPIs    map[string]string `json:"mpis"` // versions
	Cohort  string            `json:"cohort"`
	Began   time.Time         `json:"began"`
	Load    string            `json:"load"`    // averages over 1, 5 and 15 minutes before the first run
	Minutes float64           `json:"minutes"` // how long all took
}

// Look finds out about this machine.
func Look(ctx context.Context, mpis []string) Machine {
	m := Machine{
		CPU: fieldOf("/proc/cpuinfo", "model name", ":"), Cores: launch.Cores(),
		Memory: fieldOf("/proc/meminfo", "MemTotal", ":"),
		System: strings.Trim(fieldOf("/etc/os-release", "PRETTY_NAME", "="), `"`), MPIs: map[string]string{},
		Cohort: launch.Version(), Began: time.Now(),
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	for _, mpi := range mpis {
		if found, err := pmpi.FindMPI(mpi); err == nil {
			m.MPIs[mpi] = found.MPI.Title() + " " + runner.MPIVersion(ctx, found.Mpiexec)
		}
	}
	if head, err := tool.Ask(ctx, "git", "rev-parse", "--short=12", "HEAD"); err == nil &&
		!strings.Contains(m.Cohort, " ") {
		m.Cohort += " " + strings.TrimSpace(head)
	}
	return m
}

// fieldOf is the value in the first line of a file that begins with a name.
func fieldOf(path, name, separator string) string {
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer file.Close() //nolint:errcheck // read only
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if key, value, found := strings.Cut(lines.Text(), separator); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func (m *Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s; %s, %s", m.CPU, m.Cores, m.Memory, m.System, m.Kernel)
}
