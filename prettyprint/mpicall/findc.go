package mpicall

import (
	"regexp"
	"strings"
)

// cleaned is C source in which comments and directives are blanks, character for character, so that positions and lines
// stay.
type cleaned struct {
	text       string
	directives []int // positions of the # of each
}

// clean blanks out comments and directives.
func clean(source string) cleaned {
	b := []byte(source)
	var c cleaned
	blank := func(from, to int) {
		for k := from; k < to && k < len(b); k++ {
			if b[k] != '\n' {
				b[k] = ' '
			}
		}
	}
	bare := true // nothing but white space since the line began
	for i := 0; i < len(b); {
		switch {
		case b[i] == '\n':
			bare = true
			i++
			continue
		case strings.HasPrefix(source[i:], "\\\n"):
			blank(i, i+1)
			i += 2
			continue
		case strings.HasPrefix(source[i:], "//"), strings.HasPrefix(source[i:], "/*"):
			end := commentEnd(source, i)
			blank(i, end)
			i = end
			continue
		case b[i] == '#' && bare:
			c.directives = append(c.directives, i)
			end := directiveEnd(source, i)
			blank(i, end)
			i = end
			continue
		case b[i] == 'R' && strings.HasPrefix(source[i:], `R"`) && (i == 0 || !isWord(b[i-1])):
			end := rawEnd(source, i)
			for k := i; k < end; k++ { // what is in it must not look like code
				if b[k] != '\n' {
					b[k] = '0'
				}
			}
			i = end
		case b[i] == '"', b[i] == '\'' && (i == 0 || !isWord(b[i-1])):
			i = quoted(source, i, false)
		default:
			if b[i] != ' ' && b[i] != '\t' && b[i] != '\r' {
				bare = false
			}
			i++
			continue
		}
		bare = false
	}
	c.text = string(b)
	return c
}

func commentEnd(s string, i int) int {
	if s[i+1] == '*' {
		if k := strings.Index(s[i+2:], "*/"); k >= 0 {
			return i + 2 + k + 2
		}
		return len(s)
	}
	return directiveEnd(s, i)
}

// directiveEnd is the end of the line, continued lines included. A comment in it may go on beyond.
func directiveEnd(s string, i int) int {
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			return i
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '\n':
			i++
		case strings.HasPrefix(s[i:], "/*"):
			k := strings.Index(s[i+2:], "*/")
			if k < 0 {
				return len(s)
			}
			i += 2 + k + 1
		}
	}
	return len(s)
}

// rawEnd is the end of R"tag(...)tag".
func rawEnd(s string, i int) int {
	open := strings.IndexByte(s[i:], '(')
	if open < 0 || open > 18 {
		return i + 2
	}
	tag := s[i+2 : i+open]
	if k := strings.Index(s[i+open:], ")"+tag+`"`); k >= 0 {
		return i + open + k + len(tag) + 2
	}
	return len(s)
}

// reach is how many lines a call may have: further from the line that is asked for, none is looked for.
const reach = 200

func findC(source string, line int) []Call {
	c := clean(source)
	var out []Call
	at, before := 1, "" // line, and the last token
	s := c.text
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\n':
			at++
			i++
		case s[i] == ' ' || s[i] == '\t' || s[i] == '\r':
			i++
		case s[i] == '"' || s[i] == '\'' && (i == 0 || !isWord(s[i-1])):
			end := quoted(s, i, false)
			at += strings.Count(s[i:end], "\n")
			i, before = end, `"`
		case isLetter(s[i]):
			end := i
			for end < len(s) && isWord(s[end]) {
				end++
			}
			word := s[i:end]
			if line-at < reach && at <= line && !declares(before) {
				if call, ok := c.callAt(i, end, at); ok {
					out = append(out, call)
				}
			}
			i, before = end, word
		default:
			before = s[i : i+1]
			i++
		}
	}
	return out
}

// declares reports whether a name that follows this token is being declared: "int MPI_Send(".
func declares(before string) bool {
	if before == "" || !isLetter(before[0]) {
		return before == "." || before == ">" || before == "~"
	}
	switch before {
	case "return", "else", "do", "case", "co_return", "co_await", "co_yield", "throw", "and", "or", "not", "goto",
		"xor":
		return false
	}
	return true
}

// callAt reads a call whose name is text[from:to] and stands on that line.
func (c *cleaned) callAt(from, to, line int) (Call, bool) {
	s := c.text
	f, ok := lookup(s[from:to])
	if !ok || !strings.HasPrefix(s[from:to], "MPI_") && !strings.HasPrefix(s[from:to], "PMPI_") {
		return Call{}, false
	}
	open := to
	for open < len(s) && isBlank(s[open]) {
		open++
	}
	if open == len(s) || s[open] != '(' {
		return Call{}, false
	}
	end, ok := closing(s, open, false)
	if !ok || end-open > 1<<16 {
		return Call{}, false
	}
	for _, d := range c.directives {
		if d > from && d < end {
			return Call{}, false // which of the lines were compiled is not known
		}
	}
	next := end
	for next < len(s) && isBlank(s[next]) {
		next++
	}
	if next < len(s) && s[next] == '{' {
		return Call{}, false // a definition
	}
	return Call{
		Function: f, Name: s[from:to], Arguments: split(s[open+1:end-1], false), First: line, Last: line +
			strings.Count(s[from:end], "\n"),
	}, true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// closing returns the position after the bracket that closes the one at open.
func closing(s string, open int, fortran bool) (int, bool) {
	depth := 0
	for i := open; i < len(s); i++ {
		switch c := s[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
			if depth == 0 {
				return i + 1, c == ')'
			}
		case ';':
			if !fortran && depth == 1 {
				return 0, false
			}
		case '"', '\'':
			if c == '\'' && !fortran && isWord(s[i-1]) {
				continue
			}
			i = quoted(s, i, fortran) - 1
		}
	}
	return 0, false
}

var (
	define     = regexp.MustCompile(`^#[ \t]*define[ \t]+([A-Za-z_]\w*)([ \t]+(.*))?$`)
	defineCall = regexp.MustCompile(`^#[ \t]*define[ \t]+([A-Za-z_]\w*)\(`)
	undef      = regexp.MustCompile(`^#[ \t]*undef[ \t]+([A-Za-z_]\w*)`)
	condition  = regexp.MustCompile(`^#[ \t]*(if|ifdef|ifndef|endif)\b`)
	body       = regexp.MustCompile(`^[\w \t+\-*/%()<>|&^~.]+$`)
	funcLike   = regexp.MustCompile(`\b(\w+)[ \t]*\(`)
)

// Constants are the macros of a C source that stand for a constant and for nothing else: defined once, outside every
// condition, without parameters, by numbers, operators and other such names. A debugger often does not know them, as
// the compiler does not tell it.
func Constants(source string) map[string]string {
	out, bad := map[string]string{}, map[string]bool{}
	depth := 0
	for _, at := range clean(source).directives {
		text := source[at:directiveEnd(source, at)]
		text = strings.ReplaceAll(text, "\\\n", " ")
		if m := condition.FindStringSubmatch(text); m != nil {
			depth++
			if m[1] == "endif" {
				depth -= 2
			}
			continue
		}
		if m := undef.FindStringSubmatch(text); m != nil {
			bad[m[1]] = true
		}
		m := define.FindStringSubmatch(uncomment(text))
		if m == nil {
			if m = defineCall.FindStringSubmatch(text); m != nil {
				bad[m[1]] = true
			}
			continue
		}
		name, value := m[1], strings.TrimSpace(m[3])
		if _, twice := out[name]; twice || depth != 0 || value == "" || !body.MatchString(value) || calls(value) {
			bad[name] = true
		}
		out[name] = value
	}
	for name := range bad {
		delete(out, name)
	}
	return out
}

func calls(value string) bool {
	for _, m := range funcLike.FindAllStringSubmatch(value, -1) {
		if m[1] != "sizeof" {
			return true
		}
	}
	return false
}

func uncomment(text string) string {
	if i := strings.Index(text, "//"); i >= 0 {
		text = text[:i]
	}
	for {
		i := strings.Index(text, "/*")
		if i < 0 {
			return strings.TrimRight(text, " \t\r")
		}
		k := strings.Index(text[i+2:], "*/")
		if k < 0 {
			return strings.TrimRight(text[:i], " \t\r")
		}
		text = text[:i] + " " + text[i+2+k+2:]
	}
}

// Substitute puts constants in the place of their names in an expression; changed is false if none occurs.
func Substitute(expr string, constants map[string]string) (result string, changed bool) {
	const deepest = 16
	for range deepest {
		next, more := substitute(expr, constants)
		if !more || len(next) > 1<<12 {
			break
		}
		expr, changed = next, true
	}
	return expr, changed
}

func substitute(expr string, constants map[string]string) (result string, changed bool) {
	var b strings.Builder
	for i := 0; i < len(expr); {
		switch {
		case expr[i] == '"' || expr[i] == '\'':
			end := quoted(expr, i, false)
			b.WriteString(expr[i:end])
			i = end
		case isWord(expr[i]):
			end := i
			for end < len(expr) && isWord(expr[end]) {
				end++
			}
			word := expr[i:end]
			if value, ok := constants[word]; ok && (i == 0 || expr[i-1] != '.' && expr[i-1] != '>') {
				b.WriteString("(" + value + ")")
				changed = true
			} else {
				b.WriteString(word)
			}
			i = end
		default:
			b.WriteByte(expr[i])
			i++
		}
	}
	return b.String(), changed
}
