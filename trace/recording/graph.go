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

// Graph opens the full traces, and checks that they are of this recording. Errors: *NoGraphError, *GraphMismatchError,
// and those of Open.
func (rec *Recording) Graph() (*Graph, error) {
	if rec.Meta.Mode == abi.ModeFull.String() {
		return &Graph{rec, rec.Dir}, nil
	}
	if !rec.HasGraph() {
		return nil, &NoGraphError{Dir: rec.Dir}
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
		full, err := rec.rankIn(dir, rank)
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
		if hf.Mode != abi.ModeFull {
			return &trace.ModeError{Path: full.Path(), Mode: hf.Mode.String()}
		}
		// A rank that was cut short is ended by the replay at its last decision, or a little later: only a rank that
		// was recorded whole has a number of events to compare.
		if hr.Closed && hf.Events != hr.Events {
			return &GraphMismatchError{Dir: dir, Rank: rank, Recorded: hr.Events, Graph: hf.Events}
		}
	}
	return nil
}

// Dir returns the directory that holds the full traces.
func (g *Graph) Dir() string { return g.dir }

// Ranks returns the number of ranks.
func (g *Graph) Ranks() int { return g.rec.Meta.Ranks }

// Rank opens the full trace of one rank. The caller closes the Reader.
func (g *Graph) Rank(rank int) (*trace.Reader, error) {
	r, err := g.rec.rankIn(g.dir, rank)
	if err != nil {
		return nil, err
	}
	if m := r.Header().Mode; m != abi.ModeFull {
		return nil, errors.Join(&trace.ModeError{Path: r.Path(), Mode: m.String()}, r.Close())
	}
	return r, nil
}

// InstallGraph makes the full traces in dir (rank-R.trace, written by a replay) the recording's graph. dir must be on
// the same file system, best made by GraphScratch; it is moved. An older graph is replaced.
func (rec *Recording) InstallGraph(dir string) error {
	if err := rec.checkGraph(dir); err != nil {
		return err
	}
	target := filepath.Join(rec.Dir, graphName)
	entries, err := os.ReadDir(target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("install graph: %w", err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && rankFilePattern.MatchString(e.Name()) {
			if err := os.Remove(filepath.Join(target, e.Name())); err != nil {
				return fmt.Errorf("install graph: %w", err)
			}
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as the recording itself
		return fmt.Errorf("install graph: %w", err)
	}
	// Remove takes an empty directory only: one that holds something else makes it fail, and nothing is lost.
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("install graph: %w", err)
	}
	if err := os.Rename(dir, target); err != nil {
		return fmt.Errorf("install graph: %w", err)
	}
	if err := atomicfile.SyncDir(rec.Dir); err != nil {
		return fmt.Errorf("install graph: %w", err)
	}
	return nil
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
