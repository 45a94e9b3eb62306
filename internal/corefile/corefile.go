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
// that goes on when its core has been taken.
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
type segment struct {
	start, end, offset, data uint64
}

// Error says in whole sentences why a core file cannot be used.
type Error struct {
	Path   string
	Reason string
	Err    error
}

func (e *Error) Error() string { return e.Reason }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Open opens a core file and reads all of it but its memory. Errors are an [*Error].
func Open(path string) (*File, error) {
	refuse := func(err error, format string, args ...any) (*File, error) {
		return nil, &Error{Path: path, Reason: fmt.Sprintf(format, args...), Err: err}
	}
	in, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(err, "The core file %s does not exist.", path)
	case err != nil:
		return refuse(err, "The core file %s cannot be opened: %v.", path, err)
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

func (f *File) refuse(format string, args ...any) error {
	return &Error{Path: f.Path, Reason: fmt.Sprintf(format, args...)}
}

// packed are the beginnings of compressed files: core files are often kept so.
var packed = []struct{ magic, name, tool string }{
	{"\x28\xb5\x2f\xfd", "zstd", "zstd -d"},
	{"\x1f\x8b", "gzip", "gunzip"},
	{"\xfd7zXZ\x00", "xz", "unxz"},
	{"\x04\x22\x4d\x18", "lz4", "lz4 -d"},
	{"BZh", "bzip2", "bunzip2"},
}

const headerSize, programHeaderSize, sectionHeaderSize = 64, 56, 64

func (f *File) read() error {
	info, err := f.in.Stat()
	if err != nil {
		return f.refuse("The core file %s cannot be looked at: %v.", f.Path, err)
	}
	if !info.Mode().IsRegular() {
		return f.refuse("%s is not a file with a core in it, but a %s.", f.Path, kindOf(info.Mode()))
	}
	f.size = uint64(info.Size())
	header := make([]byte, headerSize)
	if n, err := f.in.ReadAt(header, 0); err != nil && !errors.Is(err, io.EOF) {
		return f.refuse("The core file %s cannot be read: %v.", f.Path, err)
	} else if n < headerSize {
		return f.notCore(header[:n])
	}
	if !bytes.HasPrefix(header, []byte(elf.ELFMAG)) {
		return f.notCore(header)
	}
	if elf.Class(header[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(header[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return f.refuse("%s is of a machine that Cohort does not debug: it reads cores of 64-bit little-endian "+
			"programs, and this is %s, %s.",
			f.Path, elf.Class(header[elf.EI_CLASS]), elf.Data(header[elf.EI_DATA]))
	}
	le := binary.LittleEndian
	switch kind := elf.Type(le.Uint16(header[16:])); kind {
	case elf.ET_CORE:
	case elf.ET_EXEC, elf.ET_DYN:
		return f.refuse("%s is a program or a library, not a core file. Give the program first, and then its core "+
			"files.", f.Path)
	case elf.ET_NONE, elf.ET_REL, elf.ET_LOOS, elf.ET_HIOS, elf.ET_LOPROC, elf.ET_HIPROC:
		return f.refuse("%s is an ELF file of type %v, not a core file.", f.Path, kind)
	default:
		return f.refuse("%s is an ELF file of type %v, not a core file.", f.Path, kind)
	}
	count, err := f.countHeaders(header)
	if err != nil {
		return err
	}
	return f.readHeaders(le.Uint64(header[32:]), count)
}

// notCore says what a file is that is none.
func (f *File) notCore(head []byte) error {
	if f.size == 0 {
		return f.refuse("The core file %s is empty. A limit on the size of core files (ulimit -c) or a full disk may "+
			"be why.", f.Path)
	}
	for _, p := range packed {
		if bytes.HasPrefix(head, []byte(p.magic)) {
			return f.refuse("%s is compressed with %s. Unpack it first (%s), and give the core file that comes out; "+
				"coredumpctl dump does so by itself.", f.Path, p.name, p.tool)
		}
	}
	if bytes.HasPrefix(head, []byte("ProblemType:")) {
		return f.refuse("%s is a report of Apport. Unpack it (apport-unpack %s DIRECTORY), and give DIRECTORY/CoreDump.", f.Path, f.Path)
	}
	return f.refuse("%s is not a core file: it does not begin as one.", f.Path)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "socket or the like"
}

// countHeaders returns how many program headers there are; above 65534 the number is in the first section header.
func (f *File) countHeaders(header []byte) (uint64, error) {
	le := binary.LittleEndian
	if got := le.Uint16(header[54:]); got != programHeaderSize {
		return 0, f.refuse("The core file %s is damaged: its program headers have %d bytes each instead of %d.", f.Path,
			got, programHeaderSize)
	}
	count := uint64(le.Uint16(header[56:]))
	if const16 := uint64(0xffff); count == const16 {
		section := make([]byte, sectionHeaderSize)
		if err := f.exactly(section, le.Uint64(header[40:])); err != nil {
			return 0, err
		}
		count = uint64(le.Uint32(section[44:]))
	}
	if count == 0 || count > maxSegments {
		return 0, f.refuse("The core file %s is damaged: it claims to have %d pieces of memory, and from 1 to %d are "+
			"possible.", f.Path, count, maxSegments)
	}
	return count, nil
}

// exactly reads what must be there.
func (f *File) exactly(p []byte, offset uint64) error {
	if offset > f.size || uint64(len(p)) > f.size-offset {
		return f.refuse("The core file %s is cut off: it has %d bytes, and not even the list of what is in it is "+
			"whole. %s", f.Path, f.size, whyCut)
	}
	if _, err := f.in.ReadAt(p, int64(offset)); err != nil {
		return f.refuse("The core file %s cannot be read: %v.", f.Path, err)
	}
	return nil
}

const whyCut = "A limit on the size of core files (ulimit -c) or a full disk may be why."

func (f *File) readHeaders(offset, count uint64) error {
	le := binary.LittleEndian
	raw := make([]byte, count*programHeaderSize)
	if err := f.exactly(raw, offset); err != nil {
		return err
	}
	var notes []byte
	for ; len(raw) > 0; raw = raw[programHeaderSize:] {
		kind := elf.ProgType(le.Uint32(raw))
		at, start, inFile, inMemory := le.Uint64(raw[8:]), le.Uint64(raw[16:]), le.Uint64(raw[32:]), le.Uint64(raw[40:])
		if kind == elf.PT_NOTE {
			if inFile > maxNotes || uint64(len(notes))+inFile > maxNotes {
				return f.refuse("The core file %s is damaged: it claims to have %d bytes of notes.", f.Path, inFile)
			}
			if at > f.size || inFile > f.size-at {
				return f.exactly(make([]byte, 1), f.size) // says that it is cut off
			}
			piece := make([]byte, inFile)
			if err := f.exactly(piece, at); err != nil {
				return err
			}
			notes = append(notes, piece...)
		}
		if kind != elf.PT_LOAD {
			continue
		}
		s := segment{start: start, end: start + inMemory, offset: at, data: min(inFile, inMemory)}
		if s.end < s.start {
			return f.refuse("The core file %s is damaged: memory at 0x%x cannot have %d bytes.", f.Path, start,
				inMemory)
		}
		here := uint64(0)
		if at < f.size {
			here = min(s.data, f.size-at)
		}
		f.Missing += s.data - here
		s.data = here
		f.segments = append(f.segments, s)
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
