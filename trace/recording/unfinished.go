package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// begun tells whether a rank had begun its trace. The rank writes the magic last of the header, so a file without it is
// one that the rank had made and not begun when it was killed: it holds zeros, or nothing.
func begun(path string) (bool, error) {
	if _, err := os.Lstat(path + trace.PackedSuffix); err == nil {
		return true, nil
	}
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look whether a trace was begun: %w", err)
	}
	defer file.Close() //nolint:errcheck // read only
	magic := make([]byte, 8)
	n, err := io.ReadFull(file, magic)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, fmt.Errorf("look whether the trace %s was begun: %w", path, err)
	}
	return slices.ContainsFunc(magic[:n], func(b byte) bool { return b != 0 }), nil
}

// MadeNotBegun tells whether the rank had made its trace file and was ended before it began the trace.
func (rec *Recording) MadeNotBegun(rank int) bool {
	path := filepath.Join(rec.Dir, RankFile(rank))
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	there, err := begun(path)
	return err == nil && !there
}

// WriteEmpty writes the trace of a rank that was ended before its MPI_Init had: it has no event, and what the other
// ranks recorded is good all the same. A trace that the rank had begun is left as it is.
func (rec *Recording) WriteEmpty(rank int) error {
	header := trace.Header{
		Rank:      uint32(rank),
		WorldSize: uint32(rec.Meta.Ranks),
		StartNS:   uint64(rec.Meta.Start.UnixNano()),
	}
	mode, ok := abi.ParseMode(rec.Meta.Mode)
	if !ok {
		return trace.RefuseMode(rec.Dir, rec.Meta.Mode)
	}
	header.Mode = mode
	header.MPI = map[string]abi.MPI{"mpich": abi.MPICH, "openmpi": abi.OpenMPI}[rec.Meta.MPI.Kind]
	path := filepath.Join(rec.Dir, RankFile(rank))
	if there, err := begun(path); there || err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace a trace that was not begun: %w", err)
	}
	w, err := trace.CreateFile(path, header)
	if err != nil {
		return err
	}
	return w.Cut()
}

// Restore makes a recording readable whose cohort was killed while it recorded, by writing empty traces for the ranks
// that have none; these it returns. A recording that was finished, so that it says how its ranks ended, is left as it
// is, and so is one without any trace: there it is unknown what became of them. Errors are those of Open.
func Restore(dir string) ([]int, error) {
	rec, err := OpenUnchecked(dir)
	if err != nil {
		return nil, err
	}
	var missing []int
	for rank, meta := range rec.Meta.PerRank {
		if !meta.End.Unknown() {
			return nil, nil
		}
		there, err := begun(filepath.Join(dir, RankFile(rank)))
		if err != nil {
			return nil, fmt.Errorf("restore recording: %w", err)
		}
		if !there {
			missing = append(missing, rank)
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
