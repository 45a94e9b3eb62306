package mpicall

import (
	"path/filepath"
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
	Keyword string // Fortran: of "count=n"
	Text    string
}

// Argument returns the text that the call gives a parameter; ok is false if the function has none of that name, or it
// was left out.
func (c *Call) Argument(parameter string) (text string, ok bool) {
	for i, p := range c.Function.Params {
		if p.Name != parameter {
			continue
		}
		if i < len(c.Arguments) && c.Arguments[i].Keyword == "" {
			return c.Arguments[i].Text, true
		}
	}
	for _, a := range c.Arguments {
		if strings.EqualFold(a.Keyword, parameter) {
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

// Find returns the calls of MPI functions that move data or wait for others, whose text covers the line, counted from 1, in the
// order of the text.
func Find(source string, language Language, line int) []Call {
	var all []Call
	if language == C {
		all = findC(source, line)
	} else {
		all = findFortran(source, language == FortranFixed, line)
	}
	var out []Call
	for _, c := range all {
		if c.First <= line && line <= c.Last && c.fits() {
			out = append(out, c)
		}
	}
	return out
}

// fits reports whether the arguments can be those of the function.
func (c *Call) fits() bool {
	most := len(c.Function.Params)
	if c.Fortran {
		// ierror comes last; in mpi_f08 it may be left out, and arguments may have keywords.
		if len(c.Arguments) != most && len(c.Arguments) != most+1 {
			return false
		}
		for _, a := range c.Arguments {
			if a.Keyword != "" && !strings.EqualFold(a.Keyword, "ierror") &&
				!c.Function.Has(strings.ToLower(a.Keyword)) {
				return false
			}
		}
		return true
	}
	return len(c.Arguments) == most
}

// split cuts the text of arguments at the commas that are outside brackets and strings, and normalises white space.
func split(text string, fortran bool) []Argument {
	var out []Argument
	depth, begin := 0, 0
	cut := func(end int) {
		a := Argument{Text: strings.Join(strings.Fields(text[begin:end]), " ")}
		if fortran {
			a.Keyword, a.Text = keyword(a.Text)
		}
		out = append(out, a)
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '"', '\'':
			if c == '\'' && !fortran && i > 0 && isWord(text[i-1]) && i+1 < len(text) && isWord(text[i+1]) {
				continue // 1'000 in C++
			}
			i = quoted(text, i, fortran) - 1
		case ',':
			if depth == 0 {
				cut(i)
				begin = i + 1
			}
		}
	}
	if strings.TrimSpace(text[begin:]) != "" || len(out) > 0 {
		cut(len(text))
	}
	return out
}

// keyword splits "count = n".
func keyword(text string) (key, value string) {
	name, rest, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !ok || strings.HasPrefix(rest, "=") || name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r > 0x7f || !isWord(byte(r))
	}) {
		return "", text
	}
	return strings.ToLower(name), strings.TrimSpace(rest)
}

// quoted returns where the string or character that begins at i ends. A string that does not end ends with its line.
func quoted(s string, i int, fortran bool) int {
	q := s[i]
	for i++; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			return i
		case s[i] == '\\' && !fortran:
			i++
		case s[i] == q && fortran && i+1 < len(s) && s[i+1] == q:
			i++
		case s[i] == q:
			return i + 1
		}
	}
	return len(s)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isLetter(c byte) bool { return isWord(c) && (c < '0' || c > '9') }
