package call

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

var (
	// Quoted is what is in quotes at the beginning of a text.
	Quoted = regexp.MustCompile(`(?s)^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`)
	// separator is what may separate two arguments.
	separator = regexp.MustCompile(`\s*,\s*|\s+`)
	escaped   = regexp.MustCompile(`\\(["'\\])`)
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
	line = strings.TrimSpace(line)
	flat, err := flatten(line)
	if err != nil {
		return nil, err
	}
	var out []string
	begin := 0
	for _, gap := range separator.FindAllStringIndex(flat, -1) {
		comma := strings.Contains(flat[gap[0]:gap[1]], ",")
		switch {
		case !comma && continues(line[begin:gap[0]], line[gap[1]:]):
			continue
		case gap[0] == begin:
			return nil, fault.Errorf(fault.Usage, 0, "The arguments %q have a comma with nothing before it.", line)
		case gap[1] == len(line):
			return nil, fault.Errorf(fault.Usage, 0, "The arguments %q end with a comma; an argument must follow it.",
				line)
		}
		out = append(out, Unquote(line[begin:gap[0]]))
		begin = gap[1]
	}
	if line != "" {
		out = append(out, Unquote(line[begin:]))
	}
	return out, nil
}

// flatten returns the line with an x for each character that is within brackets or quotes, and so separates nothing.
func flatten(line string) (string, error) {
	out := []byte(line)
	var open []byte // the brackets that are missing
	for i := 0; i < len(line); {
		c, end := line[i], i+1
		inside := len(open) > 0
		switch c {
		case '(':
			open = append(open, ')')
		case '[':
			open = append(open, ']')
		case '{':
			open = append(open, '}')
		case ')', ']', '}':
			if len(open) == 0 {
				return "", fault.Errorf(fault.Usage, 0, "The arguments %q have a %q that closes nothing.", line,
					string(c))
			}
			if last := open[len(open)-1]; c != last {
				return "", fault.Errorf(fault.Usage, 0, "The arguments %q have a %q where a %q should be.", line,
					string(c),
					string(last))
			}
			open = open[:len(open)-1]
		case '"', '\'':
			text := Quoted.FindString(line[i:])
			if text == "" {
				return "", fault.Errorf(fault.Usage, 0,
					"The arguments %q end within quotes: the closing %q is missing.", line,
					string(c))
			}
			inside, end = true, i+len(text)
		}
		if inside {
			copy(out[i:end], bytes.Repeat([]byte("x"), end-i))
		}
		i = end
	}
	if len(open) > 0 {
		return "", fault.Errorf(fault.Usage, 0, "The arguments %q end before the closing %q.", line,
			string(open[len(open)-1]))
	}
	return string(out), nil
}

var (
	operator = regexp.MustCompile(`^[-+*/%&|^<>=!?:.~]+`)
	// wanting is the end of what wants an operand: an operator, a cast to a pointer such as (double *), sizeof.
	wanting = regexp.MustCompile(`[-+*/%&|^<>=!?:.~]$|` +
		`(?:^|\))\s*\(\s*[\w:\x80-\x{10ffff}][\w:\x80-\x{10ffff}\s]*\*[*\s]*\)$|sizeof$`)
	// prefixes are operators that can begin an expression.
	prefixes = []string{"*", "&", "-", "+", "!", "~", "::", "**", "--", "++", "."}
)

// continues reports whether an expression continues after white space that is between these two texts.
func continues(before, after string) bool {
	if wanting.MatchString(before) { // "a + |b": the operator wants something
		return true
	}
	op := operator.FindString(after)
	rest := after[len(op):]
	spaced := rest == "" || strings.TrimLeft(rest, " \t\r\n") != rest // "a| + b": spaces on both sides
	return op != "" && (spaced || !slices.Contains(prefixes, op))
}

// Unquote takes off quotes that enclose the whole argument.
func Unquote(s string) string {
	if s == "" || Quoted.FindString(s) != s {
		return s
	}
	return escaped.ReplaceAllStringFunc(s[1:len(s)-1], func(pair string) string {
		if pair[1] == s[0] || pair[1] == '\\' {
			return pair[1:]
		}
		return pair
	})
}
