package trace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// PackedSuffix is what the name of a packed trace has in addition.
const PackedSuffix = ".zst"

// A packed trace holds the bytes of a trace file up to `committed` as zstd frames, and ends with a seek table
// (docs/trace-format.md, Packed traces). Any zstd unpacks it.
const (
	// A frame holds whole chunks, and ends with the first that makes it at least this large.
	packFrame = 1 << 20
	// What a frame may hold at most: the largest chunk comes last.
	packFrameMax = packFrame + chunkLimit + chunkHeaderSize

	zstdMagic      = 0xfd2fb528
	skippableMagic = 0x184d2a5e
	seekMagic      = 0x8f92eab1
	seekFooterSize = 9 // frames, descriptor, magic
	seekEntrySize  = 8 // compressed and decompressed size; the frames have checksums of their own
)

// PackFile packs the trace at path: the packed one is written beside it, read back and compared, forced to disk and
// renamed before the trace is removed. progress, if not nil, is called with numbers of bytes that have been packed.
func PackFile(ctx context.Context, path string, progress func(int64)) error {
	r, err := openOne(path)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read
	if err := r.CheckLength(); err != nil {
		return err
	}
	return replaceBy(path+PackedSuffix, path, func(dst *os.File) error {
		if err := pack(ctx, dst, r.src, r.end, progress); err != nil {
			return err
		}
		return comparePacked(dst, r.src, r.end)
	})
}

// UnpackFile is the inverse of PackFile, with the same care; path is that of the unpacked trace.
func UnpackFile(ctx context.Context, path string) error {
	r, err := openOne(path + PackedSuffix)
	if err != nil {
		return err
	}
	defer r.Close()                                                            //nolint:errcheck // only read
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // a packing that was interrupted
		return err //nolint:wrapcheck // Unpack says what was being done
	}
	return replaceBy(path, path+PackedSuffix, func(dst *os.File) error {
		_, err := io.Copy(dst, contextReader{ctx, io.NewSectionReader(r.src, 0, r.size)})
		return err //nolint:wrapcheck // Unpack says what was being done
	})
}

type contextReader struct {
	ctx context.Context //nolint:containedctx // for one copy
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p) //nolint:wrapcheck // io.EOF must stay
}

// pack writes the first size bytes of a trace.
func pack(ctx context.Context, dst io.Writer, src io.ReaderAt, size int64, progress func(int64)) error {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithSingleSegment(true))
	if err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	defer enc.Close() //nolint:errcheck // it holds nothing
	var table, raw, packed []byte
	for at := int64(0); at < size; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := frameLength(src, at, size)
		if err != nil {
			return err
		}
		raw = append(raw[:0], make([]byte, n)...)
		if _, err := src.ReadAt(raw, at); err != nil {
			return fmt.Errorf("read at %d: %w", at, err)
		}
		packed = enc.EncodeAll(raw, packed[:0])
		if _, err := dst.Write(packed); err != nil {
			return err //nolint:wrapcheck // callers say what was being done
		}
		table = binary.LittleEndian.AppendUint32(table, uint32(len(packed)))
		table = binary.LittleEndian.AppendUint32(table, uint32(n))
		at += n
		if progress != nil {
			progress(n)
		}
	}
	if _, err := dst.Write(seekTable(table)); err != nil {
		return err //nolint:wrapcheck // callers say what was being done
	}
	return nil
}

// seekTable makes the skippable frame of zstd's seekable format from its entries.
func seekTable(entries []byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, skippableMagic)
	b = le.AppendUint32(b, uint32(len(entries)+seekFooterSize))
	b = append(b, entries...)
	b = le.AppendUint32(b, uint32(len(entries)/seekEntrySize))
	b = append(b, 0) // descriptor: no checksums in the table
	return le.AppendUint32(b, seekMagic)
}

// frameLength says how many bytes from `at` make a frame: the header page, or whole chunks.
func frameLength(src io.ReaderAt, at, size int64) (int64, error) {
	if at == 0 {
		return abi.TraceHeaderSize, nil
	}
	var n int64
	for n < packFrame && at+n < size {
		var head abi.Chunk
		if _, err := src.ReadAt(abi.Bytes(&head), at+n); err != nil {
			return 0, fmt.Errorf("read the chunk at %d: %w", at+n, err)
		}
		length := int64(head.Length)
		rest := size - at - n - chunkHeaderSize
		if length == 0 { // the open one
			length = rest
		}
		if head.Magic != abi.ChunkMagic || length > rest || length > chunkLimit {
			return 0, fmt.Errorf("the chunk at %d: %w", at+n, ErrMalformed)
		}
		n += chunkHeaderSize + length
	}
	return n, nil
}

// comparePacked reads what was packed and compares.
func comparePacked(dst *os.File, src io.ReaderAt, size int64) error {
	length, err := dst.Seek(0, io.SeekEnd)
	if err != nil {
		return err //nolint:wrapcheck // callers say what was being done
	}
	p, err := openPacked(dst, length, dst.Name())
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // only read
	if p.size != size {
		return fmt.Errorf("%d bytes were packed, and %d come back", size, p.size)
	}
	for i := range p.frames {
		frame, err := p.frame(i)
		if err != nil {
			return err
		}
		want := make([]byte, len(frame))
		if _, err := src.ReadAt(want, p.frames[i].at); err != nil {
			return fmt.Errorf("read at %d: %w", p.frames[i].at, err)
		}
		if !bytes.Equal(frame, want) {
			return fmt.Errorf("what was packed at %d does not come back", p.frames[i].at)
		}
	}
	return nil
}

// replaceBy makes the file at path and then removes the old one.
func replaceBy(path, old string, write func(*os.File) error) error {
	if err := atomicfile.Make(path, write); err != nil {
		return err
	}
	if err := os.Remove(old); err != nil {
		return err //nolint:wrapcheck // callers say what was being done
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}
