package trace

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordingOf writes a recording of one rank.
func recordingOf(t *testing.T, mode Mode, finalized bool, records []Record) *Recording {
	t.Helper()
	meta := testMeta(1)
	meta.Mode = mode.String()
	rec, err := Create(filepath.Join(t.TempDir(), "run.cohort"), meta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := CreateFile(filepath.Join(rec.Dir, RankFile(0)), Header{Mode: mode, WorldSize: 1, Events: 1000})
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
		var records []Record
		records = append(records, &Module{Path: "/prog", BuildID: "id"}, &Check{Event: 5, Hash: 7})
		event, stride := uint64(0), uint64(1)
		dropped := map[ReceiveID]bool{}
		for range src.Intn(41) {
			if src.Intn(6) == 0 {
				stride = 1 + uint64(src.Intn(4))
			}
			event += stride
			source := int32(src.Intn(2))
			switch src.Intn(10) {
			case 0:
				records = append(records, &Poll{Event: event, Op: OpIprobe, Failures: 3},
					&Match{Event: event, Op: OpIprobe, Source: source, Tag: 1})
			case 1:
				records = append(records, &Set{Event: event, Op: OpWaitsome, Indices: []uint32{2, 1}})
			case 2: // never matched
				records = append(records, &Match{Event: event, Op: OpIrecv, Source: PromiseSource})
			case 3: // by a Startall, and known later
				records = append(records, &Match{Event: event, Op: OpStartall, Source: PromiseSource},
					&Match{Event: event, Op: OpStartall, Source: PromiseSource, Which: 2})
				event++
				records = append(records, &Match{
					Event: event, Op: OpStartall, Source: source, Tag: 1, Back: 1,
					Which: 2,
				})
				if src.Intn(2) == 0 {
					dropped[ReceiveID{event - 1, 2}] = true
				}
			default:
				records = append(records, &Match{Event: event, Op: OpRecv, Source: source, Tag: 1})
			}
			if src.Intn(4) == 0 {
				dropped[ReceiveID{event, 0}] = true
			}
		}
		rec := recordingOf(t, ModeOrder, true, append(records, &End{FailedPolls: 4, How: 1}))
		small, sum, err := rec.Reduce(rec.Dir+"-min", CreateOptions{}, func(_ int, r ReceiveID) bool {
			return dropped[r]
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := small.Verify(); err != nil {
			t.Fatal(err)
		}
		want, err := rec.Decisions(0, DecisionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all := uint64(len(want.Matches))
		want.Sparse = true
		want.Matches = slices.DeleteFunc(want.Matches, func(m DecisionMatch) bool {
			return !m.Never && dropped[ReceiveID{m.Event, m.Which}]
		})
		if len(want.Matches) == 0 {
			want.Matches = nil
		}
		got, err := small.Decisions(0, DecisionOptions{})
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
			if _, ok := rec.(*Run); ok {
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
	none := func(int, ReceiveID) bool { return false }
	gone := func(dir string) {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s was left", dir)
		}
	}
	rec := recordingOf(t, ModeOrder, false, []Record{&Match{Event: 1, Op: OpRecv, Source: 0, Tag: 1}})
	if _, _, err := rec.Reduce(rec.Dir+"-min", CreateOptions{}, none); !errors.As(err, new(*UnfinishedError)) {
		t.Error(err)
	}
	gone(rec.Dir + "-min")
	rec = recordingOf(t, ModeOrder, true, []Record{&Note{Event: 1, Call: "MPI_Put"}, &End{How: 1}})
	if _, _, err := rec.Reduce(rec.Dir+"-min", CreateOptions{}, none); !errors.As(err, new(*IncompleteError)) {
		t.Error(err)
	}
	gone(rec.Dir + "-min")
	rec = recordingOf(t, ModeOrder, true, []Record{&End{How: 1}})
	if _, _, err := rec.Reduce(rec.Dir, CreateOptions{Overwrite: true}, none); !errors.As(err,
		new(*SameRecordingError)) {
		t.Error(err)
	}
	if err := rec.Verify(); err != nil {
		t.Error("the recording was touched:", err)
	}
	for _, overwrite := range []bool{false, false, true} {
		_, _, err := rec.Reduce(rec.Dir+"-min", CreateOptions{Overwrite: overwrite}, none)
		if exists := new(ExistsError); err != nil && (overwrite || !errors.As(err, &exists)) {
			t.Error(err)
		}
	}
}
