package rewrite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// cannotRepair refuses a damaged trace of which nothing can be used; fault is what is wrong with it.
func cannotRepair(rec *recording.Recording, rank int, fault error, reason string) error {
	return trace.Refuse("the recording %s cannot be repaired: %s. What is wrong with the trace of rank %d: %s", rec.Dir,
		reason, rank, faultOf(fault))
}

func faultOf(err error) string {
	if f, ok := errors.AsType[*trace.FormatError](err); ok {
		return f.Fault()
	}
	return err.Error()
}

// Repair writes to dir what is whole of a recording with damaged traces: of a damaged one the chunks before the damage
// whose checksums hold, cut back to the last event up to which all decisions are among them (docs/trace-format.md,
// Damaged traces); the others as they are. A replay of that goes as far as the ranks with damaged traces do. The
// recording itself is not changed. If nothing is damaged, nothing is written, and the results are nil. dir is made as
// Create makes it; if that fails later, it is removed if it was not there. Errors: *trace.RefusedError (nothing can be
// used; dir is the recording itself), those of Create, and those of Open that are not about damage.
func Repair(from, dir string, opt recording.CreateOptions) (*recording.Recording, []recording.Repaired, error) {
	rec, err := recording.OpenUnchecked(from)
	if err != nil {
		return nil, nil, err
	}
	faults := make([]error, rec.Meta.Ranks)
	if err := rec.EachRank(func(rank int) (err error) {
		faults[rank], err = damage(rec, rank)
		return err
	}); err != nil {
		return nil, nil, err
	}
	first := slices.IndexFunc(faults, func(err error) bool { return err != nil })
	if first < 0 {
		return nil, nil, nil
	}
	if rec.Meta.Mode == abi.ModeRacing.String() {
		return nil, nil, cannotRepair(rec, first, faults[first], "in racing mode it becomes known late which receives "+
			"raced, so what is lost may be about any event before it")
	}
	var report []recording.Repaired
	out, err := remake(rec, dir, rec.Meta.Mode, opt, func(meta *recording.RankMeta) (err error) {
		fault := faults[meta.Rank]
		if fault == nil {
			return copyRank(rec, dir, meta.Rank)
		}
		if meta.Repaired, err = repairRank(rec, dir, meta, fault); err == nil {
			report = append(report, *meta.Repaired)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return out, report, nil
}

// damage reads a trace to its end and returns what is wrong with it; err is what else hinders that.
func damage(rec *recording.Recording, rank int) (fault, err error) {
	r, err := rec.Rank(rank)
	if err == nil {
		for _, fault = range r.All() {
		}
		err = errors.Join(fault, r.Close())
	}
	if _, is := errors.AsType[*trace.FormatError](err); is && !errors.Is(err, trace.ErrNotTrace) {
		return err, nil
	}
	return nil, err
}

// copyRank copies a whole trace, packed or not.
func copyRank(rec *recording.Recording, dir string, rank int) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("copy the trace of rank %d: %w", rank, err)
		}
	}()
	path, err := trace.Locate(filepath.Join(rec.Dir, recording.RankFile(rank)))
	if err != nil {
		return err
	}
	src, err := os.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // above
	}
	defer src.Close() //nolint:errcheck // only read
	dst, err := os.OpenFile(filepath.Join(dir, filepath.Base(path)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err //nolint:wrapcheck // above
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// repairRank writes what can be used of a damaged trace.
func repairRank(rec *recording.Recording, dir string, meta *recording.RankMeta, fault error) (*recording.Repaired,
	error,
) {
	rank := meta.Rank
	whole, err := salvage(rec, dir, rank)
	if _, is := errors.AsType[*trace.FormatError](err); is {
		return nil, cannotRepair(rec, rank, err, "the header of the trace is damaged")
	}
	if err != nil {
		return nil, fmt.Errorf("repair the trace of rank %d: %w", rank, err)
	}
	defer whole.Close() //nolint:errcheck // only read
	cut, err := lastWhole(whole, meta)
	switch {
	case err != nil:
		return nil, cannotRepair(rec, rank, fault,
			fmt.Sprintf("what is left of the trace contradicts itself (%v)", err))
	case cut.last == 0:
		return nil, cannotRepair(rec, rank, fault, "no event is left of which all is known. A chunk of the trace "+
			"counts if all of it is there, and an event if nothing that is lost may be about it")
	}
	if err := cut.write(whole, filepath.Join(dir, recording.RankFile(rank))); err != nil {
		return nil, fmt.Errorf("repair the trace of rank %d: %w", rank, err)
	}
	of := meta.Events
	if meta.End.Unknown() {
		of = 0 // cohort was killed before it could say
	}
	return &recording.Repaired{Rank: rank, Events: cut.last, Of: of, Fault: faultOf(fault)}, nil
}

// salvage opens what is whole of the trace of a rank; scratch is for what has to be unpacked.
func salvage(rec *recording.Recording, scratch string, rank int) (*trace.Salvaged, error) {
	whole, err := trace.Salvage(filepath.Join(rec.Dir, recording.RankFile(rank)), scratch)
	if err != nil {
		return nil, err
	}
	r, err := whole.Reader()
	if err == nil {
		err = rec.CheckHeader(r.Header(), rank)
	}
	if err != nil {
		return nil, errors.Join(err, whole.Close())
	}
	return whole, nil
}
