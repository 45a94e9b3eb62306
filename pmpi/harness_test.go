package pmpi_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/pmpi/control"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
	"github.com/cohort-debugger/cohort/trace/tracetext"
)

// job is one run of an MPI program with the interposer, as an agent per rank would start it.
type job struct {
	t         *testing.T
	mpi       mpitest.MPI
	ranks     int
	dir       string // control blocks; traces unless traceDir is set
	traceDir  string
	decisions string // directory of the decisions files, or empty
	start     control.Start
	controls  []*control.Block
	cmdEnv    []string // more of the launcher's environment
	cmd       *exec.Cmd
	output    bytes.Buffer
	done      chan error
}

func library(t testing.TB, mpi mpitest.MPI) string {
	t.Helper()
	lib, err := pmpi.Build(t.Context(), pmpi.Options{Mpicc: mpi.Mpicc})
	if err != nil {
		t.Fatal(err)
	}
	return lib.Path
}

// newJob prepares a job: control blocks that nobody parks or guards.
func newJob(t *testing.T, mpi mpitest.MPI, ranks int, mode abi.Mode) *job {
	t.Helper()
	j := &job{t: t, mpi: mpi, ranks: ranks, dir: t.TempDir()}
	j.traceDir = j.dir
	j.start = control.Start{Mode: mode, WorldSize: ranks, ParkAt: abi.Never, GuardAt: abi.Never}
	return j
}

func (j *job) launch(ctx context.Context, prog string, args ...string) {
	j.t.Helper()
	for rank := range j.ranks {
		start := j.start
		start.Rank = rank
		c, err := control.Create(filepath.Join(j.dir, "control-"+strconv.Itoa(rank)), start)
		if err != nil {
			j.t.Fatal(err)
		}
		j.controls = append(j.controls, c)
		j.t.Cleanup(func() {
			if err := c.Close(); err != nil {
				j.t.Error(err)
			}
		})
	}
	script, err := filepath.Abs("testdata/rank.sh")
	if err != nil {
		j.t.Fatal(err)
	}
	j.cmd = j.mpi.Command(ctx, j.ranks, script, append([]string{prog}, args...)...)
	j.cmd.Env = append(j.cmd.Env, "COHORT_TEST_DIR="+j.dir, "COHORT_TEST_LIBRARY="+library(j.t, j.mpi))
	j.cmd.Env = append(j.cmd.Env, j.cmdEnv...)
	if j.traceDir != "" {
		j.cmd.Env = append(j.cmd.Env, "COHORT_TEST_TRACE="+j.traceDir)
	}
	if j.decisions != "" {
		j.cmd.Env = append(j.cmd.Env, "COHORT_TEST_DECISIONS="+j.decisions)
	}
	j.cmd.Stdout, j.cmd.Stderr = &j.output, &j.output
	if err := j.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	j.done = make(chan error, 1)
	go func() { j.done <- j.cmd.Wait() }()
}

func (j *job) describe() string {
	s := j.output.String()
	for rank, c := range j.controls {
		s += fmt.Sprintf("rank %d: %+v\n", rank, c.Progress())
	}
	return s
}

// run launches and waits for a successful end. In replay it fails at once when a rank diverges, rather than at the
// deadline.
func (j *job) run(prog string, args ...string) string {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), jobTimeout)
	defer cancel()
	j.launch(ctx, prog, args...)
	trouble := make(chan int, j.ranks)
	watch, stop := context.WithCancel(ctx)
	defer stop()
	for rank, c := range j.controls {
		go func() {
			state := c.State()
			for {
				switch state {
				case abi.StateDiverged, abi.StateRefused, abi.StateEnd:
					trouble <- rank
					return
				}
				next, err := c.WaitChange(watch, state)
				if err != nil {
					trouble <- -1
					return
				}
				state = next
			}
		}()
	}
	var err error
	left := j.ranks
	select {
	case err = <-j.done:
	case rank := <-trouble:
		left--
		cancel()
		<-j.done
		err = fmt.Errorf("rank %d is in state %v", rank, j.controls[max(rank, 0)].State())
	}
	stop()
	for range left {
		<-trouble
	}
	if err != nil {
		j.t.Fatalf("%s %v: %v\n%s", prog, args, err, j.describe())
	}
	return j.output.String()
}

const jobTimeout = 5 * time.Minute

// decide writes the decisions files of a recording.
func decide(t *testing.T, traceDir string, ranks int, opt decisions.Options) string {
	t.Helper()
	dir := t.TempDir()
	for rank := range ranks {
		r, err := trace.OpenFile(filepath.Join(traceDir, recording.RankFile(rank)))
		if err != nil {
			t.Fatal(err)
		}
		d, err := decisions.Build(r, opt)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Write(filepath.Join(dir, "decisions-"+strconv.Itoa(rank))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// dumpTraces reads every record of every rank, which checks each CRC and each count.
func dumpTraces(t *testing.T, dir string, ranks int) string {
	t.Helper()
	var out bytes.Buffer
	for rank := range ranks {
		r, err := trace.OpenFile(filepath.Join(dir, recording.RankFile(rank)))
		if err != nil {
			t.Fatal(err)
		}
		if err := tracetext.Dump(&out, r); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv("COHORT_TEST_DUMP") != "" {
		t.Log(out.String())
	}
	return out.String()
}

// countOps counts the EVENT records of each rank's full trace by call.
func countOps(t *testing.T, j *job) []map[string]int {
	t.Helper()
	counts := make([]map[string]int, j.ranks)
	for rank := range j.ranks {
		counts[rank] = map[string]int{}
		for _, rec := range records(t, j.traceDir, rank) {
			if e, ok := rec.(*trace.Event); ok {
				counts[rank][e.Op.String()]++
			}
		}
	}
	return counts
}

// records are all records of one rank's trace.
func records(t *testing.T, dir string, rank int) []trace.Record {
	t.Helper()
	r, err := trace.OpenFile(filepath.Join(dir, recording.RankFile(rank)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	var all []trace.Record
	for rec, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
	return all
}

// abiFlags are for a test program that reads the registry: where cohort_abi.h is, and the operations.
func abiFlags(t *testing.T) []string {
	flags := []string{"-I" + filepath.Join(mpitest.Root(t), "pmpi", "include"), "-D_GNU_SOURCE", "-lpthread"}
	for _, op := range mpispec.Standard().Operations() {
		flags = append(flags, fmt.Sprintf("-DCOHORT_OP_%s=%d", strings.ToUpper(op.String()), op))
	}
	return flags
}
