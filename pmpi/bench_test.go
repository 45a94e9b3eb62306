package pmpi_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/cohort-debugger/cohort/internal/mpitest"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

var perMessage = regexp.MustCompile(`selfmessages: ([0-9.]+) ns per message`)

// TestOverheadPerMessage measures what a send, a wildcard receive and a wait cost together in each mode, on one rank,
// so that no scheduler takes part. The limits are far above what is measured on an idle machine (see the log): they
// catch a system call or an allocation per message.
func TestOverheadPerMessage(t *testing.T) {
	const limit = 2000 // ns
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
			report(t, j.start.Mode.String(), base, limit, j.run(prog))
		}
		again := newJob(t, mpi, 1, abi.ModeReplay)
		again.traceDir = ""
		again.decisions = decide(t, record.traceDir, 1, decisions.Options{})
		report(t, "replay", base, limit, again.run(prog))
		bytes := float64(record.controls[0].Progress().TraceBytes) / 200000
		t.Logf("order mode: %.2f bytes per wildcard receive", bytes)
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

func report(t *testing.T, mode string, base, limit float64, output string) {
	t.Helper()
	ns := nanoseconds(t, output)
	t.Logf("%s: %.0f ns, %.2f times", mode, ns, ns/base)
	if ns-base > limit {
		t.Errorf("%s adds %.0f ns per message, more than %.0f", mode, ns-base, limit)
	}
}
