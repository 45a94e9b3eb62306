// Package sourceline finds the source line of a code address, in a file or in a live process, from ELF and DWARF.
// Nothing is executed.
package sourceline

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Location is where an address is in the source. Where code was inlined, Function is the innermost of the functions,
// the one that File and Line belong to. What is unknown is empty or 0.
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

// InProcess finds the line of an address in a live process. For a return address give the address minus 1: the call is
// before it.
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
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s %x", &start, &end, &permissions, &off); err != nil ||
			pc < start || pc >= end {
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
