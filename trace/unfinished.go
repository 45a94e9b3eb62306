package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteEmpty writes the trace of a rank that was ended before its MPI_Init had: it has no event, and what the other ranks recorded is good all the
// same. A trace that is there already is left as it is.
func (rec *Recording) WriteEmpty(rank int) error {
	header := Header{Rank: uint32(rank), WorldSize: uint32(rec.Meta.Ranks), StartNS: uint64(rec.Meta.Start.UnixNano())}
	mode, ok := ParseMode(rec.Meta.Mode)
	if !ok {
		return &ModeError{Path: rec.Dir, Mode: rec.Meta.Mode}
	}
	header.Mode = mode
	header.MPI = map[string]uint32{"mpich": MPIMpich, "openmpi": MPIOpenMPI}[rec.Meta.MPI.Kind]
	w, err := CreateFile(filepath.Join(rec.Dir, RankFile(rank)), header)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return w.Cut()
}

// Restore makes a recording readable whose cohort was killed while it recorded, by writing empty traces for the ranks that have none; these it
// returns. A recording that was finished, so that it says how its ranks ended, is left as it is, and so is one without any trace: there it is unknown
// what became of them. Errors are those of Open.
func Restore(dir string) ([]int, error) {
	rec, err := open(dir)
	if err != nil {
		return nil, err
	}
	var missing []int
	for rank, meta := range rec.Meta.PerRank {
		if meta.End.How != EndUnknown && meta.End.How != "" {
			return nil, nil
		}
		_, err := os.Lstat(filepath.Join(dir, RankFile(rank)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, rank)
		case err != nil:
			return nil, fmt.Errorf("restore recording: %w", err)
		}
	}
	if len(missing) == rec.Meta.Ranks {
		return nil, nil
	}
	for _, rank := range missing {
		if err := rec.WriteEmpty(rank); err != nil {
			return nil, err
		}
	}
	return missing, nil
}
