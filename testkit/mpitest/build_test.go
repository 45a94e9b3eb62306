package mpitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stoppedTest stands in for a test that Missing or Build ends: it notes how, and ends by a panic with itself.
type stoppedTest struct {
	testing.TB
	skipped, failed string
}

func (s *stoppedTest) Helper() {}

func (s *stoppedTest) Skip(args ...any) {
	s.skipped = fmt.Sprint(args...)
	panic(s)
}

func (s *stoppedTest) Fatal(args ...any) {
	s.failed = fmt.Sprint(args...)
	panic(s)
}

func (s *stoppedTest) Fatalf(format string, args ...any) {
	s.failed = fmt.Sprintf(format, args...)
	panic(s)
}

// stop runs what should end a test, and returns how it did.
func stop(t *testing.T, run func(testing.TB)) (s *stoppedTest) {
	t.Helper()
	s = &stoppedTest{TB: t}
	defer func() {
		if ended := recover(); ended != nil && ended != any(s) {
			panic(ended)
		}
	}()
	run(s)
	return s
}

func TestMissingSkipsOrFails(t *testing.T) {
	t.Setenv(RequireVar, "")
	if s := stop(t, func(tb testing.TB) {
		Missing(tb, "no such thing")
	}); s.skipped != "no such thing" || s.failed != "" {
		t.Errorf("skipped with %q, failed with %q", s.skipped, s.failed)
	}
	t.Setenv(RequireVar, "1")
	if s := stop(t, func(tb testing.TB) {
		Missing(tb, "no such thing")
	}); s.skipped != "" || !strings.Contains(s.failed, "no such thing") {
		t.Errorf("skipped with %q, failed with %q", s.skipped, s.failed)
	}
}

func needCC(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		Missing(t, "no C compiler is installed")
	}
	return cc
}

// write puts a C program that prints a word into a directory.
func write(t *testing.T, dir, word string) string {
	t.Helper()
	path := filepath.Join(dir, "word.c")
	source := fmt.Sprintf("#include <stdio.h>\nint main(void) { puts(%q); return 0; }\n", word)
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func says(t *testing.T, binary, word string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), binary).Output()
	if err != nil || string(output) != word+"\n" {
		t.Errorf("%s: %v, said %q, not %q", binary, err, output, word)
	}
}

func TestBuildFollowsItsInputs(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cc, dir := needCC(t), t.TempDir()
	one := build(t, cc, write(t, dir, "one"), nil)
	says(t, one, "one")
	if again := build(t, cc, write(t, dir, "one"), nil); again != one {
		t.Errorf("the same inputs gave %s, then %s", one, again)
	}
	two := build(t, cc, write(t, dir, "two"), nil)
	says(t, two, "two")
	if optimised := build(t, cc, write(t, dir, "two"), []string{"-O2"}); optimised == two {
		t.Error("other flags gave the same binary")
	}
	if err := os.WriteFile(filepath.Join(dir, "some.h"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if withHeader := build(t, cc, write(t, dir, "two"), nil); withHeader == two {
		t.Error("another header gave the same binary")
	}
	if filepath.Base(two) != "word" {
		t.Errorf("the program is called %s", filepath.Base(two))
	}
}

func TestBuildShowsTheCompilersMessage(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cc, path := needCC(t), filepath.Join(t.TempDir(), "bad.c")
	if err := os.WriteFile(path, []byte("int main(void) { return nowhere; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := stop(t, func(tb testing.TB) { build(tb, cc, path, nil) })
	if !strings.Contains(s.failed, "nowhere") || !strings.Contains(s.failed, "bad.c") {
		t.Errorf("a program that does not compile failed with %q", s.failed)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "cohort-test", "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// TestBuildAtOnce has several tests build one program at the same time, as test processes do.
func TestBuildAtOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cc, path := needCC(t), write(t, t.TempDir(), "built")
	built := make(chan string)
	const n = 4
	for range n {
		go func() {
			key, err := buildKey(cc, path, buildFlags)
			binary := filepath.Join(os.Getenv("XDG_CACHE_HOME"), key, "word")
			if err == nil {
				err = compile(cc, path, buildFlags, binary)
			}
			if err != nil {
				binary = err.Error()
			}
			built <- binary
		}()
	}
	for range n {
		says(t, <-built, "built")
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "*", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the program there is %v (%v)", left, err)
	}
}
