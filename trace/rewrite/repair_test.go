package rewrite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
	"github.com/cohort-debugger/cohort/trace/tracetest"
)

// simulated is an execution of one rank, with what is true of it.
type simulated struct {
	*tracetest.Sim
	failedAfter map[uint64]uint64      // polls, by the event before them
	exact       map[trace.Posting]bool // receives with exact arguments that were cancelled at some time
}

func simulate(t *rapid.T) *simulated {
	s := &simulated{
		Sim: tracetest.NewSim(t), failedAfter: map[uint64]uint64{},
		exact: map[trace.Posting]bool{},
	}
	s.Order, s.Full = []trace.Record{tracetest.WorldComm()}, []trace.Record{tracetest.WorldComm()}
	for range rapid.IntRange(0, 120).Draw(t, "calls") {
		event, failed, wild := s.Event, s.Failed, len(s.Want.Matches)
		s.Step()
		if s.Event == event {
			s.failedAfter[event] += s.Failed - failed
		}
		for i, m := range s.Want.Matches[wild:] {
			s.exact[trace.Posting{Event: m.Event, Which: s.Which[wild+i]}] = m.Event < s.Event && m.Never
		}
		if rapid.IntRange(0, 7).Draw(t, "check") == 0 && s.Event > 0 {
			s.check(rapid.Uint32().Draw(t, "hash"))
		}
	}
	s.Begin(mpispec.OpFinalize)
	s.Order = append(s.Order, &trace.End{FailedPolls: s.Failed, How: 1})
	s.Full = append(s.Full, &trace.End{FailedPolls: s.Failed, How: 1})
	s.Sort()
	return s
}

func (s *simulated) check(hash uint32) {
	if n := len(s.Want.Checks); n > 0 && s.Want.Checks[n-1].Event >= s.Event {
		return
	}
	s.Want.Checks = append(s.Want.Checks, decisions.Check{Event: s.Event, Hash: uint64(hash)})
	s.Order, s.Full = append(s.Order, &trace.Check{Event: s.Event, Hash: hash}),
		append(s.Full, &trace.Check{Event: s.Event, Hash: hash})
}

// store writes the trace in chunks of a few records.
func (s *simulated) store(t *rapid.T, path string, mode abi.Mode) {
	w, err := trace.CreateFile(path, trace.Header{Mode: mode, Rank: 1, WorldSize: 2, Events: s.Event})
	if err != nil {
		t.Fatal(err)
	}
	records := s.Order
	if mode == abi.ModeFull {
		records = s.Full
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		if rapid.IntRange(0, 3).Draw(t, "seal") == 0 {
			if err := w.Seal(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}

// upTo checks that decisions are those of the execution up to their last event, and nothing else.
func (s *simulated) upTo(t *rapid.T, got *decisions.Plan) {
	last := got.LastEvent
	if got.Finalized || got.Ended != abi.EndedRepaired || got.CurrentOp != mpispec.OpNone || last == 0 ||
		last > s.Event {
		t.Fatalf("%+v", got)
	}
	have := map[trace.Posting]decisions.Match{}
	for i, m := range got.Matches {
		have[m.Posting()] = m
		if i > 0 && m.Event < got.Matches[i-1].Event {
			t.Fatalf("not in order: %v", got.Matches)
		}
	}
	for _, m := range s.Want.Matches {
		p := m.Posting()
		if g, ok := have[p]; m.Event <= last && (!ok && !s.exact[p] || ok && g != m) {
			t.Fatalf("up to event %d: %+v, want %+v", last, g, m)
		}
		if m.Event <= last {
			delete(have, p)
		}
	}
	if len(have) > 0 {
		t.Fatalf("up to event %d: too many: %v", last, have)
	}
	same := func(got, want any) {
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("up to event %d: %s", last, d)
		}
	}
	var sets []decisions.Set
	for _, set := range s.Want.Sets {
		if set.Event <= last {
			sets = append(sets, set)
		}
	}
	same(got.Sets, sets)
	var checks []decisions.Check
	for _, check := range s.Want.Checks {
		if check.Event <= last {
			checks = append(checks, check)
		}
	}
	if n := len(checks); n == len(got.Checks)+1 && checks[n-1].Event == last { // it is written after the event
		checks = checks[:n-1]
	}
	if len(checks)+len(got.Checks) > 0 {
		same(got.Checks, checks)
	}
	s.polls(t, got)
}

// polls: after the last success as many fail as are known to have failed, and not fewer than up to the last event.
func (s *simulated) polls(t *rapid.T, got *decisions.Plan) {
	var polls []decisions.Poll
	before, next := uint64(0), s.Event
	for _, p := range s.Want.Polls {
		if p.Event <= got.LastEvent {
			polls, before = append(polls, p), p.Event
		} else {
			next = min(next, p.Event)
		}
	}
	var least, most, failures uint64
	for event := before; event < next; event++ {
		most += s.failedAfter[event]
		if event < got.LastEvent {
			least += s.failedAfter[event]
		}
	}
	found := got.Polls
	if n := len(found); n > 0 && found[n-1].Event == abi.Never {
		failures, found = found[n-1].Failures, found[:n-1]
	}
	if d := cmp.Diff(append([]decisions.Poll(nil), polls...), append([]decisions.Poll(nil), found...)); d != "" {
		t.Fatalf("up to event %d: %s", got.LastEvent, d)
	}
	if failures < least || failures > most {
		t.Fatalf("up to event %d: %d polls fail at the end, want %d to %d", got.LastEvent, failures, least, most)
	}
}

// damaged cuts a file off, changes a byte of it, or makes zeros of some.
func damaged(t *rapid.T, path string) {
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := rapid.IntRange(0, len(content)-1).Draw(t, "at")
	switch rapid.IntRange(0, 3).Draw(t, "damage") {
	case 0:
		content[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
	case 1:
		clear(content[at:min(at+rapid.IntRange(1, 300).Draw(t, "zeros"), len(content))])
	default:
		content = content[:at]
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What is left of a damaged trace is a beginning of what was recorded, or it is refused by name.
func TestRepair(t *testing.T) {
	memory := "/dev/shm" // recordings are forced to the disk, which takes long
	if _, err := os.Stat(memory); err != nil {
		memory = ""
	}
	kept, refused, whole := 0, 0, 0
	for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeFull} {
		for _, packed := range []bool{false, true} {
			t.Run(mode.String()+map[bool]string{true: " packed"}[packed], func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					base, err := os.MkdirTemp(memory, "repair-*") //nolint:usetesting // one of each try, in memory
					if err != nil {
						t.Fatal(err)
					}
					defer os.RemoveAll(base)
					s := simulate(t)
					meta := tracetest.Meta(2)
					meta.Mode = mode.String()
					rec, err := recording.Create(filepath.Join(base, "a.cohort"), meta, recording.CreateOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if err := rec.WriteEmpty(0); err != nil {
						t.Fatal(err)
					}
					s.store(t, filepath.Join(rec.Dir, recording.RankFile(1)), mode)
					if rapid.Bool().Draw(t, "ended") {
						d, err := rec.Decisions(1, decisions.Options{})
						if err != nil {
							t.Fatal(err)
						}
						if err := rec.Update(func(m *recording.Meta) {
							m.PerRank[1].End = recording.RankEnd{How: recording.EndFinalized}
							for _, p := range d.Polls {
								m.PerRank[1].Polls += p.Failures
							}
						}); err != nil {
							t.Fatal(err)
						}
					}
					name := recording.RankFile(1)
					if packed {
						if err := rec.Pack(t.Context(), nil); err != nil {
							t.Fatal(err)
						}
						name = recording.RankFile(1) + trace.PackedSuffix
					}
					damaged(t, filepath.Join(rec.Dir, name))
					out, report, err := Repair(rec.Dir, filepath.Join(base, "b.cohort"), recording.CreateOptions{})
					switch {
					case err != nil:
						refused++
						if _, e := os.Stat(filepath.Join(base, "b.cohort")); e == nil {
							t.Fatalf("refused, and yet something is there: %v", err)
						}
						named(t, err)
						return
					case out == nil: // a byte that means nothing, such as padding
						whole++
						return
					}
					kept++
					if len(report) != 1 || report[0].Rank != 1 || report[0].Fault == "" {
						t.Fatalf("%+v", report)
					}
					if err := out.Verify(); err != nil {
						t.Fatal(err)
					}
					again, err := recording.Open(out.Dir)
					if err != nil {
						t.Fatal(err)
					}
					d, err := again.Decisions(1, decisions.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if d.LastEvent != report[0].Events || again.Meta.PerRank[1].Repaired.Events != d.LastEvent {
						t.Fatalf("%+v: event %d", report, d.LastEvent)
					}
					s.upTo(t, d)
					left, err := filepath.Glob(filepath.Join(out.Dir, atomicfile.TempPrefix+"*"))
					if err != nil || len(left) > 0 {
						t.Fatal(left, err)
					}
				})
			})
		}
	}
	t.Logf("%d were repaired, %d refused, %d not damaged", kept, refused, whole)
	if kept == 0 || refused == 0 {
		t.Error("nothing was tried")
	}
}

// named: the refusal says what is wrong, and with what.
func named(t *rapid.T, err error) {
	if !errors.As(err, new(*trace.RefusedError)) && !errors.As(err, new(*trace.FormatError)) {
		t.Fatalf("%T: %v", err, err)
	}
	if !strings.Contains(err.Error(), "rank") {
		t.Fatal(err)
	}
}

func TestRepairRefuses(t *testing.T) {
	cut := func(rec *recording.Recording, rank int, by int64) {
		t.Helper()
		path := filepath.Join(rec.Dir, recording.RankFile(rank))
		info, err := os.Stat(path)
		if err == nil {
			err = os.Truncate(path, info.Size()-by)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(t.TempDir(), "to.cohort")
	rec := tracetest.Recording(t, 3)
	if out, report, err := Repair(
		rec.Dir,
		target,
		recording.CreateOptions{},
	); out != nil || report != nil ||
		err != nil {
		t.Error("a whole recording:", out, report, err)
	}
	cut(rec, 0, 1)
	if _, _, err := Repair(rec.Dir, rec.Dir, recording.CreateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "is the recording itself") {
		t.Error("onto itself:", err)
	}
	if _, _, err := Repair(rec.Dir, target, recording.CreateOptions{}); !errors.As(err, new(*trace.RefusedError)) ||
		!strings.Contains(err.Error(), "no event is left") {
		t.Error("one chunk, which is cut:", err)
	}
	if err := os.Remove(filepath.Join(rec.Dir, recording.RankFile(2))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Repair(
		rec.Dir,
		target,
		recording.CreateOptions{},
	); !errors.Is(err, recording.ErrMissing) {
		t.Error("a trace that is missing:", err)
	}
	meta := tracetest.Meta(1)
	meta.Mode = "racing"
	racing, err := recording.Create(filepath.Join(t.TempDir(), "run.cohort"), meta, recording.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tracetest.Fill(t, racing.Dir, abi.ModeRacing, 1)
	cut(racing, 0, 1)
	if _, _, err := Repair(racing.Dir, target, recording.CreateOptions{}); !errors.As(err, new(*trace.RefusedError)) ||
		!strings.Contains(err.Error(), "racing mode") {
		t.Error("racing mode:", err)
	}
	if _, err := os.Stat(target); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was left:", err)
	}
}

// What is open when a trace is cut, and what it may not be cut after.
func TestRepairCutsBeforeWhatIsNotKnown(t *testing.T) {
	posted := func(event uint64) trace.Record {
		return &trace.Match{Event: event, Op: mpispec.OpIrecv, Source: trace.NoSource}
	}
	kept := func(event uint64) trace.Record { return &trace.Match{Event: event, Op: mpispec.OpRecv, Source: 1} }
	for _, c := range []struct {
		name  string
		meta  recording.RankMeta
		kept  []trace.Record
		last  uint64
		fault string
	}{
		{"the event of the last record", recording.RankMeta{}, []trace.Record{kept(5), kept(9)}, 8, ""},
		{"a check", recording.RankMeta{}, []trace.Record{kept(5), &trace.Check{Event: 64}}, 64, ""},
		{"an open receive", recording.RankMeta{}, []trace.Record{kept(5), posted(7), kept(20)}, 6, ""},
		{
			"one that is known",
			recording.RankMeta{},
			[]trace.Record{kept(5), posted(7), kept(20), &trace.Match{Event: 22, Op: mpispec.OpIrecv, Back: 15}},
			21, "",
		},
		{
			"one that was cancelled",
			recording.RankMeta{},
			[]trace.Record{kept(5), posted(7), kept(20), &trace.Match{
				Event: 22, Op: mpispec.OpIrecv,
				Source: trace.NoSource, Back: 15,
			}},
			21, "",
		},
		{
			"polls",
			recording.RankMeta{},
			[]trace.Record{kept(5), &trace.Poll{Event: 7, Op: mpispec.OpTest}, kept(20)},
			7, "",
		},
		{
			"polls that all failed before",
			recording.RankMeta{Polls: 3, End: recording.RankEnd{How: recording.EndFinalized}},
			[]trace.Record{&trace.Poll{Event: 7, Op: mpispec.OpTest, Failures: 3}, kept(20)},
			19, "",
		},
		{"the next poll", recording.RankMeta{}, []trace.Record{
			kept(5), posted(7), &trace.Poll{Event: 12, Op: mpispec.OpTest, Failures: 3},
			kept(20),
		}, 6, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, err := recording.Create(
				filepath.Join(t.TempDir(), "run.cohort"),
				tracetest.Meta(1),
				recording.CreateOptions{},
			)
			if err != nil {
				t.Fatal(err)
			}
			c.meta.Rank = 0
			if c.meta.End.How == "" && c.name != "polls" {
				c.meta.End = recording.RankEnd{How: recording.EndFinalized}
				for _, r := range c.kept {
					if p, ok := r.(*trace.Poll); ok {
						c.meta.Polls += p.Failures
					}
				}
			}
			if err := rec.Update(func(m *recording.Meta) { m.PerRank[0] = c.meta }); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(rec.Dir, recording.RankFile(0))
			w, err := trace.CreateFile(path, trace.Header{Mode: abi.ModeOrder, WorldSize: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range c.kept {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Seal(); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(kept(100)); err != nil {
				t.Fatal(err)
			}
			if err := w.Finish(); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err == nil {
				err = os.Truncate(path, info.Size()-1)
			}
			if err != nil {
				t.Fatal(err)
			}
			out, report, err := Repair(rec.Dir, filepath.Join(t.TempDir(), "to.cohort"), recording.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			d, err := out.Decisions(0, decisions.Options{})
			if err != nil || d.LastEvent != c.last || report[0].Events != c.last {
				t.Errorf("event %d, %+v, want %d; %v", d.LastEvent, report, c.last, err)
			}
		})
	}
}
