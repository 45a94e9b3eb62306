package exactreplay

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// TestBoundedBuffering: rank 0 took all messages of rank 2 before those of rank 1, and in the replay rank 1 is the fast
// one. Its messages pile up, unless their number is bounded.
func TestBoundedBuffering(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		const messages, limit = 1000, 10
		ctx, dir, scratch := testContext(t), filepath.Join(t.TempDir(), "flood.cohort"), t.TempDir()
		j := job{mpi: mpi, program: build(t, mpi, "flood.c"), ranks: 3, args: []string{fmt.Sprint(messages), "1000"}}
		env := func(run string, more ...string) []string {
			return append(more, "FLOOD_COUNTERS="+filepath.Join(scratch, run))
		}
		flood := func(text string) (order string, waited int) {
			t.Helper()
			if _, err := fmt.Sscanf(text[max(0, strings.Index(text, "flood: order")):],
				"flood: order %s\nflood: at most %d messages waited", &order, &waited); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			return order, waited
		}
		var out outputs
		r, err := runner.Record(ctx, runner.RecordOptions{
			Common: j.common(&out), Ranks: j.ranks, Program: j.program, Args: j.args,
			Env: env("recorded", "FLOOD_FIRST=2"), Dir: dir, Mode: "racing",
		})
		if err != nil || r.Status() != 0 || r.Problem != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		want, _ := flood(out.all(j.ranks))
		// Rank 2 sends nothing before rank 1 has sent all.
		text, err := j.replayWith(ctx,
			runner.ReplayOptions{Recording: dir, Full: true, Env: env("free", "FLOOD_FIRST=", "FLOOD_LAST=2")})
		if err != nil {
			t.Fatal(err)
		}
		if order, waited := flood(text); order != want || waited < messages {
			t.Errorf("without a bound: order %s, want %s; %d messages waited, want at least %d", order, want, waited,
				messages)
		}
		bound, err := boundOf(dir, limit)
		if err != nil {
			t.Fatal(err)
		}
		if rank, most := bound.Most(); rank != 0 || most != limit || len(bound.Control) < messages/limit ||
			len(bound.Control) > messages {
			t.Errorf("%d messages wait at rank %d, with %d control messages", most, rank, len(bound.Control))
		}
		text, err = j.replayWith(ctx,
			runner.ReplayOptions{
				Recording: dir, Env: env("bounded", "FLOOD_FIRST=", "FLOOD_SLOW=2"),
				Control: bound.Control,
			})
		if err != nil {
			t.Fatal(err)
		}
		// The message that was just received is counted, while its sender may have sent another.
		if order, waited := flood(text); order != want || waited > limit+1 {
			t.Errorf("with a bound of %d: order %s, want %s; %d messages waited", limit, order, want, waited)
		}
	})
}

// TestBoundedBufferingOfAKilledRun: where a rank was killed within a call, others have gone on because it had begun it.
func TestBoundedBufferingOfAKilledRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		ctx, dir := testContext(t), filepath.Join(t.TempDir(), "killed.cohort")
		j := job{mpi: mpi, program: build(t, mpi, "racing.c"), ranks: 3, args: []string{"block", "20"}}
		var out outputs
		_, err := runner.Record(ctx, runner.RecordOptions{
			Common: j.common(&out), Ranks: j.ranks, Program: j.program, Args: j.args, Env: []string{"RACING_KILL=60"},
			Dir: dir, Mode: "full",
		})
		if err != nil {
			t.Fatal(err)
		}
		want := ownLines(out.all(j.ranks), "racing: took")
		for _, limit := range []int{1, 8} {
			text, err := j.replayBounded(ctx, dir, limit, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := ownLines(text, "racing: took"); got != want || got == "" {
				t.Errorf("bound %d: recorded\n%s\nreplayed\n%s", limit, want, got)
			}
		}
	})
}

// TestBoundedBufferingRefused: one-sided communication orders ranks in a way that no trace has.
func TestBoundedBufferingRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("starts jobs")
	}
	mpi := mpitest.Need(t, mpitest.Names()[0])
	ctx, dir := testContext(t), filepath.Join(t.TempDir(), "rma.cohort")
	root := mpitest.Root(t)
	program := mpi.BuildFile(t, filepath.Join(root, "pmpi", "testdata", "rma.c"),
		"-I"+filepath.Join(root, "testprograms"))
	j := job{mpi: mpi, program: program, ranks: 2, args: []string{"lock"}}
	if _, err := j.record(ctx, dir, "full", 1); err != nil {
		t.Fatal(err)
	}
	if bound, err := boundOf(dir, 4); err == nil || !strings.Contains(err.Error(), "MPI_Win_lock") {
		t.Errorf("%+v, %v", bound, err)
	}
}
