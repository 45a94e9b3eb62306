package pmpi_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

var perMessage = regexp.MustCompile(`selfmessages: ([0-9.]+) ns per message`)

// TestOverheadPerMessage measures what a send, a wildcard receive and a wait cost together in each mode, on one rank,
// so that no scheduler takes part, and logs it: what a machine with other work takes says nothing. How many bytes a
// message costs in the trace does not depend on the machine.
func TestOverheadPerMessage(t *testing.T) {
	const most = 1.1 // bytes per wildcard receive of a loop
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		prog := mpi.BuildFile(t, "testdata/selfmessages.c", "-O2")
		plain, err := mpi.Command(t.Context(), 1, prog).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, plain)
		}
		base := nanoseconds(t, string(plain))
		t.Logf("without the interposer: %.0f ns", base)
		record := newJob(t, mpi, 1, abi.ModeOrder)
		full := newJob(t, mpi, 1, abi.ModeFull)
		off := newJob(t, mpi, 1, abi.ModeOff)
		for _, j := range []*job{off, record, full} {
			report(t, j.start.Mode.String(), base, j.run(prog))
		}
		tracked := newJob(t, mpi, 1, abi.ModeOff)
		tracked.start.Flags = abi.FlagKeep
		report(t, "off, tracked", base, tracked.run(prog))
		again := newJob(t, mpi, 1, abi.ModeReplay)
		again.traceDir = ""
		again.decisions = decide(t, record.traceDir, 1, decisions.Options{})
		report(t, "replay", base, again.run(prog))
		bytes := float64(record.controls[0].Progress().TraceBytes) / 200000
		t.Logf("order mode: %.2f bytes per wildcard receive", bytes)
		if bytes > most {
			t.Errorf("order mode writes %.2f bytes per wildcard receive, more than %.2f", bytes, most)
		}
	})
}

func nanoseconds(t *testing.T, output string) float64 {
	t.Helper()
	match := perMessage.FindStringSubmatch(output)
	if match == nil {
		t.Fatalf("no figure in %q", output)
	}
	ns, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

func report(t *testing.T, mode string, base float64, output string) {
	t.Helper()
	ns := nanoseconds(t, output)
	t.Logf("%s: %.0f ns, %.2f times", mode, ns, ns/base)
}
