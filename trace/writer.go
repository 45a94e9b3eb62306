package trace

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Writer writes one rank's file as the interposer does. It is for tests, the text form and tools; a Writer is for one
// goroutine at a time. What has been written is in the file only after Finish or Cut.
type Writer struct {
	dst    io.WriterAt
	closer io.Closer
	header Header
	st     state
	at     int64 // offset of the open chunk
	first  uint64
	buf    []byte // payload of the open chunk
	shapes shapes
	err    error
}

// CreateFile makes a trace file; it must not exist.
func CreateFile(path string, h Header) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create trace: %w", err)
	}
	w := NewWriter(f, h)
	w.closer = f
	return w, nil
}

// NewWriter writes to dst. Of h the fields Version, Committed and Closed are set by the Writer; Events is raised to the
// number of the last event that was written.
func NewWriter(dst io.WriterAt, h Header) *Writer {
	h.Version = abi.TraceVersion
	return &Writer{dst: dst, header: h, st: newState(h.Mode), at: abi.TraceHeaderSize, first: 1}
}

// Write appends one record. A record that breaks the rules of the format is refused, and nothing of it is written.
func (w *Writer) Write(r Record) error {
	if w.err != nil {
		return w.err
	}
	last, before := w.st.last, w.eventsSoFar()
	rec, broken := encode(r, &w.st)
	if broken == nil {
		broken = w.st.add(r)
	}
	if broken != nil {
		return fmt.Errorf("write %T: %w", r, broken)
	}
	rec = w.shapes.shorten(rec, r, last)
	if len(rec) > chunkLimit {
		w.err = fmt.Errorf("write %T: %d bytes are more than a record may have (%d)", r, len(rec), chunkLimit)
		return w.err
	}
	if len(w.buf)+len(rec) > abi.ChunkMax && w.flush(true, before) != nil {
		return w.err
	}
	w.buf = append(w.buf, rec...)
	return nil
}

func (w *Writer) eventsSoFar() uint64 {
	if w.header.Mode == abi.ModeFull {
		return w.st.events
	}
	return w.st.last
}

// Seal ends the chunk: what has been written is in the file with its checksum.
func (w *Writer) Seal() error { return w.flush(true, w.eventsSoFar()) }

// flush writes the open chunk, with its checksum if it is sealed; the next begins after the event.
func (w *Writer) flush(sealed bool, event uint64) error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	head := abi.Chunk{Magic: abi.ChunkMagic, FirstEvent: w.first}
	if sealed {
		head.Length, head.CRC32C = uint32(len(w.buf)), crc32.Checksum(w.buf, castagnoli)
	}
	if _, err := w.dst.WriteAt(append(slices.Clone(abi.Bytes(&head)), w.buf...), w.at); err != nil {
		w.err = fmt.Errorf("write chunk: %w", err)
	}
	w.at += chunkHeaderSize + int64(len(w.buf))
	w.buf, w.first = w.buf[:0], event+1
	return w.err
}

// Finish seals the last chunk and writes the header with Closed set, as after MPI_Finalize.
func (w *Writer) Finish() error { return w.end(true) }

// Cut leaves the file as a rank that was killed does: the last chunk open, Closed not set.
func (w *Writer) Cut() error { return w.end(false) }

func (w *Writer) end(closed bool) error {
	if w.flush(closed, w.eventsSoFar()) == nil {
		w.header.Closed, w.header.Committed = closed, uint64(w.at)
		if w.header.Ended != abi.EndedRepaired { // there a record may say what became of an earlier event
			w.header.Events = max(w.header.Events, w.eventsSoFar())
		}
		if _, err := w.dst.WriteAt(w.header.encode(), 0); err != nil {
			w.err = fmt.Errorf("write trace header: %w", err)
		}
	}
	if w.closer != nil {
		if err := w.closer.Close(); err != nil && w.err == nil {
			w.err = fmt.Errorf("close trace: %w", err)
		}
		w.closer = nil
	}
	return w.err
}
