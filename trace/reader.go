package trace

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

//nolint:gochecknoglobals // a constant table
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Reader yields the records of one rank's file in order, as they were committed when it was opened. It holds one chunk
// in memory. A Reader is for one goroutine at a time.
type Reader struct {
	path    string
	src     io.ReaderAt
	closers []io.Closer
	header  Header
	size    int64 // bytes in the file
	end     int64 // bytes to read: committed, or fewer if the file is shorter
	next    int64 // offset of the next chunk header
	d       decoder
	st      state
	decided uint64 // bytes of the records so far that a replay needs
	shapes  shapes
	lone    bool // the chunk is larger than abi.ChunkMax: one record only
	err     error
}

// OpenFile opens a trace file, packed or not; of rank-3.trace, rank-3.trace.zst beside it serves as well. The errors
// are those of the file system, *FormatError, *VersionError, *ModeError and *TwoTracesError. The caller closes the
// Reader.
func OpenFile(path string) (*Reader, error) {
	path, err := Locate(path)
	if err != nil {
		return nil, err
	}
	return openOne(path)
}

func openOne(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		var r *Reader
		if r, err = NewReader(f, info.Size(), path); err == nil {
			r.closers = append(r.closers, f)
			return r, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// NewReader reads a trace of size bytes, packed or not, from src; name is for messages. The caller closes it.
func NewReader(src io.ReaderAt, size int64, name string) (*Reader, error) {
	if isPacked(src, size) {
		p, err := openPacked(src, size, name)
		if err != nil {
			return nil, err
		}
		r, err := newReader(p, p.size, name)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		r.closers = append(r.closers, p)
		return r, nil
	}
	return newReader(src, size, name)
}

func newReader(src io.ReaderAt, size int64, name string) (*Reader, error) {
	page := make([]byte, min(max(size, 0), abi.TraceHeaderSize))
	if _, err := src.ReadAt(page, 0); err != nil && !(errors.Is(err, io.EOF) && len(page) == 0) {
		return nil, fmt.Errorf("read the header of %s: %w", name, err)
	}
	h, err := decodeHeader(name, page)
	if err != nil {
		return nil, err
	}
	r := &Reader{
		path: name, src: src, header: h, size: size, end: size, next: abi.TraceHeaderSize,
		st: newState(h.Mode),
	}
	if h.Committed < uint64(size) {
		r.end = int64(h.Committed)
	}
	return r, nil
}

// Header returns the file's header as it was when the Reader was made.
func (r *Reader) Header() Header { return r.header }

// Path returns the file's name.
func (r *Reader) Path() string { return r.path }

// Offset returns the file offset of the next record, for messages.
func (r *Reader) Offset() int64 {
	if r.d.left() > 0 {
		return r.d.base + int64(r.d.pos)
	}
	return r.next
}

// Close closes the file, if the Reader opened it.
func (r *Reader) Close() error {
	var errs []error
	for _, c := range r.closers {
		if err := c.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close trace: %w", err))
		}
	}
	r.closers = nil
	return errors.Join(errs...)
}

// All iterates over the remaining records; after an error (never io.EOF) it ends.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// Next returns the next record, which is the caller's to keep. It returns io.EOF after the last one. A file that was
// cut short by the death of its rank ends like any other, at `committed`; a file without all the bytes that were
// committed yields all whole records that it has and then a *FormatError of kind ErrTruncated. Errors repeat.
func (r *Reader) Next() (Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	rec, err := r.read()
	if err != nil {
		r.err = err
		return nil, err
	}
	return rec, nil
}

func (r *Reader) read() (Record, error) {
	for r.d.left() == 0 {
		if err := r.chunk(); err != nil {
			return nil, err
		}
	}
	d := &r.d
	start, last := d.pos, r.st.last
	d.pos++
	var rec Record
	if kind := d.buf[start]; kind >= shortKnown {
		rec = r.shapes.short(d, kind, last)
	} else if rec = d.rest(abi.Record(kind), &r.st); d.err == nil {
		r.shapes.take(rec, last)
	}
	if d.err != nil {
		if r.short() && d.base+int64(len(d.buf)) == r.end {
			return nil, r.truncated() // the file ends inside this record
		}
		return nil, d.err
	}
	if b := r.st.add(rec); b != nil {
		d.failAt(start, b.Want, b.Got)
		return nil, d.err
	}
	switch rec.(type) {
	case *Match, *Run, *Poll, *Set, *Event:
		r.decided += uint64(d.pos - start)
	}
	if r.lone && d.left() > 0 {
		d.failAt(d.pos, fmt.Sprintf("one record only in a chunk of more than %d bytes", abi.ChunkMax), "another")
		return nil, d.err
	}
	return rec, nil
}

// DecisionBytes returns how many bytes of the records so far are MATCH, RUN, POLL, SET and EVENT records.
func (r *Reader) DecisionBytes() uint64 { return r.decided }

// CheckLength returns the error that a file yields without all its committed bytes; nil if it has them.
func (r *Reader) CheckLength() error {
	if !r.short() {
		return nil
	}
	return r.truncated()
}

func (r *Reader) short() bool { return r.header.Committed > uint64(r.size) }

func (r *Reader) truncated() error {
	return &FormatError{
		Path: r.path, Offset: r.end, What: "file", Kind: ErrTruncated,
		Want: fmt.Sprintf("%d committed bytes", r.header.Committed), Got: fmt.Sprintf("%d", r.size),
	}
}

// chunk loads the next chunk. io.EOF: there is none.
func (r *Reader) chunk() error {
	rest := r.end - r.next
	bad := func(kind error, want, got string) error {
		return &FormatError{Path: r.path, Offset: r.next, What: "chunk", Want: want, Got: got, Kind: kind}
	}
	switch {
	case rest < chunkHeaderSize && r.short():
		return r.truncated()
	case rest == 0:
		return io.EOF
	case rest < chunkHeaderSize:
		return bad(ErrMalformed, fmt.Sprintf("a chunk header of %d bytes", chunkHeaderSize),
			fmt.Sprintf("%d bytes", rest))
	}
	var head abi.Chunk
	if _, err := r.src.ReadAt(abi.Bytes(&head), r.next); err != nil {
		return fmt.Errorf("read %s at %d: %w", r.path, r.next, err)
	}
	length := int64(head.Length)
	if head.Magic != abi.ChunkMagic {
		return bad(ErrMalformed, "the magic of a chunk", fmt.Sprintf("%#08x", head.Magic))
	}
	if r.header.Mode == abi.ModeFull && head.FirstEvent != r.st.events+1 {
		return bad(ErrMalformed, fmt.Sprintf("a chunk that begins at event %d", r.st.events+1),
			fmt.Sprintf("event %d", head.FirstEvent))
	}
	sealed := length != 0
	rest -= chunkHeaderSize
	if !sealed {
		length = rest
	}
	cut := length > rest
	switch {
	case cut && !r.short():
		return bad(ErrMalformed, fmt.Sprintf("at most %d bytes in the chunk", rest), fmt.Sprint(length))
	case cut:
		length = rest // the whole records of it can still be read, unchecked
	case length > chunkLimit:
		return bad(ErrMalformed, fmt.Sprintf("at most %d bytes in the chunk", chunkLimit), fmt.Sprint(length))
	}
	if length > chunkLimit {
		return r.truncated()
	}
	buf := make([]byte, length)
	if _, err := r.src.ReadAt(buf, r.next+chunkHeaderSize); err != nil && length > 0 {
		return fmt.Errorf("read %s at %d: %w", r.path, r.next+chunkHeaderSize, err)
	}
	if sealed && !cut {
		if got := crc32.Checksum(buf, castagnoli); got != head.CRC32C {
			return bad(ErrChecksum, fmt.Sprintf("CRC-32C %#08x", head.CRC32C), fmt.Sprintf("%#08x", got))
		}
	}
	r.d = decoder{path: r.path, buf: buf, base: r.next + chunkHeaderSize}
	r.lone = length > abi.ChunkMax && sealed
	r.next += chunkHeaderSize + length
	return nil
}
