package pmpi_test

import (
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
)

// events are the EVENT records of a rank's trace.
func events(t *testing.T, dir string, rank int) []*trace.Event {
	t.Helper()
	var all []*trace.Event
	for _, r := range records(t, dir, rank) {
		if e, ok := r.(*trace.Event); ok {
			all = append(all, e)
		}
	}
	return all
}

// TestLargeCounts: the calls with large counts that an MPI has are the events of their int forms, and are recorded and
// replayed like them.
func TestLargeCounts(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := testdata(t, mpi, "largecount.c")
		if mpi.Name != "mpich" {
			t.Skip("this MPI has no large counts")
		}
		t.Run("classes", func(t *testing.T) {
			for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeFull} {
				_, again := exact(t, mpi, 2, mode, 0, prog)
				ops := countOps(t, again)[0]
				for op, want := range map[string]int{
					"Recv": 5, "Irecv": 5, "Mrecv": 5, "Sendrecv": 5, "Sendrecv_replace": 5, "Send_init": 5,
					"Recv_init": 5, "Bcast": 5, "Gatherv": 5, "Scatterv": 5,
					"Alltoallv": 10, "Alltoallw": 5, "Allreduce": 5, "Reduce_scatter": 5, "Iallreduce": 5, "Put": 5,
					"Get": 5, "Win_allocate": 5, "Other": 0,
				} {
					if ops[op] != want {
						t.Errorf("%d events of %s, want %d", ops[op], op, want)
					}
				}
			}
		})
		t.Run("to nobody", func(t *testing.T) {
			record, _ := exact(t, mpi, 1, abi.ModeFull, 0, prog, "null")
			all := events(t, record.traceDir, 0)
			if len(all) < 2 || all[0].Send.Bytes != 1<<31+8 || all[1].Send.Bytes != 8*(1<<31+8) ||
				all[0].Op != mpispec.OpSend || all[1].Op != mpispec.OpIsend {
				t.Errorf("events %+v", all)
			}
		})
		t.Run("above", func(t *testing.T) {
			j := newJob(t, mpi, 1, abi.ModeOrder)
			j.run(prog, "above")
			if p := j.controls[0].Progress(); p.IncompleteCall != "MPI_Gatherv_c above 2^31" || p.Incomplete != 1 {
				t.Errorf("incomplete: %d, %q", p.Incomplete, p.IncompleteCall)
			}
		})
	})
}

// TestLargeMessage: the trace has the size of a message of more than 2^31 bytes.
func TestLargeMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 2 GiB")
	}
	const bytes = 2049 << 20
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		j := newJob(t, mpi, 1, abi.ModeFull)
		if out := j.run(testdata(t, mpi, "largecount.c"), "message"); !strings.Contains(out, "2148532224 bytes") {
			t.Fatalf("the program says %q", out)
		}
		for _, e := range events(t, j.traceDir, 0) {
			switch {
			case e.Op == mpispec.OpIsend && e.Send.Bytes != bytes:
				t.Errorf("sent %d bytes, want %d", e.Send.Bytes, bytes)
			case e.Op == mpispec.OpRecv && e.Recv.Bytes != bytes:
				t.Errorf("received %d bytes, want %d", e.Recv.Bytes, bytes)
			}
		}
	})
}
