package pmpi_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

func TestInspect(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, source := range []string{"hello.c", "fintegrate.f90"} {
			got, err := pmpi.Inspect(mpi.Build(t, source))
			if err != nil || got.MPI.String() != mpi.Name || got.Library == "" {
				t.Errorf("%s: found %+v, %v", source, got, err)
			}
		}
	})
}

func TestInspectRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		program string
		says    string
	}{
		"missing":        {filepath.Join(dir, "nothing"), "does not exist. Check the path, or build it first."},
		"not in PATH":    {"cohort-has-no-such-program", "does not exist (it is not in PATH)"},
		"not executable": {file("text", "text", 0o600), "chmod +x"},
		"a directory":    {dir, "is a directory"},
		"a script": {
			file("script", "#!/usr/bin/env python3\n", 0o700),
			"is not a compiled program (it begins with #!/usr/bin/env python3)",
		},
		"empty":      {file("empty", "", 0o700), "not a compiled program"},
		"broken ELF": {file("elf", "\x7fELF\x02\x01\x01", 0o700), "not a compiled program"},
		"no MPI":     {mpitest.BuildPlain(t, "nompi.c"), "is not linked to an MPI library. Build it with mpicc"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			_, err := pmpi.Inspect(c.program)
			var program *pmpi.ProgramError
			if !errors.As(err, &program) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("found %v", err)
			}
		})
	}
}

// TestInspectStaticMPI: a program that holds the library itself. Any function named PMPI_Init stands for one.
func TestInspectStaticMPI(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		mpitest.Missing(t, "no C compiler: cc is not in PATH")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "static.c"), filepath.Join(dir, "static")
	if err := os.WriteFile(source,
		[]byte("int PMPI_Init(void) { return 0; }\nint main(void) { return PMPI_Init(); }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, err = pmpi.Inspect(program)
	var refused *pmpi.ProgramError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "linked into it statically") {
		t.Errorf("found %v", err)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01\x00"))
	f.Add([]byte("#!/bin/sh\n"))
	if self, err := os.Executable(); err == nil {
		if head, err := os.ReadFile(self); err == nil {
			f.Add(head[:4096])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, data, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := pmpi.Inspect(path); err == nil {
			t.Error("an MPI program made of noise")
		}
		if _, err := pmpi.BuildID(path); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}

func TestFindMPI(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, which := range []string{mpi.Name, mpi.Mpiexec} {
			got, err := pmpi.FindMPI(which)
			if err != nil || got.MPI.String() != mpi.Name || !filepath.IsAbs(got.Mpiexec) ||
				!filepath.IsAbs(got.Mpicc) {
				t.Errorf("%s: found %+v, %v", which, got, err)
			}
		}
		// Siblings of a launcher under its plain name, as in an installation of one's own.
		dir := t.TempDir()
		for name, target := range map[string]string{"mpiexec": mpi.Mpiexec, "mpicc": mpi.Mpicc} {
			script := "#!/bin/sh\nexec " + target + " \"$@\"\n"
			if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		got, err := pmpi.FindMPI(filepath.Join(dir, "mpiexec"))
		if err != nil || got.MPI.String() != mpi.Name || got.Mpicc != filepath.Join(dir, "mpicc") {
			t.Errorf("found %+v, %v", got, err)
		}
	})
	for _, which := range []string{"", "lam", "/nonexistent/mpiexec", "/bin/true"} {
		if got, err := pmpi.FindMPI(which); err == nil {
			t.Errorf("%q: found %+v", which, got)
		}
	}
	t.Setenv("PATH", t.TempDir())
	_, err := pmpi.FindMPI("mpich")
	var missing *pmpi.MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "apt-get install mpich") {
		t.Errorf("with an empty PATH: %v", err)
	}
}

func TestWiredByPMIx(t *testing.T) {
	dir := t.TempDir()
	compile := func(name string, args ...string) string {
		out := filepath.Join(dir, name)
		cmd := exec.Command("cc", append([]string{"-shared", "-fPIC", "-o", out, "-x", "c", "/dev/null", "-x", "none"},
			args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("cc: %v\n%s", err, text)
		}
		return out
	}
	pmix := compile("libpmix.so", "-Wl,-soname,libpmix.so.2")
	with := compile("libwith.so", "-Wl,--no-as-needed", pmix)
	without := compile("libwithout.so")
	for path, want := range map[string]bool{with: true, without: false, filepath.Join(dir, "absent"): false} {
		if got := pmpi.WiredByPMIx(path); got != want {
			t.Errorf("WiredByPMIx(%s) = %v", filepath.Base(path), got)
		}
	}
}
