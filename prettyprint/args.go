package prettyprint

import "strings"

// SplitArguments splits the arguments of a console command that are expressions of the user's language. Whitespace and
// commas separate them, except within brackets and quotes, and except that whitespace around a binary operator does
// not:
//
//	t buf + 3 10        three arguments: t, buf + 3, 10
//	t *p                two: t, *p        (an operator that touches what follows begins an argument)
//	t (double *) p 2    three: t, (double *) p, 2
//	"t" 'a b'           two: t, a b       (quotes around a whole argument are taken off)
func SplitArguments(line string) ([]string, error) {
	s := splitter{in: line}
	for {
		s.skipSpace()
		if s.at >= len(s.in) {
			break
		}
		if s.in[s.at] == ',' {
			if !s.wantSeparator {
				return nil, errorf(KindUsage, 0, "The arguments %q have a comma with nothing before it.", line)
			}
			s.at++
			s.wantSeparator = false
			s.skipSpace()
			if s.at >= len(s.in) {
				return nil, errorf(KindUsage, 0, "The arguments %q end with a comma; an argument must follow it.", line)
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

type splitter struct {
	in            string
	at            int
	out           []string
	wantSeparator bool // an argument was read: a comma may follow
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (s *splitter) skipSpace() {
	for s.at < len(s.in) && isSpace(s.in[s.at]) {
		s.at++
	}
}

const operators = "+-*/%&|^<>=!?:.~"

// argument reads one argument, which begins at s.at.
func (s *splitter) argument() (string, error) {
	begin := s.at
	for s.at < len(s.in) {
		switch c := s.in[s.at]; {
		case c == '(' || c == '[' || c == '{':
			if err := s.bracketed(); err != nil {
				return "", err
			}
		case c == ')' || c == ']' || c == '}':
			return "", errorf(KindUsage, 0, "The arguments %q have a %q that closes nothing.", s.in, string(c))
		case c == '"' || c == '\'':
			if err := s.quoted(); err != nil {
				return "", err
			}
		case c == ',':
			return unquote(s.in[begin:s.at]), nil
		case isSpace(c):
			if !s.continues(begin) {
				return unquote(s.in[begin:s.at]), nil
			}
			s.skipSpace()
		default:
			s.at++
		}
	}
	return unquote(s.in[begin:s.at]), nil
}

// continues decides at whitespace whether the argument that began at begin goes on after it.
func (s *splitter) continues(begin int) bool {
	next := s.at
	for next < len(s.in) && isSpace(s.in[next]) {
		next++
	}
	if next == len(s.in) || s.in[next] == ',' {
		return false
	}
	before := s.in[begin:s.at]
	last := before[len(before)-1]
	if strings.IndexByte(operators, last) >= 0 { // "a + |b": the operator wants something
		return true
	}
	if isCast(before) || strings.HasSuffix(before, "sizeof") {
		return true
	}
	if strings.IndexByte(operators, s.in[next]) < 0 {
		return false
	}
	end := next
	for end < len(s.in) && strings.IndexByte(operators, s.in[end]) >= 0 {
		end++
	}
	if end == len(s.in) || isSpace(s.in[end]) { // "a| + b": spaces on both sides
		return true
	}
	switch op := s.in[next:end]; op { // "a| +b": what cannot begin an expression goes on
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
func (s *splitter) bracketed() error {
	var open []byte
	for s.at < len(s.in) {
		switch c := s.in[s.at]; c {
		case '(':
			open = append(open, ')')
		case '[':
			open = append(open, ']')
		case '{':
			open = append(open, '}')
		case ')', ']', '}':
			if c != open[len(open)-1] {
				return errorf(KindUsage, 0, "The arguments %q have a %q where a %q should be.", s.in, string(c),
					string(open[len(open)-1]))
			}
			open = open[:len(open)-1]
		case '"', '\'':
			if err := s.quoted(); err != nil {
				return err
			}
			continue
		}
		s.at++
		if len(open) == 0 {
			return nil
		}
	}
	return errorf(KindUsage, 0, "The arguments %q end before the closing %q.", s.in, string(open[len(open)-1]))
}

// quoted skips a string or character in quotes, which begins at s.at.
func (s *splitter) quoted() error {
	q := s.in[s.at]
	for s.at++; s.at < len(s.in); s.at++ {
		switch s.in[s.at] {
		case '\\':
			s.at++
		case q:
			s.at++
			return nil
		}
	}
	s.at = len(s.in)
	return errorf(KindUsage, 0, "The arguments %q end within quotes: the closing %q is missing.", s.in, string(q))
}

// unquote takes off quotes that enclose the whole argument.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' && s[0] != '\'' || s[len(s)-1] != s[0] {
		return s
	}
	q := splitter{in: s}
	if err := q.quoted(); err != nil || q.at != len(s) {
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
