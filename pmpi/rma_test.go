package pmpi_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// TestOneSided: what one-sided calls fetch, and what a rank sees in its windows, is in replay what it was, whoever
// comes first there.
func TestOneSided(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := testdata(t, mpi, "rma.c")
		for _, part := range []string{"fence", "pscw", "lock", "atomics"} {
			t.Run(part, func(t *testing.T) {
				if part == "atomics" {
					// Open MPI 4.1.4's own osc/rdma ends with a segmentation fault in MPI_Compare_and_swap
					t.Setenv("OMPI_MCA_osc", "pt2pt")
				}
				ranks := 3
				if part != "pscw" {
					ranks = 2 // who waits for a lock spins
				}
				record, again := exact(t, mpi, ranks, abi.ModeOrder, 0, prog, part)
				for i, j := range []*job{
					replay(t, record, decisions.Options{}),
					replay(t, again, decisions.Options{}),
				} {
					j.cmdEnv = []string{"PERTURB=" + strconv.Itoa(2+i)}
					if diff := cmp.Diff(sorted(record.output.String()), sorted(j.run(prog, part))); diff != "" {
						t.Fatalf("replay %d differs from the recording:\n%s", i, diff)
					}
				}
			})
		}
	})
}

// TestOneSidedLarge: what no order decides is covered in a window of any size; what one may decide is refused by name
// in one above 64 KiB.
func TestOneSidedLarge(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := testdata(t, mpi, "rmalarge.c")
		t.Run("covered", func(t *testing.T) {
			record, _ := exact(t, mpi, 2, abi.ModeOrder, 0, prog)
			if got := values(t, record.traceDir, 1); got["fetched"] != 5 || got["window"] != 0 {
				t.Errorf("recorded: %v", got)
			}
		})
		for extra, call := range map[string]string{
			"lock": "MPI_Win_lock of a window above 64 KiB", "lock_all": "MPI_Win_lock_all of a window above 64 KiB",
			"sum":            "MPI_Accumulate whose order counts, above 64 KiB",
			"replace":        "MPI_Accumulate whose order counts, above 64 KiB",
			"fetch":          "MPI_Fetch_and_op of a window above 64 KiB",
			"swap":           "MPI_Compare_and_swap of a window above 64 KiB",
			"get_accumulate": "MPI_Get_accumulate of a window above 64 KiB",
			"rput":           "MPI_Win_lock_all of a window above 64 KiB",
		} {
			t.Run(extra, func(t *testing.T) {
				j := newJob(t, mpi, 1, abi.ModeOrder)
				j.cmdEnv = []string{"OMPI_MCA_osc=pt2pt"}
				j.run(prog, extra)
				if p := j.controls[0].Progress(); p.IncompleteCall != call || p.IncompleteEvent == 0 {
					t.Errorf("incomplete: %q at %d", p.IncompleteCall, p.IncompleteEvent)
				}
			})
		}
	})
}

// TestOneSidedGone: what is looked at of a window may not be there, and the program runs all the same.
func TestOneSidedGone(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := testdata(t, mpi, "gone.c")
		for _, part := range []string{"unmapped", "protected", "null"} {
			t.Run(part, func(t *testing.T) {
				if out, err := mpi.Command(t.Context(), 2, prog, part).CombinedOutput(); err != nil {
					t.Skipf("this MPI does not take such a window: %v\n%s", err, out)
				}
				exact(t, mpi, 2, abi.ModeOrder, 0, prog, part)
			})
		}
	})
}

func TestOneSidedInFortran(t *testing.T) {
	if testing.Short() {
		t.Skip("six programs, each recorded and replayed")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, binding := range []string{"MPIF_H", "USE_MPI", "USE_MPI_F08"} {
			t.Run(binding, func(t *testing.T) {
				prog := mpi.BuildFile(t, "testdata/rma.f90", "-cpp", "-ffree-line-length-none",
					"-fallow-argument-mismatch", "-D"+binding)
				record, _ := exact(t, mpi, 2, abi.ModeOrder, 0, prog)
				if got := values(t, record.traceDir, 1); got["fetched"] != 20 {
					t.Errorf("recorded: %v", got)
				}
			})
		}
	})
}

// TestOneSidedRefused: what is not covered is named, each call once, with its place; replay goes no further than the
// first of them unless it is told to.
func TestOneSidedRefused(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		t.Setenv("OMPI_MCA_osc", "pt2pt,sm") // osc/rdma makes no window on one rank alone
		prog := testdata(t, mpi, "rmarefused.c")
		record := newJob(t, mpi, 1, abi.ModeOrder)
		want := record.run(prog)
		var named []string
		for _, r := range records(t, record.traceDir, 0) {
			if n, ok := r.(*trace.Note); ok {
				named = append(named, n.Call)
				if n.Site == 0 {
					t.Errorf("the note of %s has no place", n.Call)
				}
			}
		}
		if diff := cmp.Diff([]string{
			"MPI_Rput", "MPI_Rget", "MPI_Raccumulate", "MPI_Rget_accumulate", "MPI_Win_test", "MPI_Win_allocate_shared",
			"a window whose making was not seen",
			"MPI_Win_create_dynamic",
		}, named); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		record.decisions = decide(t, record.traceDir, 1, decisions.Options{AllowIncomplete: true})
		for _, flags := range []abi.Flag{0, abi.FlagIncompleteOK} {
			j := newJob(t, mpi, 1, abi.ModeReplay)
			j.start.Flags, j.decisions = flags, record.decisions
			if flags != 0 {
				if got := j.run(prog); got != want {
					t.Errorf("with incomplete-ok the program printed %q, recorded %q", got, want)
				}
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
			j.launch(ctx, prog)
			for state := j.controls[0].State(); state != abi.StateRefused; {
				next, err := j.controls[0].WaitChange(ctx, state)
				if err != nil {
					t.Fatalf("%v\n%s", err, j.describe())
				}
				state = next
			}
			if m := j.controls[0].Progress().Message; !strings.Contains(m, "MPI_Rput") {
				t.Errorf("the refusal says %q", m)
			}
			cancel()
			<-j.done
		}
	})
}
