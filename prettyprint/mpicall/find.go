package mpicall

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
)

// Call is a call of an MPI function in source text.
type Call struct {
	Function    *mpispec.Function
	Name        string // as written
	Fortran     bool
	Arguments   []Argument
	First, Last int // lines, from the name (in Fortran: the statement's begin) to the closing parenthesis
}

// Argument is one argument's text, on one line and without comments.
type Argument struct {
	Keyword string // Fortran: of "count=n", in lower case
	Text    string
}

// Argument returns the text that the call gives a parameter; ok is false if the function has none of that name, or it
// was left out.
func (c *Call) Argument(parameter string) (text string, ok bool) {
	for i, a := range c.Arguments {
		if a.Keyword == "" && i < len(c.Function.Params) && c.Function.Params[i].Name == parameter ||
			a.Keyword != "" && strings.EqualFold(a.Keyword, parameter) {
			return a.Text, true
		}
	}
	return "", false
}

// Language says how a source file is written.
type Language int

// The languages.
const (
	C Language = iota + 1 // and C++
	FortranFree
	FortranFixed
)

// LanguageOf tells the language from a file's name, as compilers do.
func LanguageOf(path string) Language {
	switch ext := filepath.Ext(path); strings.ToLower(ext) {
	case ".f90", ".f95", ".f03", ".f08", ".f18":
		return FortranFree
	case ".f", ".for", ".ftn", ".f77", ".fpp":
		return FortranFixed
	}
	return C
}

// lookup finds a function whose calls are of interest: those that move data, complete or start requests, or wait for
// messages or for all members of a communicator.
func lookup(name string) (*mpispec.Function, bool) {
	f, ok := mpispec.Lookup(name)
	if !ok {
		return nil, false
	}
	switch f.Class {
	case mpispec.ClassProbe, mpispec.ClassStart, mpispec.ClassCompletion, mpispec.ClassRequest:
		return f, true
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassCollectiveInit:
		return f, len(f.Buffers) > 0 || !f.OneSided()
	default:
		return f, len(f.Buffers) > 0
	}
}

// Find returns the calls of MPI functions that move data or wait for others, whose text covers the line, counted from
// 1, in the order of the text.
func Find(source string, language Language, line int) []Call {
	var all []Call
	if language == C {
		all = findC(source, line)
	} else {
		all = findFortran(source, language == FortranFixed, line)
	}
	return slices.DeleteFunc(all, func(c Call) bool { return line < c.First || c.Last < line || !c.fits() })
}

// fits reports whether the arguments can be those of the function. In Fortran ierror comes last, and arguments may have
// keywords.
func (c *Call) fits() bool {
	more := len(c.Arguments) - len(c.Function.Params)
	return (more == 0 || more == 1 && c.Fortran) && !slices.ContainsFunc(c.Arguments, func(a Argument) bool {
		return a.Keyword != "" && a.Keyword != "ierror" && !c.Function.Has(a.Keyword)
	})
}

// code is source text, character for character, so that positions and lines stay.
type code struct {
	text string // comments and directives are blanks
	bare string // and what is in quotes has no letters or brackets: what is left of them is code
}

// call reads the call of the function bare[from:to], whose arguments' bracket is at open. end is after the closing one.
func (c *code) call(from, to, open int, fortran bool) (found Call, end int, ok bool) {
	f, known := lookup(c.bare[from:to])
	if !known {
		return found, 0, false
	}
	found = Call{Function: f, Name: c.bare[from:to], Fortran: fortran}
	begin, depth := open+1, 0
	argument := func(end int) {
		a := Argument{Text: strings.Join(strings.Fields(c.text[begin:end]), " ")}
		if m := keyword.FindStringSubmatch(a.Text); m != nil && fortran {
			a = Argument{strings.ToLower(m[1]), m[2]}
		}
		found.Arguments = append(found.Arguments, a)
		begin = end + 1
	}
	const longest = 1 << 16
	for i := open; i < min(len(c.bare), open+longest); i++ {
		switch at := c.bare[i]; {
		case at == '(' || at == '[' || at == '{':
			depth++
		case at == ')' || at == ']' || at == '}':
			if depth--; depth > 0 {
				continue
			}
			if strings.TrimSpace(c.text[begin:i]) != "" || len(found.Arguments) > 0 {
				argument(i)
			}
			return found, i + 1, at == ')'
		case at == ',' && depth == 1:
			argument(i)
		case at == ';' && depth == 1:
			return found, 0, false
		}
	}
	return found, 0, false
}

// keyword is "count = n".
var keyword = regexp.MustCompile(`^(\w+) ?= ?([^= ].*)$`)

// quoted returns where the string or character that begins at i ends. A string that does not end ends with its line.
func quoted(s string, i int) int {
	q := s[i]
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\n':
			return i
		case '\\':
			i++
		case q:
			return i + 1
		}
	}
	return len(s)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
