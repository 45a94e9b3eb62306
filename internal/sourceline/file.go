package sourceline

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"slices"
)

// File looks up addresses in one ELF file, which it reads once. It is for one goroutine at a time.
type File struct {
	path    string
	elf     *elf.File
	symbols []elf.Symbol
	dwarf   *dwarf.Data // nil: there is no debug information
}

// Open reads the tables of an ELF file. The caller closes it.
func Open(path string) (*File, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("looking for a source line: %w", err)
	}
	f := &File{path: path, elf: file}
	for _, read := range []func() ([]elf.Symbol, error){file.Symbols, file.DynamicSymbols} {
		if symbols, err := read(); err == nil { // else there is no such table
			f.symbols = append(f.symbols, symbols...)
		}
	}
	if data, err := file.DWARF(); err == nil { // else the function is all there is
		f.dwarf = data
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error {
	if err := f.elf.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", f.path, err)
	}
	return nil
}

// At finds an address, as the file's own program headers count it. Without debug information the function is found all
// the same if there are symbols.
func (f *File) At(vaddr uint64) Location {
	l := Location{Module: f.path}
	for _, s := range f.symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && vaddr >= s.Value && vaddr < s.Value+s.Size {
			l.Function = s.Name
			break
		}
	}
	if f.dwarf == nil {
		return l
	}
	r := f.dwarf.Reader()
	unit, err := r.SeekPC(vaddr)
	if err != nil {
		return l // no unit covers it
	}
	if lines, err := f.dwarf.LineReader(unit); err == nil && lines != nil {
		l.File, l.Line = lineAt(lines, vaddr)
	}
	// The name that the program's author gave it: symbols of Fortran have an underscore or a module, those of C may end
	// in .isra.0.
	if name := f.function(r, vaddr); name != "" {
		l.Function = name
	}
	return l
}

// lineAt goes through all of a line table. LineReader.SeekPC gives up where the parts of the table are not in ascending
// order, as they are when a function is in a section of its own.
func lineAt(lines *dwarf.LineReader, vaddr uint64) (string, int) {
	var entry, before dwarf.LineEntry
	for before.EndSequence = true; lines.Next(&entry) == nil; before = entry {
		if !before.EndSequence && before.Address <= vaddr && vaddr < entry.Address && before.File != nil {
			return before.File.Name, before.Line
		}
	}
	return "", 0
}

// function finds the innermost function at an address among the entries of a unit, of which r has read the first.
func (f *File) function(r *dwarf.Reader, vaddr uint64) string {
	name := ""
	for depth := 0; ; {
		e, err := r.Next()
		if err != nil || e == nil {
			return name
		}
		if e.Tag == 0 {
			depth--
			if depth < 0 {
				return name
			}
			continue
		}
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock:
			if !f.covers(e, vaddr) {
				// A function can be declared within one that does not cover the address, as a nested one of Fortran is;
				// so only what is inlined is passed over whole.
				if e.Tag != dwarf.TagSubprogram {
					r.SkipChildren()
					continue
				}
			} else if e.Tag != dwarf.TagLexDwarfBlock {
				if n := f.name(e, 0); n != "" {
					name = n
				}
			}
		case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagStructType, dwarf.TagClassType:
		default:
			r.SkipChildren()
			continue
		}
		if e.Children {
			depth++
		}
	}
}

func (f *File) covers(e *dwarf.Entry, vaddr uint64) bool {
	ranges, err := f.dwarf.Ranges(e)
	return err == nil && slices.ContainsFunc(ranges, func(r [2]uint64) bool { return vaddr >= r[0] && vaddr < r[1] })
}

// name follows an entry to where it was declared; references of a damaged file may lead in a circle.
func (f *File) name(e *dwarf.Entry, depth int) string {
	if name, ok := e.Val(dwarf.AttrName).(string); ok {
		return name
	}
	const deepest = 4
	for _, attr := range []dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification} {
		offset, ok := e.Val(attr).(dwarf.Offset)
		if !ok || depth == deepest {
			continue
		}
		r := f.dwarf.Reader()
		r.Seek(offset)
		if origin, err := r.Next(); err == nil && origin != nil {
			return f.name(origin, depth+1)
		}
	}
	return ""
}
