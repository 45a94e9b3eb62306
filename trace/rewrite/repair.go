package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// RepairedTrace says what Repair left of one rank's trace.
type RepairedTrace struct {
	Rank   int    `json:"rank"`
	Events uint64 `json:"events"` // kept: 1 to this one
	Of     uint64 `json:"of"`     // recorded; 0: not known
	Fault  string `json:"fault"`  // what is wrong with the trace
}

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
	if f, ok := errors.AsType[*FormatError](err); ok {
		return f.fault()
	}
	return err.Error()
}

// Repair writes to dir what is whole of a recording with damaged traces: of a damaged one the chunks before the damage
// whose checksums hold, cut back to the last event up to which all decisions are among them (docs/trace-format.md,
// Damaged traces); the others as they are. A replay of that goes as far as the ranks with damaged traces do. The
// recording itself is not changed. If nothing is damaged, nothing is written, and the results are nil. dir is made as
// Create makes it; if that fails later, it is removed if it was not there. Errors: *RepairError, *SameRecordingError,
// those of Create, and those of Open that are not about damage: a trace that is missing, or of another run.
func Repair(from, dir string, opt CreateOptions) (*Recording, []RepairedTrace, error) {
	rec, err := open(from)
	if err != nil {
		return nil, nil, err
	}
	faults := make([]error, rec.Meta.Ranks)
	if err := rec.eachRank(func(rank int) (err error) {
		faults[rank], err = rec.damage(rank)
		return err
	}); err != nil {
		return nil, nil, err
	}
	first := slices.IndexFunc(faults, func(err error) bool { return err != nil })
	if first < 0 {
		return nil, nil, nil
	}
	if rec.Meta.Mode == ModeRacing.String() {
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
	out, err := Create(dir, meta, opt)
	if err != nil {
		return nil, nil, err
	}
	var report []RepairedTrace
	for rank := range meta.Ranks {
		if faults[rank] == nil {
			err = rec.copyRank(dir, rank)
		} else {
			var r *RepairedTrace
			if r, err = rec.repairRank(dir, rank, faults[rank]); err == nil {
				report = append(report, *r)
				meta.PerRank[rank].Repaired = r
			}
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = out.Update(func(m *Meta) { m.PerRank = meta.PerRank })
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
func (rec *Recording) damage(rank int) (fault, err error) {
	r, err := rec.Rank(rank)
	if err == nil {
		for _, fault = range r.All() {
		}
		err = errors.Join(fault, r.Close())
	}
	if _, is := errors.AsType[*FormatError](err); is && !errors.Is(err, ErrNotTrace) {
		return err, nil
	}
	return nil, err
}

// copyRank copies a whole trace, packed or not.
func (rec *Recording) copyRank(dir string, rank int) error {
	path, err := choose(filepath.Join(rec.Dir, RankFile(rank)))
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
func (rec *Recording) repairRank(dir string, rank int, fault error) (*RepairedTrace, error) {
	s, err := rec.salvage(dir, rank)
	if s != nil {
		defer s.Close() //nolint:errcheck // only read
	}
	if _, is := errors.AsType[*FormatError](err); is {
		return nil, &RepairError{Dir: rec.Dir, Rank: rank, Reason: "the header of the trace is damaged", Fault: err}
	}
	if err != nil {
		return nil, fmt.Errorf("repair the trace of rank %d: %w", rank, err)
	}
	cut, err := s.lastWhole(&rec.Meta.PerRank[rank])
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
	if err := s.write(filepath.Join(dir, RankFile(rank)), cut); err != nil {
		return nil, fmt.Errorf("repair the trace of rank %d: %w", rank, err)
	}
	of := rec.Meta.PerRank[rank].Events
	if rec.Meta.PerRank[rank].End.How == "" || rec.Meta.PerRank[rank].End.How == EndUnknown {
		of = 0 // cohort was killed before it could say
	}
	return &RepairedTrace{Rank: rank, Events: cut.last, Of: of, Fault: faultOf(fault)}, nil
}

// salvaged is the part of a damaged trace whose checksums hold.
type salvaged struct {
	src     io.ReaderAt
	end     int64 // offset of the end of the last whole chunk
	path    string
	closers []io.Closer
}

func (s *salvaged) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// reader reads that part as a trace that was cut short there.
func (s *salvaged) reader() (*Reader, error) {
	r, err := newReader(s.src, s.end, s.path)
	if err != nil {
		return nil, err
	}
	r.size, r.end, r.header.Committed = s.end, s.end, uint64(s.end)
	return r, nil
}

// salvage finds the chunks from the first on that are whole. A chunk that was not sealed has no checksum and does not
// count.
func (rec *Recording) salvage(scratch string, rank int) (*salvaged, error) {
	path, err := choose(filepath.Join(rec.Dir, RankFile(rank)))
	if err != nil {
		return nil, err
	}
	src, err := os.Open(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says what was being done
	}
	s := &salvaged{src: src, path: path, closers: []io.Closer{src}}
	info, err := src.Stat()
	if err != nil {
		return s, err //nolint:wrapcheck // the caller says what was being done
	}
	size := info.Size()
	if isPacked(src, size) {
		raw, err := os.CreateTemp(scratch, tempPrefix+filepath.Base(path)+"-*")
		if err != nil {
			return s, err //nolint:wrapcheck // the caller says what was being done
		}
		s.src, s.closers = raw, append(s.closers, raw, remover(raw.Name()))
		if size, err = unpackWhatThereIs(raw, src); err != nil {
			return s, err
		}
	}
	r, err := newReader(s.src, size, path)
	if err != nil {
		return s, err
	}
	if err := rec.owns(r, rec.Dir, rank); err != nil {
		return s, err
	}
	for s.end = HeaderSize; ; {
		n, err := sealedChunk(s.src, s.end, size)
		if err != nil || n == 0 {
			return s, err
		}
		s.end += n
	}
}

type remover string

func (r remover) Close() error { return os.Remove(string(r)) } //nolint:wrapcheck // joined with others

// unpackWhatThereIs unpacks frames until one is damaged, or the file ends. The bytes are not yet known to be good: of
// the last frame the checksum was not seen.
func unpackWhatThereIs(dst io.Writer, src io.Reader) (int64, error) {
	dec, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(packFrameMax),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return 0, fmt.Errorf("zstd: %w", err)
	}
	defer dec.Close()
	w := &sticky{w: dst}
	n, err := io.Copy(w, dec)
	_ = err // that there is an end to what can be unpacked is why we are here
	if w.err != nil {
		return n, fmt.Errorf("unpack: %w", w.err)
	}
	return n, nil
}

// sticky tells faults of writing from those of reading.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.err = err
	return n, err //nolint:wrapcheck // io.Copy passes it on to nobody
}

// sealedChunk returns the length of the chunk at an offset, header included; 0 if there is none that was sealed and has
// its checksum.
func sealedChunk(src io.ReaderAt, at, size int64) (int64, error) {
	var head [chunkHeaderSize]byte
	if size-at < chunkHeaderSize {
		return 0, nil
	}
	if _, err := src.ReadAt(head[:], at); err != nil {
		return 0, fmt.Errorf("read the chunk at %d: %w", at, err)
	}
	le := binary.LittleEndian
	length := int64(le.Uint32(head[4:]))
	if le.Uint32(head[:]) != chunkMagic || length == 0 || length > chunkLimit || length > size-at-chunkHeaderSize {
		return 0, nil
	}
	payload := make([]byte, length)
	if _, err := src.ReadAt(payload, at+chunkHeaderSize); err != nil {
		return 0, fmt.Errorf("read the chunk at %d: %w", at, err)
	}
	if crc32.Checksum(payload, castagnoli) != le.Uint32(head[8:]) {
		return 0, nil
	}
	return chunkHeaderSize + length, nil
}
