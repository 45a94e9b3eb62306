package recording_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
	"github.com/cohort-debugger/cohort/trace/tracetest"
)

func TestRecordingRoundTrip(t *testing.T) {
	rec := tracetest.Recording(t, 3)
	err := rec.Update(func(m *recording.Meta) {
		m.Elapsed = time.Second
		m.PerRank[0].End = recording.RankEnd{How: recording.EndFinalized}
		m.PerRank[1].End = recording.RankEnd{How: recording.EndExited, Code: 3}
		m.PerRank[2].End = recording.RankEnd{How: recording.EndSignal, Signal: "SIGSEGV"}
		m.PerRank[2].Incomplete = &recording.IncompleteCall{Call: "MPI_Get", Event: 4, Count: 1}
		m.PerRank[1].Messages, m.PerRank[1].Bytes = 1, 4
		m.Labels = map[string]string{"seed": "7"}
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := recording.Open(rec.Dir)
	if err != nil {
		t.Fatal(err)
	}
	want := rec.Meta
	want.PerRank[0].End.How = recording.EndFinalized
	if d := cmp.Diff(want, got.Meta); d != "" {
		t.Error(d)
	}
	if err := got.Verify(); err != nil {
		t.Error(err)
	}
	d, err := got.Decisions(0, decisions.Options{})
	if err != nil || len(d.Matches) != 2 || d.LastEvent != 2 || !d.Finalized {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := got.Rank(3); err == nil {
		t.Error("rank 3 of 3 was opened")
	}
	left, err := filepath.Glob(filepath.Join(rec.Dir, atomicfile.TempPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestRankEndText(t *testing.T) {
	for text, want := range map[string]recording.RankEnd{
		"unknown": {How: recording.EndUnknown}, "finalized": {How: recording.EndFinalized}, "exited 0": {How: recording.EndExited},
		"exited 137":     {How: recording.EndExited, Code: 137},
		"signal SIGKILL": {How: recording.EndSignal, Signal: "SIGKILL"},
	} {
		var got recording.RankEnd
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "exited", "exited x", "signal", "signal ", "finalized 3", "gone"} {
		if err := new(recording.RankEnd).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if (recording.RankEnd{}).String() != recording.EndUnknown {
		t.Error("the zero value is not unknown")
	}
}

func TestOpenRefuses(t *testing.T) {
	edit := func(dir, name string, change func([]byte) []byte) {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	replace := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte {
			s := strings.Replace(string(b), from, to, 1)
			if s == string(b) {
				t.Fatalf("%q is not there", from)
			}
			return []byte(s)
		}
	}
	meta := func(from, to string) func(string) string {
		return func(dir string) string { edit(dir, recording.MetaName, replace(from, to)); return dir }
	}
	for _, c := range []struct {
		name   string
		damage func(dir string) string // returns what to open
		want   any
		text   string
	}{
		{"nothing there", func(dir string) string {
			return dir + "x"
		}, new(*trace.RefusedError), "there is no such directory"},
		{"a file", func(dir string) string {
			return filepath.Join(dir, recording.MetaName)
		}, new(*trace.RefusedError), "it is not a directory"},
		{"another directory", filepath.Dir, new(*trace.RefusedError), "it holds no recording.json"},
		{"no JSON", func(dir string) string {
			edit(dir, recording.MetaName, func(b []byte) []byte { return b[:len(b)/2] })
			return dir
		}, new(*trace.RefusedError), "cannot be read"},
		{"other JSON", meta(recording.Format, "else"), new(*trace.RefusedError), `the format "else"`},
		{
			"version", meta(`"version": 2`, `"version": 1`), new(*trace.RefusedError),
			"version 1; this cohort reads version 2",
		},
		{"mode", meta(`"mode": "order"`, `"mode": "replay"`), new(*trace.RefusedError), `mode "replay"`},
		{"ranks", meta(`"ranks": 3`, `"ranks": 4`), new(*trace.RefusedError), "has 3 ranks where 4 were expected"},
		{"no ranks", meta(`"ranks": 3`, `"ranks": 0`), new(*trace.RefusedError), "0 ranks"},
		{"missing rank", func(dir string) string {
			if err := os.Remove(filepath.Join(dir, recording.RankFile(1))); err != nil {
				t.Fatal(err)
			}
			return dir
		}, new(*trace.RefusedError), "the trace of rank 1, is missing"},
		{"one rank too many", func(dir string) string {
			if err := os.WriteFile(filepath.Join(dir, recording.RankFile(3)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return dir
		}, new(*trace.RefusedError), "rank-3.trace has 4 ranks where 3 were expected"},
		{"swapped ranks", func(dir string) string {
			b, err := os.ReadFile(filepath.Join(dir, recording.RankFile(2)))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, recording.RankFile(1)), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			return dir
		}, new(*trace.FormatError), "expected rank 1, found 2"},
		{"of another run", func(dir string) string {
			edit(dir, recording.RankFile(1), func(b []byte) []byte { b[28] = 9; return b })
			return dir
		}, new(*trace.RefusedError), "has 9 ranks where 3 were expected"},
		{"truncated", func(dir string) string {
			edit(dir, recording.RankFile(1), func(b []byte) []byte { return b[:len(b)-1] })
			return dir
		}, new(*trace.FormatError), "truncated"},
		{"no trace", func(dir string) string {
			edit(dir, recording.RankFile(1), func([]byte) []byte { return []byte("hello, this is text") })
			return dir
		}, new(*trace.FormatError), "not a Cohort trace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.damage(tracetest.Recording(t, 3).Dir)
			_, err := recording.Open(dir)
			if err == nil || !errors.As(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v (%T), want %T saying %q", err, err, c.want, c.text)
			}
		})
	}
}

func TestVerifyReadsToTheEnd(t *testing.T) {
	rec := tracetest.Recording(t, 2)
	path := filepath.Join(rec.Dir, recording.RankFile(0))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := recording.Open(rec.Dir); err != nil {
		t.Errorf("Open looks at headers only, but says %v", err)
	}
	if err := rec.Verify(); !errors.Is(err, trace.ErrChecksum) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

func TestCreateKeepsWhatIsThere(t *testing.T) {
	rec := tracetest.Recording(t, 2)
	scratch, err := rec.GraphScratch()
	if err != nil {
		t.Fatal(err)
	}
	tracetest.Fill(t, scratch, abi.ModeFull, 2)
	if err := rec.InstallGraph(scratch); err != nil {
		t.Fatal(err)
	}
	stale, err := rec.GraphScratch()
	if err != nil {
		t.Fatal(err)
	}
	tracetest.Fill(t, stale, abi.ModeFull, 2)
	var exists *trace.RefusedError
	if _, err := recording.Create(rec.Dir, tracetest.Meta(2), recording.CreateOptions{}); !errors.As(err, &exists) {
		t.Fatal(err)
	}
	foreign := filepath.Join(rec.Dir, "notes.txt")
	outside := filepath.Join(t.TempDir(), "outside")
	for _, path := range []string{foreign, outside} {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(rec.Dir, recording.RankFile(7))); err != nil {
		t.Fatal(err)
	}
	fresh, err := recording.Create(rec.Dir, tracetest.Meta(3), recording.CreateOptions{Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(rec.Dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if d := cmp.Diff([]string{"notes.txt", "rank-7.trace", recording.MetaName}, names); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, path := range []string{foreign, outside} {
		if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q %v", path, b, err)
		}
	}
	if fresh.HasGraph() {
		t.Error("the old graph is still there")
	}
	// A recording without traces may be made anew without asking.
	empty := filepath.Join(t.TempDir(), "e")
	for range 2 {
		if _, err := recording.Create(empty, tracetest.Meta(1), recording.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateRefusesWhatIsNoRecording(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, recording.RankFile(0)) // looks like ours, but nothing says that it is
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var not *trace.RefusedError
	if _, err := recording.Create(
		dir,
		tracetest.Meta(1),
		recording.CreateOptions{Overwrite: true},
	); !errors.As(
		err,
		&not,
	) {
		t.Error(err)
	}
	if err := os.WriteFile(
		filepath.Join(dir, recording.MetaName),
		[]byte(`{"format":"another tool's"}`),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	if _, err := recording.Create(
		dir,
		tracetest.Meta(1),
		recording.CreateOptions{Overwrite: true},
	); !errors.As(
		err,
		&not,
	) {
		t.Error(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if _, err := recording.Create(file, tracetest.Meta(1), recording.CreateOptions{Overwrite: true}); err == nil {
		t.Error("a file was taken for a directory")
	}
	bad := tracetest.Meta(1)
	bad.Mode = "full speed"
	var mode *trace.RefusedError
	if _, err := recording.Create(filepath.Join(dir, "x"), bad, recording.CreateOptions{}); !errors.As(err, &mode) {
		t.Error(err)
	}
}

func TestGraphOfARecording(t *testing.T) {
	rec := tracetest.Recording(t, 3)
	if _, err := rec.Graph(); err == nil || !strings.Contains(err.Error(), "holds decisions only") {
		t.Fatal(err)
	}
	for range 2 { // the second replaces the first
		dir, err := rec.GraphScratch()
		if err != nil {
			t.Fatal(err)
		}
		tracetest.Fill(t, dir, abi.ModeFull, 3)
		if err := rec.InstallGraph(dir); err != nil {
			t.Fatal(err)
		}
	}
	g, err := rec.Graph()
	if err != nil {
		t.Fatal(err)
	}
	full, err := g.Rank(0)
	if err != nil {
		t.Fatal(err)
	}
	if dir := filepath.Dir(full.Path()); g.Ranks() != 3 || dir != filepath.Join(rec.Dir, "graph") {
		t.Error(g.Ranks(), dir)
	}
	if err := full.Close(); err != nil {
		t.Error(err)
	}
	if err := rec.Verify(); err != nil {
		t.Error(err)
	}
	s, err := recording.Summarize(rec)
	if err != nil {
		t.Fatal(err)
	}
	want := &recording.Summary{
		Ranks: 3, Events: 4, EventsByClass: map[string]uint64{"recv": 2, "send": 2}, Decisions: 2, Wildcards: 2,
		TraceBytes: s.TraceBytes, GraphBytes: s.GraphBytes,
		// kind, delta, op, source, tag, back; as the second has the tag of the first it has another shape
		DecisionBytes: 6 + 6, BytesPerWildcard: float64(s.TraceBytes) / 2,
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if s.TraceBytes <= 3*abi.TraceHeaderSize || s.GraphBytes <= 3*abi.TraceHeaderSize {
		t.Errorf("%+v", s)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

func TestGraphOfAnotherRun(t *testing.T) {
	rec := tracetest.Recording(t, 3)
	for _, c := range []struct {
		fill func(dir string)
		want string
	}{
		{func(string) {}, "the trace of rank 0, is missing"},
		{func(dir string) { tracetest.Fill(t, dir, abi.ModeFull, 2) }, "has 2 ranks where 3 were expected"},
		{func(dir string) { tracetest.Fill(t, dir, abi.ModeOrder, 3) }, `was made in mode "order"`},
		{func(dir string) {
			tracetest.Fill(t, dir, abi.ModeFull, 3)
			path := filepath.Join(dir, recording.RankFile(2))
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			w, err := trace.CreateFile(path, trace.Header{Mode: abi.ModeFull, Rank: 2, WorldSize: 3})
			if err == nil {
				err = errors.Join(w.Write(&trace.Event{Index: 1, Op: mpispec.OpAbort}), w.Write(&trace.Event{
					Index: 2,
					Op:    mpispec.OpAbort,
				}),
					w.Finish())
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "they are not of the same run"},
	} {
		dir, err := rec.GraphScratch()
		if err != nil {
			t.Fatal(err)
		}
		c.fill(dir)
		if err := rec.InstallGraph(dir); !errors.As(err, new(*trace.RefusedError)) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if rec.HasGraph() {
			t.Error("it was installed all the same")
		}
	}
}

func TestIdentifyProgram(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: cc is not in PATH")
	}
	dir := t.TempDir()
	build := func(name, src string, flags ...string) string {
		c, exe := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
		if err := os.WriteFile(c, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), cc,
			append(flags, "-o", exe, c)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return exe
	}
	one := build("one", "int main(void){return 0;}", "-Wl,--build-id=0x00112233")
	p, err := recording.IdentifyProgram(one)
	if err != nil || p != (recording.Program{one, "00112233", recording.IDBuild}) {
		t.Errorf("%+v %v", p, err)
	}
	two := build("two", "int main(void){return 0;}", "-Wl,--build-id=none")
	q, err := recording.IdentifyProgram(two)
	if err != nil || q.IDKind != recording.IDSHA256 || len(q.ID) != 64 {
		t.Errorf("%+v %v", q, err)
	}
	if _, err := recording.IdentifyProgram(filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a missing program")
	}
	rec := &recording.Recording{Dir: "run.cohort", Meta: recording.Meta{Program: p}}
	if err := rec.CheckProgram(one); err != nil {
		t.Error(err)
	}
	var other *trace.RefusedError
	if err := rec.CheckProgram(two); !errors.As(err, &other) || !strings.Contains(err.Error(), "00112233") ||
		!strings.Contains(err.Error(), q.ID) {
		t.Error(err)
	}
}
