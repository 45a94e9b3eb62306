package corefile

import (
	"bytes"
	"cmp"
	"encoding/binary"
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
	le := binary.LittleEndian
	for len(notes) > 0 {
		if len(notes) < 12 {
			return len(bytes.Trim(notes, "\x00")) == 0
		}
		nameSize, dataSize, kind := uint64(le.Uint32(notes)), uint64(le.Uint32(notes[4:])), le.Uint32(notes[8:])
		notes = notes[12:]
		padded := (nameSize+3)&^3 + (dataSize+3)&^3
		if (nameSize+3)&^3+dataSize > uint64(len(notes)) {
			return false
		}
		name := strings.TrimRight(string(notes[:nameSize]), "\x00")
		data := notes[(nameSize+3)&^3:][:dataSize]
		take(name, kind, data)
		notes = notes[min(padded, uint64(len(notes))):]
	}
	return true
}

func (f *File) readNotes(notes []byte) error {
	le := binary.LittleEndian
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
		return f.refuse("The core file %s is damaged: its notes, which list threads and mapped files, contradict "+
			"themselves.", f.Path)
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
	le := binary.LittleEndian
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
	le := binary.LittleEndian
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
	le := binary.LittleEndian
	header := make([]byte, headerSize)
	if n, _ := f.ReadMemory(start, header); n < headerSize || !bytes.HasPrefix(header, []byte("\x7fELF")) {
		return ""
	}
	offset, count := le.Uint64(header[32:]), uint64(le.Uint16(header[56:]))
	if offset > 1<<20 || count > 1<<10 || le.Uint16(header[54:]) != programHeaderSize {
		return ""
	}
	headers := make([]byte, count*programHeaderSize)
	if n, _ := f.ReadMemory(start+offset, headers); n < len(headers) {
		return ""
	}
	id := ""
	for h := headers; len(h) > 0; h = h[programHeaderSize:] {
		// by its place in the file: the first page of it is what was mapped here
		at, size := le.Uint64(h[8:]), le.Uint64(h[32:])
		if le.Uint32(h) != 4 || size > 1<<16 { // PT_NOTE
			continue
		}
		notes := make([]byte, size)
		if n, _ := f.ReadMemory(start+at, notes); n < len(notes) {
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
