package scripts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// Recordings that an older Cohort made are read as they were, and replay with the result that was recorded.
func TestOldRecordings(t *testing.T) {
	for _, c := range []struct {
		name, mpi string
		info      string
		dump      []string // lines of the dump of rank 1
		cut       []string // positions in the cut of event 2:17
		races     string
	}{
		{
			name: "mpich-order", mpi: "mpich",
			info: "mpich 4.0.2, 4 ranks, mode order, waiting ranks yielded: true",
			dump: []string{"poll event=5 op=Iprobe failures=2", "match event=5 op=Iprobe source=0 tag=2 back=0"},
			cut:  []string{"0:24", "1:4", "2:17", "3:4"},
			races: "80 of 162 receives and probes with MPI_ANY_SOURCE could have taken another message (49.4 %).\n" +
				"81 of 162 messages race (50.0 %): 159 frontier races.",
		},
		{
			name: "mpich-racing", mpi: "mpich",
			info: "mpich 4.0.2, 4 ranks, mode racing, waiting ranks yielded: true",
			dump: []string{"poll event=5 op=Iprobe failures=20", "match event=5 op=Iprobe source=0 tag=2 back=0"},
			cut:  []string{"0:36", "1:7", "2:17", "3:13"},
			races: "78 of 162 receives and probes with MPI_ANY_SOURCE could have taken another message (48.1 %).\n" +
				"79 of 162 messages race (48.8 %): 154 frontier races.",
		},
		{
			name: "openmpi-full", mpi: "openmpi",
			info: "openmpi 4.1.4, 4 ranks, mode full, waiting ranks yielded: false",
			dump: []string{"comm index=0 id=0x1 parent=0x0 kind=intra rank=1 members=[0,1,2,3] remote=[]"},
			cut:  []string{"0:42", "1:13", "2:17", "3:13"},
			races: "78 of 162 receives and probes with MPI_ANY_SOURCE could have taken another message (48.1 %).\n" +
				"79 of 162 messages race (48.8 %): 155 frontier races.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := cohorttest.New(t, mpitest.Need(t, c.mpi))
			oldRecording(w, c.name)
			for _, step := range []struct {
				command string
				want    []string
			}{
				{"trace info r.cohort", []string{c.info}},
				{"trace dump --rank 1 r.cohort", c.dump},
				{"trace verify r.cohort", []string{"all 4 traces are whole"}},
				{"cut r.cohort --at 2:17", c.cut}, // the recording has a relative path, and was made elsewhere
				{"races r.cohort", []string{c.races}},
			} {
				out, code := w.Run(strings.Fields(step.command)...)
				if code != 0 {
					t.Fatalf("cohort %s: status %d\n%s", step.command, code, out)
				}
				for _, want := range step.want {
					if !strings.Contains(out, want) {
						t.Errorf("cohort %s: no %q in\n%s", step.command, want, out)
					}
				}
			}
			out, code := w.Run("replay", "r.cohort")
			var printed []string
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "tsp:") {
					printed = append(printed, line)
				}
			}
			slices.Sort(printed)
			want, err := os.ReadFile(oldRecordings(t, c.name+".out"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(printed, ""); code != 0 || got != string(want) {
				t.Errorf("status %d; expected\n%s\nin\n%s", code, want, out)
			}
		})
	}
}

func oldRecordings(t *testing.T, name string) string {
	return filepath.Join(mpitest.Root(t), "testdata", "recordings", name)
}

// oldRecording makes a copy, r.cohort, of a recording of tsp, and a tsp that it is of.
func oldRecording(w *cohorttest.Workplace, name string) {
	w.T.Helper()
	dir := w.Path("r.cohort")
	if err := os.CopyFS(dir, os.DirFS(oldRecordings(w.T, name+".cohort"))); err != nil {
		w.T.Fatal(err)
	}
	program := w.MPI.Build(w.T, "tsp.c")
	id, err := pmpi.BuildID(program)
	if err != nil || id == "" {
		w.T.Fatalf("the build-id of %s: %q, %v", program, id, err)
	}
	file := filepath.Join(dir, "recording.json")
	text, err := os.ReadFile(file)
	if err != nil {
		w.T.Fatal(err)
	}
	var meta map[string]any
	if err := json.Unmarshal(text, &meta); err != nil {
		w.T.Fatal(err)
	}
	meta["command"] = []string{program, mpitest.Source(w.T, "cities10.txt")}
	meta["cwd"] = w.T.TempDir()
	meta["program"] = map[string]string{"path": program, "id": id, "idKind": "build-id"}
	if text, err = json.Marshal(meta); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}
