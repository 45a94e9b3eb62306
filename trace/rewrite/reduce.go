package rewrite

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

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

// Reduce writes to dir the recording without the decisions of the wildcard receives and probes that drop selects, as a
// recording in ModeRacing: replay posts them as the program asks, so none may be dropped that could take another
// message then. Receives that never took a message are kept whatever drop says: they are not posted. All other
// decisions are kept, and what else a replay needs. dir is made as Create makes it; if that fails later, it is removed
// if it was not there. Errors: *trace.RefusedError (dir is the recording itself; a rank did not end well),
// *decisions.IncompleteError, those of Create, Open and decisions.Build.
func Reduce(rec *recording.Recording, dir string, opt recording.CreateOptions,
	drop func(rank int, r trace.Posting) bool,
) (*recording.Recording, Reduced, error) {
	var sum Reduced
	out, err := remake(rec, dir, abi.ModeRacing.String(), opt, func(meta *recording.RankMeta) (err error) {
		meta.Decisions, err = reduceRank(rec, dir, meta, drop, &sum)
		return err
	})
	return out, sum, err
}

// reduceRank returns how many records of decisions the trace has that it writes.
func reduceRank(rec *recording.Recording, dir string, meta *recording.RankMeta, drop func(int, trace.Posting) bool,
	sum *Reduced,
) (written uint64, err error) {
	rank := meta.Rank
	d, err := rec.Decisions(rank, decisions.Options{})
	if err != nil {
		return 0, err
	}
	if !d.Finalized {
		return 0, trace.Refuse("rank %d of the recording %s did not reach MPI_Finalize (%s); what it had sent last "+
			"is not known, and so not which receives need no decision", rank, rec.Dir, meta.End)
	}
	var kept []decisions.Match
	for _, m := range d.Matches {
		sum.Wildcards++
		if !m.Never && drop(rank, m.Posting()) {
			continue
		}
		sum.Kept++
		if m.Never {
			sum.Never++
		}
		kept = append(kept, m)
	}
	r, err := rec.Rank(rank)
	if err != nil {
		return 0, err
	}
	defer r.Close() //nolint:errcheck // read only
	h := sameRank(r.Header())
	h.Mode, h.Events, h.Polls = abi.ModeRacing, max(r.Header().Events, d.LastEvent), r.Header().Polls
	w, err := trace.CreateFile(filepath.Join(dir, recording.RankFile(rank)), h)
	if err != nil {
		return 0, err
	}
	records, end := recordsOf(d, kept)
	err = copyOthers(w, r)
	for _, one := range append(records, end) {
		if err == nil {
			err = w.Write(one)
		}
	}
	if err != nil {
		return 0, errors.Join(err, w.Cut())
	}
	return uint64(len(records)), w.Finish()
}

// copyOthers copies what is no decision of messages, nor an event.
func copyOthers(w *trace.Writer, r *trace.Reader) error {
	for rec, err := range r.All() {
		if err != nil {
			return err
		}
		switch rec.(type) {
		case *trace.Comm, *trace.Event, *trace.Content, *trace.Match, *trace.Run, *trace.Poll, *trace.Set, *trace.End:
		default:
			if err := w.Write(rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordsOf makes the records of decisions, in the order of their events and in one event in that of the format, with
// those of messages that are kept.
func recordsOf(d *decisions.Plan, kept []decisions.Match) (all []trace.Record, end *trace.End) {
	end = &trace.End{How: 1}
	for _, p := range d.Polls {
		if p.Event == abi.Never {
			end.FailedPolls = p.Failures
		} else {
			all = append(all, &p)
		}
	}
	for _, s := range d.Sets {
		all = append(all, &s)
	}
	for len(kept) > 0 {
		m, n := kept[0], runLength(kept)
		switch {
		case m.Never:
			all = append(all, &trace.Match{Event: m.Event, Op: m.Op, Source: trace.NoSource, Which: m.Which})
		case n < 3: // two are no shorter as a run, and the second may begin one
			all = append(all, &trace.Match{Event: m.Event, Op: m.Op, Source: m.Source, Tag: m.Tag, Which: m.Which})
			n = 1
		default:
			last := kept[n-1].Event
			all = append(all, &trace.Run{
				Event: last, Op: m.Op, Source: m.Source, Tag: m.Tag, Back: last - m.Event, Count: uint32(n),
				Stride: uint32(kept[1].Event - m.Event),
			})
		}
		kept = kept[n:]
	}
	slices.SortStableFunc(all, func(x, y trace.Record) int {
		a, _ := eventOf(x)
		b, _ := eventOf(y)
		return cmp.Compare(a, b)
	})
	return all, end
}

// maxRun bounds the length and the stride of a run.
const maxRun = 1 << 30

// runLength is how many of the messages, from the first on, a RUN can stand for.
func runLength(all []decisions.Match) int {
	m := all[0]
	if m.Never || m.Op == mpispec.OpStartall || len(all) == 1 {
		return 1
	}
	n, stride := 1, all[1].Event-m.Event
	for ; n < min(len(all), maxRun) && 0 < stride && stride <= maxRun; n++ {
		next := m
		if next.Event += uint64(n) * stride; all[n] != next {
			break
		}
	}
	return n
}
