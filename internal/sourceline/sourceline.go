// Package sourceline finds the source line of a code address, in a file or in a live process, from ELF and DWARF. Nothing is executed.
package sourceline

import (
	"bufio"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Location is where an address is in the source. What is unknown is empty or 0.
type Location struct {
	Module   string // the file that holds the code
	Function string
	File     string
	Line     int
}

// String is "function at file:line", as far as it is known.
func (l Location) String() string {
	function := l.Function
	if function == "" {
		function = "an unknown function"
	}
	switch {
	case l.File != "":
		return fmt.Sprintf("%s at %s:%d", function, l.File, l.Line)
	case l.Module != "":
		return function + " in " + l.Module
	}
	return function
}

// InProcess finds the line of an address in a live process. For a return address give the address minus 1: the call is before it.
func InProcess(pid int, pc uint64) (Location, error) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return Location{}, fmt.Errorf("reading the memory map of process %d: %w", pid, err)
	}
	defer maps.Close() //nolint:errcheck // read only
	path, offset, err := mapped(maps, pc)
	if err != nil {
		return Location{}, fmt.Errorf("looking for address %#x in process %d: %w", pc, pid, err)
	}
	// The map_files link would survive a rebuild, but needs privileges; the path is what debuggers use as well.
	return InFile(path, func(segments []*elf.Prog) (uint64, bool) {
		for _, s := range segments {
			if s.Type == elf.PT_LOAD && offset >= s.Off && offset < s.Off+s.Filesz {
				return s.Vaddr + offset - s.Off, true
			}
		}
		return 0, false
	})
}

// mapped finds the file and the offset in it that are mapped at an address.
func mapped(maps io.Reader, pc uint64) (path string, offset uint64, err error) {
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		var start, end, off uint64
		var permissions string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s %x", &start, &end, &permissions, &off); err != nil || pc < start || pc >= end {
			continue
		}
		_, name, found := strings.Cut(lines.Text(), " /")
		if !found {
			return "", 0, errors.New("it is in memory that belongs to no file")
		}
		return "/" + name, pc - start + off, nil
	}
	if err := lines.Err(); err != nil {
		return "", 0, err
	}
	return "", 0, errors.New("nothing is mapped there")
}

// At gives an address as the file's own program headers count it, for InFile.
func At(vaddr uint64) func([]*elf.Prog) (uint64, bool) {
	return func([]*elf.Prog) (uint64, bool) { return vaddr, true }
}

// InFile finds the line of an address in an ELF file. Without debug information the function is found all the same if there are symbols.
func InFile(path string, address func([]*elf.Prog) (uint64, bool)) (Location, error) {
	l := Location{Module: path}
	file, err := elf.Open(path)
	if err != nil {
		return l, fmt.Errorf("looking for a source line: %w", err)
	}
	defer file.Close() //nolint:errcheck // read only
	vaddr, ok := address(file.Progs)
	if !ok {
		return l, fmt.Errorf("looking for a source line: the address is in no segment of %s", path)
	}
	l.Function = function(file, vaddr)
	data, err := file.DWARF()
	if err != nil {
		return l, nil // no debug information: the function is all there is
	}
	line(data, vaddr, &l)
	return l, nil
}

func function(file *elf.File, vaddr uint64) string {
	for _, read := range []func() ([]elf.Symbol, error){file.Symbols, file.DynamicSymbols} {
		symbols, err := read()
		if err != nil {
			continue // no such table
		}
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && vaddr >= s.Value && vaddr < s.Value+s.Size {
				return s.Name
			}
		}
	}
	return ""
}

func line(data *dwarf.Data, vaddr uint64, l *Location) {
	unit, err := data.Reader().SeekPC(vaddr)
	if err != nil {
		return // no unit covers it
	}
	lines, err := data.LineReader(unit)
	if err != nil || lines == nil {
		return
	}
	var entry dwarf.LineEntry
	if err := lines.SeekPC(vaddr, &entry); err != nil || entry.File == nil {
		return
	}
	l.File, l.Line = entry.File.Name, entry.Line
}
