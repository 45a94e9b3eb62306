package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/trace/recording"
)

// unfinished is a recording of two ranks whose cohort was killed while it recorded; rank 1 had made its file, and not
// begun it.
func unfinished(t *testing.T, file []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.cohort")
	rec, err := recording.Create(dir, recording.Meta{
		Ranks: 2, Mode: "order", MPI: recording.MPI{Kind: "mpich"},
		Command: []string{"p"}, Start: time.Now(),
	}, recording.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.WriteEmpty(0); err != nil {
		t.Fatal(err)
	}
	if file != nil {
		if err := os.WriteFile(filepath.Join(dir, recording.RankFile(1)), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What looks into recordings reads also those that a killed cohort left.
func TestTraceOfWhatAKilledCohortLeft(t *testing.T) {
	for name, file := range map[string][]byte{"no file": nil, "an empty file": {}, "zeros": make([]byte, 1<<16)} {
		for _, c := range []struct{ args, want string }{
			{"info", "2 ranks, mode order"},
			{"dump --rank 1", "rank=1"},
			{"dump --rank 0", "rank=0"},
			{"verify", "all 2 traces are whole"},
			{"pack", "packed"},
		} {
			t.Run(name+" "+c.args, func(t *testing.T) {
				var out, said bytes.Buffer
				args := strings.Fields("trace " + c.args)
				args = append(args[:2:2], append([]string{unfinished(t, file)}, args[2:]...)...)
				if code := run(args, streams{Out: &out, Err: &said}); code != exitOK ||
					!strings.Contains(out.String(), c.want) {
					t.Errorf("status %d, %s\n%s", code, &out, &said)
				}
				if !strings.Contains(said.String(), "There is no trace of rank 1.") {
					t.Errorf("it says %q", &said)
				}
			})
		}
	}
	// One that holds something else is damaged, and stays so.
	dir := unfinished(t, []byte("something else"))
	var out, said bytes.Buffer
	if code := run([]string{"trace", "verify", dir}, streams{Out: &out, Err: &said}); code != exitUsage ||
		!strings.Contains(said.String(), "not a Cohort trace") {
		t.Errorf("status %d, %s%s", code, &out, &said)
	}
}
