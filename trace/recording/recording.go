package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

const (
	metaName  = "recording.json"
	graphName = "graph"
)

// RankFile returns the name of a rank's trace within a recording or its graph directory: "rank-3.trace".
func RankFile(rank int) string { return "rank-" + strconv.Itoa(rank) + ".trace" }

var rankFilePattern = regexp.MustCompile(`^rank-(0|[1-9]\d{0,8})\.trace(\.zst)?$`) //nolint:gochecknoglobals // constant

// Recording is a directory NAME.cohort. Meta is as it was read or last written. A Recording is for one goroutine at a
// time; several may read one directory.
type Recording struct {
	Dir  string
	Meta Meta
}

// CreateOptions changes what Create does with what it finds.
type CreateOptions struct {
	// Overwrite removes the traces of a recording that is there already. A directory that is no recording is refused
	// all the same.
	Overwrite bool
}

// Create makes the directory of a recording and writes its recording.json; the ranks add their traces, and Update tells
// how they ended. Format, Version and, if it is empty, PerRank are filled in. A missing or empty directory is used, and
// a recording that has no traces yet. Errors: *trace.RefusedError, and those of the file system.
func Create(dir string, meta Meta, opt CreateOptions) (*Recording, error) {
	meta.Format, meta.Version = recordingFormat, Version
	if len(meta.PerRank) == 0 && meta.Ranks > 0 {
		meta.PerRank = make([]RankMeta, meta.Ranks)
		for i := range meta.PerRank {
			meta.PerRank[i].Rank = i
		}
	}
	if err := checkMeta(dir, &meta); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a user's data, with the user's umask
		return nil, fmt.Errorf("create recording: %w", err)
	}
	if err := makeRoom(dir, opt); err != nil {
		return nil, err
	}
	rec := &Recording{Dir: dir, Meta: meta}
	if err := rec.writeMeta(); err != nil {
		return nil, err
	}
	return rec, nil
}

// makeRoom empties dir of an old recording, if that is allowed.
func makeRoom(dir string, opt CreateOptions) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("create recording: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if err := looksLikeRecording(dir); err != nil {
		return err
	}
	ours, traces, err := ownFiles(dir)
	if err != nil {
		return err
	}
	if traces && !opt.Overwrite {
		return trace.Refuse("the directory %s holds a recording already; choose another name, remove it, or "+
			"overwrite it with --force", dir)
	}
	// A Root never leaves the directory, whatever links are in it.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("overwrite recording: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	for _, name := range ours {
		if err := root.Remove(name); err != nil {
			return fmt.Errorf("overwrite recording: %w", err)
		}
	}
	return nil
}

// Remove takes away a recording, and its directory if nothing else is in it.
func (r *Recording) Remove() error {
	if err := makeRoom(r.Dir, CreateOptions{Overwrite: true}); err != nil {
		return err
	}
	if err := os.Remove(r.Dir); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("remove recording: %w", err)
	}
	return nil
}

// looksLikeRecording accepts any version, and one whose directory holds nothing but the beginnings of a recording.json.
func looksLikeRecording(dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, metaName))
	if errors.Is(err, fs.ErrNotExist) {
		return noRecording(dir, "it is a directory with other things in it; nothing was changed there")
	}
	if err != nil {
		return fmt.Errorf("create recording: %w", err)
	}
	var stamp struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(content, &stamp); err != nil || stamp.Format != recordingFormat {
		return noRecording(dir, "its "+metaName+" is not Cohort's; nothing was changed there")
	}
	return nil
}

// ownFiles lists what this package or a rank put into a recording, in an order in which it can be removed;
// recording.json comes last, so that an interrupted removal leaves a recording.
func ownFiles(dir string) (names []string, traces bool, err error) {
	subs, err := filepath.Glob(filepath.Join(dir, scratchPattern)) // left by a replay that was killed
	if err != nil {
		return nil, false, fmt.Errorf("list recording: %w", err)
	}
	for i := range subs {
		subs[i] = filepath.Base(subs[i])
	}
	for _, sub := range append(subs, graphName, "") {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, false, fmt.Errorf("list recording: %w", err)
		}
		foreign := false
		for _, e := range entries {
			switch name := e.Name(); {
			case e.Type().IsRegular() && rankFilePattern.MatchString(name):
				names, traces = append(names, filepath.Join(sub, name)), true
			case e.Type().IsRegular() && strings.HasPrefix(name, atomicfile.TempPrefix):
				names = append(names, filepath.Join(sub, name))
			default:
				foreign = true
			}
		}
		if sub != "" && !foreign {
			names = append(names, sub)
		}
	}
	return append(names, metaName), traces, nil
}

// Open reads recording.json and the headers of all ranks' traces. Errors: *trace.RefusedError (of ErrMissing, if a
// trace is not there), *trace.FormatError (kind ErrTruncated for a trace without all committed bytes), and those of the
// file system.
func Open(dir string) (*Recording, error) {
	rec, err := OpenUnchecked(dir)
	if err != nil {
		return nil, err
	}
	if err := rec.check(dir); err != nil {
		return nil, err
	}
	return rec, nil
}

// OpenUnchecked is Open without a look at the traces, for what can do with damaged ones.
func OpenUnchecked(dir string) (*Recording, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noRecording(dir, "there is no such directory")
	case err != nil:
		return nil, fmt.Errorf("open recording: %w", err)
	case !info.IsDir():
		return nil, noRecording(dir, "it is not a directory")
	}
	content, err := os.ReadFile(filepath.Join(dir, metaName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noRecording(dir, "it holds no "+metaName)
	}
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	meta, err := decodeMeta(dir, content)
	if err != nil {
		return nil, err
	}
	return &Recording{Dir: dir, Meta: meta}, nil
}

// check looks at the headers of the traces in dir, which is the recording's or that of its graph.
func (rec *Recording) check(dir string) error {
	for rank := range rec.Meta.Ranks {
		r, err := rec.rankIn(dir, rank)
		if err != nil {
			return err
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list recording: %w", err)
	}
	for _, e := range entries {
		if m := rankFilePattern.FindStringSubmatch(e.Name()); m != nil {
			if rank, err := strconv.Atoi(m[1]); err != nil || rank >= rec.Meta.Ranks {
				return otherRanks(filepath.Join(dir, e.Name()), rank+1, rec.Meta.Ranks)
			}
		}
	}
	return nil
}

func (rec *Recording) rankIn(dir string, rank int) (*trace.Reader, error) {
	if rank < 0 || rank >= rec.Meta.Ranks {
		return nil, fmt.Errorf("rank %d: the recording %s has ranks 0 to %d", rank, rec.Dir, rec.Meta.Ranks-1)
	}
	path := filepath.Join(dir, RankFile(rank))
	r, err := trace.OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, trace.Refuse("the recording %s is of %d ranks but %s, the trace of rank %d, is %w. Copy it "+
			"there from where the recording was made, or record again", rec.Dir, rec.Meta.Ranks, path, rank, ErrMissing)
	}
	if err != nil {
		return nil, err
	}
	if err = rec.owns(r.Header(), dir, rank); err == nil {
		err = r.CheckLength()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// CheckHeader checks that a header is that of the trace of a rank of this recording.
func (rec *Recording) CheckHeader(h trace.Header, rank int) error { return rec.owns(h, rec.Dir, rank) }

// owns checks that the header of a trace, which is in dir, is that of a rank of this recording.
func (rec *Recording) owns(h trace.Header, dir string, rank int) error {
	path := filepath.Join(dir, RankFile(rank))
	wrong := func(offset int64, want, got string) error {
		return &trace.FormatError{
			Path: path, Offset: offset, What: "header", Kind: trace.ErrMalformed, Want: want, Got: got,
		}
	}
	switch {
	case h.WorldSize != 0 && int(h.WorldSize) != rec.Meta.Ranks:
		return otherRanks(path, int(h.WorldSize), rec.Meta.Ranks)
	case int(h.Rank) != rank:
		return wrong(24, fmt.Sprintf("rank %d", rank), fmt.Sprint(h.Rank))
	case dir == rec.Dir && h.Mode.String() != rec.Meta.Mode:
		return wrong(16, "mode "+rec.Meta.Mode+", as "+metaName+" says", h.Mode.String())
	}
	return nil
}

// Rank opens the trace of one rank. The caller closes the Reader.
func (rec *Recording) Rank(rank int) (*trace.Reader, error) { return rec.rankIn(rec.Dir, rank) }

// Update changes Meta and writes recording.json: it is replaced as a whole or not at all.
func (rec *Recording) Update(change func(*Meta)) error {
	change(&rec.Meta)
	rec.Meta.Format, rec.Meta.Version = recordingFormat, Version
	if err := checkMeta(rec.Dir, &rec.Meta); err != nil {
		return err
	}
	return rec.writeMeta()
}

func (rec *Recording) writeMeta() error {
	content, err := json.MarshalIndent(&rec.Meta, "", "  ")
	if err == nil {
		err = atomicfile.Write(filepath.Join(rec.Dir, metaName), append(content, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s of %s: %w", metaName, rec.Dir, err)
	}
	return nil
}

// Verify reads every trace to its end, checksums included, and the graph if there is one. All faults are joined.
func (rec *Recording) Verify() error {
	errs := []error{rec.check(rec.Dir)}
	verify := func(open func(int) (*trace.Reader, error)) {
		for rank := range rec.Meta.Ranks {
			r, err := open(rank)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			for _, err := range r.All() {
				if err != nil {
					errs = append(errs, err)
				}
			}
			errs = append(errs, r.Close())
		}
	}
	verify(rec.Rank)
	if rec.Meta.Mode != abi.ModeFull.String() && rec.HasGraph() {
		if g, err := rec.Graph(); err != nil {
			errs = append(errs, err)
		} else {
			verify(g.Rank)
		}
	}
	return errors.Join(errs...)
}

// Decisions builds the decisions of one rank.
func (rec *Recording) Decisions(rank int, opt decisions.Options) (*decisions.Plan, error) {
	r, err := rec.Rank(rank)
	if err != nil {
		return nil, err
	}
	d, err := decisions.Build(r, opt)
	return d, errors.Join(err, r.Close())
}

// AllDecisions builds the decisions of all ranks, as many at once as there are processors; of each rank there are
// decisions or an error.
func (rec *Recording) AllDecisions(opt decisions.Options) ([]*decisions.Plan, []error) {
	all, errs := make([]*decisions.Plan, rec.Meta.Ranks), make([]error, rec.Meta.Ranks)
	_ = rec.EachRank(func(rank int) error {
		all[rank], errs[rank] = rec.Decisions(rank, opt)
		return nil
	})
	return all, errs
}

// CheckProgram compares the program at path with the recorded one, and refuses another build.
func (rec *Recording) CheckProgram(path string) error {
	found, err := IdentifyProgram(path)
	if err != nil {
		return err
	}
	if recorded := rec.Meta.Program; found.ID != recorded.ID || found.IDKind != recorded.IDKind {
		return trace.Refuse("%s is not the program of the recording %s: its %s is %s, the recorded program (%s) had "+
			"%s %s. Build the recorded version again, or record anew", found.Path, rec.Dir, found.IDKind, found.ID,
			recorded.Path, recorded.IDKind, recorded.ID)
	}
	return nil
}
