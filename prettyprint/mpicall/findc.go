package mpicall

import (
	"regexp"
	"slices"
	"strings"
)

// directive of the preprocessor.
type directive struct {
	at   int    // where it begins
	text string // without comments, and on one line
}

// clean reads C source.
func clean(source string) (code, []directive) {
	text, bare := []byte(source), []byte(source)
	fill := func(b []byte, with byte) {
		for k := range b {
			if b[k] != '\n' {
				b[k] = with
			}
		}
	}
	blank := func(from, to int) { fill(text[from:to], ' '); fill(bare[from:to], ' ') }
	var directives []directive
	begun := -1 // the directive that is being read
	endDirective := func(i int) {
		if begun >= 0 {
			directives = append(directives, directive{begun, strings.Join(strings.Fields(string(text[begun:i])), " ")})
			blank(begun, i)
			begun = -1
		}
	}
	fresh := true // nothing but white space and comments since the line began
	for i := 0; i < len(source); {
		at, rest, end := source[i], source[i:], i+1
		inWord := i > 0 && isWord(source[i-1]) // as in 1'000
		switch {
		case at == '\n':
			endDirective(i)
			fresh = true
		case isBlank(at):
		case strings.HasPrefix(rest, "\\\n"):
			end++
			blank(i, end)
		case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"):
			end = i + commentEnd(rest)
			blank(i, end)
		case at == '#' && fresh:
			begun, fresh = i, false
		default:
			if strings.HasPrefix(rest, `R"`) && !inWord {
				end = i + rawEnd(rest)
				fill(bare[i:end], '"')
			} else if at == '"' || at == '\'' && !inWord {
				end = quoted(source, i)
				fill(bare[i:end], '"')
			}
			fresh = false
		}
		i = end
	}
	endDirective(len(source))
	return code{string(text), string(bare)}, directives
}

// commentEnd is where the comment ends that s begins with.
func commentEnd(s string) int {
	for i := 2; i < len(s); i++ {
		if s[1] == '/' && s[i] == '\n' && s[i-1] != '\\' {
			return i
		}
		if s[1] == '*' && strings.HasPrefix(s[i:], "*/") {
			return i + 2
		}
	}
	return len(s)
}

// rawEnd is where R"tag(...)tag" ends, which s begins with.
func rawEnd(s string) int {
	open := strings.IndexByte(s, '(')
	if open < 0 || open > 18 {
		return 2
	}
	tag := s[2:open]
	if k := strings.Index(s[open:], ")"+tag+`"`); k >= 0 {
		return open + k + len(tag) + 2
	}
	return len(s)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// reach is how many lines a call may have: further from the line that is asked for, none is looked for.
const reach = 200

// calledC is the name of a function of MPI before a bracket, and the token before it.
var calledC = regexp.MustCompile(`([A-Za-z_]\w*|\S)?\s*\b(P?MPI_\w+)\s*\(`)

func findC(source string, line int) []Call {
	c, directives := clean(source)
	from := lineStart(source, line-reach+1)
	near := c.bare[from:max(from, lineStart(source, line+2))]
	var out []Call
	for _, m := range calledC.FindAllStringSubmatchIndex(near, -1) {
		begin := from + m[4]
		call, end, ok := c.call(begin, from+m[5], from+m[1]-1, false)
		switch {
		case !ok, m[2] >= 0 && declares(near[m[2]:m[3]]):
			continue
		case strings.HasPrefix(strings.TrimLeft(c.bare[end:], " \t\r\n"), "{"): // a definition
			continue
		case slices.ContainsFunc(directives, func(d directive) bool { return begin < d.at && d.at < end }):
			continue // which of the lines were compiled is not known
		}
		call.First = 1 + strings.Count(source[:begin], "\n")
		call.Last = call.First + strings.Count(source[begin:end], "\n")
		out = append(out, call)
	}
	return out
}

// lineStart is where a line begins, counted from 1.
func lineStart(s string, line int) int {
	at := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return len(s)
		}
		at += i + 1
	}
	return at
}

// declares reports whether a name that follows this token is being declared: "int MPI_Send(".
func declares(before string) bool {
	switch before {
	case ".", ">", "~":
		return true
	case "return", "else", "do", "case", "co_return", "co_await", "co_yield", "throw", "and", "or", "not", "goto",
		"xor":
		return false
	}
	return isWord(before[0])
}

var (
	define    = regexp.MustCompile(`^# ?(define|undef) ([A-Za-z_]\w*)(\()? ?(.*)$`)
	condition = regexp.MustCompile(`^# ?(if|ifdef|ifndef|endif)\b`)
	body      = regexp.MustCompile(`^[\w \t+\-*/%()<>|&^~.]+$`)
	called    = regexp.MustCompile(`([A-Za-z_]\w*)\s*(?:<[^<>()]*>)?\s*\(`)
)

// Constants are the macros of a C source that stand for a constant and for nothing else: defined once, outside every
// condition, without parameters, by numbers, operators and other such names. A debugger often does not know them, as
// the compiler does not tell it.
func Constants(source string) map[string]string {
	out, bad := map[string]string{}, map[string]bool{}
	depth := 0
	_, directives := clean(source)
	for _, d := range directives {
		if m := condition.FindStringSubmatch(d.text); m != nil {
			if depth++; m[1] == "endif" {
				depth -= 2
			}
		} else if m := define.FindStringSubmatch(d.text); m != nil {
			name, value := m[2], m[4]
			_, twice := out[name]
			if twice || m[1] == "undef" || m[3] != "" || depth != 0 || !body.MatchString(value) || Called(value) != "" {
				bad[name] = true
			}
			out[name] = value
		}
	}
	for name := range bad {
		delete(out, name)
	}
	return out
}

// Called names the function that an expression of C calls; "" if it calls none that is to be seen.
func Called(expr string) string {
	for _, m := range called.FindAllStringSubmatch(expr, -1) {
		switch m[1] {
		case "sizeof", "alignof", "_Alignof", "static_cast", "reinterpret_cast", "const_cast":
		default:
			return m[1]
		}
	}
	return ""
}

// tokens that constants are looked for in: what is in quotes, and the name of a member, is none.
var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[.>]?\w+`)

// Substitute puts constants in the place of their names in an expression.
func Substitute(expr string, constants map[string]string) string {
	const deepest, longest = 16, 1 << 12
	for range deepest {
		next := token.ReplaceAllStringFunc(expr, func(word string) string {
			if value, ok := constants[word]; ok {
				return "(" + value + ")"
			}
			return word
		})
		if next == expr || len(next) > longest {
			break
		}
		expr = next
	}
	return expr
}
