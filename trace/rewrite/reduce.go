package rewrite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// Reduced says what Reduce left out.
type Reduced struct {
	Wildcards uint64 // decisions of wildcard receives and probes that the recording has
	Kept      uint64 // of these
	Never     uint64 // of those kept: receives that never took a message
}

// UnfinishedError is a rank that did not end well, where one is needed that did.
type UnfinishedError struct {
	Dir  string
	Rank int
	End  recording.RankEnd
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("rank %d of the recording %s did not reach MPI_Finalize (%s); what it had sent last is not "+
		"known, and so not which receives need no decision",
		e.Rank, e.Dir, e.End)
}

// SameRecordingError is a recording that was to be written over the one that it is made from.
type SameRecordingError struct{ Path string }

func (e *SameRecordingError) Error() string {
	return fmt.Sprintf("%s is the recording itself; choose another name", e.Path)
}

// Reduce writes to dir the recording without the decisions of the wildcard receives and probes that drop selects, as a
// recording in ModeRacing: replay posts them as the program asks, so none may be dropped that could take another
// message then. Receives that never took a message are kept whatever drop says: they are not posted. All other
// decisions are kept, and what else a replay needs. dir is made as Create makes it; if that fails later, it is removed
// if it was not there. Errors: *SameRecordingError, *IncompleteError, *UnfinishedError, those of Create, Open and
// decisions.Build.
func Reduce(
	rec *recording.Recording,
	dir string,
	opt recording.CreateOptions,
	drop func(rank int, r trace.Posting) bool,
) (*recording.Recording, Reduced,
	error,
) {
	var sum Reduced
	meta := rec.Meta
	meta.Mode = abi.ModeRacing.String()
	meta.PerRank = append([]recording.RankMeta(nil), meta.PerRank...)
	there, err := os.Stat(dir)
	made := err != nil
	if here, err := os.Stat(rec.Dir); !made && err == nil && os.SameFile(here, there) {
		return nil, sum, &SameRecordingError{Path: dir}
	}
	out, err := recording.Create(dir, meta, opt)
	if err != nil {
		return nil, sum, err
	}
	for rank := range meta.Ranks {
		var n uint64
		if n, err = reduceRank(rec, dir, rank, drop, &sum); err != nil {
			break
		}
		meta.PerRank[rank].Decisions = n
	}
	if err == nil {
		err = out.Update(func(m *recording.Meta) { m.PerRank = meta.PerRank })
	}
	if err != nil && made {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return out, sum, err
}

func reduceRank(
	rec *recording.Recording,
	dir string,
	rank int,
	drop func(int, trace.Posting) bool,
	sum *Reduced,
) (kept uint64,
	err error,
) {
	d, err := rec.Decisions(rank, decisions.Options{})
	if err != nil {
		return 0, err
	}
	if !d.Finalized {
		return 0, &UnfinishedError{Dir: rec.Dir, Rank: rank, End: rec.Meta.PerRank[rank].End}
	}
	r, err := rec.Rank(rank)
	if err != nil {
		return 0, err
	}
	defer r.Close() //nolint:errcheck // read only
	h := r.Header()
	w, err := trace.CreateFile(filepath.Join(dir, recording.RankFile(rank)), trace.Header{
		Mode: abi.ModeRacing, Flags: h.Flags, Rank: h.Rank, WorldSize: h.WorldSize, MPI: h.MPI, StartNS: h.StartNS, Unrecorded: h.Unrecorded,
		Events: max(h.Events, d.LastEvent), Polls: h.Polls,
	})
	if err != nil {
		return 0, err
	}
	red := reducer{w: w}
	if err := red.rest(r); err != nil {
		return 0, errors.Join(err, w.Cut())
	}
	for _, m := range d.Matches {
		sum.Wildcards++
		if !m.Never && drop(rank, m.Posting()) {
			continue
		}
		sum.Kept++
		if m.Never {
			sum.Never++
		}
		red.keep(m)
	}
	if err := red.decisions(d); err != nil {
		return 0, errors.Join(err, w.Cut())
	}
	return red.written, w.Finish()
}

// reducer writes one rank's trace.
type reducer struct {
	w       *trace.Writer
	kept    []trace.Record // MATCH and RUN, by event
	written uint64
}

// rest copies what is no decision of messages, nor an event.
func (red *reducer) rest(r *trace.Reader) error {
	for rec, err := range r.All() {
		if err != nil {
			return err
		}
		switch rec.(type) {
		case *trace.Comm, *trace.Event, *trace.Content, *trace.Match, *trace.Run, *trace.Poll, *trace.Set, *trace.End:
		default:
			if err := red.w.Write(rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep adds a decision. Those of one source in a row become a run.
func (red *reducer) keep(m decisions.Match) {
	if m.Never {
		red.kept = append(red.kept, &trace.Match{Event: m.Event, Op: m.Op, Source: trace.PromiseSource, Which: m.Which})
		return
	}
	one := &trace.Match{Event: m.Event, Op: m.Op, Source: m.Source, Tag: m.Tag, Which: m.Which}
	if n := len(red.kept); n > 0 && m.Op != mpispec.OpStartall {
		switch last := red.kept[n-1].(type) {
		case *trace.Match:
			if stride := m.Event - last.Event; last.Op == m.Op && last.Source == m.Source && last.Tag == m.Tag &&
				stride > 0 && stride <= maxStride {
				red.kept[n-1] = &trace.Run{
					Event: m.Event, Op: m.Op, Source: m.Source, Tag: m.Tag, Back: stride, Count: 2,
					Stride: uint32(stride),
				}
				return
			}
		case *trace.Run:
			if last.Op == m.Op && last.Source == m.Source && last.Tag == m.Tag &&
				m.Event == last.Event+uint64(last.Stride) && last.Count < maxStride {
				last.Event, last.Back, last.Count = m.Event, last.Back+uint64(last.Stride), last.Count+1
				return
			}
			// Two are no shorter as a run, and the second may begin one.
			if last.Count == 2 {
				first := &trace.Match{Event: last.Event - last.Back, Op: last.Op, Source: last.Source, Tag: last.Tag}
				second := &trace.Match{Event: last.Event, Op: last.Op, Source: last.Source, Tag: last.Tag}
				red.kept[n-1] = first
				red.kept = append(red.kept, second)
				red.keep(m)
				return
			}
		}
	}
	red.kept = append(red.kept, one)
}

const maxStride = 1 << 30

func first(q []trace.Record) trace.Record {
	if len(q) == 0 {
		return nil
	}
	return q[0]
}

// eventOf is Never of nothing.
func eventOf(r trace.Record) uint64 {
	switch r := r.(type) {
	case *trace.Match:
		return r.Event
	case *trace.Run:
		return r.Event
	case *trace.Poll:
		return r.Event
	case *trace.Set:
		return r.Event
	}
	return abi.Never
}

// decisions writes all decisions in the order of their events, and the end.
func (red *reducer) decisions(d *decisions.Plan) error {
	var polls, sets []trace.Record
	end := &trace.End{How: 1}
	for _, p := range d.Polls {
		if p.Never {
			end.FailedPolls = p.Failures
			continue
		}
		polls = append(polls, &trace.Poll{Event: p.Event, Op: p.Op, Failures: p.Failures})
	}
	for _, s := range d.Sets {
		sets = append(sets, &trace.Set{Event: s.Event, Op: s.Op, Indices: s.Indices})
	}
	for len(polls)+len(sets)+len(red.kept) > 0 {
		next, least := &polls, eventOf(first(polls))
		for _, q := range []*[]trace.Record{&sets, &red.kept} { // records of one event come in this order
			if event := eventOf(first(*q)); event < least {
				next, least = q, event
			}
		}
		if err := red.w.Write((*next)[0]); err != nil {
			return err
		}
		red.written++
		*next = (*next)[1:]
	}
	return red.w.Write(end)
}
