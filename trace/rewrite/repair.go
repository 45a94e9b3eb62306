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

// RepairError is a damaged trace of which nothing can be used.
type RepairError struct {
	Dir    string
	Rank   int
	Reason string
	Fault  error // what is wrong with the trace
}

func (e *RepairError) Error() string {
	return fmt.Sprintf("The recording %s cannot be repaired: %s. What is wrong with the trace of rank %d: %s.", e.Dir,
		e.Reason, e.Rank, faultOf(e.Fault))
}

func (e *RepairError) Unwrap() error { return e.Fault }

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
// Create makes it; if that fails later, it is removed if it was not there. Errors: *RepairError, *SameRecordingError,
// those of Create, and those of Open that are not about damage: a trace that is missing, or of another run.
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
		return nil, nil, &RepairError{
			Dir: from, Rank: first, Fault: faults[first],
			Reason: "in racing mode it becomes known late which receives raced, so what is lost may be about any " +
				"event before it",
		}
	}
	there, err := os.Stat(dir)
	made := err != nil
	if here, err := os.Stat(from); !made && err == nil && os.SameFile(here, there) {
		return nil, nil, &SameRecordingError{Path: dir}
	}
	meta := rec.Meta
	meta.PerRank = slices.Clone(meta.PerRank)
	out, err := recording.Create(dir, meta, opt)
	if err != nil {
		return nil, nil, err
	}
	var report []recording.Repaired
	for rank := range meta.Ranks {
		if faults[rank] == nil {
			err = copyRank(rec, dir, rank)
		} else {
			var r *recording.Repaired
			if r, err = repairRank(rec, dir, rank, faults[rank]); err == nil {
				report = append(report, *r)
				meta.PerRank[rank].Repaired = r
			}
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = out.Update(func(m *recording.Meta) { m.PerRank = meta.PerRank })
	}
	if err != nil && made {
		err = errors.Join(err, os.RemoveAll(dir))
	}
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
func copyRank(rec *recording.Recording, dir string, rank int) error {
	path, err := trace.Locate(filepath.Join(rec.Dir, recording.RankFile(rank)))
	if err != nil {
		return err
	}
	src, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("copy the trace of rank %d: %w", rank, err)
	}
	defer src.Close() //nolint:errcheck // only read
	dst, err := os.OpenFile(filepath.Join(dir, filepath.Base(path)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy the trace of rank %d: %w", rank, err)
	}
	_, err = io.Copy(dst, src)
	if err := errors.Join(err, dst.Close()); err != nil {
		return fmt.Errorf("copy the trace of rank %d: %w", rank, err)
	}
	return nil
}

// repairRank writes what can be used of a damaged trace.
func repairRank(rec *recording.Recording, dir string, rank int, fault error) (*recording.Repaired, error) {
	whole, err := salvage(rec, dir, rank)
	if _, is := errors.AsType[*trace.FormatError](err); is {
		return nil, &RepairError{Dir: rec.Dir, Rank: rank, Reason: "the header of the trace is damaged", Fault: err}
	}
	if err != nil {
		return nil, fmt.Errorf("repair the trace of rank %d: %w", rank, err)
	}
	defer whole.Close() //nolint:errcheck // only read
	cut, err := lastWhole(whole, &rec.Meta.PerRank[rank])
	switch {
	case err != nil:
		return nil, &RepairError{
			Dir: rec.Dir, Rank: rank,
			Reason: fmt.Sprintf("what is left of the trace contradicts itself (%v)", err), Fault: fault,
		}
	case cut.last == 0:
		return nil, &RepairError{
			Dir: rec.Dir, Rank: rank, Fault: fault,
			Reason: "no event is left of which all is known. A chunk of the trace counts if all of it is there, and " +
				"an event if nothing that is lost may be about it",
		}
	}
	if err := cut.write(whole, filepath.Join(dir, recording.RankFile(rank))); err != nil {
		return nil, fmt.Errorf("repair the trace of rank %d: %w", rank, err)
	}
	of := rec.Meta.PerRank[rank].Events
	if rec.Meta.PerRank[rank].End.How == "" || rec.Meta.PerRank[rank].End.How == recording.EndUnknown {
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
