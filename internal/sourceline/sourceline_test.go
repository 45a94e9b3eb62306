package sourceline_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/internal/sourceline"
)

// build compiles a source that puts addresses into a table called `places`, of pointers.
func build(t *testing.T, name, source string, command ...string) string {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "-o", "program", name)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "program")
}

// find looks up the address of each label: a symbol that assembly put there.
func find(t *testing.T, path string, labels ...string) map[string]sourceline.Location {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	f, err := sourceline.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]sourceline.Location{}
	for _, s := range symbols {
		for _, label := range labels {
			if s.Name == label {
				all[label] = f.At(s.Value)
			}
		}
	}
	return all
}

const csource = `#define MARK(name) __asm__ volatile(".globl " #name "\n" #name ": nop")
static inline __attribute__((always_inline)) void inner(void) {
  MARK(in_inner);
}
static __attribute__((noinline)) void outer(void) {
  {
    int x = 1;
    MARK(in_outer);
    if (x) inner();
  }
}
int main(void) {
  MARK(in_main);
  outer();
  return 0;
}
`

func TestFunctionsOfC(t *testing.T) {
	for _, flags := range [][]string{{"-g", "-O0"}, {"-g", "-O2"}, {"-g", "-O2", "-gdwarf-4"}} {
		path := build(t, "program.c", csource, append([]string{"gcc"}, flags...)...)
		for label, want := range map[string]string{
			"in_inner": "inner at program.c:3",
			"in_outer": "outer at program.c:8", "in_main": "main at program.c:13",
		} {
			l := find(t, path, label)[label]
			if l.File = filepath.Base(l.File); l.String() != want {
				t.Errorf("%v: %s is %v, want %s", flags, label, l, want)
			}
		}
	}
	path := build(t, "program.c", csource, "gcc", "-O0")
	if l := find(t, path, "in_outer")["in_outer"]; l.Function != "outer" || l.File != "" {
		t.Errorf("without debug information: %+v", l)
	}
}

const fortranSource = `module solver
contains
  subroutine step()
    call mark_step()
  contains
    subroutine mark_step()
      call mark(1)
    end subroutine
  end subroutine
end module
program heat
  use solver
  call step()
end program
subroutine mark(n)
  integer :: n
  if (n > 2) print *, n
end subroutine
`

func TestFunctionsOfFortran(t *testing.T) {
	path := build(t, "program.f90", fortranSource, "gfortran", "-g", "-O0")
	for label, want := range map[string]string{
		"__solver_MOD_step": "step at program.f90:3", "mark_step.0": "mark_step at program.f90:6",
		"MAIN__": "heat at program.f90:11", "mark_": "mark at program.f90:15",
	} {
		l := find(t, path, label)[label]
		if l.File = filepath.Base(l.File); l.String() != want {
			t.Errorf("%s is %v, want %s", label, l, want)
		}
	}
}

func TestNoFile(t *testing.T) {
	if _, err := sourceline.Open(filepath.Join(t.TempDir(), "none")); err == nil ||
		!strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
}

func TestInProcess(t *testing.T) {
	path := build(t, "program.c", `#include <stdio.h>
int main(void) {
  printf("%p\n", (void *)main);
  fflush(stdout);
  getchar();
}
`, "gcc", "-g")
	cmd := exec.CommandContext(t.Context(), path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pc uint64
	if _, err := fmt.Fscanf(out, "%v", &pc); err != nil {
		t.Fatal(err)
	}
	l, err := sourceline.InProcess(cmd.Process.Pid, pc)
	if l.File = filepath.Base(l.File); err != nil || l.String() != "main at program.c:2" {
		t.Errorf("%v, %v", l, err)
	}
	if l, err := sourceline.InProcess(cmd.Process.Pid, 16); err == nil {
		t.Errorf("an address that is not mapped is %v", l)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
