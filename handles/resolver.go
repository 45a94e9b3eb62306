package handles

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint"
)

// resolver evaluates expressions in one frame.
type resolver struct {
	*session
	frame    backend.FrameID
	language prettyprint.Language

	at   *backend.Frame // the frame, once it was asked for
	text string         // of its source file
}

var (
	_ prettyprint.Resolver   = (*resolver)(nil)
	_ prettyprint.Locator    = (*resolver)(nil)
	_ prettyprint.SourceText = (*resolver)(nil)
)

// surroundings are what is known of the rank besides its memory.
func (r *resolver) surroundings() prettyprint.Surroundings {
	return prettyprint.Surroundings{Locate: r.Locate, Symbol: r.symbol, Machine: r.machine, Now: r.now}
}

// symbol is the address of a symbol of the MPI library.
func (r *resolver) symbol(name string) (uint64, bool) {
	if s, ok := r.rank.(symbols); ok {
		addr, err := s.SymbolAddress(r.ctx, name)
		return addr, err == nil
	}
	text, err := r.value("&" + name)
	if err != nil {
		return 0, false
	}
	return lastAddress(text)
}

var architecture = regexp.MustCompile(`"([^"]+)"[^"]*$`)

// machine is the program's architecture as gdb names it: it says `The target architecture is set to "auto" (currently
// "i386:x86-64").` here.
func (r *resolver) machine() string {
	text, err := r.console("show architecture")
	if err != nil {
		return ""
	}
	if m := architecture.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// living is a backend that can tell whether there is a process on this host, or only what one has left.
type living interface{ Living() bool }

// now is the time by the clock that the rank's times are of.
func (r *resolver) now() (int64, bool) {
	if l, ok := r.rank.(living); !ok || !l.Living() {
		return 0, false
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, false
	}
	return t.Nano(), true
}

func (r *resolver) evaluate(expr string) (backend.EvaluateResult, error) {
	return r.rank.Evaluate(r.ctx, backend.EvaluateRequest{
		Frame: r.frame, Expression: expr,
		Context: backend.ContextHover,
	})
}

func (r *resolver) value(expr string) (string, error) {
	got, err := r.evaluate(expr)
	return got.Value, err
}

// console runs a command of the debugger and returns what it prints.
func (r *resolver) console(command string) (string, error) {
	got, err := r.rank.Evaluate(r.ctx, backend.EvaluateRequest{
		Frame: r.frame, Expression: "-exec " + command,
		Context: backend.ContextREPL,
	})
	return got.Text, err
}

func (r *resolver) findLanguage() prettyprint.Language {
	if r.language == 0 {
		r.language = prettyprint.C
		if text, err := r.console("show language"); err == nil && strings.Contains(text, "fortran") {
			r.language = prettyprint.Fortran
		}
	}
	return r.language
}

// Resolve implements prettyprint.Resolver. It asks for no more than the kind of expression needs: each question is a
// round trip or several, and the value of a handle, shown as a user wants it, is what this is to find out.
func (r *resolver) Resolve(expr string) (prettyprint.Resolved, error) {
	kind, err := r.typeOf("whatis", expr)
	if err != nil {
		return prettyprint.Resolved{}, err
	}
	out := prettyprint.Resolved{Type: kind, Language: r.findLanguage()}
	// The declared type may be a name, such as MPI_Datatype; what it stands for decides.
	if under, err := r.typeOf("ptype/rmt", expr); err == nil {
		kind = under
	}
	if out.Language == prettyprint.Fortran {
		err = r.classifyFortran(expr, kind, &out)
	} else {
		err = r.classifyC(expr, kind, &out)
	}
	if err != nil {
		return out, err
	}
	if !out.HasAddr && !out.Pointer { // a register variable or an rvalue has none
		out.Address, out.HasAddr = r.address(expr)
	}
	return out, nil
}

// typeOf asks for the type of an expression, which is not evaluated.
func (r *resolver) typeOf(command, expr string) (string, error) {
	text, err := r.console(command + " (" + expr + ")")
	if err != nil {
		return "", err
	}
	_, kind, ok := strings.Cut(strings.TrimSpace(text), "= ")
	if !ok {
		return "", fmt.Errorf("the debugger gives its type as %q", strings.TrimSpace(text))
	}
	return kind, nil
}

// integer evaluates an expression whose value is one.
func (r *resolver) integer(expr, of string) (n uint64, ok bool, err error) {
	text, err := r.value(expr)
	if err != nil {
		return 0, false, err
	}
	if strings.Contains(text, "<optimized out>") {
		return 0, false, fmt.Errorf("the compiler has optimised %s away here", of)
	}
	n, ok = parseNumber(text)
	return n, ok, nil
}

var (
	number     = regexp.MustCompile(`^-?\d+`)
	arrayC     = regexp.MustCompile(`\[[^\]]*\]$`)
	arrayParen = regexp.MustCompile(`\)$`)
)

func (r *resolver) classifyC(expr, kind string, out *prettyprint.Resolved) (err error) {
	kind = trimQualifiers(kind)
	object := strings.HasPrefix(kind, "struct") || strings.HasPrefix(kind, "union") || strings.HasPrefix(kind, "class")
	if body := strings.LastIndexByte(kind, '}'); object && body >= 0 {
		kind = kind[body:] // members and methods tell nothing of what this is
	}
	switch {
	case strings.HasSuffix(kind, "*") || strings.Contains(kind, "(*)"):
		out.Pointer = true
		out.Number, out.HasNumber, err = r.integer("(unsigned long)("+expr+")", expr)
	case arrayC.MatchString(kind):
		out.Array = true
		out.Address, out.HasAddr = r.address(expr)
	case object:
		out.Struct = true
	case !strings.Contains(kind, "float") && !strings.Contains(kind, "double"):
		out.Number, out.HasNumber, err = r.integer("(long)("+expr+")", expr)
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

func (r *resolver) classifyFortran(expr, kind string, out *prettyprint.Resolved) (err error) {
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
		out.Address, out.HasAddr = r.address(expr)
	case strings.HasPrefix(lower, "integer"), strings.HasPrefix(lower, "logical"):
		out.Number, out.HasNumber, err = r.integer(expr, expr)
	}
	return err
}

func (r *resolver) address(expr string) (uint64, bool) {
	text, err := r.value("&(" + expr + ")")
	if err != nil {
		return 0, false
	}
	return lastAddress(text)
}

func parseNumber(text string) (uint64, bool) {
	text = strings.TrimSpace(text)
	if m := number.FindString(text); m != "" && !strings.HasPrefix(text, "0x") {
		if n, err := strconv.ParseInt(m, 10, 64); err == nil {
			return uint64(n), true // signed ones are extended, as Resolved says
		}
		n, err := strconv.ParseUint(m, 10, 64)
		return n, err == nil
	}
	return lastAddress(text)
}

// moduleProcedure is the symbol that gfortran makes of a procedure of a module.
var moduleProcedure = regexp.MustCompile(`^__(\w+)_MOD_(\w+)$`)

// procedure is the name in the source file of what has that symbol, as gdb has it in a backtrace: module::procedure,
// and procedure of what gfortran calls procedure_.
func procedure(file, symbol string) string {
	if !strings.HasPrefix(strings.ToLower(filepath.Ext(file)), ".f") {
		return symbol
	}
	return strings.TrimSuffix(moduleProcedure.ReplaceAllString(symbol, "$1::$2"), "_")
}

var infoLine = regexp.MustCompile(`Line (\d+) of "([^"]+)"(?:.*<([^+>]+)(?:\+\d+)?>)?`)

var symbolName = regexp.MustCompile(`^(.*?)(?: \+ \d+)? in section `)

// Locate implements prettyprint.Locator.
func (r *resolver) Locate(pc uint64) string {
	if pc == 0 {
		return ""
	}
	text, err := r.console(fmt.Sprintf("info line *0x%x", pc-1)) // pc is a return address
	if err != nil {
		return ""
	}
	m := infoLine.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	where := filepath.Base(m[2]) + ":" + m[1]
	if function := m[3]; function != "" {
		if strings.HasPrefix(function, "_Z") { // C++, which this command of gdb's does not write as people do
			if text, err := r.console(fmt.Sprintf("info symbol 0x%x", pc-1)); err == nil {
				if m := symbolName.FindStringSubmatch(text); m != nil {
					function = m[1]
				}
			}
		}
		where += " in " + procedure(m[2], function)
	}
	return where
}
