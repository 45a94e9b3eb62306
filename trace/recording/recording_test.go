package trace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testMeta(ranks int) Meta {
	return Meta{
		Cohort: "v0", Command: []string{"./p", "a b"}, Cwd: "/tmp", Env: []string{"OMP_NUM_THREADS=1"}, Ranks: ranks,
		MPI: MPI{"mpich", "4.0.2"}, Mode: "order", Program: Program{"/tmp/p", "00ff", IDBuild}, Interposer: "abc",
		Start: time.Unix(1, 2).UTC(),
	}
}

// fill writes traces of a tiny execution: rank 0 receives from anyone what the others send.
func fill(t *testing.T, dir string, mode Mode, ranks int) {
	t.Helper()
	for rank := range ranks {
		w, err := CreateFile(filepath.Join(dir, RankFile(rank)), Header{
			Mode: mode, Rank: uint32(rank), WorldSize: uint32(ranks),
			Events: uint64(max(ranks-1, 1)) * b2u64(rank == 0),
		})
		if err != nil {
			t.Fatal(err)
		}
		put := func(r Record) {
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		world := &Comm{GlobalID: WorldID, CommKind: CommIntra, MyRank: uint32(rank)}
		for i := range ranks {
			world.Members = append(world.Members, uint32(i))
		}
		put(world)
		for source := 1; source < ranks; source++ {
			event := uint64(source)
			switch {
			case rank == 0 && mode == ModeOrder:
				put(&Match{Event: event, Op: OpRecv, Source: int32(source), Tag: 1})
			case rank == 0:
				put(&Event{Index: event, Op: OpRecv, Recv: RecvArgs{
					AskedSource: -1, AskedTag: 1, Source: int32(source),
					Tag: 1, Bytes: 4,
				}})
			case rank == source && mode == ModeFull:
				put(&Event{Index: 1, Op: OpSend, Send: SendArgs{Dest: 0, Tag: 1, Bytes: 4}})
			}
		}
		if rank > 0 && mode == ModeOrder {
			w.header.Events = 1
		}
		put(&End{How: 1})
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
	}
}

func b2u64(b bool) uint64 { return uint64(b2u(b)) }

func testRecording(t *testing.T, ranks int) *Recording {
	t.Helper()
	rec, err := Create(filepath.Join(t.TempDir(), "run.cohort"), testMeta(ranks), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, rec.Dir, ModeOrder, ranks)
	return rec
}

func TestRecordingRoundTrip(t *testing.T) {
	rec := testRecording(t, 3)
	err := rec.Update(func(m *Meta) {
		m.Elapsed = time.Second
		m.PerRank[0].End = RankEnd{How: EndFinalized}
		m.PerRank[1].End = RankEnd{How: EndExited, Code: 3}
		m.PerRank[2].End = RankEnd{How: EndSignal, Signal: "SIGSEGV"}
		m.PerRank[2].Incomplete = &IncompleteCall{Call: "MPI_Get", Event: 4, Count: 1}
		m.PerRank[1].Messages, m.PerRank[1].Bytes = 1, 4
		m.Labels = map[string]string{"seed": "7"}
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Open(rec.Dir)
	if err != nil {
		t.Fatal(err)
	}
	want := rec.Meta
	want.PerRank[0].End.How = EndFinalized
	if d := cmp.Diff(want, got.Meta); d != "" {
		t.Error(d)
	}
	if err := got.Verify(); err != nil {
		t.Error(err)
	}
	d, err := got.Decisions(0, DecisionOptions{})
	if err != nil || len(d.Matches) != 2 || d.LastEvent != 2 || !d.Finalized {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := got.Rank(3); err == nil {
		t.Error("rank 3 of 3 was opened")
	}
	left, err := filepath.Glob(filepath.Join(rec.Dir, tempPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestRankEndText(t *testing.T) {
	for text, want := range map[string]RankEnd{
		"unknown": {How: EndUnknown}, "finalized": {How: EndFinalized}, "exited 0": {How: EndExited},
		"exited 137":     {How: EndExited, Code: 137},
		"signal SIGKILL": {How: EndSignal, Signal: "SIGKILL"},
	} {
		var got RankEnd
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "exited", "exited x", "signal", "signal ", "finalized 3", "gone"} {
		if err := new(RankEnd).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if (RankEnd{}).String() != EndUnknown {
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
		return func(dir string) string { edit(dir, metaName, replace(from, to)); return dir }
	}
	for _, c := range []struct {
		name   string
		damage func(dir string) string // returns what to open
		want   any
		text   string
	}{
		{"nothing there", func(dir string) string {
			return dir + "x"
		}, new(*NotRecordingError), "there is no such directory"},
		{"a file", func(dir string) string {
			return filepath.Join(dir, metaName)
		}, new(*NotRecordingError), "it is not a directory"},
		{"another directory", filepath.Dir, new(*NotRecordingError), "it holds no recording.json"},
		{"no JSON", func(dir string) string {
			edit(dir, metaName, func(b []byte) []byte { return b[:len(b)/2] })
			return dir
		}, new(*NotRecordingError), "cannot be read"},
		{"other JSON", meta(recordingFormat, "else"), new(*NotRecordingError), `the format "else"`},
		{"version", meta(`"version": 2`, `"version": 1`), new(*VersionError), "version 1; this cohort reads version 2"},
		{"mode", meta(`"mode": "order"`, `"mode": "replay"`), new(*ModeError), `mode "replay"`},
		{"ranks", meta(`"ranks": 3`, `"ranks": 4`), new(*RankCountError), "has 3 ranks where 4 were expected"},
		{"no ranks", meta(`"ranks": 3`, `"ranks": 0`), new(*NotRecordingError), "0 ranks"},
		{"missing rank", func(dir string) string {
			if err := os.Remove(filepath.Join(dir, RankFile(1))); err != nil {
				t.Fatal(err)
			}
			return dir
		}, new(*MissingRankError), "the trace of rank 1, is missing"},
		{"one rank too many", func(dir string) string {
			if err := os.WriteFile(filepath.Join(dir, RankFile(3)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return dir
		}, new(*RankCountError), "rank-3.trace has 4 ranks where 3 were expected"},
		{"swapped ranks", func(dir string) string {
			b, err := os.ReadFile(filepath.Join(dir, RankFile(2)))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, RankFile(1)), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			return dir
		}, new(*FormatError), "expected rank 1, found 2"},
		{"of another run", func(dir string) string {
			edit(dir, RankFile(1), func(b []byte) []byte { b[28] = 9; return b })
			return dir
		}, new(*RankCountError), "has 9 ranks where 3 were expected"},
		{"truncated", func(dir string) string {
			edit(dir, RankFile(1), func(b []byte) []byte { return b[:len(b)-1] })
			return dir
		}, new(*FormatError), "truncated"},
		{"no trace", func(dir string) string {
			edit(dir, RankFile(1), func([]byte) []byte { return []byte("hello, this is text") })
			return dir
		}, new(*FormatError), "not a Cohort trace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.damage(testRecording(t, 3).Dir)
			_, err := Open(dir)
			if err == nil || !errors.As(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v (%T), want %T saying %q", err, err, c.want, c.text)
			}
		})
	}
}

func TestVerifyReadsToTheEnd(t *testing.T) {
	rec := testRecording(t, 2)
	path := filepath.Join(rec.Dir, RankFile(0))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(rec.Dir); err != nil {
		t.Errorf("Open looks at headers only, but says %v", err)
	}
	if err := rec.Verify(); !errors.Is(err, ErrChecksum) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

func TestCreateKeepsWhatIsThere(t *testing.T) {
	rec := testRecording(t, 2)
	scratch, err := rec.GraphScratch()
	if err != nil {
		t.Fatal(err)
	}
	fill(t, scratch, ModeFull, 2)
	if err := rec.InstallGraph(scratch); err != nil {
		t.Fatal(err)
	}
	stale, err := rec.GraphScratch()
	if err != nil {
		t.Fatal(err)
	}
	fill(t, stale, ModeFull, 2)
	var exists *ExistsError
	if _, err := Create(rec.Dir, testMeta(2), CreateOptions{}); !errors.As(err, &exists) {
		t.Fatal(err)
	}
	foreign := filepath.Join(rec.Dir, "notes.txt")
	outside := filepath.Join(t.TempDir(), "outside")
	for _, path := range []string{foreign, outside} {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(rec.Dir, RankFile(7))); err != nil {
		t.Fatal(err)
	}
	fresh, err := Create(rec.Dir, testMeta(3), CreateOptions{Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(rec.Dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if d := cmp.Diff([]string{"notes.txt", "rank-7.trace", metaName}, names); d != "" || err != nil {
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
		if _, err := Create(empty, testMeta(1), CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateRefusesWhatIsNoRecording(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, RankFile(0)) // looks like ours, but nothing says that it is
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var not *NotRecordingError
	if _, err := Create(dir, testMeta(1), CreateOptions{Overwrite: true}); !errors.As(err, &not) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, metaName), []byte(`{"format":"another tool's"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, testMeta(1), CreateOptions{Overwrite: true}); !errors.As(err, &not) {
		t.Error(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if _, err := Create(file, testMeta(1), CreateOptions{Overwrite: true}); err == nil {
		t.Error("a file was taken for a directory")
	}
	bad := testMeta(1)
	bad.Mode = "full speed"
	var mode *ModeError
	if _, err := Create(filepath.Join(dir, "x"), bad, CreateOptions{}); !errors.As(err, &mode) {
		t.Error(err)
	}
}

func TestGraphOfARecording(t *testing.T) {
	rec := testRecording(t, 3)
	var none *NoGraphError
	if _, err := rec.Graph(); !errors.As(err, &none) {
		t.Fatal(err)
	}
	for range 2 { // the second replaces the first
		dir, err := rec.GraphScratch()
		if err != nil {
			t.Fatal(err)
		}
		fill(t, dir, ModeFull, 3)
		if err := rec.InstallGraph(dir); err != nil {
			t.Fatal(err)
		}
	}
	g, err := rec.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if g.Ranks() != 3 || g.Dir() != filepath.Join(rec.Dir, "graph") {
		t.Error(g.Ranks(), g.Dir())
	}
	if err := rec.Verify(); err != nil {
		t.Error(err)
	}
	s, err := Summarize(rec)
	if err != nil {
		t.Fatal(err)
	}
	want := &Summary{
		Ranks: 3, Events: 4, EventsByClass: map[string]uint64{"recv": 2, "send": 2}, Decisions: 2, Wildcards: 2,
		TraceBytes: s.TraceBytes, GraphBytes: s.GraphBytes,
		// kind, delta, op, source, tag, back; as the second has the tag of the first it has another shape
		DecisionBytes: 6 + 6, BytesPerWildcard: float64(s.TraceBytes) / 2,
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if s.TraceBytes <= 3*HeaderSize || s.GraphBytes <= 3*HeaderSize {
		t.Errorf("%+v", s)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

func TestGraphOfAnotherRun(t *testing.T) {
	rec := testRecording(t, 3)
	for _, c := range []struct {
		fill func(dir string)
		want any
	}{
		{func(string) {}, new(*MissingRankError)},
		{func(dir string) { fill(t, dir, ModeFull, 2) }, new(*RankCountError)},
		{func(dir string) { fill(t, dir, ModeOrder, 3) }, new(*ModeError)},
		{func(dir string) {
			fill(t, dir, ModeFull, 3)
			path := filepath.Join(dir, RankFile(2))
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			w, err := CreateFile(path, Header{Mode: ModeFull, Rank: 2, WorldSize: 3})
			if err == nil {
				err = errors.Join(w.Write(&Event{Index: 1, Op: OpAbort}), w.Write(&Event{Index: 2, Op: OpAbort}),
					w.Finish())
			}
			if err != nil {
				t.Fatal(err)
			}
		}, new(*GraphMismatchError)},
	} {
		dir, err := rec.GraphScratch()
		if err != nil {
			t.Fatal(err)
		}
		c.fill(dir)
		if err := rec.InstallGraph(dir); err == nil || !errors.As(err, c.want) {
			t.Errorf("got %v, want %T", err, c.want)
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
	p, err := IdentifyProgram(one)
	if err != nil || p != (Program{one, "00112233", IDBuild}) {
		t.Errorf("%+v %v", p, err)
	}
	two := build("two", "int main(void){return 0;}", "-Wl,--build-id=none")
	q, err := IdentifyProgram(two)
	if err != nil || q.IDKind != IDSHA256 || len(q.ID) != 64 {
		t.Errorf("%+v %v", q, err)
	}
	if _, err := IdentifyProgram(filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a missing program")
	}
	rec := &Recording{Dir: "run.cohort", Meta: Meta{Program: p}}
	if err := rec.CheckProgram(one); err != nil {
		t.Error(err)
	}
	var other *ProgramError
	if err := rec.CheckProgram(two); !errors.As(err, &other) || !strings.Contains(err.Error(), "00112233") ||
		!strings.Contains(err.Error(), q.ID) {
		t.Error(err)
	}
}

// FuzzBuildIDNote: notes come from a file that anyone may have made.
func FuzzBuildIDNote(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00ab\x00\x00"), uint64(4))
	f.Fuzz(func(_ *testing.T, b []byte, align uint64) {
		buildIDNote(b, binary.LittleEndian, align)
	})
}
