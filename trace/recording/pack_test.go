package recording_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/recording"
	"github.com/cohort-debugger/cohort/trace/tracetest"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestPackARecording(t *testing.T) {
	rec := tracetest.Recording(t, 3)
	before, err := os.ReadFile(filepath.Join(rec.Dir, recording.RankFile(1)))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := recording.Summarize(rec)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds nothing to do
		if err := rec.Pack(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := names(t, rec.Dir); got != "rank-0.trace.zst rank-1.trace.zst rank-2.trace.zst recording.json" {
			t.Fatal(got)
		}
	}
	if rec, err = recording.Open(rec.Dir); err != nil {
		t.Fatal(err)
	}
	if err := rec.Verify(); err != nil {
		t.Error(err)
	}
	packed, err := recording.Summarize(rec)
	if err != nil {
		t.Fatal(err)
	}
	if packed.TraceBytes >= 1000 || packed.Decisions != plain.Decisions || packed.DecisionBytes != plain.DecisionBytes {
		t.Errorf("%+v", packed)
	}
	if there, err := recording.Begun(filepath.Join(rec.Dir, recording.RankFile(0))); !there || err != nil {
		t.Errorf("a packed trace is taken for one that was not begun: %v", err)
	}
	if err := rec.Unpack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(
		filepath.Join(rec.Dir, recording.RankFile(1)),
	); err != nil ||
		!bytes.Equal(before, after) {
		t.Errorf("unpacked: %d bytes, were %d, %v", len(after), len(before), err)
	}
	if got := names(t, rec.Dir); got != "rank-0.trace rank-1.trace rank-2.trace recording.json" {
		t.Error(got)
	}
	// A new recording in its place leaves nothing of the old one, packed or not.
	if err := rec.Pack(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rec.Dir, atomicfile.TempPrefix+"rank-0.trace.zst-1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := recording.Create(
		rec.Dir,
		tracetest.Meta(3),
		recording.CreateOptions{},
	); !errors.As(
		err,
		new(*trace.RefusedError),
	) {
		t.Error(err)
	}
	if _, err := recording.Create(rec.Dir, tracetest.Meta(3), recording.CreateOptions{Overwrite: true}); err != nil {
		t.Error(err)
	}
	if got := names(t, rec.Dir); got != "recording.json" {
		t.Error(got)
	}
}

// Cohort was killed between giving the packed trace its name and removing the other; or somebody put a trace of another
// run there.
func TestPackedAndUnpacked(t *testing.T) {
	rec := tracetest.Recording(t, 3)
	path := filepath.Join(rec.Dir, recording.RankFile(0))
	plain, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Pack(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	put := func(b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(plain)
	r, err := rec.Rank(0)
	if err != nil {
		t.Fatal(err)
	}
	if r.Path() != path+trace.PackedSuffix {
		t.Errorf("it reads %s", r.Path())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if s, err := recording.Summarize(rec); err != nil || s.Decisions != 2 {
		t.Errorf("both count: %+v %v", s, err)
	}
	other := bytes.Clone(plain)
	other[40]++ // another start
	put(other)
	var two *trace.RefusedError
	if _, err := recording.Open(rec.Dir); !errors.As(err, &two) {
		t.Errorf("two different traces: %v", err)
	}
	if err := rec.Pack(t.Context(), nil); !errors.As(err, &two) {
		t.Errorf("packing with two different traces: %v", err)
	}
	put(plain)
	if err := rec.Pack(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the rest of an interrupted packing stays: %v", err)
	}
}

// What cannot be packed stays, and there is nothing beside it.
func TestPackLeavesWhatItCannotPack(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context //nolint:containedctx // a table
		damage func(b []byte) []byte
	}{
		"truncated":   {t.Context(), func(b []byte) []byte { return b[:len(b)-3] }},
		"malformed":   {t.Context(), func(b []byte) []byte { b[abi.TraceHeaderSize]++; return b }},
		"interrupted": {cancelled, func(b []byte) []byte { return b }},
	} {
		rec := tracetest.Recording(t, 1)
		path := filepath.Join(rec.Dir, recording.RankFile(0))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b = c.damage(b)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := rec.Pack(c.ctx, nil); err == nil || !strings.Contains(err.Error(), "rank 0") {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(b, after) {
			t.Errorf("%s: the trace is another, %v", name, err)
		}
		if got := names(t, rec.Dir); got != "rank-0.trace recording.json" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
