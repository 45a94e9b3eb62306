package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// packed gives the bytes of a packed trace as if it were not packed. It holds one unpacked frame; it is for one
// goroutine at a time.
type packed struct {
	name   string
	src    io.ReaderAt
	frames []packedFrame
	size   int64 // bytes unpacked
	dec    *zstd.Decoder
	which  int // the frame that buf holds; -1: none
	buf    []byte
	raw    []byte
}

type packedFrame struct {
	at, from       int64 // unpacked, in the file
	length, packed int64
}

func isPacked(src io.ReaderAt, size int64) bool {
	var magic [4]byte
	if size < 4 {
		return false
	}
	_, err := src.ReadAt(magic[:], 0)
	return err == nil && binary.LittleEndian.Uint32(magic[:]) == zstdMagic
}

// openPacked reads the seek table. What it says is checked against the file, so that memory is bounded by the file's
// size; the frames are checked when they are read.
func openPacked(src io.ReaderAt, size int64, name string) (*packed, error) {
	bad := func(kind error, at int64, want, got string) (*packed, error) {
		return nil, &FormatError{Path: name, Offset: at, What: "seek table", Want: want, Got: got, Kind: kind}
	}
	le := binary.LittleEndian
	if size < seekFooterSize+8 {
		return bad(ErrTruncated, size, "a seek table at the end", fmt.Sprintf("a file of %d bytes", size))
	}
	var foot [seekFooterSize]byte
	if _, err := src.ReadAt(foot[:], size-seekFooterSize); err != nil {
		return nil, fmt.Errorf("read the seek table of %s: %w", name, err)
	}
	if le.Uint32(foot[5:]) != seekMagic {
		return bad(ErrTruncated, size, "a seek table at the end", "other bytes")
	}
	n := int64(le.Uint32(foot[:]))
	start := size - seekFooterSize - n*seekEntrySize - 8
	if foot[4] != 0 || start < 0 {
		return bad(ErrMalformed, size-seekFooterSize, "entries without checksums that the file has room for",
			fmt.Sprintf("%d entries, descriptor %#02x", n, foot[4]))
	}
	table := make([]byte, 8+n*seekEntrySize)
	if _, err := src.ReadAt(table, start); err != nil {
		return nil, fmt.Errorf("read the seek table of %s: %w", name, err)
	}
	if le.Uint32(table) != skippableMagic || int64(le.Uint32(table[4:])) != n*seekEntrySize+seekFooterSize {
		return bad(ErrMalformed, start, "a skippable frame that holds it", "other bytes")
	}
	p := &packed{name: name, src: src, which: -1}
	var from int64
	for i := range n {
		f := packedFrame{
			at: p.size, from: from, packed: int64(le.Uint32(table[8+i*8:])),
			length: int64(le.Uint32(table[12+i*8:])),
		}
		if f.length == 0 || f.length > packFrameMax || f.packed > start-from {
			return bad(ErrMalformed, start, fmt.Sprintf("a frame inside the file that holds 1 to %d bytes",
				packFrameMax),
				fmt.Sprintf("%d bytes of %d", f.packed, f.length))
		}
		p.frames = append(p.frames, f)
		p.size += f.length
		from += f.packed
	}
	if from != start {
		return bad(ErrMalformed, from, fmt.Sprintf("frames of %d bytes", start), fmt.Sprint(from))
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(packFrameMax)),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	p.dec = dec
	return p, nil
}

// frame returns the unpacked bytes of a frame, which are valid until the next call.
func (p *packed) frame(i int) ([]byte, error) {
	if p.which == i {
		return p.buf, nil
	}
	f := p.frames[i]
	p.which = -1
	p.raw = append(p.raw[:0], make([]byte, f.packed)...)
	if _, err := p.src.ReadAt(p.raw, f.from); err != nil {
		return nil, fmt.Errorf("read %s at %d: %w", p.name, f.from, err)
	}
	bad := func(got string) ([]byte, error) {
		return nil, &FormatError{
			Path: p.name, Offset: f.from, What: "packed frame", Want: fmt.Sprintf("a zstd frame of %d bytes", f.length),
			Got: got, Kind: ErrChecksum,
		}
	}
	// The header says how much a frame unpacks to: what says otherwise is not unpacked at all.
	var head zstd.Header
	if err := head.Decode(p.raw); err != nil || head.Skippable || !head.HasFCS ||
		head.FrameContentSize != uint64(f.length) {
		return bad("another header")
	}
	out, err := p.dec.DecodeAll(p.raw, p.buf[:0])
	if err != nil {
		return bad(err.Error())
	}
	p.buf = out
	if int64(len(out)) != f.length {
		return bad(fmt.Sprintf("%d bytes", len(out)))
	}
	p.which = i
	return out, nil
}

// ReadAt implements io.ReaderAt.
func (p *packed) ReadAt(b []byte, at int64) (int, error) {
	done := 0
	for done < len(b) {
		i := p.find(at + int64(done))
		if i < 0 {
			return done, io.EOF
		}
		frame, err := p.frame(i)
		if err != nil {
			return done, err
		}
		done += copy(b[done:], frame[at+int64(done)-p.frames[i].at:])
	}
	return done, nil
}

// find returns the frame that holds an offset, or -1.
func (p *packed) find(at int64) int {
	if at < 0 || at >= p.size {
		return -1
	}
	return sort.Search(len(p.frames), func(i int) bool { return p.frames[i].at > at }) - 1
}

// Close implements io.Closer.
func (p *packed) Close() error {
	p.dec.Close()
	return nil
}

// Locate returns which file of a trace counts: path, or the packed one beside it. Both are there when a packing was
// interrupted before its last step; the packed one is whole then, because it got its name last.
func Locate(path string) (string, error) {
	if strings.HasSuffix(path, PackedSuffix) {
		return path, nil
	}
	zst := path + PackedSuffix
	if _, err := os.Lstat(zst); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		return "", fmt.Errorf("open trace: %w", err)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return zst, nil
	}
	var headers [2]Header
	for i, name := range []string{path, zst} {
		r, err := openOne(name)
		if err == nil {
			headers[i] = r.header
			err = r.Close()
		}
		if err != nil {
			return "", errors.Join(twoTraces(path), err)
		}
	}
	if headers[0] != headers[1] {
		return "", twoTraces(path)
	}
	return zst, nil
}

func twoTraces(path string) error {
	return Refuse("there are two traces of one rank, %s and %s, and they are not of the same run. Remove the one that "+
		"does not belong to the recording", path, path+PackedSuffix)
}
