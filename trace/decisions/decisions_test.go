package decisions_test

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/tracetest"
)

func TestBothModesGiveTheSameDecisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := tracetest.NewSim(t)
		comm := tracetest.WorldComm()
		s.Order, s.Full = []trace.Record{comm}, []trace.Record{comm}
		for range rapid.IntRange(0, 60).Draw(t, "calls") {
			s.Step()
		}
		h := trace.Header{Rank: 1, WorldSize: 2}
		closed := rapid.Bool().Draw(t, "closed")
		if closed {
			s.Begin(mpispec.OpFinalize)
			s.Order = append(s.Order, &trace.End{FailedPolls: s.Failed, How: 1})
			s.Full = append(s.Full, &trace.End{FailedPolls: s.Failed, How: 1})
		} else {
			h.Polls = s.Failed
		}
		if s.Failed > 0 {
			s.Want.Polls = append(s.Want.Polls, decisions.Poll{Event: abi.Never, Failures: s.Failed})
		}
		s.Sort()
		s.Want.LastEvent, s.Want.Finalized, h.Events = s.Event, closed, s.Event
		for mode, records := range map[abi.Mode][]trace.Record{abi.ModeOrder: s.Order, abi.ModeFull: s.Full} {
			h.Mode = mode
			got, err := decisions.Build(tracetest.Write(t, h, records, closed).Reader(t), decisions.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&s.Want, got); d != "" {
				t.Fatalf("%s: %s", mode, d)
			}
			back, err := decisions.Decode("memory", got.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, back); d != "" {
				t.Fatalf("file: %s", d)
			}
		}
	})
}

// The bytes of the decisions file, spelled out.
func TestDecisionsLayout(t *testing.T) {
	d := &decisions.Plan{
		Rank:      3,
		WorldSize: 4,
		LastEvent: 9,
		Finalized: true,
		Matches: []decisions.Match{
			{Event: 5, Source: 2, Tag: -1, Op: mpispec.OpRecv},
			{Event: 6, Op: mpispec.OpIrecv, Never: true},
		},
		Polls: []decisions.Poll{{Event: abi.Never, Failures: 7}},
		Sets: []decisions.Set{
			{Event: 8, Op: mpispec.OpWaitsome, Indices: []uint32{4, 1, 2}},
			{Event: 9, Op: mpispec.OpWaitany},
		},
		Checks:    []decisions.Check{{Event: 7, Hash: 0x89abcdef}},
		CurrentOp: mpispec.OpBarrier,
		Hold:      true,
		Control:   true,
		Waits:     []decisions.Order{{Event: 4, Peer: 2}},
		Grants:    []decisions.Order{{Event: 6, Peer: 1}},
	}
	d.AddValues([]trace.Record{
		&trace.Thread{Index: 4, ID: 77},
		&trace.Value{What: abi.ValueTime, Number: 11}, &trace.Value{What: abi.ValueTime, Number: 12},
		&trace.Value{What: abi.ValueRusage, Bytes: "abc"},
		&trace.Value{Thread: 4, What: abi.ValueWtick, Number: 13}, &trace.Turn{Steps: 6, Thread: 4},
	})
	b := d.Encode()
	word := func(at int) uint32 {
		return uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
	}
	for at, want := range map[int]uint32{
		8: 3, 12: 184, 16: 3, 20: 4, 24: 2, 32: 1, 40: 2, 48: 184, 56: 232, 64: 256, 72: 48, 80: 9, 88: 1,
		92: 40, 96: 1, 104: 304, 112: 2, 120: 408, 128: 1, 136: 472, 144: 1, 152: 320, 160: 1, 168: 336, 176: 1, 180: 1,
		184: 5, 192: 2, 196: 0xffffffff, 200: 9, 204: 0, 208: 6, 224: 10, 228: 1,
		232: 0xffffffff, 236: 0xffffffff, 240: 7, 248: 0, 252: 1,
		256: 8, 264: 29, 268: 3, 272: 4, 276: 1, 280: 2, 284: 0, 288: 9, 296: 28, 300: 0,
		304: 7, 312: 0x89abcdef, 316: 0,
		320: 4, 328: 2, 336: 6, 344: 1,
		352: 5, 356: 16, 360: 11, 368: 12, // two times in one entry
		376: 17, 380: 3, 384: 0x636261,
		392: 2, 396: 8, 400: 13,
		408: 1, 416: 3, 424: 352, 432: 40, 440: 77, 448: 1, 456: 392, 464: 16,
		472: 6, 480: 77,
	} {
		if word(at) != want {
			t.Errorf("word at %d is %d, want %d", at, word(at), want)
		}
	}
	if len(b) != 488 {
		t.Errorf("%d bytes", len(b))
	}
	path := filepath.Join(t.TempDir(), "decisions")
	if err := d.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := decisions.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Error(diff)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(names) != 1 {
		t.Errorf("left behind: %v %v", names, err)
	}
	for size := range b {
		if _, err := decisions.Decode("cut", b[:size]); err == nil {
			t.Errorf("%d of %d bytes are accepted", size, len(b))
		}
	}
}

func TestIncompleteIsRefused(t *testing.T) {
	records := []trace.Record{
		&trace.Module{Path: "/bin/p"},
		&trace.Site{Index: 1, Offset: 8},
		&trace.Note{Event: 2, Call: "MPI_Get", Site: 1},
		&trace.Note{Event: 4, Call: "MPI_Put"},
		&trace.Match{Event: 5, Op: mpispec.OpRecv, Source: 1, Tag: 2},
		&trace.End{How: 1},
	}
	f := tracetest.Write(t, trace.Header{
		Mode: abi.ModeOrder, Rank: 1, WorldSize: 2, Incomplete: 2, IncompleteCall: "MPI_Get",
		IncompleteEvent: 2,
	}, records, true)
	_, err := decisions.Build(f.Reader(t), decisions.Options{})
	var e *decisions.IncompleteError
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if d := cmp.Diff(&decisions.IncompleteError{
		Path: "memory", Rank: 1, Call: "MPI_Get", Event: 2, Count: 2,
		Module: "/bin/p", Offset: 8,
	},
		e); d != "" {
		t.Error(d)
	}
	if d, err := decisions.Build(f.Reader(t), decisions.Options{AllowIncomplete: true}); err != nil ||
		len(d.Matches) != 1 {
		t.Error(d, err)
	}
	// The NOTE did not reach the file.
	f = tracetest.Write(
		t,
		trace.Header{Mode: abi.ModeOrder, Incomplete: 1, IncompleteCall: "MPI_Get", IncompleteEvent: 2},
		nil,
		false,
	)
	if _, err = decisions.Build(f.Reader(t), decisions.Options{}); !errors.As(err, &e) || e.Call != "MPI_Get" ||
		e.Count != 1 {
		t.Error(err)
	}
}

// With a full disk the events before that of the last record are known whole, and those that a check covers.
func TestFullDiskEndsTheReplayAtTheLastWholeEvent(t *testing.T) {
	for _, c := range []struct {
		records []trace.Record
		last    uint64
		matches int
		polls   []decisions.Poll
	}{
		{nil, 0, 0, nil},
		{[]trace.Record{&trace.Match{Event: 5, Op: mpispec.OpRecv}}, 4, 0, nil},
		{[]trace.Record{&trace.Match{Event: 5, Op: mpispec.OpRecv}, &trace.Check{Event: 64, Hash: 1}}, 64, 1, nil},
		{
			// its MATCH may be lost
			[]trace.Record{&trace.Match{Event: 5, Op: mpispec.OpRecv}, &trace.Poll{
				Event: 9, Op: mpispec.OpIprobe,
				Failures: 3,
			}},
			8, 1,
			[]decisions.Poll{{Event: abi.Never, Failures: 3}},
		},
	} {
		f := tracetest.Write(
			t,
			trace.Header{
				Mode:      abi.ModeOrder,
				Events:    1000,
				Polls:     77,
				Ended:     abi.EndedDiskCounting,
				CurrentOp: mpispec.OpBarrier,
			},
			c.records,
			false,
		)
		d, err := decisions.Build(f.Reader(t), decisions.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d.LastEvent != c.last || len(d.Matches) != c.matches || !cmp.Equal(d.Polls, c.polls) || d.Finalized ||
			d.CurrentOp != mpispec.OpNone {
			t.Errorf("%v: %+v", c.records, d)
		}
	}
}

// Where the header was left as it was when the disk was full, it says what is whole, also if the last record is of an
// earlier event, or one of the event in progress is there.
func TestFullDiskEndsTheReplayWhereTheHeaderWasLeft(t *testing.T) {
	records := []trace.Record{
		&trace.Poll{Event: 9, Op: mpispec.OpIprobe, Failures: 3}, &trace.Match{Event: 9, Op: mpispec.OpIprobe},
		&trace.Match{Event: 21, Op: mpispec.OpRecv},
	}
	for _, ended := range []abi.Ended{abi.EndedDisk, abi.EndedUnable, abi.EndedRepaired} {
		for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeRacing} {
			f := &tracetest.Buffer{}
			w := trace.NewWriter(f, trace.Header{Mode: mode, Polls: 7, Ended: ended, CurrentOp: mpispec.OpRecv})
			for _, r := range records {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Cut(); err != nil {
				t.Fatal(err)
			}
			binary.LittleEndian.PutUint64(f.Bytes[56:], 20) // events complete
			d, err := decisions.Build(f.Reader(t), decisions.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := &decisions.Plan{
				Sparse:    mode == abi.ModeRacing,
				LastEvent: 20,
				Ended:     ended,
				Matches:   []decisions.Match{{Event: 9, Op: mpispec.OpIprobe}},
				Polls: []decisions.Poll{
					{Event: 9, Op: mpispec.OpIprobe, Failures: 3},
					{Event: abi.Never, Failures: 7},
				},
			}
			if diff := cmp.Diff(want, d, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", mode, diff)
			}
		}
	}
}

// A rank that was killed between two records of one event: the event was not complete.
func TestAnEventInProgressIsNotDecided(t *testing.T) {
	f := &tracetest.Buffer{}
	w := trace.NewWriter(f, trace.Header{Mode: abi.ModeOrder, CurrentOp: mpispec.OpIprobe})
	for _, r := range []trace.Record{
		&trace.Match{Event: 5, Op: mpispec.OpRecv, Source: 1, Tag: 2},
		&trace.Poll{Event: 9, Op: mpispec.OpIprobe, Failures: 3},
	} {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Cut(); err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(f.Bytes[56:], 8) // events complete
	d, err := decisions.Build(f.Reader(t), decisions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &decisions.Plan{
		LastEvent: 8,
		CurrentOp: mpispec.OpIprobe,
		Matches:   []decisions.Match{{Event: 5, Op: mpispec.OpRecv, Source: 1, Tag: 2}},
		Polls:     []decisions.Poll{{Event: abi.Never, Failures: 3}},
	}
	if diff := cmp.Diff(want, d, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestContradictoryDecisions(t *testing.T) {
	posted := func(event uint64) trace.Record {
		return &trace.Match{Event: event, Op: mpispec.OpIrecv, Source: trace.NoSource}
	}
	for _, c := range []struct {
		name    string
		mode    abi.Mode
		records []trace.Record
		want    string
	}{
		{"no post", abi.ModeOrder, []trace.Record{&trace.Match{
			Event: 3, Op: mpispec.OpIrecv, Source: 1,
			Back: 2,
		}}, "was not posted"},
		{"two posts", abi.ModeOrder, []trace.Record{posted(3), posted(3)}, "posted twice"},
		{"two messages", abi.ModeOrder, []trace.Record{
			posted(1), &trace.Match{Event: 3, Op: mpispec.OpIrecv, Source: 1, Back: 2},
			&trace.Match{Event: 4, Op: mpispec.OpIrecv, Source: 2, Back: 3},
		}, "two messages"},
		{"not started", abi.ModeFull, []trace.Record{
			tracetest.WorldComm(), &trace.Event{
				Index: 1, Op: mpispec.OpRecvInit,
				Send: trace.SendArgs{Dest: trace.AnySource},
			},
			&trace.Event{Index: 2, Op: mpispec.OpWait, Completed: []trace.Completion{{
				Post:  1,
				Class: trace.RequestRecv,
			}}},
		}, "not started"},
	} {
		_, err := decisions.Build(
			tracetest.Write(t, trace.Header{Mode: c.mode}, c.records, false).Reader(t),
			decisions.Options{},
		)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
