package abigen

import (
	"fmt"
	"strings"
)

// constant is a #define or a value of an enum.
type constant struct {
	name, value string // as in C
	note
}

// note is what is said of a declaration: heading of those that begin with it, comment of itself.
type note struct{ heading, comment string }

// noteOf tells one from the other: with a comment behind a declaration the one above is a heading.
func noteOf(before, after string) note {
	if after == "" {
		return note{comment: before}
	}
	return note{heading: before, comment: after}
}

type enum struct {
	name, comment string
	values        []constant
}

// field is a member of a struct, or several of one type. Its length is a C expression, empty if it is no array.
type field struct {
	names         []string
	ctype, length string
	note
}

type structure struct {
	name, comment string
	fields        []field
}

// header is what was declared, in order: constant, enum or structure.
type header []any

type parser struct {
	tokens  []token
	at      int
	structs map[string]bool // declared so far
}

// integers are the types that a member may have besides structs, in Go's words.
var integers = map[string]string{
	"uint8_t": "uint8", "uint16_t": "uint16", "uint32_t": "uint32", "uint64_t": "uint64", "int32_t": "int32",
	"int64_t": "int64", "char": "byte",
}

// fault is how a parser gives up; parse recovers it.
type fault struct{ error }

func (p *parser) fail(format string, args ...any) {
	line := 0
	if len(p.tokens) > 0 {
		line = p.tokens[min(p.at, len(p.tokens)-1)].line
	}
	panic(fault{fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))})
}

func (p *parser) peek() string {
	if p.at == len(p.tokens) {
		return ""
	}
	return p.tokens[p.at].text
}

func (p *parser) next() token {
	if p.at == len(p.tokens) {
		p.fail("the file ends within a declaration")
	}
	p.at++
	return p.tokens[p.at-1]
}

func (p *parser) expect(text string) token {
	t := p.next()
	if t.text != text {
		p.at--
		p.fail("expected %q, found %q", text, t.text)
	}
	return t
}

// until joins tokens up to one of the ends, which stays.
func (p *parser) until(ends string) string {
	var parts []string
	for !strings.Contains(ends, p.peek()) {
		parts = append(parts, p.next().text)
	}
	return strings.Join(parts, "")
}

func parse(tokens []token) (h header, err error) {
	p := &parser{tokens: tokens, structs: map[string]bool{}}
	defer func() {
		if f, is := recover().(fault); is {
			err = f.error
		} else if r := recover(); r != nil {
			panic(r)
		}
	}()
	for p.at < len(tokens) {
		switch t := p.tokens[p.at]; {
		case t.define:
			h = append(h, p.define())
		case t.text == "enum":
			h = append(h, p.enum())
		case t.text == "struct":
			h = append(h, p.structure())
		default:
			p.fail("expected #define, enum or struct, found %q", t.text)
		}
	}
	return h, nil
}

func (p *parser) define() constant {
	name := p.next()
	c := constant{name: name.text}
	for last := name; !last.last; {
		last = p.next()
		c.value += last.text
		c.note = noteOf(name.before, last.after)
	}
	return c
}

func (p *parser) enum() enum {
	e := enum{comment: p.expect("enum").before}
	e.name = p.next().text
	e.comment = join(e.comment, p.expect("{").after)
	for p.peek() != "}" {
		first := p.next()
		c := constant{name: first.text}
		p.expect("=")
		c.value = p.until(",}")
		last := p.tokens[p.at-1]
		if p.peek() == "," {
			last = p.next()
		}
		c.note = noteOf(first.before, last.after)
		e.values = append(e.values, c)
	}
	p.expect("}")
	p.expect(";")
	return e
}

func (p *parser) structure() structure {
	s := structure{comment: p.expect("struct").before}
	s.name = p.next().text
	s.comment = join(s.comment, p.expect("{").after)
	for p.peek() != "}" {
		s.fields = append(s.fields, p.members()...)
	}
	p.expect("}")
	p.expect(";")
	p.structs[s.name] = true
	return s
}

// members is one declaration of a struct; nil: of an array of unknown length, for which Go has no field.
func (p *parser) members() []field {
	first := p.next()
	f := field{ctype: first.text}
	if f.ctype == "struct" {
		f.ctype = p.next().text
	}
	f.names = strings.Split(p.until("[;"), ",")
	if integers[f.ctype] == "" && !p.structs[f.ctype] {
		p.fail("%s is neither an integer of a fixed width nor a struct declared before", f.ctype)
	}
	for _, name := range f.names {
		if name == "" || strings.TrimLeftFunc(name, isWord) != "" {
			p.fail("%q is no name of a member", name)
		}
	}
	open := false
	if p.peek() == "[" {
		p.next()
		f.length = p.until("]")
		p.next()
		open = f.length == ""
	}
	f.note = noteOf(first.before, p.expect(";").after)
	if open {
		return nil
	}
	return []field{f}
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}
