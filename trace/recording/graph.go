package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

const scratchPattern = atomicfile.TempPrefix + "graph-*"

// Graph gives the full traces of a recording, from which its event graph is built.
type Graph struct {
	rec *Recording
	dir string
}

// HasGraph reports whether there are full traces: the recording is in full mode, or has been replayed once in full
// mode.
func (rec *Recording) HasGraph() bool {
	if rec.Meta.Mode == abi.ModeFull.String() {
		return true
	}
	info, err := os.Stat(filepath.Join(rec.Dir, graphName))
	return err == nil && info.IsDir()
}

// Graph opens the full traces, and checks that they are of this recording. Errors are those of Open.
func (rec *Recording) Graph() (*Graph, error) {
	if rec.Meta.Mode == abi.ModeFull.String() {
		return &Graph{rec, rec.Dir}, nil
	}
	if !rec.HasGraph() {
		return nil, fmt.Errorf("the recording %s holds decisions only; replay it once in full mode to obtain its "+
			"event graph",
			rec.Dir)
	}
	dir := filepath.Join(rec.Dir, graphName)
	if err := rec.checkGraph(dir); err != nil {
		return nil, err
	}
	return &Graph{rec, dir}, nil
}

func (rec *Recording) checkGraph(dir string) error {
	if err := rec.check(dir); err != nil {
		return err
	}
	for rank := range rec.Meta.Ranks {
		full, err := (&Graph{rec, dir}).Rank(rank)
		if err != nil {
			return err
		}
		recorded, err := rec.Rank(rank)
		if err != nil {
			return errors.Join(err, full.Close())
		}
		hf, hr := full.Header(), recorded.Header()
		if err := errors.Join(full.Close(), recorded.Close()); err != nil {
			return err
		}
		// A rank that was cut short is ended by the replay at its last decision, or a little later: only a rank that
		// was recorded whole has a number of events to compare.
		if hr.Closed && hf.Events != hr.Events {
			return trace.Refuse("the full trace of rank %d in %s has %d events but the recording has %d: they are "+
				"not of the same run", rank, dir, hf.Events, hr.Events)
		}
	}
	return nil
}

// Ranks returns the number of ranks.
func (g *Graph) Ranks() int { return g.rec.Meta.Ranks }

// Rank opens the full trace of one rank. The caller closes the Reader.
func (g *Graph) Rank(rank int) (*trace.Reader, error) {
	r, err := g.rec.rankIn(g.dir, rank)
	if err != nil {
		return nil, err
	}
	if m := r.Header().Mode; m != abi.ModeFull {
		return nil, errors.Join(trace.RefuseMode(r.Path(), m.String()), r.Close())
	}
	return r, nil
}

// InstallGraph makes the full traces in dir (rank-R.trace, written by a replay) the recording's graph. dir must be on
// the same file system, best made by GraphScratch; it is moved. An older graph is replaced.
func (rec *Recording) InstallGraph(dir string) error {
	if err := rec.checkGraph(dir); err != nil {
		return err
	}
	if err := rec.replaceGraph(dir, filepath.Join(rec.Dir, graphName)); err != nil {
		return fmt.Errorf("install graph: %w", err)
	}
	return nil
}

func (rec *Recording) replaceGraph(dir, target string) error {
	entries, err := os.ReadDir(target)
	for _, e := range entries {
		if err == nil && e.Type().IsRegular() && rankFilePattern.MatchString(e.Name()) {
			err = os.Remove(filepath.Join(target, e.Name()))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err //nolint:wrapcheck // the caller says what was being done
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as the recording itself
		return err //nolint:wrapcheck // the caller says what was being done
	}
	// Remove takes an empty directory only: one that holds something else makes it fail, and nothing is lost.
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err //nolint:wrapcheck // the caller says what was being done
	}
	if err := os.Rename(dir, target); err != nil {
		return err //nolint:wrapcheck // the caller says what was being done
	}
	return atomicfile.SyncDir(rec.Dir)
}

// GraphScratch makes a directory for the traces of a replay in full mode, beside the graph. The caller hands it to
// InstallGraph or removes it.
func (rec *Recording) GraphScratch() (string, error) {
	dir, err := os.MkdirTemp(rec.Dir, scratchPattern)
	if err != nil {
		return "", fmt.Errorf("make graph: %w", err)
	}
	return dir, nil
}
