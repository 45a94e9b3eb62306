package mpitest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// buildFlags give binaries in which a debugger sees every local variable.
var buildFlags = []string{"-g", "-O0", "-Wall", "-Wextra", "-pthread"}

// Root is the root of the repository, found from the test's working directory.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("mpitest: cannot tell the working directory: %v", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("mpitest: no directory above the working directory holds a go.mod; run the test inside the " +
				"repository")
		}
		dir = filepath.Dir(dir)
	}
}

// Source is the path of a file of testprograms/, such as "tsp.c" or "cities10.txt".
func Source(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Root(t), "testprograms", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("mpitest: testprograms/ has no %s: %v", name, err)
	}
	return path
}

// Line is the number of the line of a file of testprograms/ that holds the text, such as "breakpoint: task received".
// It must be exactly one line.
func Line(t testing.TB, name, text string) int {
	t.Helper()
	return LineOfFile(t, Source(t, name), text)
}

// LineOfFile is Line for any file.
func LineOfFile(t testing.TB, path, text string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("mpitest: %v", err)
	}
	found := 0
	for i, line := range strings.Split(string(content), "\n") {
		if !strings.Contains(line, text) {
			continue
		}
		if found != 0 {
			t.Fatalf("mpitest: both line %d and line %d of %s contain %q", found, i+1, path, text)
		}
		found = i + 1
	}
	if found == 0 {
		t.Fatalf("mpitest: no line of %s contains %q", path, text)
	}
	return found
}

// Build compiles a program of testprograms/ (C or Fortran) with debug information and without optimisation, and returns
// the binary's path; its base name is the program's ("tsp"). Extra flags come last. The binary stays in a cache of the
// user's, so do not change it: copy it first.
func (m MPI) Build(t testing.TB, name string, flags ...string) string {
	t.Helper()
	if name == "nompi.c" {
		t.Fatal("mpitest: nompi.c must not be linked to MPI; use mpitest.BuildPlain")
	}
	return m.BuildFile(t, Source(t, name), flags...)
}

// BuildFile is Build for a source file anywhere.
func (m MPI) BuildFile(t testing.TB, path string, flags ...string) string {
	t.Helper()
	compiler := m.Mpicc
	if strings.HasPrefix(filepath.Ext(path), ".f") {
		if compiler = m.Mpifort; compiler == "" {
			Missing(t, fmt.Sprintf("mpitest: %s has no Fortran compiler: found no mpifort", m.Name))
		}
	}
	if filepath.Ext(path) == ".cc" {
		if compiler = m.Mpicxx; compiler == "" {
			Missing(t, fmt.Sprintf("mpitest: %s has no C++ compiler: found no mpicxx", m.Name))
		}
	}
	return build(t, compiler, path, flags)
}

// BuildPlain compiles a program of testprograms/ that does not use MPI, with cc.
func BuildPlain(t testing.TB, name string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		Missing(t, fmt.Sprintf("mpitest: no C compiler is installed: %v", err))
	}
	return build(t, cc, Source(t, name), flags)
}

// build compiles unless a binary of the same inputs is in the cache.
func build(t testing.TB, compiler, source string, extra []string) string {
	t.Helper()
	source, err := filepath.Abs(source) // it ends up in the debug information
	if err != nil {
		t.Fatalf("mpitest: %v", err)
	}
	flags := append(append([]string{}, buildFlags...), extra...)
	key, err := buildKey(compiler, source, flags)
	if err != nil {
		t.Fatalf("mpitest: cannot build %s: %v", source, err)
	}
	program := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
	binary := filepath.Join(cacheDir(t), key, program)
	if built, err := os.Stat(binary); err == nil {
		// The same text, checked out again: a debugger that compares times would take the binary for an old one.
		if text, err := os.Stat(source); err == nil && text.ModTime().After(built.ModTime()) {
			if err := os.Chtimes(binary, time.Time{}, text.ModTime()); err != nil {
				t.Fatalf("mpitest: %v", err)
			}
		}
		return binary
	}
	if err := compile(compiler, source, flags, binary); err != nil {
		t.Fatalf("mpitest: %v", err)
	}
	return binary
}

// cacheDir is per user, so that no other user can put a program there.
func cacheDir(t testing.TB) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("mpitest: nowhere to keep built programs: %v (set HOME or XDG_CACHE_HOME)", err)
	}
	return filepath.Join(dir, "cohort-test")
}

// buildKey hashes all that determines a binary: source, headers beside it and in folders that flags name (-I), flags,
// and the compiler with its MPI.
func buildKey(compiler, source string, flags []string) (string, error) {
	hash := sha256.New()
	var headers []string
	for _, folder := range includes(source, flags) {
		found, err := filepath.Glob(filepath.Join(folder, "*.h"))
		if err != nil {
			return "", fmt.Errorf("look for headers: %w", err)
		}
		headers = append(headers, found...)
	}
	for _, path := range append([]string{source}, headers...) {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n", path, len(content))
		_, _ = hash.Write(content) // never fails
	}
	fmt.Fprintf(hash, "%q %q\n", compiler, flags)
	for _, question := range []string{"--version", "-show"} {
		// -show is only for MPI's compilers; what cc says of it does no harm in a hash.
		answer, _ := exec.Command(compiler, question).CombinedOutput()
		_, _ = hash.Write(answer)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))[:24], nil
}

// includes are the folders in which a source's headers are: its own, and those of -I.
func includes(source string, flags []string) []string {
	folders := []string{filepath.Dir(source)}
	for i, flag := range flags {
		switch folder, ok := strings.CutPrefix(flag, "-I"); {
		case ok && folder != "":
			folders = append(folders, folder)
		case ok && i+1 < len(flags):
			folders = append(folders, flags[i+1])
		}
	}
	return folders
}

// compile writes the binary to a directory of its own and moves it into place.
func compile(compiler, source string, flags []string, binary string) error {
	if err := os.MkdirAll(filepath.Dir(binary), 0o700); err != nil {
		return fmt.Errorf("make the cache of built programs: %w", err)
	}
	scratch, err := os.MkdirTemp(filepath.Dir(binary), "building-*")
	if err != nil {
		return fmt.Errorf("make a directory to build in: %w", err)
	}
	defer os.RemoveAll(scratch)
	unfinished := filepath.Join(scratch, "program")
	arguments := append(append([]string{}, flags...), "-o", unfinished, source, "-lm")
	cmd := exec.Command(compiler, arguments...)
	cmd.Dir = scratch // Fortran compilers leave .mod files
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = io.Writer(&output), &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(arguments, " "), err, output.String())
	}
	if err := os.Rename(unfinished, binary); err != nil {
		return fmt.Errorf("move the built program into place: %w", err)
	}
	return nil
}

// BuildGo builds the Go program in a folder of testprograms/, a module of its own that uses MPI through cgo, without
// optimisation, and returns the binary's path. What can be reused is in Go's own cache.
func (m MPI) BuildGo(t testing.TB, folder string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		Missing(t, fmt.Sprintf("mpitest: cgo needs gcc: %v", err))
	}
	shown, err := exec.Command(m.Mpicc, "-show").Output()
	if err != nil {
		t.Fatalf("mpitest: %s -show: %v", m.Mpicc, err)
	}
	var compile, link []string
	for _, flag := range strings.Fields(string(shown))[1:] {
		switch {
		case strings.HasPrefix(flag, "-I"), strings.HasPrefix(flag, "-D"):
			compile = append(compile, flag)
		case strings.HasPrefix(flag, "-L"), strings.HasPrefix(flag, "-l"), strings.HasPrefix(flag, "-Wl,-rpath"):
			link = append(link, flag)
		}
	}
	target := filepath.Join(cacheDir(t), "go-"+m.Name, folder)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		t.Fatalf("mpitest: %v", err)
	}
	unfinished := fmt.Sprintf("%s-%d-%d", target, os.Getpid(), time.Now().UnixNano())
	cmd := exec.Command("go", "build", "-gcflags=all=-N -l", "-o", unfinished, ".")
	cmd.Dir = Source(t, folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "CC="+gcc, "CGO_CFLAGS=-g -O0 "+strings.Join(compile, " "),
		"CGO_LDFLAGS="+strings.Join(link, " "), "GOFLAGS=", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mpitest: go build in %s: %v\n%s", cmd.Dir, err, output)
	}
	if err := os.Rename(unfinished, target); err != nil {
		t.Fatalf("mpitest: move the built program into place: %v", err)
	}
	return target
}
