package trace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// simulated is an execution of one rank, with what is true of it.
type simulated struct {
	*rankSim
	failedAfter map[uint64]uint64 // polls, by the event before them
	exact       map[post]bool     // receives with exact arguments that were cancelled at some time
}

func simulate(t *rapid.T) *simulated {
	s := &simulated{
		rankSim: &rankSim{t: t, want: Decisions{Rank: 1, WorldSize: 2}}, failedAfter: map[uint64]uint64{},
		exact: map[post]bool{},
	}
	s.order, s.full = []Record{worldComm()}, []Record{worldComm()}
	for range rapid.IntRange(0, 120).Draw(t, "calls") {
		event, failed, wild := s.event, s.failed, len(s.want.Matches)
		s.step()
		if s.event == event {
			s.failedAfter[event] += s.failed - failed
		}
		for i, m := range s.want.Matches[wild:] {
			s.exact[post{m.Event, s.which[wild+i]}] = m.Event < s.event && m.Never
		}
		if rapid.IntRange(0, 7).Draw(t, "check") == 0 && s.event > 0 {
			s.check(rapid.Uint32().Draw(t, "hash"))
		}
	}
	s.begin(OpFinalize)
	s.order = append(s.order, &End{FailedPolls: s.failed, How: 1})
	s.full = append(s.full, &End{FailedPolls: s.failed, How: 1})
	s.sort()
	return s
}

func (s *simulated) check(hash uint32) {
	if n := len(s.want.Checks); n > 0 && s.want.Checks[n-1].Event >= s.event {
		return
	}
	s.want.Checks = append(s.want.Checks, DecisionCheck{Event: s.event, Hash: hash})
	s.order, s.full = append(s.order, &Check{Event: s.event, Hash: hash}),
		append(s.full, &Check{Event: s.event, Hash: hash})
}

// store writes the trace in chunks of a few records.
func (s *simulated) store(t *rapid.T, path string, mode Mode) {
	w, err := CreateFile(path, Header{Mode: mode, Rank: 1, WorldSize: 2, Events: s.event})
	if err != nil {
		t.Fatal(err)
	}
	records := s.order
	if mode == ModeFull {
		records = s.full
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		if rapid.IntRange(0, 3).Draw(t, "seal") == 0 {
			first := w.eventsSoFar() + 1
			if err := w.seal(); err != nil {
				t.Fatal(err)
			}
			w.first = first
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}

// upTo checks that decisions are those of the execution up to their last event, and nothing else.
func (s *simulated) upTo(t *rapid.T, got *Decisions) {
	last := got.LastEvent
	if got.Finalized || got.Ended != EndedRepaired || got.CurrentOp != OpNone || last == 0 || last > s.event {
		t.Fatalf("%+v", got)
	}
	have := map[post]DecisionMatch{}
	for i, m := range got.Matches {
		have[post{m.Event, m.Which}] = m
		if i > 0 && m.Event < got.Matches[i-1].Event {
			t.Fatalf("not in order: %v", got.Matches)
		}
	}
	for _, m := range s.want.Matches {
		p := post{m.Event, m.Which}
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
	var sets []DecisionSet
	for _, set := range s.want.Sets {
		if set.Event <= last {
			sets = append(sets, set)
		}
	}
	same(got.Sets, sets)
	var checks []DecisionCheck
	for _, check := range s.want.Checks {
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
func (s *simulated) polls(t *rapid.T, got *Decisions) {
	var polls []DecisionPoll
	before, next := uint64(0), s.event
	for _, p := range s.want.Polls {
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
	if n := len(found); n > 0 && found[n-1].Never {
		failures, found = found[n-1].Failures, found[:n-1]
	}
	if d := cmp.Diff(append([]DecisionPoll(nil), polls...), append([]DecisionPoll(nil), found...)); d != "" {
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
	for _, mode := range []Mode{ModeOrder, ModeFull} {
		for _, packed := range []bool{false, true} {
			t.Run(mode.String()+map[bool]string{true: " packed"}[packed], func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					base, err := os.MkdirTemp(memory, "repair-*") //nolint:usetesting // one of each try, in memory
					if err != nil {
						t.Fatal(err)
					}
					defer os.RemoveAll(base)
					s := simulate(t)
					meta := testMeta(2)
					meta.Mode = mode.String()
					rec, err := Create(filepath.Join(base, "a.cohort"), meta, CreateOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if err := rec.WriteEmpty(0); err != nil {
						t.Fatal(err)
					}
					s.store(t, filepath.Join(rec.Dir, RankFile(1)), mode)
					if rapid.Bool().Draw(t, "ended") {
						d, err := rec.Decisions(1, DecisionOptions{})
						if err != nil {
							t.Fatal(err)
						}
						if err := rec.Update(func(m *Meta) {
							m.PerRank[1].End = RankEnd{How: EndFinalized}
							for _, p := range d.Polls {
								m.PerRank[1].Polls += p.Failures
							}
						}); err != nil {
							t.Fatal(err)
						}
					}
					name := RankFile(1)
					if packed {
						if err := rec.Pack(t.Context(), nil); err != nil {
							t.Fatal(err)
						}
						name = PackedFile(1)
					}
					damaged(t, filepath.Join(rec.Dir, name))
					out, report, err := Repair(rec.Dir, filepath.Join(base, "b.cohort"), CreateOptions{})
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
					again, err := Open(out.Dir)
					if err != nil {
						t.Fatal(err)
					}
					d, err := again.Decisions(1, DecisionOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if d.LastEvent != report[0].Events || again.Meta.PerRank[1].Repaired.Events != d.LastEvent {
						t.Fatalf("%+v: event %d", report, d.LastEvent)
					}
					s.upTo(t, d)
					left, err := filepath.Glob(filepath.Join(out.Dir, tempPrefix+"*"))
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
	var repair *RepairError
	var format *FormatError
	var version *VersionError
	var mode *ModeError
	var count *RankCountError
	if !errors.As(err, &repair) && !errors.As(err, &format) && !errors.As(err, &version) && !errors.As(err, &mode) &&
		!errors.As(err, &count) {
		t.Fatalf("%T: %v", err, err)
	}
	if !strings.Contains(err.Error(), "rank") {
		t.Fatal(err)
	}
}

func TestRepairRefuses(t *testing.T) {
	cut := func(rec *Recording, rank int, by int64) {
		t.Helper()
		path := filepath.Join(rec.Dir, RankFile(rank))
		info, err := os.Stat(path)
		if err == nil {
			err = os.Truncate(path, info.Size()-by)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(t.TempDir(), "to.cohort")
	rec := testRecording(t, 3)
	if out, report, err := Repair(rec.Dir, target, CreateOptions{}); out != nil || report != nil || err != nil {
		t.Error("a whole recording:", out, report, err)
	}
	cut(rec, 0, 1)
	if _, _, err := Repair(rec.Dir, rec.Dir, CreateOptions{}); !errors.As(err, new(*SameRecordingError)) {
		t.Error("onto itself:", err)
	}
	if _, _, err := Repair(rec.Dir, target, CreateOptions{}); !errors.As(err, new(*RepairError)) ||
		!strings.Contains(err.Error(), "no event is left") {
		t.Error("one chunk, which is cut:", err)
	}
	if err := os.Remove(filepath.Join(rec.Dir, RankFile(2))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Repair(rec.Dir, target, CreateOptions{}); !errors.As(err, new(*MissingRankError)) {
		t.Error("a trace that is missing:", err)
	}
	meta := testMeta(1)
	meta.Mode = "racing"
	racing, err := Create(filepath.Join(t.TempDir(), "run.cohort"), meta, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, racing.Dir, ModeRacing, 1)
	cut(racing, 0, 1)
	if _, _, err := Repair(racing.Dir, target, CreateOptions{}); !errors.As(err, new(*RepairError)) ||
		!strings.Contains(err.Error(), "racing mode") {
		t.Error("racing mode:", err)
	}
	if _, err := os.Stat(target); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was left:", err)
	}
}

// What is open when a trace is cut, and what it may not be cut after.
func TestRepairCutsBeforeWhatIsNotKnown(t *testing.T) {
	promise := func(event uint64) Record { return &Match{Event: event, Op: OpIrecv, Source: PromiseSource} }
	kept := func(event uint64) Record { return &Match{Event: event, Op: OpRecv, Source: 1} }
	for _, c := range []struct {
		name  string
		meta  RankMeta
		kept  []Record
		last  uint64
		fault string
	}{
		{"the event of the last record", RankMeta{}, []Record{kept(5), kept(9)}, 8, ""},
		{"a check", RankMeta{}, []Record{kept(5), &Check{Event: 64}}, 64, ""},
		{"an open receive", RankMeta{}, []Record{kept(5), promise(7), kept(20)}, 6, ""},
		{
			"one that is known",
			RankMeta{},
			[]Record{kept(5), promise(7), kept(20), &Match{Event: 22, Op: OpIrecv, Back: 15}},
			21, "",
		},
		{
			"one that was cancelled",
			RankMeta{},
			[]Record{kept(5), promise(7), kept(20), &Match{Event: 22, Op: OpIrecv, Source: PromiseSource, Back: 15}},
			21, "",
		},
		{"polls", RankMeta{}, []Record{kept(5), &Poll{Event: 7, Op: OpTest}, kept(20)}, 7, ""},
		{
			"polls that all failed before",
			RankMeta{Polls: 3, End: RankEnd{How: EndFinalized}},
			[]Record{&Poll{Event: 7, Op: OpTest, Failures: 3}, kept(20)},
			19, "",
		},
		{"the next poll", RankMeta{}, []Record{
			kept(5), promise(7), &Poll{Event: 12, Op: OpTest, Failures: 3},
			kept(20),
		}, 6, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, err := Create(filepath.Join(t.TempDir(), "run.cohort"), testMeta(1), CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c.meta.Rank = 0
			if c.meta.End.How == "" && c.name != "polls" {
				c.meta.End = RankEnd{How: EndFinalized}
				for _, r := range c.kept {
					if p, ok := r.(*Poll); ok {
						c.meta.Polls += p.Failures
					}
				}
			}
			if err := rec.Update(func(m *Meta) { m.PerRank[0] = c.meta }); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(rec.Dir, RankFile(0))
			w, err := CreateFile(path, Header{Mode: ModeOrder, WorldSize: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range c.kept {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.seal(); err != nil {
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
			out, report, err := Repair(rec.Dir, filepath.Join(t.TempDir(), "to.cohort"), CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			d, err := out.Decisions(0, DecisionOptions{})
			if err != nil || d.LastEvent != c.last || report[0].Events != c.last {
				t.Errorf("event %d, %+v, want %d; %v", d.LastEvent, report, c.last, err)
			}
		})
	}
}

// A packed trace unpacks as far as it goes.
func TestUnpackWhatThereIs(t *testing.T) {
	if n, err := unpackWhatThereIs(io.Discard, strings.NewReader("no frame")); n != 0 || err != nil {
		t.Error(n, err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	rec := testRecording(t, 1)
	if err := rec.Pack(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(filepath.Join(rec.Dir, PackedFile(0)))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := unpackWhatThereIs(full, src); err == nil {
		t.Error("writing failed, and nothing is said")
	}
}
