package call

import (
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// SplitArguments splits the arguments of a console command that are expressions of the user's language. Whitespace and
// commas separate them, except within brackets and quotes, and except that whitespace around a binary operator does
// not:
//
//	t buf + 3 10        three arguments: t, buf + 3, 10
//	t *p                two: t, *p        (an operator that touches what follows begins an argument)
//	t (double *) p 2    three: t, (double *) p, 2
//	"t" 'a b'           two: t, a b       (quotes around a whole argument are taken off)
func SplitArguments(line string) ([]string, error) {
	s := Splitter{In: line}
	for {
		s.skipSpace()
		if s.At >= len(s.In) {
			break
		}
		if s.In[s.At] == ',' {
			if !s.wantSeparator {
				return nil, fault.Errorf(fault.Usage, 0, "The arguments %q have a comma with nothing before it.", line)
			}
			s.At++
			s.wantSeparator = false
			s.skipSpace()
			if s.At >= len(s.In) {
				return nil, fault.Errorf(fault.Usage, 0, "The arguments %q end with a comma; an argument must follow "+
					"it.", line)
			}
			continue
		}
		arg, err := s.argument()
		if err != nil {
			return nil, err
		}
		s.out = append(s.out, arg)
		s.wantSeparator = true
	}
	return s.out, nil
}

// Splitter goes through the arguments of a line.
type Splitter struct {
	In            string
	At            int
	out           []string
	wantSeparator bool // an argument was read: a comma may follow
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (s *Splitter) skipSpace() {
	for s.At < len(s.In) && isSpace(s.In[s.At]) {
		s.At++
	}
}

const operators = "+-*/%&|^<>=!?:.~"

// argument reads one argument, which begins at s.at.
func (s *Splitter) argument() (string, error) {
	begin := s.At
	for s.At < len(s.In) {
		switch c := s.In[s.At]; {
		case c == '(' || c == '[' || c == '{':
			if err := s.bracketed(); err != nil {
				return "", err
			}
		case c == ')' || c == ']' || c == '}':
			return "", fault.Errorf(fault.Usage, 0, "The arguments %q have a %q that closes nothing.", s.In, string(c))
		case c == '"' || c == '\'':
			if err := s.Quoted(); err != nil {
				return "", err
			}
		case c == ',':
			return Unquote(s.In[begin:s.At]), nil
		case isSpace(c):
			if !s.continues(begin) {
				return Unquote(s.In[begin:s.At]), nil
			}
			s.skipSpace()
		default:
			s.At++
		}
	}
	return Unquote(s.In[begin:s.At]), nil
}

// continues decides at whitespace whether the argument that began at begin continues after it.
func (s *Splitter) continues(begin int) bool {
	next := s.At
	for next < len(s.In) && isSpace(s.In[next]) {
		next++
	}
	if next == len(s.In) || s.In[next] == ',' {
		return false
	}
	before := s.In[begin:s.At]
	last := before[len(before)-1]
	if strings.IndexByte(operators, last) >= 0 { // "a + |b": the operator wants something
		return true
	}
	if isCast(before) || strings.HasSuffix(before, "sizeof") {
		return true
	}
	if strings.IndexByte(operators, s.In[next]) < 0 {
		return false
	}
	end := next
	for end < len(s.In) && strings.IndexByte(operators, s.In[end]) >= 0 {
		end++
	}
	if end == len(s.In) || isSpace(s.In[end]) { // "a| + b": spaces on both sides
		return true
	}
	switch op := s.In[next:end]; op { // "a| +b": what cannot begin an expression continues one
	case "*", "&", "-", "+", "!", "~", "::", "**", "--", "++", ".":
		return false
	}
	return true
}

// isCast reports whether s ends in a C cast to a pointer, such as (double *).
func isCast(s string) bool {
	open := strings.LastIndexByte(s, '(')
	if open < 0 || s[len(s)-1] != ')' || strings.TrimSpace(s[:open]) != "" &&
		!strings.HasSuffix(strings.TrimSpace(s[:open]), ")") {
		return false
	}
	inner := strings.TrimSpace(s[open+1 : len(s)-1])
	stars := strings.TrimRight(inner, "* \t")
	if stars == inner || stars == "" {
		return false
	}
	for _, c := range []byte(stars) {
		if !isWord(c) && !isSpace(c) && c != ':' {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// bracketed skips a bracketed part, which begins at s.at.
func (s *Splitter) bracketed() error {
	var open []byte
	for s.At < len(s.In) {
		switch c := s.In[s.At]; c {
		case '(':
			open = append(open, ')')
		case '[':
			open = append(open, ']')
		case '{':
			open = append(open, '}')
		case ')', ']', '}':
			if c != open[len(open)-1] {
				return fault.Errorf(fault.Usage, 0, "The arguments %q have a %q where a %q should be.", s.In, string(c),
					string(open[len(open)-1]))
			}
			open = open[:len(open)-1]
		case '"', '\'':
			if err := s.Quoted(); err != nil {
				return err
			}
			continue
		}
		s.At++
		if len(open) == 0 {
			return nil
		}
	}
	return fault.Errorf(fault.Usage, 0, "The arguments %q end before the closing %q.", s.In, string(open[len(open)-1]))
}

// Quoted skips a string or character in quotes, which begins at s.at.
func (s *Splitter) Quoted() error {
	q := s.In[s.At]
	for s.At++; s.At < len(s.In); s.At++ {
		switch s.In[s.At] {
		case '\\':
			s.At++
		case q:
			s.At++
			return nil
		}
	}
	s.At = len(s.In)
	return fault.Errorf(fault.Usage, 0, "The arguments %q end within quotes: the closing %q is missing.", s.In,
		string(q))
}

// Unquote takes off quotes that enclose the whole argument.
func Unquote(s string) string {
	if len(s) < 2 || s[0] != '"' && s[0] != '\'' || s[len(s)-1] != s[0] {
		return s
	}
	q := Splitter{In: s}
	if err := q.Quoted(); err != nil || q.At != len(s) {
		return s
	}
	inner := s[1 : len(s)-1]
	var out strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] == '\\' && i+1 < len(inner) && (inner[i+1] == s[0] || inner[i+1] == '\\') {
			i++
		}
		out.WriteByte(inner[i])
	}
	return out.String()
}
