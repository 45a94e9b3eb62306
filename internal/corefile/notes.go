package corefile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"slices"
	"strings"
)

// Notes of cores (linux/elfcore.h); all numbers are for 64-bit machines, on which the parts that are read here lie
// alike.
const (
	noteStatus  = 1 // struct elf_prstatus, one per thread
	noteInfo    = 3 // struct elf_prpsinfo
	noteAux     = 6
	noteSignal  = 0x53494749 // siginfo_t
	noteFiles   = 0x46494c45
	noteBuildID = 3 // of "GNU", in programs and libraries
)

const (
	atPhdr   = 3
	atEntry  = 9
	atExecfn = 31
)

// eachNote calls take for each note; false: they end within one.
func eachNote(notes []byte, take func(name string, kind uint32, data []byte)) bool {
	for len(notes) >= 12 {
		nameSize, dataSize, kind := uint64(le.Uint32(notes)), uint64(le.Uint32(notes[4:])), le.Uint32(notes[8:])
		notes = notes[12:]
		at := (nameSize + 3) &^ 3
		if at+dataSize > uint64(len(notes)) {
			return false
		}
		take(strings.TrimRight(string(notes[:nameSize]), "\x00"), kind, notes[at:at+dataSize])
		notes = notes[min(at+(dataSize+3)&^3, uint64(len(notes))):]
	}
	return len(bytes.Trim(notes, "\x00")) == 0
}

func (f *File) readNotes(notes []byte) error {
	bad := false
	whole := eachNote(notes, func(name string, kind uint32, data []byte) {
		if name != "CORE" {
			return
		}
		switch kind {
		case noteStatus:
			if len(data) < 112 {
				bad = true
				return
			}
			f.Threads = append(f.Threads,
				Thread{ID: int(int32(le.Uint32(data[32:]))), Signal: int(le.Uint16(data[12:]))})
		case noteInfo:
			if len(data) < 136 {
				bad = true
				return
			}
			f.Process.Pid = int(int32(le.Uint32(data[24:])))
			f.Process.Name, f.Process.Args = text(data[40:56]), text(data[56:136])
		case noteSignal:
			if len(data) >= 24 && !f.Process.HasInfo { // the first is that of the thread that comes first
				f.Process.HasInfo = true
				f.Process.Code, f.Process.Address = int(int32(le.Uint32(data[8:]))), le.Uint64(data[16:])
			}
		case noteAux:
			f.auxv = data
		case noteFiles:
			bad = !f.readFiles(data) || bad
		}
	})
	if !whole || bad || len(f.Threads) == 0 {
		return f.damaged("its notes, which list threads and mapped files, contradict themselves")
	}
	f.Process.Signal = f.Threads[0].Signal
	if f.Process.Pid == 0 {
		f.Process.Pid = f.Threads[0].ID
	}
	return nil
}

// text is a string in a field of fixed length.
func text(field []byte) string {
	field, _, _ = bytes.Cut(field, []byte{0})
	return strings.TrimSpace(string(bytes.ToValidUTF8(field, []byte("?"))))
}

// readFiles reads NT_FILE: a count, a page size, that many ranges, and then as many paths.
func (f *File) readFiles(data []byte) bool {
	if len(data) < 16 {
		return false
	}
	count, page := le.Uint64(data), le.Uint64(data[8:])
	data = data[16:]
	if count > maxFiles || page == 0 || page > 1<<30 || count*24 > uint64(len(data)) {
		return false
	}
	names := data[count*24:]
	for ; count > 0; count-- {
		name, rest, ok := bytes.Cut(names, []byte{0})
		if !ok {
			return false
		}
		names = rest
		m := Mapping{
			Start: le.Uint64(data), End: le.Uint64(data[8:]), Offset: le.Uint64(data[16:]) * page,
			Path: string(name),
		}
		data = data[24:]
		if m.End <= m.Start {
			return false
		}
		f.Mapped = append(f.Mapped, m)
	}
	slices.SortFunc(f.Mapped, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
	return true
}

// aux is an entry of the auxiliary vector.
func (f *File) aux(tag uint64) (uint64, bool) {
	for v := f.auxv; len(v) >= 16; v = v[16:] {
		if t := le.Uint64(v); t == tag {
			return le.Uint64(v[8:]), true
		} else if t == 0 {
			break
		}
	}
	return 0, false
}

// BuildID is the GNU build-id, in hex, of the file whose first page was mapped at start, as the core has it; "" if it
// does not.
func (f *File) BuildID(start uint64) string {
	raw := make([]byte, headerSize)
	if n, _ := f.ReadMemory(start, raw); n < headerSize || !bytes.HasPrefix(raw, []byte(elf.ELFMAG)) {
		return ""
	}
	header := decode[elf.Header64](raw)
	if header.Phoff > 1<<20 || header.Phnum > 1<<10 || header.Phentsize != uint16(programHeaderSize) {
		return ""
	}
	raw = make([]byte, int(header.Phnum)*programHeaderSize)
	if n, _ := f.ReadMemory(start+header.Phoff, raw); n < len(raw) {
		return ""
	}
	id := ""
	for ; len(raw) > 0; raw = raw[programHeaderSize:] {
		h := decode[elf.Prog64](raw)
		if elf.ProgType(h.Type) != elf.PT_NOTE || h.Filesz > 1<<16 {
			continue
		}
		notes := make([]byte, h.Filesz)
		// by its place in the file: the first page of it is what was mapped here
		if n, _ := f.ReadMemory(start+h.Off, notes); n < len(notes) {
			continue
		}
		eachNote(notes, func(name string, kind uint32, data []byte) {
			if name == "GNU" && kind == noteBuildID && id == "" {
				id = hex.EncodeToString(data)
			}
		})
	}
	return id
}
