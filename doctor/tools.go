package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/internal/tool"
	"github.com/cohort-debugger/cohort/pmpi"
)

const gdbCosts = "\"cohort debug\", \"cohort dap\" and the editors cannot debug. \"cohort record\" and \"cohort " +
	"replay\" work without."

// oldestGdb is the oldest major version that Cohort is tested with.
const oldestGdb = 10

var numbers = regexp.MustCompile(`(\d+)(\.\d+)+`) //nolint:gochecknoglobals // constant

func debugger(ctx context.Context) []Check {
	path, err := exec.LookPath("gdb")
	if err != nil {
		return []Check{{
			Name: "gdb", Status: Missing, Found: "There is no gdb in PATH.", Costs: gdbCosts,
			Fix: install("gdb"),
		}}
	}
	out, err := tool.Ask(ctx, path, "-nx", "--version")
	if err != nil {
		return []Check{{
			Name: "gdb", Status: Missing, Found: fmt.Sprintf("%s does not work: %v.", path, err),
			Costs: gdbCosts, Fix: install("gdb"),
		}}
	}
	c := Check{Name: "gdb", Status: OK, Found: fmt.Sprintf("%s (%s)", firstLine(out), path)}
	if m := numbers.FindStringSubmatch(firstLine(out)); m != nil {
		if major, err := strconv.Atoi(m[1]); err == nil && major < oldestGdb {
			c.Status, c.Costs = Warning,
				fmt.Sprintf("Cohort is tested with gdb %d and later; debugging may fail in places.", oldestGdb)
			c.Fix = install("gdb")
		}
	}
	python := Check{Name: "gdb python", Status: OK}
	out, err = tool.Ask(ctx, path, "-nx", "-batch", "-ex", `python import sys; print("python", sys.version.split()[0])`)
	if line := firstLine(out); err == nil && strings.HasPrefix(line, "python ") {
		python.Found = line
	} else {
		python.Status, python.Found = Warning, "This gdb was built without Python."
		python.Costs, python.Fix = "Values of C++ containers are shown by their internals.", install("gdb")
	}
	return []Check{c, python}
}

func ptrace(ctx context.Context) []Check {
	var checks []Check
	scope := Check{Name: "ptrace scope", Status: OK, Found: "There is no Yama restriction."}
	if text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		switch s := strings.TrimSpace(string(text)); s {
		case "0":
			scope.Found = "Yama's ptrace_scope is 0: no restriction."
		case "1":
			scope.Status, scope.Found = Note, "Yama's ptrace_scope is 1: a debugger may trace what it has started."
			scope.Costs = "Attaching to a job that runs already is refused; debugging a job that Cohort starts is not."
			scope.Fix = "sysctl kernel.yama.ptrace_scope=0, as root"
		default:
			scope.Status, scope.Found = Warning, fmt.Sprintf("Yama's ptrace_scope is %s: only root may trace.", s)
			scope.Costs, scope.Fix = gdbCosts, "sysctl kernel.yama.ptrace_scope=1, as root"
		}
	}
	checks = append(checks, scope)
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		return checks // said already
	}
	child := Check{Name: "gdb on a child", Status: OK, Found: "gdb can start and stop a program."}
	out, err := tool.Ask(ctx, gdb, "-nx", "-batch", "-ex", "set startup-with-shell off", "-ex", "starti", "-ex", "kill",
		"/bin/true")
	if err != nil || !strings.Contains(out, "Program stopped") {
		child.Status, child.Found = Missing, fmt.Sprintf("gdb cannot start a program: %s", reason(out))
		child.Costs = gdbCosts
		child.Fix = "In a container, allow ptrace: docker run --cap-add=SYS_PTRACE --security-opt seccomp=unconfined"
	}
	return append(checks, child)
}

// reason is the line in which gdb says what is wrong.
func reason(out string) string {
	for line := range strings.SplitSeq(out, "\n") {
		for _, word := range []string{"ptrace", "not permitted", "rror", "annot"} {
			if strings.Contains(line, word) {
				return line
			}
		}
	}
	return firstLine(out)
}

func mpis(ctx context.Context) []Check {
	var checks []Check
	complete := 0
	for _, family := range []struct{ name, title, runtime, develop string }{
		{"mpich", "MPICH", "mpich", "libmpich-dev"},
		{"openmpi", "Open MPI", "openmpi-bin", "libopenmpi-dev"},
	} {
		c := Check{Name: family.title, Status: OK}
		found, err := pmpi.FindMPI(family.name)
		if err != nil {
			c.Status, c.Found, c.Fix = Note, err.Error(), install(family.runtime, family.develop)
			if !errors.As(err, new(*pmpi.MissingError)) {
				c.Status = Warning
			}
			c.Costs = fmt.Sprintf("Programs that are linked to %s cannot be recorded or debugged.", family.title)
			checks = append(checks, c)
			continue
		}
		version := "of unknown version"
		if out, err := tool.Ask(ctx, found.Mpiexec, "--version"); err == nil || out != "" {
			if v := numbers.FindString(out); v != "" {
				version = v
			}
		}
		c.Found = fmt.Sprintf("%s %s: %s, %s", family.title, version, found.Mpiexec, found.Mpicc)
		checks = append(checks, c, interposer(ctx, family.title, found), fortran(family.title, found))
		complete++
	}
	if complete == 0 {
		for i := range checks {
			checks[i].Status = Missing
		}
	}
	return checks
}

func interposer(ctx context.Context, title string, found pmpi.Installation) Check {
	library, err := pmpi.Build(ctx, pmpi.Options{Mpicc: found.Mpicc})
	if err != nil {
		return Check{
			Name: title + " interposer", Status: Warning, Found: "It cannot be built: " + err.Error(),
			Costs: "Nothing that is linked to " + title + " can be recorded or replayed, and mpipp does not work.",
			Fix:   "See what the compiler says, and install what is missing, such as: " + install("gcc", "libc6-dev"),
		}
	}
	return Check{Name: title + " interposer", Status: OK, Found: library.Path}
}

func fortran(title string, found pmpi.Installation) Check {
	suffix := strings.TrimPrefix(filepath.Base(found.Mpicc), "mpicc")
	path := filepath.Join(filepath.Dir(found.Mpicc), "mpifort"+suffix)
	if _, err := exec.LookPath(path); err != nil {
		return Check{
			Name: title + " Fortran", Status: Note, Found: "There is no " + path + ".",
			Costs: "Fortran programs cannot be built here; those that are built already can be debugged.",
			Fix:   install("gfortran"),
		}
	}
	return Check{Name: title + " Fortran", Status: OK, Found: path}
}

func compilers(ctx context.Context) []Check {
	var checks []Check
	for _, c := range []struct {
		name, debian, costs string
		status              Status
	}{
		{"gcc", "gcc", "The interposer cannot be built, so nothing can be recorded or replayed, unless mpicc uses " +
			"another compiler.", Warning},
		{"g++", "g++", "C++ programs cannot be built here.", Note},
		{"gfortran", "gfortran", "Fortran programs cannot be built here.", Note},
	} {
		path, err := exec.LookPath(c.name)
		if err != nil {
			checks = append(checks, Check{
				Name: c.name, Status: c.status, Found: "There is no " + c.name + " in PATH.",
				Costs: c.costs, Fix: install(c.debian),
			})
			continue
		}
		out, err := tool.Ask(ctx, path, "--version")
		found := firstLine(out)
		if err != nil {
			found = path
		}
		checks = append(checks, Check{Name: c.name, Status: OK, Found: found})
	}
	return checks
}
