// Package rewrite makes recordings from others: the whole part of a damaged one, and one with fewer decisions.
package rewrite

import (
	"errors"
	"os"
	"slices"

	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// remake makes a recording of the same run in dir, as Create makes it, where write writes the trace of each rank and
// changes what recording.json says of it. If that fails, dir is removed if it was not there.
func remake(rec *recording.Recording, dir, mode string, opt recording.CreateOptions,
	write func(*recording.RankMeta) error,
) (*recording.Recording, error) {
	there, err := os.Stat(dir)
	made := err != nil
	if here, err := os.Stat(rec.Dir); !made && err == nil && os.SameFile(here, there) {
		return nil, trace.Refuse("%s is the recording itself; choose another name", dir)
	}
	meta := rec.Meta
	meta.Mode, meta.PerRank = mode, slices.Clone(meta.PerRank)
	out, err := recording.Create(dir, meta, opt)
	if err != nil {
		return nil, err
	}
	for rank := range meta.PerRank {
		if err == nil {
			err = write(&meta.PerRank[rank])
		}
	}
	if err == nil {
		err = out.Update(func(m *recording.Meta) { m.PerRank = meta.PerRank })
	}
	if err != nil && made {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// sameRank is the header of another trace of the same rank: it says what the rank is.
func sameRank(h trace.Header) trace.Header {
	return trace.Header{
		Mode: h.Mode, Flags: h.Flags, Rank: h.Rank, WorldSize: h.WorldSize, MPI: h.MPI, StartNS: h.StartNS,
		Unrecorded: h.Unrecorded,
	}
}

// eventOf is the event that an order-mode record is of; ok is false for other records.
func eventOf(r trace.Record) (event uint64, ok bool) {
	switch r := r.(type) {
	case *trace.Match:
		return r.Event, true
	case *trace.Run:
		return r.Event, true
	case *trace.Poll:
		return r.Event, true
	case *trace.Set:
		return r.Event, true
	}
	return 0, false
}
