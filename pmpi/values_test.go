package pmpi_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/pmpi/control"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

func testdata(t *testing.T, mpi mpitest.MPI, name string, flags ...string) string {
	t.Helper()
	return mpi.BuildFile(t, filepath.Join("testdata", name),
		append([]string{"-I" + filepath.Join(mpitest.Root(t), "testprograms")}, flags...)...)
}

// sorted are the lines of an output whose ranks may come in any order.
func sorted(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// exact records a program and replays it; the replay must print what the recording did. It returns the recording and
// the replay, whose trace is full.
func exact(t *testing.T, mpi mpitest.MPI, ranks int, mode abi.Mode, flags abi.Flag, prog string,
	args ...string,
) (record, again *job) {
	t.Helper()
	record = newJob(t, mpi, ranks, mode)
	record.start.Flags = abi.FlagYield | flags
	want := sorted(record.run(prog, args...))
	for rank, c := range record.controls {
		if p := c.Progress(); p.State != abi.StateFinalized || p.Incomplete != 0 {
			t.Fatalf("rank %d: %+v", rank, p)
		}
	}
	again = replay(t, record, decisions.Options{})
	again.start.Flags |= flags
	if diff := cmp.Diff(want, sorted(again.run(prog, args...))); diff != "" {
		t.Fatalf("the replay differs from the recording:\n%s", diff)
	}
	return record, again
}

// values counts the values of each kind in a trace, by thread.
func values(t *testing.T, dir string, rank int) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, r := range records(t, dir, rank) {
		if v, ok := r.(*trace.Value); ok {
			name := v.What.String()
			if v.Thread != 0 {
				name += " of another thread"
			}
			n[name]++
		}
	}
	return n
}

// TestWtimeReplays: a program whose control flow depends on MPI_Wtime, in a second thread and inside a reduction too,
// sees the same times again, also from the full trace that the replay wrote.
func TestWtimeReplays(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := testdata(t, mpi, "wtime.c")
		for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeRacing, abi.ModeFull} {
			t.Run(mode.String(), func(t *testing.T) {
				record, again := exact(t, mpi, 3, mode, 0, prog)
				for rank := range 3 {
					want, got := values(t, record.traceDir, rank), values(t, again.traceDir, rank)
					// A rank that is not scheduled meanwhile asks for the time only before it waits, and once more.
					if want["MPI_Wtime"] < 2 || want["MPI_Wtick"] != 1 || want["MPI_Wtime of another thread"] < 2 {
						t.Errorf("rank %d: %v", rank, want)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("rank %d was given in replay (-recorded +given):\n%s", rank, diff)
					}
				}
				if mode == abi.ModeOrder {
					third := replay(t, again, decisions.Options{})
					if diff := cmp.Diff(sorted(record.output.String()), sorted(third.run(prog))); diff != "" {
						t.Errorf("the replay of the graph differs from the recording:\n%s", diff)
					}
				}
			})
		}
	})
}

func TestWtimeReplaysInFortran(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range []string{"MPIF_H", "USE_MPI", "USE_MPI_F08"} {
			t.Run(binding, func(t *testing.T) {
				if testing.Short() && binding != "USE_MPI_F08" {
					t.Skip("one binding is enough")
				}
				prog := mpi.BuildFile(t, "testdata/wtime.f90", "-cpp", "-ffree-line-length-none",
					"-fallow-argument-mismatch", "-D"+binding)
				record, _ := exact(t, mpi, 2, abi.ModeOrder, 0, prog)
				if got := values(t, record.traceDir, 1); got["MPI_Wtime"] < 2 || got["MPI_Wtick"] != 1 {
					t.Errorf("rank 1: %v", got)
				}
			})
		}
	})
}

// diverges replays a recording with more in the environment, and returns what the rank says about its divergence, and
// in which state it is.
func diverges(t *testing.T, record *job, flags abi.Flag, env []string, prog string, args ...string) control.Progress {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
	defer cancel()
	j := replay(t, record, decisions.Options{})
	j.start.Flags |= flags
	j.cmdEnv = env
	j.launch(ctx, prog, args...)
	c := j.controls[0]
	for state := c.State(); state != abi.StateDiverged && state != abi.StateRefused && state != abi.StateFinalized; {
		next, err := c.WaitChange(ctx, state)
		if err != nil {
			t.Fatalf("%v\n%s", err, j.describe())
		}
		state = next
	}
	cancel()
	<-j.done
	return c.Progress()
}

// TestRecordTime: with the flag, what the C library's clocks and random numbers give the program is recorded and
// returned; a replay that asks for another, or for one more, or for one less, has diverged, by name.
func TestRecordTime(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := testdata(t, mpi, "clocks.c")
		record, again := exact(t, mpi, 2, abi.ModeOrder, abi.FlagRecordTime, prog)
		want := values(t, record.traceDir, 1)
		if diff := cmp.Diff(want, values(t, again.traceDir, 1)); diff != "" {
			t.Errorf("given in replay (-recorded +given):\n%s", diff)
		}
		for name, n := range map[string]int{
			"clock_gettime of another thread": 1000, "gettimeofday": 2, "time": 1, "clock": 1, "getrusage": 1,
			"times": 1,
		} {
			if want[name] != n {
				t.Errorf("%d values of %s, want %d", want[name], name, n)
			}
		}
		if want["getrandom"] < 2 || want["clock_gettime"] < 10 {
			t.Errorf("recorded: %v", want)
		}
		t.Run("without the flag", func(t *testing.T) {
			j := newJob(t, mpi, 1, abi.ModeOrder)
			j.run(prog)
			if got := values(t, j.traceDir, 0); len(got) != 0 {
				t.Errorf("recorded: %v", got)
			}
		})
		if testing.Short() {
			t.Skip("starts many jobs")
		}
		single, _ := exact(t, mpi, 1, abi.ModeOrder, abi.FlagRecordTime, prog)
		for _, c := range []struct{ env, recorded, actual string }{
			{"ONE_MORE=1", "gettimeofday", "clock_gettime"},
			{"ONE_OTHER=1", "gettimeofday", "time"},
			{"ONE_LESS=1", "gettimeofday", "MPI_Finalize"},
		} {
			t.Run(c.env, func(t *testing.T) {
				p := diverges(t, single, abi.FlagRecordTime, []string{c.env}, prog)
				if d := p.Divergence; p.State != abi.StateDiverged || trace.CallName(d.RecordedOp) != c.recorded ||
					trace.CallName(d.ActualOp) != c.actual || d.CallSite == 0 {
					t.Errorf("%+v: recorded %s, actual %s", p, trace.CallName(d.RecordedOp), trace.CallName(d.ActualOp))
				}
			})
		}
		t.Run("runs out", func(t *testing.T) {
			short := newJob(t, mpi, 1, abi.ModeOrder)
			short.run(prog) // recorded without: a replay that asks for values finds none
			p := diverges(t, short, abi.FlagRecordTime, nil, prog)
			if d := p.Divergence; p.State != abi.StateDiverged || d.RecordedOp != 0 ||
				trace.CallName(d.ActualOp) != "clock_gettime" {
				t.Errorf("%+v", p)
			}
		})
		t.Run("device", func(t *testing.T) {
			j := newJob(t, mpi, 1, abi.ModeOrder)
			j.start.Flags = abi.FlagRecordTime
			j.run(prog, "device")
			if p := j.controls[0].Progress(); p.Incomplete != 1 || p.IncompleteCall != "open of a random device" {
				t.Errorf("%+v", p)
			}
		})
	})
}

// TestRandomDevice: C++'s std::random_device asks the processor, which nobody sees, so it is recorded itself; also one
// that reads a device.
func TestRandomDevice(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/randomdevice.cc", "-Wl,--no-as-needed", "-lstdc++", "-DOMPI_SKIP_MPICXX",
			"-DMPICH_SKIP_MPICXX")
		record, _ := exact(t, mpi, 1, abi.ModeOrder, abi.FlagRecordTime, prog)
		if got := values(t, record.traceDir, 0); got["std::random_device"] != 20 || got["clock_gettime"] != 2 ||
			len(got) != 2 {
			t.Errorf("recorded: %v", got)
		}
	})
}

// TestValueWithoutMemory: a record for which there is no memory ends the trace before it, and the program continues.
func TestValueWithoutMemory(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		j := newJob(t, mpi, 1, abi.ModeOrder)
		j.start.Flags = abi.FlagRecordTime
		if out := j.run(testdata(t, mpi, "nomemory.c")); !strings.Contains(out, "nomemory: 200000") {
			t.Errorf("it printed %q", out)
		}
		if h := open(t, j, 0).Header(); h.Ended != abi.EndedUnable || h.Closed {
			t.Errorf("the trace ended as %v, closed %v", h.Ended, h.Closed)
		}
	})
}

// TestRequestWithoutMemory: a receive that cannot be followed for want of memory makes the recording incomplete by
// name, and the program continues.
func TestRequestWithoutMemory(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := testdata(t, mpi, "norequests.c")
		for _, kind := range []string{"ordinary", "persistent"} {
			j := newJob(t, mpi, 1, abi.ModeOrder)
			if out := j.run(prog, kind); !strings.Contains(out, "norequests: 299") {
				t.Errorf("%s: it printed %q", kind, out)
			}
			if p := j.controls[0].Progress(); p.Incomplete == 0 ||
				p.IncompleteCall != "a request for which there is no memory" {
				t.Errorf("%s: %+v", kind, p)
			}
		}
	})
}
