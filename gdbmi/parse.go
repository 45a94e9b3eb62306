package gdbmi

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of tuples and lists, so that hostile input cannot exhaust the stack.
// gdb itself nests fewer than ten deep.
const maxDepth = 512

// Parse reads line, without its line end, as exactly one record. The error says where it stops being one;
// [Split] is the tolerant form. The record shares memory with line.
func Parse(line string) (Record, error) {
	p := parser{s: line}
	r, ok := p.record()
	if ok && p.i == len(line) {
		return r, nil
	}
	p.fail("the end of the line")
	return Record{}, fmt.Errorf("gdbmi: want %s at byte %d of a line of %d bytes, found %q", p.want, p.at, len(line),
		shorten(line[p.at:]))
}

type parser struct {
	s     string
	i     int
	depth int
	want  string // set by the first failure
	at    int
}

func (p *parser) fail(want string) bool {
	if p.want == "" {
		p.want, p.at = want, p.i
	}
	return false
}

func (p *parser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *parser) take(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

// token reads the digits in front of a record.
func (p *parser) token() (token uint64, ok bool) {
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		if token > (1<<63)/10 {
			return 0, p.fail("a token below 2^63")
		}
		token = token*10 + uint64(c-'0')
		p.i++
	}
	return token, true
}

// record reads one record from the present place; what follows it is the caller's business.
func (p *parser) record() (r Record, ok bool) {
	start := p.i
	if strings.HasPrefix(p.s[start:], "(gdb)") {
		p.i += len("(gdb)")
		p.take(' ')
		return Record{Kind: Prompt}, true
	}
	if r.Token, ok = p.token(); !ok {
		return r, false
	}
	if r.Kind, ok = marked[p.peek()]; !ok {
		return r, p.fail("a record")
	}
	if r.IsStream() {
		if p.i > start {
			return r, p.fail("one of ^ * + = after a token")
		}
		p.i++
		r.Text, ok = p.cstring()
		return r, ok
	}
	p.i++
	if r.Class, ok = p.word(); !ok {
		return r, p.fail("a class")
	}
	for p.take(',') {
		it, ok := p.result()
		if !ok {
			return r, false
		}
		r.Items = append(r.Items, it)
	}
	r.Text = p.s[start:p.i]
	return r, true
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' ||
		c == '/'
}

func (p *parser) word() (string, bool) {
	start := p.i
	for p.i < len(p.s) && isWord(p.s[p.i]) {
		p.i++
	}
	return p.s[start:p.i], p.i > start
}

// result reads `name=value` or a plain value.
func (p *parser) result() (Result, bool) {
	var it Result
	var ok bool
	switch p.peek() {
	case '"', '{', '[':
	default:
		if it.Name, ok = p.word(); !ok {
			return it, p.fail("a name or a value")
		}
		if !p.take('=') {
			return it, p.fail("'='")
		}
	}
	it.Value, ok = p.value()
	return it, ok
}

func (p *parser) value() (v Value, ok bool) {
	start := p.i
	switch p.peek() {
	case '"':
		v.Text, ok = p.cstring()
		return v, ok
	case '{':
		v.Kind = Tuple
		v.Items, ok = p.items('}')
	case '[':
		v.Kind = List
		v.Items, ok = p.items(']')
	default:
		p.fail("a value")
	}
	v.Text = p.s[start:p.i]
	return v, ok
}

// items reads the members of a tuple or list, from its opening to its closing bracket.
func (p *parser) items(closing byte) ([]Result, bool) {
	p.depth++
	if p.depth > maxDepth {
		return nil, p.fail(fmt.Sprintf("at most %d nested brackets", maxDepth))
	}
	p.i++
	if p.take(closing) {
		p.depth--
		return nil, true
	}
	items := make([]Result, 0, 4)
	for {
		it, ok := p.result()
		if !ok {
			return nil, false
		}
		items = append(items, it)
		if p.take(closing) {
			p.depth--
			return items, true
		}
		if !p.take(',') {
			return nil, p.fail("',' or '" + string(rune(closing)) + "'")
		}
	}
}

// cstring reads a c-string. Without escapes it is a substring of the line.
func (p *parser) cstring() (string, bool) {
	if !p.take('"') {
		return "", p.fail("a c-string")
	}
	var buf []byte
	for {
		rest := p.s[p.i:]
		n := strings.IndexAny(rest, `"\`)
		if n < 0 {
			p.i = len(p.s)
			return "", p.fail(`the '"' that ends the c-string`)
		}
		p.i += n + 1
		if rest[n] == '"' && buf == nil {
			return rest[:n], true
		}
		buf = append(buf, rest[:n]...)
		if rest[n] == '"' {
			return string(buf), true
		}
		var ok bool
		if buf, ok = p.escape(buf); !ok {
			return "", false
		}
	}
}

var escapes = [256]byte{
	'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '"': '"', '\'': '\'', '?': '?',
}

// escape reads what follows a backslash: every escape of C.
func (p *parser) escape(buf []byte) ([]byte, bool) {
	c := p.peek()
	if e := escapes[c]; e != 0 {
		p.i++
		return append(buf, e), true
	}
	switch {
	case c >= '0' && c <= '7':
		v, _ := p.number(8, 3)
		if v > 0xff {
			return buf, p.fail("an octal escape below 0400")
		}
		return append(buf, byte(v)), true
	case c == 'x':
		p.i++
		// Two digits at most: C takes as many as there are, but a byte has only two.
		v, n := p.number(16, 2)
		if n == 0 {
			return buf, p.fail("a hexadecimal digit")
		}
		return append(buf, byte(v)), true
	case c == 'u' || c == 'U':
		p.i++
		want := 4
		if c == 'U' {
			want = 8
		}
		v, n := p.number(16, want)
		if n != want || !utf8.ValidRune(rune(v)) {
			return buf, p.fail("a universal character name")
		}
		return utf8.AppendRune(buf, rune(v)), true
	}
	return buf, p.fail("an escape of C")
}

// number reads up to most digits and returns their value and count.
func (p *parser) number(base, most int) (v, n int) {
	for ; n < most; n++ {
		d := strings.IndexByte("0123456789abcdefABCDEF", p.peek())
		if d >= 16 {
			d -= 6
		}
		if d < 0 || d >= base {
			break
		}
		v = v*base + d
		p.i++
	}
	return v, n
}
