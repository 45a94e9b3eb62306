package pmpi_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// TestShortForms: what the interposer wrote is, byte for byte, what package trace writes of the same records. Both
// guess alike.
func TestShortForms(t *testing.T) {
	const ranks = 3
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, mode := range []string{"iprobe", "waitsome", "testany", "startall"} {
			j := newJob(t, mpi, ranks, abi.ModeOrder)
			j.start.Flags = abi.FlagYield
			j.run(mpi.Build(t, "wildcard.c"), mode, "40")
			for rank := range ranks {
				name := filepath.Join(j.traceDir, recording.RankFile(rank))
				r, err := trace.OpenFile(name)
				if err != nil {
					t.Fatal(err)
				}
				again := filepath.Join(t.TempDir(), "again")
				w, err := trace.CreateFile(again, r.Header())
				if err != nil {
					t.Fatal(err)
				}
				for record, err := range r.All() {
					if err == nil {
						err = w.Write(record)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Finish(); err != nil {
					t.Fatal(err)
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				want, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(again)
				if err != nil {
					t.Fatal(err)
				}
				if len(want) > abi.TraceHeaderSize+abi.ChunkMax {
					t.Fatalf("%d bytes are more than one chunk", len(want))
				}
				if !bytes.Equal(want[abi.TraceHeaderSize:], got[abi.TraceHeaderSize:]) {
					t.Errorf("%s, rank %d: %d bytes of the interposer, %d of package trace:\n% x\n% x", mode, rank,
						len(want), len(got),
						want[abi.TraceHeaderSize:], got[abi.TraceHeaderSize:])
				}
			}
		}
	})
}
