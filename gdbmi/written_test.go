package gdbmi

import (
	"strconv"
	"strings"
)

// written returns the record as the line that gdb would print, without the line feed. For every
// record r that [Parse] returns, Parse(written(r)) gives r again, but for the texts of tuples and lists.
func written(r Record) string {
	var b strings.Builder
	switch r.Kind {
	case Text, Malformed:
		return r.Text
	case Prompt:
		return "(gdb) "
	case Console, Target, Log:
		b.WriteByte(markOf(r.Kind))
		quote(&b, r.Text)
		return b.String()
	case ResultKind, Exec, Status, Notify:
	}
	if r.Token != 0 {
		b.WriteString(strconv.FormatUint(r.Token, 10))
	}
	b.WriteByte(markOf(r.Kind))
	b.WriteString(r.Class)
	for _, it := range r.Items {
		b.WriteByte(',')
		writeResult(&b, it)
	}
	return b.String()
}

func markOf(k Kind) byte {
	for mark, kind := range marked {
		if kind == k {
			return mark
		}
	}
	return 0
}

// bare takes what gdb wrote of records, tuples and lists out of a record.
func bare(r Record) Record {
	if r.Kind == ResultKind || r.Kind == Exec || r.Kind == Status || r.Kind == Notify {
		r.Text = ""
	}
	r.Items = bareItems(r.Items)
	return r
}

func bareItems(items []Result) []Result {
	var out []Result
	for _, it := range items {
		if it.Value.Kind != Const {
			it.Value.Text, it.Value.Items = "", bareItems(it.Value.Items)
		}
		out = append(out, it)
	}
	return out
}

func bareAll(records []Record) []Record {
	out := make([]Record, len(records))
	for i, r := range records {
		out[i] = bare(r)
	}
	return out
}

func writeValue(b *strings.Builder, v Value) {
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
		writeResult(b, it)
	}
	b.WriteByte(closing)
}

func writeResult(b *strings.Builder, r Result) {
	if r.Name != "" {
		b.WriteString(r.Name)
		b.WriteByte('=')
	}
	writeValue(b, r.Value)
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
