package pmpi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/internal/lifetime"
)

// made makes a folder of the cache, with a library in it if asked, that was last changed and used at a time.
func made(t *testing.T, cache, name string, library bool, at time.Time) string {
	t.Helper()
	dir := filepath.Join(cache, name)
	if err := os.MkdirAll(filepath.Join(dir, "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	if library {
		path := filepath.Join(dir, libraryName)
		if err := os.WriteFile(path, []byte("not really"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(dir, at, at); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ended is a process that has gone.
func ended(t *testing.T) lifetime.Process {
	t.Helper()
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	return lifetime.Process{Place: lifetime.Self().Place, Pid: child.Process.Pid, Start: 1}
}

func TestClean(t *testing.T) {
	cache := t.TempDir()
	now := time.Now()
	long, hour := now.Add(-31*24*time.Hour), now.Add(-time.Hour)
	self, gone := lifetime.Self(), ended(t)
	elsewhere := lifetime.Process{Place: "0123456789ab", Pid: gone.Pid, Start: gone.Start}
	type entry struct {
		name    string
		library bool
		at      time.Time
		stays   bool
	}
	entries := []entry{
		{"libcohort-used", true, hour, true},
		{"libcohort-unused", true, long, false},
		{"libcohort-broken", false, long, false},
		{fmt.Sprintf("building-%v-1", self), true, long, true}, // however long ago: this process is at it
		{fmt.Sprintf("building-%v-2", gone), true, now, false},
		{fmt.Sprintf("building-%v-3", elsewhere), true, now.Add(-23 * time.Hour), true}, // who knows
		{fmt.Sprintf("building-%v-4", elsewhere), true, now.Add(-25 * time.Hour), false},
		{"building-1512580028", true, now.Add(-23 * time.Hour), true}, // as an older Cohort made them
		{"building-4037162556", true, now.Add(-25 * time.Hour), false},
		{"somebody's", true, long, true},
	}
	var want []string
	for _, e := range entries {
		made(t, cache, e.name, e.library, e.at)
		if e.stays {
			want = append(want, e.name)
		}
	}
	file := filepath.Join(cache, "libcohort-file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, long, long); err != nil {
		t.Fatal(err)
	}
	target := made(t, t.TempDir(), "libcohort-target", true, long)
	if err := os.Symlink(target, filepath.Join(cache, "libcohort-link")); err != nil {
		t.Fatal(err)
	}
	want = append(want, "libcohort-file", "libcohort-link")
	clean(cache, now)
	left, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("left are\n%q, and it should be\n%q", names, want)
	}
	if _, err := os.Stat(filepath.Join(target, libraryName)); err != nil {
		t.Errorf("what a link points to was removed: %v", err)
	}
}

func isCached(t *testing.T, dir string) bool {
	t.Helper()
	there, err := cached(dir)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// TestUseKeeps: a library that is asked for is not dropped, and one that is asked for often is not written to each
// time.
func TestUseKeeps(t *testing.T) {
	cache := t.TempDir()
	now := time.Now()
	dir := made(t, cache, "libcohort-a", true, now.Add(-31*24*time.Hour))
	if !isCached(t, dir) {
		t.Fatal("a library that is there is not found")
	}
	first := lastUse(dir)
	if now.Sub(first) > time.Minute {
		t.Errorf("the use was not noted: last used %v", first)
	}
	if info, err := os.Stat(filepath.Join(dir, libraryName)); err != nil || now.Sub(info.ModTime()) < touchTime {
		t.Errorf("gdb takes the library for a new one: %v, %v", info.ModTime(), err)
	}
	clean(cache, now)
	if !isCached(t, dir) || !lastUse(dir).Equal(first) {
		t.Errorf("the library was dropped, or written to again: %v and %v", lastUse(dir), first)
	}
	if isCached(t, filepath.Join(cache, "libcohort-b")) {
		t.Error("a library that is not there is found")
	}
}
