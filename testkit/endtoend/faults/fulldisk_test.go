package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// A disk that gets full while the program runs: the program continues to its good end, it is said once, and what was
// recorded replays. (In each mode, and on each MPI, so do the programs of testkit/exactreplay.)
func TestFullDisk(t *testing.T) {
	cohorttest.Slow(t)
	t.Parallel()
	mpi := mpitest.Need(t, "mpich")
	program := mpi.Build(t, "wildcard.c")
	w := cohorttest.New(t, mpi)
	disk := w.Path("disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a full disk needs a file system of its own, and mounting one was refused: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Errorf("unmounting %s: %v", disk, err)
		}
	})
	text, status := w.Run("record", "-n", "2", "-o", "disk/r.cohort", "--", program, "recv", "12000")
	if status != 0 || !strings.Contains(text, "] ended well") ||
		strings.Count(text, "the program continues unrecorded") != 1 ||
		!strings.Contains(text, "The disk is full") || strings.Contains(text, "cannot be replayed") {
		t.Errorf("record has status %d and says:\n%s", status, text)
	}
	if !strings.HasSuffix(strings.TrimSpace(text), "(record --strict makes that an error.)") ||
		!strings.Contains(text, "The recording is NOT COMPLETE") {
		t.Errorf("record ends with something else:\n%s", text)
	}
	summary := w.Path("summary.json")
	strict, status := w.Run("record", "--force", "--strict", "--json", summary, "-n", "2", "-o", "disk/r.cohort", "--",
		program, "recv", "12000")
	if status != 1 {
		t.Errorf("record --strict has status %d and says:\n%s", status, strict)
	}
	var of struct {
		Complete bool
		Missing  []string
	}
	if content, err := os.ReadFile(summary); err != nil || json.Unmarshal(content, &of) != nil || of.Complete ||
		len(of.Missing) == 0 {
		t.Errorf("the summary as JSON: %v\n%s", err, content)
	}
	if left, err := exec.Command("ls", "-la", disk+"/r.cohort").CombinedOutput(); err != nil ||
		strings.Contains(string(left), "cohort-tmp") {
		t.Errorf("%v\n%s", err, left)
	}
	text, status = w.Run("replay", "disk/r.cohort", "--stall-timeout", "3s")
	if status != 0 || !strings.Contains(text, " was cut short after event") ||
		!strings.Contains(text, "(the disk was full)") || !strings.Contains(text, "No rank left the recording") {
		t.Errorf("replay has status %d and says:\n%s", status, text)
	}
}
