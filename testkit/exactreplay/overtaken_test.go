package exactreplay

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// TestOvertaken: a rank is killed while a receive with a wildcard is open that has taken a message, after a later call
// was given the next one. A replay gives that call the same message, or is refused because it cannot be known.
func TestOvertaken(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		program := build(t, mpi, "overtaken.c")
		for i, call := range []string{"recv", "irecv", "probe", "mprobe", "sendrecv"} {
			for k, size := range []string{small, "1000000"} {
				mode := modes[(i+k)%len(modes)]
				t.Run(call+"/"+size+"/"+mode, func(t *testing.T) { overtaken(t, mpi, program, call, size, mode) })
			}
		}
	})
}

const small = "4"

func overtaken(t *testing.T, mpi mpitest.MPI, program, call, size, mode string) {
	t.Helper()
	ctx, scratch := testContext(t), t.TempDir()
	dir := filepath.Join(scratch, "overtaken.cohort")
	j := job{mpi: mpi, program: program, ranks: 3, args: []string{call, size}}
	var out outputs
	r, err := runner.Record(ctx, runner.RecordOptions{
		Common: j.common(&out), Ranks: j.ranks, Program: program, Args: j.args, Dir: dir, Mode: mode,
		Env: []string{"OVERTAKEN_FILE=" + filepath.Join(scratch, "message")},
	})
	if err != nil || r.Status() == 0 {
		t.Fatalf("recording: %v", err)
	}
	text := ownLines(out.all(j.ranks), "overtaken:")
	if !strings.Contains(text, "was given 2") {
		t.Fatalf("recorded:\n%s", out.all(j.ranks))
	}
	again, err := j.replay(ctx, dir, false, 1)
	switch {
	case size != small && errors.As(err, new(*decisions.IncompleteError)): // the message was still on its way
		return
	case err != nil:
		t.Fatal(err)
	}
	if again := ownLines(again, "overtaken:"); again != text {
		t.Errorf("recorded:\n%s\nreplayed:\n%s", text, again)
	}
}
