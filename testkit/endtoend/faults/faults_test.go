package faults

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// Whatever part of a job is killed while it is recorded: cohort says so and ends, and what was recorded until then
// replays.
func TestKillWhileRecording(t *testing.T) {
	cohorttest.Slow(t)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := cohorttest.Steps(t, mpi)
		for _, victim := range []struct {
			role, mode string
			status     int
			says       []string
		}{
			{
				"rank", "racing", 128 + int(syscall.SIGKILL),
				[]string{"[1] was ended by SIGKILL, within MPI_", " at steps.c:", "(event 1:", "The recording is "},
			},
			{"agent", "order", 0, []string{"The recording is "}},
			{"launcher", "full", 0, []string{"The recording is "}},
			{"cohort", "racing", -int(syscall.SIGKILL), nil},
		} {
			t.Run(victim.role, func(t *testing.T) {
				t.Parallel()
				w := cohorttest.New(t, mpi)
				r := w.Start("record", "--mode", victim.mode, "-n", "3", "-o", "r.cohort", "--env",
					cohorttest.StepsWait, "--", program)
				r.Await(cohorttest.StepsWaiting)
				r.Kill(victim.role, 1)
				text, status := r.Wait()
				if victim.status != 0 && status != victim.status || status == 0 {
					t.Errorf("status %d", status)
				}
				for _, want := range victim.says {
					if !strings.Contains(text, want) {
						t.Errorf("it does not say %q", want)
					}
				}
				w.NothingLeft()
				replayed, replayStatus := w.Run("replay", "r.cohort")
				if replayStatus != 0 || !strings.Contains(replayed, "was cut short after event") ||
					!strings.Contains(replayed, "No rank left the recording") {
					t.Errorf("the replay has status %d and says:\n%s", replayStatus, replayed)
				}
				if t.Failed() {
					t.Logf("record said:\n%s", text)
				}
			})
		}
	})
}

// awaitSpinning waits until a process has used a fifth of a second of processor time from now on. A rank that has said
// that it will wait is within MPI by then, which spins.
func awaitSpinning(t *testing.T, pid int) {
	t.Helper()
	used := func() int {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		return user + system
	}
	const ticks = 20 // of a hundredth of a second
	deadline := time.After(cohorttest.Patience)
	for start := used(); used() < start+ticks; {
		select {
		case <-time.After(20 * time.Millisecond): // the kernel does not tell when
		case <-deadline:
			t.Fatalf("process %d does not spin", pid)
		}
	}
}

// Ctrl-C while a program hangs for ever: the recording is kept and replays to where it hung.
func TestInterruptADeadlock(t *testing.T) {
	cohorttest.Slow(t)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		w := cohorttest.New(t, mpi)
		place := fmt.Sprintf("deadlock.c:%d", mpitest.Line(t, "deadlock.c", "deadlock: here"))
		r := w.Start("record", "-n", "2", "-o", "r.cohort", "--", mpi.Build(t, "deadlock.c"))
		r.Await("deadlock: rank 0 waits")
		r.Await("deadlock: rank 1 waits")
		for rank := range 2 {
			awaitSpinning(t, w.Part(r.Cmd.Process.Pid, "rank", rank))
		}
		if err := r.Cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		text, status := r.Wait()
		if status != 128+int(syscall.SIGINT) ||
			!strings.Contains(text, "Interrupted by SIGINT; what had been recorded until then is in r.cohort.") {
			t.Errorf("record has status %d and says:\n%s", status, text)
		}
		for rank := range 2 {
			if want := fmt.Sprintf("[%d] was ended by Cohort, with the job, within MPI_Recv (peer %d, tag 0) at %s",
				rank, 1-rank, place); !strings.Contains(text, want) {
				t.Errorf("record does not say %q:\n%s", want, text)
			}
		}
		if text, status := w.Run("replay", "r.cohort"); status != 0 ||
			!strings.Contains(text, "No rank left the recording, which was cut short") {
			t.Errorf("replay has status %d and says:\n%s", status, text)
		}

		// In a debugged run the first pauses the ranks, and what the script says next is carried out.
		d := w.Start("debug", "--batch", "-n", "2", "-x", "continue", "-x", "bt", "-x", "run", "--",
			mpi.Build(t, "deadlock.c"))
		d.Await("deadlock: rank 0 waits")
		d.Await("deadlock: rank 1 waits")
		if err := d.Cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		d.Await("exchange at " + place)
		d.Await("(cohort) run")
		if err := d.Cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if text, status := d.Wait(); status != 128+int(syscall.SIGINT) ||
			!strings.Contains(text, "Interrupted by SIGINT") {
			t.Errorf("debug has status %d and says:\n%s", status, text)
		}
	})
}

// Whatever part of a replay is killed: cohort names it and ends, and the recording is as good as before.
func TestKillWhileReplaying(t *testing.T) {
	cohorttest.Slow(t)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		w := cohorttest.New(t, mpi)
		if text, status := w.Run("record", "-n", "3", "-o", "r.cohort", "--env", cohorttest.StepsWait, "--",
			cohorttest.Steps(t, mpi)); status != 0 {
			t.Fatalf("record has status %d and says:\n%s", status, text)
		}
		for _, victim := range []struct {
			role, mpi string // the MPI has a part in what the others do when a rank's agent or the launcher is killed
			status    int
			says      string
		}{
			{"rank", "mpich", 1, "Rank 1 got to event"},
			{"agent", "", 1, "Rank 1 got to event"},
			{"launcher", "", 1, "got to event"},
			{"cohort", "mpich", -int(syscall.SIGKILL), ""},
		} {
			if victim.mpi != "" && victim.mpi != mpi.Name {
				continue
			}
			t.Run(victim.role, func(t *testing.T) {
				r := w.Start("replay", "r.cohort", "--stall-timeout", "5s")
				r.Await(cohorttest.StepsWaiting)
				r.Kill(victim.role, 1)
				text, status := r.Wait()
				if status != victim.status || !strings.Contains(text, victim.says) {
					t.Errorf("status %d, want %d and %q:\n%s", status, victim.status, victim.says, text)
				}
				w.NothingLeft()
			})
		}
		if text, status := w.Run("replay", "r.cohort"); status != 0 ||
			!strings.Contains(text, "No rank left the recording, and all got to its end.") {
			t.Errorf("the replay after all that has status %d and says:\n%s", status, text)
		}
	})
}
