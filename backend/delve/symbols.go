package delve

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"github.com/cohort-debugger/cohort/internal/modules"
)

// symbolTable is what one mapped file says of its symbols, which Delve knows of Go and of C with debug information
// only.
type symbolTable struct {
	symbols []elf.Symbol
	// file offset to address, of the parts that hold code
	code []elf.ProgHeader
	kind elf.Type
}

// table reads the symbols of a file once; an unreadable one has none.
func (o *owner) table(path string) *symbolTable {
	if t := o.symbols[path]; t != nil {
		return t
	}
	t := &symbolTable{}
	if f, err := elf.Open(path); err == nil {
		t.kind = f.Type
		for _, read := range []func() ([]elf.Symbol, error){f.DynamicSymbols, f.Symbols} {
			if some, err := read(); err == nil {
				t.symbols = append(t.symbols, some...)
			}
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
				t.code = append(t.code, p.ProgHeader)
			}
		}
		f.Close() //nolint:errcheck,gosec // nothing was written
	}
	o.symbols[path] = t
	return t
}

// bias is by how much the addresses of a mapped file differ from those in the file.
func (t *symbolTable) bias(s modules.Span) uint64 {
	if t.kind != elf.ET_DYN || len(t.code) == 0 {
		return 0
	}
	const page = 4096
	return s.From - t.code[0].Vaddr&^(page-1)
}

// SymbolAddress finds a global symbol in the program and its libraries, in the order of their addresses; the
// interposer's and the program's own come before any library's.
func (o *owner) SymbolAddress(_ context.Context, name string) (uint64, error) {
	spans := modules.Read(o.rank.pid)
	slices.SortStableFunc(spans, func(a, b modules.Span) int { return o.searched(a) - o.searched(b) })
	for _, s := range spans {
		t := o.table(s.Path)
		for _, symbol := range t.symbols {
			if symbol.Name == name && symbol.Section != elf.SHN_UNDEF && symbol.Value != 0 {
				return symbol.Value + t.bias(s), nil
			}
		}
	}
	return 0, fmt.Errorf("the symbol %s is in none of the program's files", name)
}

func (o *owner) searched(s modules.Span) int {
	switch modules.OwnerOf(s.Path, o.program) {
	case modules.Cohort:
		return 0
	case modules.User:
		return 1
	case modules.Unknown, modules.System, modules.MPI:
	}
	return 2
}

// symbolAt is the function of a file at an address, by its symbols.
func (o *owner) symbolAt(path string, pc uint64) string {
	t := o.table(path)
	for _, s := range modules.Read(o.rank.pid) {
		if s.Path != path || pc < s.From || pc >= s.To {
			continue
		}
		at := pc - t.bias(s)
		for _, symbol := range t.symbols {
			if elf.ST_TYPE(symbol.Info) == elf.STT_FUNC && at >= symbol.Value && at < symbol.Value+symbol.Size {
				return symbol.Name
			}
		}
	}
	return ""
}

// entryPoint is the first instruction of the program itself, which the kernel tells the dynamic linker.
func (o *owner) entryPoint() (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", o.rank.pid))
	if err != nil {
		return 0, fmt.Errorf("finding the program's entry: %w", err)
	}
	const atEntry = 9
	for ; len(data) >= 16; data = data[16:] {
		if binary.NativeEndian.Uint64(data) == atEntry {
			return binary.NativeEndian.Uint64(data[8:]), nil
		}
	}
	return 0, fmt.Errorf("the kernel does not tell where the program begins")
}
