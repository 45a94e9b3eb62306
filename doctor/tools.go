package doctor

import (
	"cmp"
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

const gdbCosts = `"cohort debug", "cohort dap" and the editors cannot debug. "cohort record" and "cohort replay" ` +
	"work without."

// oldestGdb is the oldest major version that Cohort is tested with.
const oldestGdb = 10

var numbers = regexp.MustCompile(`(\d+)(\.\d+)+`)

func debugger(ctx context.Context) []Check {
	c := Check{Name: "gdb"}
	path, err := exec.LookPath(c.Name)
	found := "There is no gdb in PATH."
	out := ""
	if err == nil {
		out, err = tool.Ask(ctx, path, "-nx", "--version")
		found = fmt.Sprintf("%s does not work: %v.", path, err)
	}
	if err != nil {
		c.Status, c.Found, c.Costs, c.Fix = Missing, found, gdbCosts, install("gdb")
		return []Check{c}
	}
	c.Found = fmt.Sprintf("%s (%s)", firstLine(out), path)
	if m := numbers.FindStringSubmatch(firstLine(out)); m != nil {
		if major, err := strconv.Atoi(m[1]); err == nil && major < oldestGdb {
			c.Status, c.Fix = Warning, install("gdb")
			c.Costs = fmt.Sprintf("Cohort is tested with gdb %d and later; debugging may fail in places.", oldestGdb)
		}
	}
	python := Check{Name: "gdb python"}
	out, err = tool.Ask(ctx, path, "-nx", "-batch", "-ex", `python import sys; print("python", sys.version.split()[0])`)
	if python.Found = firstLine(out); err != nil || !strings.HasPrefix(python.Found, "python ") {
		python.Status, python.Found = Warning, "This gdb was built without Python."
		python.Costs, python.Fix = "Values of C++ containers are shown by their internals.", install("gdb")
	}
	return []Check{c, python}
}

func ptrace(ctx context.Context) []Check {
	scope := Check{Name: "ptrace scope", Found: "There is no Yama restriction."}
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
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		return []Check{scope} // said already
	}
	child := Check{Name: "gdb on a child", Found: "gdb can start and stop a program."}
	out, err := tool.Ask(ctx, gdb, "-nx", "-batch", "-ex", "set startup-with-shell off", "-ex", "starti",
		"-ex", "set var $mxcsr = $mxcsr ^ 1", "-ex", "kill", "/bin/true")
	if err != nil || !strings.Contains(out, "Program stopped") {
		child.Status, child.Found = Missing, "gdb cannot start a program: "+reason(out)
		child.Costs = gdbCosts
		child.Fix = "In a container, allow ptrace: docker run --cap-add=SYS_PTRACE --security-opt seccomp=unconfined"
	}
	registers := Check{Name: "gdb registers", Found: "gdb can set the registers of a program."}
	if strings.Contains(out, "Couldn't write extended state status") {
		registers.Status, registers.Found = Warning, "gdb cannot set this processor's vector registers."
		registers.Costs = "The console cannot call functions of the program, nor set variables in such registers."
		registers.Fix = "Install gdb 14 or later, which knows the registers of processors with AMX."
	}
	return []Check{scope, child, registers}
}

var trouble = regexp.MustCompile(`(?m)^.*(ptrace|not permitted|rror|annot).*$`)

// reason is the line in which gdb says what is wrong.
func reason(out string) string { return cmp.Or(trouble.FindString(out), firstLine(out)) }

func mpis(ctx context.Context) []Check {
	var checks []Check
	complete := 0
	for _, family := range []struct{ name, title, runtime, develop string }{
		{"mpich", "MPICH", "mpich", "libmpich-dev"},
		{"openmpi", "Open MPI", "openmpi-bin", "libopenmpi-dev"},
	} {
		c := Check{Name: family.title}
		found, err := pmpi.FindMPI(family.name)
		if err != nil {
			c.Status, c.Found, c.Fix = Warning, err.Error(), install(family.runtime, family.develop)
			if errors.As(err, new(*pmpi.MissingError)) {
				c.Status = Note
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
	c := Check{Name: title + " interposer"}
	library, err := pmpi.Build(ctx, pmpi.Options{Mpicc: found.Mpicc})
	if err != nil {
		c.Status, c.Found = Warning, "It cannot be built: "+err.Error()
		c.Costs = "Nothing that is linked to " + title + " can be recorded or replayed, and mpipp does not work."
		c.Fix = "See what the compiler says, and install what is missing, such as: " + install("gcc", "libc6-dev")
		return c
	}
	c.Found = library.Path
	return c
}

func fortran(title string, found pmpi.Installation) Check {
	suffix := strings.TrimPrefix(filepath.Base(found.Mpicc), "mpicc")
	c := Check{Name: title + " Fortran", Found: filepath.Join(filepath.Dir(found.Mpicc), "mpifort"+suffix)}
	if _, err := exec.LookPath(c.Found); err != nil {
		c.Status, c.Found, c.Fix = Note, "There is no "+c.Found+".", install("gfortran")
		c.Costs = "Fortran programs cannot be built here; those that are built already can be debugged."
	}
	return c
}

func compilers(ctx context.Context) []Check {
	checks := []Check{
		{Name: "gcc", Status: Warning, Costs: "The interposer cannot be built, so nothing can be recorded or " +
			"replayed, unless mpicc uses another compiler."},
		{Name: "g++", Status: Note, Costs: "C++ programs cannot be built here."},
		{Name: "gfortran", Status: Note, Costs: "Fortran programs cannot be built here."},
	}
	for i := range checks {
		c := &checks[i]
		path, err := exec.LookPath(c.Name)
		if err != nil {
			c.Found, c.Fix = "There is no "+c.Name+" in PATH.", install(c.Name)
			continue
		}
		*c = Check{Name: c.Name, Found: path}
		if out, err := tool.Ask(ctx, path, "--version"); err == nil {
			c.Found = firstLine(out)
		}
	}
	return checks
}
