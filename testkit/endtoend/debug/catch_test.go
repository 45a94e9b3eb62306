package debug

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// A rank stops in the call that MPI refuses, although the program has asked for errors to be returned, and in
// MPI_Abort.
func TestDAPCatchesMPIErrors(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{Program: mpi.BuildFile(t, "testdata/fails.c"), Ranks: 2})
		e.Do("setExceptionBreakpoints", map[string]any{"filters": []string{"signals", "mpi-errors", "mpi-abort"}}, nil)
		e.ConfigurationDone()
		caught := func(rank int, name, text, function, mark string) {
			t.Helper()
			e.Expect(stops("exception", rank)...)
			var info godap.ExceptionInfoResponseBody
			e.Do("exceptionInfo", godap.ExceptionInfoArguments{ThreadId: protocol.ThreadID(rank, 1)}, &info)
			if info.ExceptionId != name || !strings.Contains(info.Description, text) {
				t.Errorf("rank %d: %+v, want %s, %q", rank, info, name, text)
			}
			if f := e.user(rank); f.Name != function || f.Line != markLine(t, "testdata/fails.c", "mark: "+mark) {
				t.Errorf("rank %d stands in %s:%d, want %s, %q", rank, f.Name, f.Line, function, mark)
			}
		}
		caught(1, "MPI_ERR_RANK", " from MPI_Send in greet (fails.c:5).", "greet", "refused")
		e.Continue(1)
		caught(0, "MPI_Abort", "Rank 0 called MPI_Abort with the code 5 in main (fails.c:", "main", "abort")
	})
}
