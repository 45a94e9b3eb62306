package exactreplay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// fullDiskStall ends the replay of a recording that some ranks have less of: the others wait for them in vain, and that
// it comes too early does no harm.
const fullDiskStall = 3 * time.Second

// TestFullDisk: a disk that gets full while random programs are recorded. The ranks' traces end at places that have
// nothing to do with each other; the programs continue, and the replay is what was recorded, as far as it goes.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "randomprog.c")
		for i, mode := range modes {
			t.Run(mode, func(t *testing.T) {
				disk := t.TempDir()
				if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=92k"); err != nil {
					t.Skipf("a full disk needs a file system of its own, and mounting one was refused: %v", err)
				}
				t.Cleanup(func() {
					if err := unix.Unmount(disk, 0); err != nil {
						t.Errorf("unmounting %s: %v", disk, err)
					}
				})
				r := random{
					seed:   uint64(100 + i),
					phases: phasesUpTo(map[string]int{"order": 450, "racing": 570, "full": 120}[mode]), ranks: 3,
					mode: mode,
				}
				j := job{mpi: mpi, program: program, ranks: r.ranks, args: r.args()}
				goesAsFar(t, j, filepath.Join(disk, "full.cohort"), mode)
			})
		}
	})
}

// goesAsFar records onto a disk that is too small, and replays.
func goesAsFar(t *testing.T, j job, dir, mode string) {
	t.Helper()
	var out outputs
	recorded, err := runner.Record(testContext(t), runner.RecordOptions{
		Common: j.common(&out), Ranks: j.ranks, Program: j.program, Args: j.args, Env: append(perturbed(1), "EACH=1"),
		Dir: dir, Mode: mode,
	})
	text := ownLines(out.all(j.ranks), "randomprog:")
	if err != nil || recorded.Status() != 0 || recorded.Problem != nil || len(recorded.Refusals) > 0 {
		t.Fatalf("recording: %v, %v, %v\n%s", err, recorded.Problem, recorded.Refusals, out.all(j.ranks))
	}
	if len(recorded.Cut) == 0 {
		t.Fatalf("the disk was large enough: %+v", recorded.Summary)
	}
	said := map[string]bool{}
	for line := range strings.Lines(text) {
		said[line] = true
	}
	var again outputs
	ctx, cancel := context.WithTimeout(testContext(t), patience)
	defer cancel()
	r, err := runner.Replay(ctx, runner.ReplayOptions{
		Common: j.common(&again), Recording: dir,
		Env: append(perturbed(2), "EACH=1"), StallTimeout: fullDiskStall,
	})
	// a receive was under way then that had taken a message nobody knew yet
	if errors.As(err, new(*decisions.IncompleteError)) {
		t.Logf("refused: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	state := ""
	for i, rank := range r.Ranks {
		state += fmt.Sprintf("  rank %d: %d of %d events; %s%s %s %+v\n", i, rank.Events, rank.Recorded, rank.Refused,
			rank.Short, rank.Excuse, rank.Divergence)
	}
	if !r.OK() || !r.CutShort {
		t.Errorf("the replay did not go as far as the recording:\n%s", state)
	}
	n := 0
	for line := range strings.Lines(ownLines(again.all(j.ranks), "randomprog:")) {
		n++
		if !said[line] {
			t.Errorf("replayed, and not recorded: %s", line)
		}
	}
	if n == 0 || n >= len(said) {
		t.Errorf("%d of %d phases were replayed:\n%s", n, len(said), state)
	}
	t.Logf("%d of %d phases\n%s", n, len(said), state)
}
