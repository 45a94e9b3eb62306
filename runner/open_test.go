package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/trace"
)

// What a rank leaves that ends before its trace has begun: no file, an empty one, or one of zeros.
func TestOpenWhatAKilledCohortLeft(t *testing.T) {
	for name, content := range map[string][]byte{"no file": nil, "an empty file": {}, "zeros": make([]byte, 1<<18)} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "r.cohort")
			rec, err := trace.Create(dir, trace.Meta{Ranks: 2, Mode: "order", MPI: trace.MPI{Kind: "mpich"}, Command: []string{"p"}, Start: time.Now()}, trace.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := rec.WriteEmpty(0); err != nil {
				t.Fatal(err)
			}
			if content != nil {
				if err := os.WriteFile(filepath.Join(dir, trace.RankFile(1)), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, notes, err := Open(dir)
			if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "rank 1") {
				t.Errorf("Open: %q, %v", notes, err)
			}
		})
	}
}
