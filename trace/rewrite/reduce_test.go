package rewrite

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
	"github.com/cohort-debugger/cohort/trace/tracetest"
)

// recordingOf writes a recording of one rank.
func recordingOf(t *testing.T, mode abi.Mode, finalized bool, records []trace.Record) *recording.Recording {
	t.Helper()
	meta := tracetest.Meta(1)
	meta.Mode = mode.String()
	rec, err := recording.Create(filepath.Join(t.TempDir(), "run.cohort"), meta, recording.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := trace.CreateFile(
		filepath.Join(rec.Dir, recording.RankFile(0)),
		trace.Header{Mode: mode, WorldSize: 1, Events: 1000},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if finalized {
		err = w.Finish()
	} else {
		err = w.Cut()
	}
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// A reduced recording has the same decisions but for those that were dropped, in whatever mode it was recorded, and
// however they are packed into runs.
func TestReduceKeepsTheOtherDecisions(t *testing.T) {
	runs := 0
	for seed := range int64(40) {
		src := rand.New(rand.NewSource(seed))
		var records []trace.Record
		records = append(records, &trace.Module{Path: "/prog", BuildID: "id"}, &trace.Check{Event: 5, Hash: 7})
		event, stride := uint64(0), uint64(1)
		dropped := map[trace.Posting]bool{}
		for range src.Intn(41) {
			if src.Intn(6) == 0 {
				stride = 1 + uint64(src.Intn(4))
			}
			event += stride
			source := int32(src.Intn(2))
			switch src.Intn(10) {
			case 0:
				records = append(records, &trace.Poll{Event: event, Op: mpispec.OpIprobe, Failures: 3},
					&trace.Match{Event: event, Op: mpispec.OpIprobe, Source: source, Tag: 1})
			case 1:
				records = append(records, &trace.Set{Event: event, Op: mpispec.OpWaitsome, Indices: []uint32{2, 1}})
			case 2: // never matched
				records = append(records, &trace.Match{Event: event, Op: mpispec.OpIrecv, Source: trace.NoSource})
			case 3: // by a Startall, and known later
				records = append(records, &trace.Match{
					Event: event, Op: mpispec.OpStartall,
					Source: trace.NoSource,
				},
					&trace.Match{Event: event, Op: mpispec.OpStartall, Source: trace.NoSource, Which: 2})
				event++
				records = append(records, &trace.Match{
					Event: event, Op: mpispec.OpStartall, Source: source, Tag: 1, Back: 1,
					Which: 2,
				})
				if src.Intn(2) == 0 {
					dropped[trace.Posting{Event: event - 1, Which: 2}] = true
				}
			default:
				records = append(records, &trace.Match{Event: event, Op: mpispec.OpRecv, Source: source, Tag: 1})
			}
			if src.Intn(4) == 0 {
				dropped[trace.Posting{Event: event, Which: 0}] = true
			}
		}
		rec := recordingOf(t, abi.ModeOrder, true, append(records, &trace.End{FailedPolls: 4, How: 1}))
		small, sum, err := Reduce(
			rec,
			rec.Dir+"-min",
			recording.CreateOptions{},
			func(_ int, r trace.Posting) bool {
				return dropped[r]
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := small.Verify(); err != nil {
			t.Fatal(err)
		}
		want, err := rec.Decisions(0, decisions.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all := uint64(len(want.Matches))
		want.Sparse = true
		want.Matches = slices.DeleteFunc(want.Matches, func(m decisions.Match) bool {
			return !m.Never && dropped[trace.Posting{Event: m.Event, Which: m.Which}]
		})
		if len(want.Matches) == 0 {
			want.Matches = nil
		}
		got, err := small.Decisions(0, decisions.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if sum.Wildcards != all || sum.Kept != uint64(len(want.Matches)) {
			t.Fatalf("seed %d: %+v of %d, kept %d", seed, sum, all, len(want.Matches))
		}
		r, err := small.Rank(0)
		if err != nil {
			t.Fatal(err)
		}
		for rec, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := rec.(*trace.Run); ok {
				runs++
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if runs == 0 {
		t.Error("no runs were made")
	}
}

func TestReduceRefuses(t *testing.T) {
	none := func(int, trace.Posting) bool { return false }
	gone := func(dir string) {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s was left", dir)
		}
	}
	rec := recordingOf(
		t,
		abi.ModeOrder,
		false,
		[]trace.Record{&trace.Match{Event: 1, Op: mpispec.OpRecv, Source: 0, Tag: 1}},
	)
	if _, _, err := Reduce(
		rec,
		rec.Dir+"-min",
		recording.CreateOptions{},
		none,
	); err == nil || !strings.Contains(err.Error(), "did not reach MPI_Finalize") {
		t.Error(err)
	}
	gone(rec.Dir + "-min")
	rec = recordingOf(
		t,
		abi.ModeOrder,
		true,
		[]trace.Record{&trace.Note{Event: 1, Call: "MPI_Put"}, &trace.End{How: 1}},
	)
	if _, _, err := Reduce(
		rec,
		rec.Dir+"-min",
		recording.CreateOptions{},
		none,
	); !errors.As(
		err,
		new(*decisions.IncompleteError),
	) {
		t.Error(err)
	}
	gone(rec.Dir + "-min")
	rec = recordingOf(t, abi.ModeOrder, true, []trace.Record{&trace.End{How: 1}})
	if _, _, err := Reduce(rec, rec.Dir, recording.CreateOptions{Overwrite: true}, none); err == nil ||
		!strings.Contains(err.Error(), "is the recording itself") {
		t.Error(err)
	}
	if err := rec.Verify(); err != nil {
		t.Error("the recording was touched:", err)
	}
	for _, overwrite := range []bool{false, false, true} {
		_, _, err := Reduce(rec, rec.Dir+"-min", recording.CreateOptions{Overwrite: overwrite}, none)
		if err != nil && (overwrite || !strings.Contains(err.Error(), "holds a recording already")) {
			t.Error(err)
		}
	}
}
