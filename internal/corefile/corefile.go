package corefile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"
	"syscall"
)

// Bounds of what is believed.
const (
	maxNotes    = 256 << 20 // bytes of all notes: some thousand threads
	maxSegments = 1 << 17
	maxFiles    = 1 << 17
)

// A File is an open core file. Its methods may be called from any goroutine; Close must come after all of them have
// returned.
type File struct {
	Path    string
	Process Process
	Threads []Thread  // as the file has them: the one that got the signal comes first
	Mapped  []Mapping // the files that were mapped, by address
	// Missing is how many bytes of the memory that the header lists are not in the file: it was cut off. 0: it is
	// whole.
	Missing uint64

	in       *os.File
	size     uint64
	segments []segment // by address
	auxv     []byte
}

// Process is what the core says about its process as a whole.
type Process struct {
	Pid    int
	Name   string // of the program, at most 15 bytes
	Args   string // its command line, at most 80 bytes
	Signal int    // 0: none
	// Code and Address are of the signal; HasInfo tells whether they are known.
	HasInfo bool
	Code    int
	Address uint64
}

// Crashed tells whether the signal is one that ends a process. The others are those with which a debugger stops one
// that continues when its core has been taken.
func (p Process) Crashed() bool {
	return !slices.Contains([]syscall.Signal{0, syscall.SIGINT, syscall.SIGSTOP, syscall.SIGTRAP},
		syscall.Signal(p.Signal))
}

// Thread is one thread of the process.
type Thread struct {
	ID     int // the kernel's
	Signal int
}

// Mapping is a file that was mapped.
type Mapping struct {
	Start, End uint64
	Offset     uint64 // in the file, bytes
	Path       string
}

// segment is a piece of memory. What lies beyond data was not dumped; usually it can be found in the file that was
// mapped there.
type segment struct{ start, end, offset, data uint64 }

// Open opens a core file and reads all of it but its memory.
func Open(path string) (*File, error) {
	in, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the core file %s does not exist", path)
	case err != nil:
		return nil, fmt.Errorf("the core file %s cannot be opened: %w", path, err)
	}
	f := &File{Path: path, in: in}
	if err := f.read(); err != nil {
		in.Close() //nolint:errcheck // read only
		return nil, err
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error {
	if err := f.in.Close(); err != nil {
		return fmt.Errorf("closing the core file %s: %w", f.Path, err)
	}
	return nil
}

func (f *File) damaged(format string, args ...any) error {
	return fmt.Errorf("the core file %s is damaged: %s", f.Path, fmt.Sprintf(format, args...))
}

// packed are the beginnings of compressed files: core files are often kept so.
var packed = []struct{ magic, name, tool string }{
	{"\x28\xb5\x2f\xfd", "zstd", "zstd -d"},
	{"\x1f\x8b", "gzip", "gunzip"},
	{"\xfd7zXZ\x00", "xz", "unxz"},
	{"\x04\x22\x4d\x18", "lz4", "lz4 -d"},
	{"BZh", "bzip2", "bunzip2"},
}

const whyCut = "a limit on the size of core files (ulimit -c) or a full disk may be why"

var (
	le                = binary.LittleEndian
	headerSize        = binary.Size(elf.Header64{})
	programHeaderSize = binary.Size(elf.Prog64{})
)

// decode reads numbers, which data is long enough for.
func decode[T any](data []byte) (v T) {
	binary.Decode(data, le, &v) //nolint:errcheck // it fits
	return v
}

func (f *File) read() error {
	info, err := f.in.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("the core file %s cannot be looked at: %w", f.Path, err)
	case info.IsDir():
		return fmt.Errorf("%s is not a file with a core in it, but a directory", f.Path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file with a core in it, but a device, pipe or socket", f.Path)
	}
	f.size = uint64(info.Size())
	raw := make([]byte, headerSize)
	n, err := f.in.ReadAt(raw, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the core file %s cannot be read: %w", f.Path, err)
	}
	if n < headerSize || !bytes.HasPrefix(raw, []byte(elf.ELFMAG)) {
		return f.notCore(raw[:n])
	}
	header := decode[elf.Header64](raw)
	if class, data := elf.Class(raw[elf.EI_CLASS]), elf.Data(raw[elf.EI_DATA]); class != elf.ELFCLASS64 ||
		data != elf.ELFDATA2LSB {
		return fmt.Errorf("%s is of a machine that Cohort does not debug: it reads cores of 64-bit little-endian "+
			"programs, and this is %s, %s", f.Path, class, data)
	}
	switch kind := elf.Type(header.Type); kind {
	case elf.ET_CORE:
	case elf.ET_EXEC, elf.ET_DYN:
		return fmt.Errorf("%s is a program or a library, not a core file: give the program first, and then its core "+
			"files",
			f.Path)
	default:
		return fmt.Errorf("%s is an ELF file of type %v, not a core file", f.Path, kind)
	}
	count := uint64(header.Phnum)
	if header.Phentsize != uint16(programHeaderSize) {
		return f.damaged("its program headers have %d bytes each instead of %d", header.Phentsize, programHeaderSize)
	}
	if count == 0xffff { // and more: the number is in the first section header
		section := make([]byte, binary.Size(elf.Section64{}))
		if err := f.exactly(section, header.Shoff); err != nil {
			return err
		}
		count = uint64(decode[elf.Section64](section).Info)
	}
	if count == 0 || count > maxSegments {
		return f.damaged("it claims to have %d pieces of memory, and from 1 to %d are possible", count, maxSegments)
	}
	return f.readSegments(header.Phoff, count)
}

// notCore says what a file is that is none.
func (f *File) notCore(head []byte) error {
	if f.size == 0 {
		return fmt.Errorf("the core file %s is empty: %s", f.Path, whyCut)
	}
	for _, p := range packed {
		if bytes.HasPrefix(head, []byte(p.magic)) {
			return fmt.Errorf("%s is compressed with %s: unpack it first (%s), and give the core file that comes out; "+
				"coredumpctl dump does so by itself", f.Path, p.name, p.tool)
		}
	}
	if bytes.HasPrefix(head, []byte("ProblemType:")) {
		return fmt.Errorf("%s is a report of Apport: unpack it (apport-unpack %s DIRECTORY), and give "+
			"DIRECTORY/CoreDump",
			f.Path, f.Path)
	}
	return fmt.Errorf("%s is not a core file: it does not begin as one", f.Path)
}

// exactly reads what must be there.
func (f *File) exactly(p []byte, offset uint64) error {
	if offset > f.size || uint64(len(p)) > f.size-offset {
		return fmt.Errorf("the core file %s is cut off: it has %d bytes, and not even the list of what is in it is "+
			"whole; %s",
			f.Path, f.size, whyCut)
	}
	if _, err := f.in.ReadAt(p, int64(offset)); err != nil {
		return fmt.Errorf("the core file %s cannot be read: %w", f.Path, err)
	}
	return nil
}

// readSegments reads the program headers: where memory is in the file, and the notes.
func (f *File) readSegments(offset, count uint64) error {
	raw := make([]byte, count*uint64(programHeaderSize))
	if err := f.exactly(raw, offset); err != nil {
		return err
	}
	var notes []byte
	for ; len(raw) > 0; raw = raw[programHeaderSize:] {
		switch h := decode[elf.Prog64](raw); elf.ProgType(h.Type) { //nolint:exhaustive // the others hold nothing
		case elf.PT_NOTE:
			if h.Filesz > maxNotes || uint64(len(notes))+h.Filesz > maxNotes {
				return f.damaged("it claims to have %d bytes of notes", h.Filesz)
			}
			piece := make([]byte, min(h.Filesz, f.size+1)) // one more than there is says that it is cut off
			if err := f.exactly(piece, h.Off); err != nil {
				return err
			}
			notes = append(notes, piece...)
		case elf.PT_LOAD:
			s := segment{start: h.Vaddr, end: h.Vaddr + h.Memsz, offset: h.Off}
			if s.end < s.start {
				return f.damaged("memory at 0x%x cannot have %d bytes", h.Vaddr, h.Memsz)
			}
			dumped := min(h.Filesz, h.Memsz)
			s.data = min(dumped, f.size-min(h.Off, f.size))
			f.Missing += dumped - s.data
			f.segments = append(f.segments, s)
		}
	}
	slices.SortFunc(f.segments, func(a, b segment) int { return cmp.Compare(a.start, b.start) })
	return f.readNotes(notes)
}

// ReadMemory fills p with the bytes at addr and returns how many it read. n < len(p) comes with an error and means that
// the byte at addr+n is not in the file: it was not mapped, or it was not dumped, as what can be read from the file
// that was mapped there is not.
func (f *File) ReadMemory(addr uint64, p []byte) (n int, err error) {
	for n < len(p) {
		at := addr + uint64(n)
		if at < addr {
			break
		}
		i := sort.Search(len(f.segments), func(i int) bool { return f.segments[i].start > at }) - 1
		if i < 0 || at-f.segments[i].start >= f.segments[i].data {
			break
		}
		s := f.segments[i]
		inside := at - s.start
		k := int(min(uint64(len(p)-n), s.data-inside))
		got, err := f.in.ReadAt(p[n:n+k], int64(s.offset+inside))
		n += got
		if err != nil {
			return n, fmt.Errorf("reading the core file %s: %w", f.Path, err)
		}
	}
	if n < len(p) {
		return n, fmt.Errorf("memory at 0x%x is not in the core file", addr+uint64(n))
	}
	return n, nil
}

// dumped returns the pieces of [start, end) that are in the file.
func (f *File) dumped(start, end uint64) [][2]uint64 {
	var out [][2]uint64
	for _, s := range f.segments {
		if a, b := max(start, s.start), min(end, s.start+s.data); a < b {
			out = append(out, [2]uint64{a, b})
		}
	}
	return out
}

// Find returns the first address of [start, end), a multiple of 8, at which the memory begins with want.
func (f *File) Find(start, end uint64, want []byte) (uint64, bool) {
	const step = 1 << 20
	for _, piece := range f.dumped(start, end) {
		for at := (piece[0] + 7) &^ 7; at < piece[1]; at += step {
			buf := make([]byte, min(step+uint64(len(want)), piece[1]-at))
			n, _ := f.ReadMemory(at, buf) // what cannot be read does not hold it
			for i := 0; i < n && uint64(i) < step; i += 8 {
				if bytes.HasPrefix(buf[i:n], want) {
					return at + uint64(i), true
				}
			}
		}
	}
	return 0, false
}

// Executable is the mapping of the program itself; ok is false if the core does not tell.
func (f *File) Executable() (m Mapping, ok bool) {
	for _, tag := range []uint64{atPhdr, atEntry} {
		if addr, known := f.aux(tag); known {
			if m, ok := f.MappingAt(addr); ok {
				return m, true
			}
		}
	}
	return Mapping{}, false
}

// MappingAt is the file that was mapped at an address.
func (f *File) MappingAt(addr uint64) (Mapping, bool) {
	i := sort.Search(len(f.Mapped), func(i int) bool { return f.Mapped[i].End > addr })
	if i < len(f.Mapped) && f.Mapped[i].Start <= addr {
		return f.Mapped[i], true
	}
	return Mapping{}, false
}
