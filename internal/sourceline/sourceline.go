// Package sourceline finds the source line of a code address, in a file or in a live process, from ELF and DWARF.
// Nothing is executed.
package sourceline

import (
	"debug/elf"
	"fmt"

	"github.com/cohort-debugger/cohort/internal/modules"
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
	spans := modules.Map{Pid: pid}
	span, ok := spans.SpanAt(pc)
	if !ok {
		return Location{}, fmt.Errorf("looking for address %#x in process %d: no file's code is mapped there", pc, pid)
	}
	// The map_files link would survive a rebuild, but needs privileges; the path is what debuggers use as well.
	f, err := Open(span.Path)
	if err != nil {
		return Location{}, err
	}
	defer f.Close() //nolint:errcheck // read only
	offset := pc - span.From + span.Offset
	for _, s := range f.elf.Progs {
		if s.Type == elf.PT_LOAD && offset >= s.Off && offset < s.Off+s.Filesz {
			return f.At(s.Vaddr + offset - s.Off), nil
		}
	}
	return Location{}, fmt.Errorf("looking for address %#x in process %d: it is in no segment of %s", pc, pid,
		span.Path)
}
