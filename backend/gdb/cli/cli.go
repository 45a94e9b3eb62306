// Package cli asks gdb in its command language what MI has no command for: types, source lines of instructions, threads
// and the architecture. It is the only place that reads those answers: package gdb asks through MI, package plaingdb
// through its script.
package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
)

// A Gdb answers in one frame.
type Gdb interface {
	// Execute has gdb carry out a command that has no effect, and returns what it prints.
	Execute(command string) (string, error)
	// Value evaluates an expression without effects and returns gdb's text for it.
	Value(expr string) (string, error)
}

// Resolve evaluates an expression.
func Resolve(g Gdb, expr string) (backend.Value, error) {
	kind, err := typeOf(g, "whatis", expr)
	if err != nil {
		return backend.Value{}, err
	}
	out := backend.Value{Type: kind, Language: Language(g)}
	// The declared type may be a name, such as MPI_Datatype; what it stands for decides.
	if under, err := typeOf(g, "ptype/rmt", expr); err == nil {
		kind = under
	}
	if out.Language == backend.Fortran {
		err = classifyFortran(g, expr, kind, &out)
	} else {
		err = classifyC(g, expr, kind, &out)
	}
	if err != nil {
		return out, err
	}
	if !out.HasAddr && !out.Pointer { // a register variable or an rvalue has none
		out.Address, out.HasAddr = address(g, expr)
	}
	return out, nil
}

// Language is the language of the frame.
func Language(g Gdb) backend.Language {
	if text, err := g.Execute("show language"); err == nil && strings.Contains(text, "fortran") {
		return backend.Fortran
	}
	return backend.C
}

// typeOf asks for the type of an expression, which is not evaluated.
func typeOf(g Gdb, command, expr string) (string, error) {
	text, err := g.Execute(command + " (" + expr + ")")
	if err != nil {
		return "", err
	}
	_, kind, ok := strings.Cut(strings.TrimSpace(text), "= ")
	if !ok {
		return "", fmt.Errorf("the debugger gives its type as %q", strings.TrimSpace(text))
	}
	return kind, nil
}

// AliasOf is backend.Inspector's.
func AliasOf(g Gdb, name string) string {
	text, err := g.Execute("whatis " + name)
	_, under, ok := strings.Cut(text, "type = ")
	if under = strings.TrimSpace(under); err != nil || !ok || under == name {
		return ""
	}
	return under
}

// integer evaluates an expression whose value is one.
func integer(g Gdb, expr, of string) (n uint64, ok bool, err error) {
	text, err := g.Value(expr)
	if err != nil {
		return 0, false, err
	}
	if strings.Contains(text, "<optimized out>") {
		return 0, false, fmt.Errorf("the compiler has optimised %s away here", of)
	}
	n, ok = Number(text)
	return n, ok, nil
}

var (
	number     = regexp.MustCompile(`^-?\d+`)
	arrayC     = regexp.MustCompile(`\[[^\]]*\]$`)
	arrayParen = regexp.MustCompile(`\)$`)
)

func classifyC(g Gdb, expr, kind string, out *backend.Value) (err error) {
	kind = trimQualifiers(kind)
	object := strings.HasPrefix(kind, "struct") || strings.HasPrefix(kind, "union") || strings.HasPrefix(kind, "class")
	if body := strings.LastIndexByte(kind, '}'); object && body >= 0 {
		kind = kind[body:] // members and methods tell nothing of what this is
	}
	switch {
	case strings.HasSuffix(kind, "*") || strings.Contains(kind, "(*)"):
		out.Pointer = true
		out.Number, out.HasNumber, err = integer(g, "(unsigned long)("+expr+")", expr)
	case arrayC.MatchString(kind):
		out.Array = true
		out.Address, out.HasAddr = address(g, expr)
	case object:
		out.Struct = true
	case !strings.Contains(kind, "float") && !strings.Contains(kind, "double"):
		out.Number, out.HasNumber, err = integer(g, "(long)("+expr+")", expr)
	}
	return err
}

// trimQualifiers takes "const", "volatile" and "restrict" from the end of a pointer type, "struct x * const", and the &
// of a C++ reference, which stands for what it refers to.
func trimQualifiers(kind string) string {
	for {
		before := kind
		kind = strings.TrimSpace(strings.TrimRight(kind, "& \t\n"))
		for _, word := range []string{"const", "volatile", "restrict"} {
			if rest, ok := strings.CutSuffix(kind, word); ok && strings.HasSuffix(strings.TrimSpace(rest), "*") {
				kind = rest
			}
		}
		if kind == before {
			return kind
		}
	}
}

func classifyFortran(g Gdb, expr, kind string, out *backend.Value) (err error) {
	lower := strings.ToLower(kind)
	switch {
	case strings.HasPrefix(lower, "type"):
		out.Struct = true
		// Type mpi_request (4); PTR TO -> ( Type halo ) is none
		out.Array = arrayParen.MatchString(out.Type) && !strings.HasSuffix(out.Type, "))")
	case strings.Contains(lower, "allocatable"), strings.HasPrefix(lower, "ptr to"),
		strings.Contains(lower, "dimension"),
		strings.Contains(lower, ") (") || arrayParen.MatchString(lower) && strings.Count(lower, "(") > 1,
		strings.Contains(lower, ", "):
		out.Array = true
		out.Address, out.HasAddr = address(g, expr)
	case strings.HasPrefix(lower, "integer"), strings.HasPrefix(lower, "logical"):
		out.Number, out.HasNumber, err = integer(g, expr, expr)
	}
	return err
}

func address(g Gdb, expr string) (uint64, bool) {
	text, err := g.Value("&(" + expr + ")")
	if err != nil {
		return 0, false
	}
	return lastAddress(text)
}

// Number reads gdb's text of an integer, an enumeration or a pointer; signed integers are extended to 64 bits.
func Number(text string) (uint64, bool) {
	text = strings.TrimSpace(text)
	if m := number.FindString(text); m != "" && !strings.HasPrefix(text, "0x") {
		if n, err := strconv.ParseInt(m, 10, 64); err == nil {
			return uint64(n), true
		}
		n, err := strconv.ParseUint(m, 10, 64)
		return n, err == nil
	}
	return lastAddress(text)
}

var hexAddress = regexp.MustCompile(`0x[0-9a-fA-F]+`)

// lastAddress takes the address out of what gdb prints for a pointer: "(double (*)[66]) 0x7ffe0 <grid>".
func lastAddress(text string) (uint64, bool) {
	text, _, _ = strings.Cut(text, `"`) // a string that it points to
	if i := strings.IndexByte(text, '<'); i > 0 && !strings.HasPrefix(text, "(<") {
		text = text[:i]
	}
	all := hexAddress.FindAllString(text, -1)
	if len(all) == 0 {
		return 0, false
	}
	addr, err := strconv.ParseUint(all[len(all)-1], 0, 64)
	return addr, err == nil
}

var (
	infoLine   = regexp.MustCompile(`Line (\d+) of "([^"]+)"(?:.*<([^+>]+)(?:\+\d+)?>)?`)
	lineStarts = regexp.MustCompile(`starts at address (0x[0-9a-f]+)`)
	symbolName = regexp.MustCompile(`^(.*?)(?: \+ \d+)? in section `)
)

// LineAt is backend.Inspector's.
func LineAt(g Gdb, pc uint64) (backend.SourceLine, error) {
	text, err := g.Execute(fmt.Sprintf("info line *0x%x", pc))
	if err != nil {
		return backend.SourceLine{}, err
	}
	m := infoLine.FindStringSubmatch(text)
	if m == nil {
		return backend.SourceLine{}, nil
	}
	at := backend.SourceLine{File: m[2], Function: m[3]}
	at.Line, _ = strconv.Atoi(m[1])
	if m := lineStarts.FindStringSubmatch(text); m != nil {
		at.Start, _ = strconv.ParseUint(m[1], 0, 64)
	}
	if strings.HasPrefix(at.Function, "_Z") { // C++, which this command does not write as people do
		if text, err := g.Execute(fmt.Sprintf("info symbol 0x%x", pc)); err == nil {
			if m := symbolName.FindStringSubmatch(text); m != nil {
				at.Function = m[1]
			}
		}
	}
	at.Function = Procedure(at.File, at.Function)
	return at, nil
}

// moduleProcedure is the symbol that gfortran makes of a procedure of a module.
var moduleProcedure = regexp.MustCompile(`^__(\w+)_MOD_(\w+)$`)

// Procedure is the name in the source file of what has that symbol, as gdb has it in a backtrace: module::procedure,
// and procedure of what gfortran calls procedure_.
func Procedure(file, symbol string) string {
	if !IsFortran(file) {
		return symbol
	}
	return strings.TrimSuffix(moduleProcedure.ReplaceAllString(symbol, "$1::$2"), "_")
}

// IsFortran reports whether a source file is Fortran: .f, .f90, .for, .fpp and so on.
func IsFortran(file string) bool { return strings.HasPrefix(strings.ToLower(filepath.Ext(file)), ".f") }

var architecture = regexp.MustCompile(`"([^"]+)"[^"]*$`)

// Machine is the program's architecture: gdb says `The target architecture is set to "auto" (currently "i386:x86-64").`
func Machine(g Gdb) string {
	text, err := g.Execute("show architecture")
	if err != nil {
		return ""
	}
	if m := architecture.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

var kernelThread = regexp.MustCompile(`(?:LWP|process) (\d+)`)

// KernelThread is the kernel's id of the frame's thread; 0: not known.
func KernelThread(g Gdb) int32 {
	text, err := g.Execute("thread")
	if err != nil {
		return 0
	}
	m := kernelThread.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	id, err := strconv.ParseInt(m[1], 10, 32)
	if err != nil {
		return 0
	}
	return int32(id)
}
