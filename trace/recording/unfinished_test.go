package recording_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

func TestRestore(t *testing.T) {
	for name, c := range map[string]struct {
		have, want []int
		finished   bool
	}{
		"nothing missing": {have: []int{0, 1, 2}},
		"one missing":     {have: []int{0, 2}, want: []int{1}},
		"two missing":     {have: []int{1}, want: []int{0, 2}},
		"all missing":     {},
		"finished":        {have: []int{0, 2}, finished: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "r.cohort")
			rec, err := recording.Create(dir, recording.Meta{
				Ranks: 3, Mode: "order", MPI: recording.MPI{Kind: "mpich"}, Command: []string{"p"},
				Start: time.Now(),
			}, recording.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, rank := range c.have {
				if err := rec.WriteEmpty(rank); err != nil {
					t.Fatal(err)
				}
			}
			if c.finished {
				if err := rec.Update(
					func(m *recording.Meta) { m.PerRank[0].End = recording.RankEnd{How: recording.EndFinalized} },
				); err != nil {
					t.Fatal(err)
				}
			}
			got, err := recording.Restore(dir)
			if err != nil || !slices.Equal(got, c.want) {
				t.Fatalf("Restore: %v, %v; want %v", got, err, c.want)
			}
			opened, err := recording.Open(dir)
			if len(c.have)+len(c.want) < 3 {
				if !errors.Is(err, recording.ErrMissing) {
					t.Errorf("Open: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for rank := range 3 {
				d, err := opened.Decisions(rank, decisions.Options{})
				if err != nil || d.LastEvent != 0 || d.Finalized {
					t.Errorf("rank %d: %+v, %v", rank, d, err)
				}
			}
		})
	}
}

func TestWriteEmptyLeavesATraceAsItIs(t *testing.T) {
	dir := t.TempDir()
	rec := &recording.Recording{Dir: dir, Meta: recording.Meta{Ranks: 1, Mode: "order"}}
	path := filepath.Join(dir, recording.RankFile(0))
	if err := os.WriteFile(path, []byte("events"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rec.WriteEmpty(0); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "events" {
		t.Errorf("the trace is %q now, %v", content, err)
	}
}

// A rank that was killed between making its trace and beginning it leaves a file of zeros, or of nothing.
func TestATraceThatWasNotBegunIsReplaced(t *testing.T) {
	for name, content := range map[string][]byte{
		"zeros": make([]byte, 1<<20), "nothing": nil,
		"a few zeros": make([]byte, 3),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "r.cohort")
			rec, err := recording.Create(dir, recording.Meta{
				Ranks: 2, Mode: "order", MPI: recording.MPI{Kind: "mpich"}, Command: []string{"p"},
				Start: time.Now(),
			}, recording.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := rec.WriteEmpty(0); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, recording.RankFile(1)), content, 0o600); err != nil {
				t.Fatal(err)
			}
			if rec.MadeNotBegun(0) || !rec.MadeNotBegun(1) {
				t.Errorf("made, not begun: rank 0 %v, rank 1 %v", rec.MadeNotBegun(0), rec.MadeNotBegun(1))
			}
			got, err := recording.Restore(dir)
			if err != nil || !slices.Equal(got, []int{1}) {
				t.Fatalf("Restore: %v, %v", got, err)
			}
			opened, err := recording.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := opened.Decisions(1, decisions.Options{}); err != nil || d.LastEvent != 0 || d.Finalized {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
}
