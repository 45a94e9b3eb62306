package jobdir

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/internal/lifetime"
)

func TestCreateOpenRemove(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	d, err := Create()
	if err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{
		d.Path: 0o700, filepath.Join(d.Path, tokenName): 0o600,
		filepath.Join(d.Path, ownerName): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want mode %v", path, info.Mode(), err, mode)
		}
	}
	if len(d.Token) != 64 || len(d.ID) != 24 || len(d.Socket()) > maxSocket {
		t.Errorf("%+v", d)
	}
	opened, err := Open(d.Path)
	if err != nil || *opened != *d {
		t.Errorf("opened %+v, %v; made %+v", opened, err, d)
	}
	if d.Orphaned() {
		t.Error("orphaned although its owner asks")
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := Open(d.Path); err == nil || !strings.Contains(err.Error(), "has the job ended") {
		t.Errorf("opening what was removed: %v", err)
	}
}

func TestOpenRefusesWhatOthersCanEnter(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	d, err := Create()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(d.Path); err == nil || !strings.Contains(err.Error(), "mode 0700") {
		t.Errorf("error %v", err)
	}
}

func TestSweepTakesOnlyTheDead(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", base)
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	start, ok := lifetime.StartTime(child.Process.Pid)
	if !ok {
		t.Fatal("the child has no start time")
	}
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	own, _ := lifetime.StartTime(os.Getpid())
	for name, owner := range map[string]string{
		// same pid, another process
		"dead": fmt.Sprintf("%d %d\n", child.Process.Pid, start), "reused": fmt.Sprintf("%d %d\n", os.Getpid(), own+1),
		"alive": fmt.Sprintf("%d %d\n", os.Getpid(), own), "new": "", "garbled": "x y",
	} {
		dir := filepath.Join(base, prefix+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if owner != "" {
			if err := os.WriteFile(filepath.Join(dir, ownerName), []byte(owner), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	Sweep()
	for name, want := range map[string]bool{
		"dead": false, "reused": false, "alive": true, "new": true,
		"garbled": true,
	} {
		_, err := os.Stat(filepath.Join(base, prefix+name))
		if (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}

func TestLongPathsAreAvoided(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", long)
	d, err := Create()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Remove()
	if strings.HasPrefix(d.Path, long) || len(d.Socket()) > maxSocket {
		t.Errorf("the socket is %s", d.Socket())
	}
}
