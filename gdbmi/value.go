package gdbmi

import "strings"

// ValueKind says which alternative of the grammar's `value` a [Value] is.
type ValueKind uint8

// The alternatives of `value`. The zero Value is an empty Const.
const (
	Const ValueKind = iota // a c-string, unescaped
	Tuple                  // {...}
	List                   // [...]
)

func (k ValueKind) String() string {
	switch k {
	case Const:
		return "string"
	case Tuple:
		return "tuple"
	case List:
		return "list"
	default:
		return "value of unknown kind"
	}
}

// Value is one value of the grammar. Values are immutable after parsing and may be shared
// between goroutines. The strings in a value may be substrings of the line it was parsed from, so
// keeping one keeps that line in memory; use [strings.Clone] for what outlives a long record.
type Value struct {
	Kind ValueKind
	// Text is the unescaped content of a Const: bytes as gdb sent them, not necessarily UTF-8.
	Text string
	// Items are the members of a Tuple or List in the order in which gdb sent them,
	// with duplicates. A member that is a plain value has an empty Name.
	Items []Result
}

// Result is `name=value`, or a plain value when Name is empty.
type Result struct {
	Name  string
	Value Value
}

// String returns the value in MI syntax.
func (v Value) String() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v Value) write(b *strings.Builder) {
	switch v.Kind {
	case Const:
		quote(b, v.Text)
	case Tuple:
		writeItems(b, '{', v.Items, '}')
	case List:
		writeItems(b, '[', v.Items, ']')
	}
}

func writeItems(b *strings.Builder, open byte, items []Result, closing byte) {
	b.WriteByte(open)
	for i, it := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		it.write(b)
	}
	b.WriteByte(closing)
}

func (r Result) write(b *strings.Builder) {
	if r.Name != "" {
		b.WriteString(r.Name)
		b.WriteByte('=')
	}
	r.Value.write(b)
}

// quote writes s as the c-string that gdb itself would send: printable ASCII as it is, the common
// escapes by letter, every other byte as three octal digits.
func quote(b *strings.Builder, s string) {
	const letters = "abtnvfr" // 7..13
	b.WriteByte('"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			continue
		}
		b.WriteString(s[start:i])
		start = i + 1
		b.WriteByte('\\')
		switch {
		case c == '"' || c == '\\':
			b.WriteByte(c)
		case c >= 7 && c <= 13:
			b.WriteByte(letters[c-7])
		default:
			b.Write([]byte{'0' + c>>6, '0' + c>>3&7, '0' + c&7})
		}
	}
	b.WriteString(s[start:])
	b.WriteByte('"')
}
