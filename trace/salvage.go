package trace

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Salvaged is the part of a damaged trace whose checksums hold.
type Salvaged struct {
	src     io.ReaderAt
	end     int64 // offset of the end of the last whole chunk
	path    string
	closers []io.Closer
}

// Close implements io.Closer.
func (s *Salvaged) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Reader reads that part, from its beginning, as a trace that was cut short there. Close closes it too.
func (s *Salvaged) Reader() (*Reader, error) {
	r, err := newReader(s.src, s.end, s.path)
	if err != nil {
		return nil, err
	}
	r.size, r.end, r.header.Committed = s.end, s.end, uint64(s.end)
	return r, nil
}

// Salvage opens what is whole of a damaged trace file, packed or not: the chunks from the first on whose checksums
// hold. A chunk that was not sealed has no checksum and does not count. What has to be unpacked for that is a file in
// scratch until Close. Errors: those of OpenFile about the header, and of the file system.
func Salvage(path, scratch string) (*Salvaged, error) {
	path, err := Locate(path)
	if err != nil {
		return nil, err
	}
	src, err := os.Open(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says what was being done
	}
	s := &Salvaged{src: src, path: path, closers: []io.Closer{src}}
	if err := s.find(src, scratch); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// find unpacks the file if need be, and finds the end of the last whole chunk.
func (s *Salvaged) find(src *os.File, scratch string) error {
	info, err := src.Stat()
	if err != nil {
		return err //nolint:wrapcheck // the caller says what was being done
	}
	size := info.Size()
	if isPacked(src, size) {
		raw, err := os.CreateTemp(scratch, atomicfile.TempPrefix+filepath.Base(s.path)+"-*")
		if err != nil {
			return err //nolint:wrapcheck // the caller says what was being done
		}
		s.src, s.closers = raw, append(s.closers, raw)
		if err := os.Remove(raw.Name()); err != nil { // it lasts until it is closed, and no longer
			return err //nolint:wrapcheck // the caller says what was being done
		}
		if size, err = unpackWhatThereIs(raw, src); err != nil {
			return err
		}
	}
	if _, err := newReader(s.src, size, s.path); err != nil {
		return err
	}
	for s.end = abi.TraceHeaderSize; ; {
		n, err := sealedChunk(s.src, s.end, size)
		if err != nil || n == 0 {
			return err
		}
		s.end += n
	}
}

// unpackWhatThereIs unpacks frames until one is damaged, or the file ends. The bytes are not yet known to be good: of
// the last frame the checksum was not seen.
func unpackWhatThereIs(dst io.Writer, src io.Reader) (int64, error) {
	dec, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(packFrameMax)),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return 0, fmt.Errorf("zstd: %w", err)
	}
	defer dec.Close()
	n, err := io.Copy(dst, dec)
	// That there is an end to what can be read is why we are here.
	if fault, is := errors.AsType[*fs.PathError](err); is && fault.Op == "write" {
		return n, fmt.Errorf("unpack: %w", err)
	}
	return n, nil
}

// sealedChunk returns the length of the chunk at an offset, header included; 0 if there is none that was sealed and has
// its checksum.
func sealedChunk(src io.ReaderAt, at, size int64) (int64, error) {
	var head abi.Chunk
	if size-at < chunkHeaderSize {
		return 0, nil
	}
	if _, err := src.ReadAt(abi.Bytes(&head), at); err != nil {
		return 0, fmt.Errorf("read the chunk at %d: %w", at, err)
	}
	length := int64(head.Length)
	if head.Magic != abi.ChunkMagic || length == 0 || length > chunkLimit || length > size-at-chunkHeaderSize {
		return 0, nil
	}
	payload := make([]byte, length)
	if _, err := src.ReadAt(payload, at+chunkHeaderSize); err != nil {
		return 0, fmt.Errorf("read the chunk at %d: %w", at, err)
	}
	if crc32.Checksum(payload, castagnoli) != head.CRC32C {
		return 0, nil
	}
	return chunkHeaderSize + length, nil
}
