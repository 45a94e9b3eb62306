package tracetext

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// lineLimit is how long a line of text may be, in bytes.
const lineLimit = 256 << 20

// Parse reads what Dump wrote. The records obey the same rules as those of a file. Errors are *trace.RefusedError or
// those of r.
func Parse(r io.Reader) (trace.Header, []trace.Record, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, lineLimit)
	var h trace.Header
	var rules *trace.Checker
	var all []trace.Record
	p := &parser{}
	seen := 0 // lines that count
	for in.Scan() && p.err == nil {
		p.line++
		text := strings.TrimSpace(in.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		seen++
		if seen == 1 {
			if text != textVersion {
				p.Fail(strconv.Quote(textVersion), strconv.Quote(text))
			}
			continue
		}
		switch word := p.split(text); {
		case seen > 2:
			rec, broken := trace.New(word)
			if broken == nil {
				record(p, rec)
				p.leftOver()
				broken = rules.Add(rec)
			}
			if broken != nil {
				p.Fail(broken.Want, broken.Got)
			}
			all = append(all, rec)
		case word != "header":
			p.Fail("the header", strconv.Quote(word))
		default:
			header(p, &h)
			p.leftOver()
			rules = trace.NewChecker(h.Mode)
		}
	}
	if err := in.Err(); err != nil {
		return h, nil, fmt.Errorf("read text trace: %w", err)
	}
	if seen < 2 {
		p.line++
		p.Fail("a header line", "the end")
	}
	return h, all, p.err
}

// Undump makes the trace file of which text is the text form: the inverse of Dump. A trace that was cut short is so
// again. The file must not exist; none is left if there is an error. Errors are those of Parse and of files.
func Undump(path string, text io.Reader) error {
	h, records, err := Parse(text)
	if err != nil {
		return err
	}
	w, err := trace.CreateFile(path, h)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if err = w.Write(rec); err != nil {
			break
		}
	}
	end := w.Cut
	if err == nil && h.Closed {
		end = w.Finish
	}
	if ended := end(); err == nil {
		err = ended
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// parser reads the fields of a line. The first fault sticks; what is read after it is zero.
type parser struct {
	line   int
	fields map[string]string
	list   string   // the key of the list that is being read; "": none
	items  []string // of it, those that are to come
	parts  []string // the fields of an element that are to come
	err    error
}

func (p *parser) Fail(want, got string) {
	if p.err == nil {
		p.err = trace.Refuse("line %d of the text trace: expected %s, found %s", p.line, want, got)
	}
}

// split returns the first word and leaves the key=value fields in p.fields.
func (p *parser) split(text string) string {
	p.fields = map[string]string{}
	word, rest, _ := strings.Cut(text, " ")
	for rest = strings.TrimLeft(rest, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, ok := strings.Cut(rest, "=")
		if !ok || key == "" || strings.ContainsAny(key, " \"") {
			p.Fail("key=value", strconv.Quote(rest))
			return word
		}
		var value string
		if strings.HasPrefix(after, `"`) {
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				p.Fail("a quoted string", strconv.Quote(after))
				return word
			}
			value, rest = quoted, after[len(quoted):]
			if rest != "" && rest[0] != ' ' {
				p.Fail("a space after the value of "+key, strconv.Quote(rest))
				return word
			}
		} else {
			value, rest, _ = strings.Cut(after, " ")
		}
		if _, twice := p.fields[key]; twice {
			p.Fail("one "+key, "two")
		}
		p.fields[key] = value
	}
	return word
}

func (p *parser) leftOver() {
	for key := range p.fields {
		p.Fail("no field "+key, key+"="+p.fields[key])
	}
}

// take returns the text of a field, the next one of an element of a list; ok is false if there is none.
func (p *parser) take(key string) (text string, ok bool) {
	if p.err != nil {
		return "", false
	}
	if p.list != "" {
		if len(p.parts) == 0 {
			p.Fail(fmt.Sprintf("%s in each element of %s", key, p.list), "none")
			return "", false
		}
		text, p.parts = p.parts[0], p.parts[1:]
		return text, true
	}
	if text, ok = p.fields[key]; !ok {
		p.Fail("a field "+key, "none")
	}
	delete(p.fields, key)
	return text, ok
}

func (p *parser) Uint(key string, bits int, _ uint64) uint64 {
	text, ok := p.take(key)
	v, err := strconv.ParseUint(text, 0, bits)
	if ok && err != nil {
		p.Fail(fmt.Sprintf("%s as a number of %d bits", key, bits), strconv.Quote(text))
	}
	return v
}

func (p *parser) Int(key string, _ int32) int32 {
	text, ok := p.take(key)
	if key == "source" && text == noSource {
		return trace.NoSource
	}
	v, err := strconv.ParseInt(text, 10, 32)
	if ok && err != nil {
		p.Fail(key+" as a number of 32 bits", strconv.Quote(text))
	}
	return int32(v)
}

func (p *parser) String(key, _ string) string {
	text, ok := p.take(key)
	v, err := strconv.Unquote(text)
	if ok && err != nil {
		p.Fail(key+" as a quoted string", text)
	}
	if !hexStrings[key] {
		return v
	}
	bytes, err := hex.DecodeString(v)
	if err != nil {
		p.Fail(key+" in hexadecimal", err.Error())
	}
	return string(bytes)
}

func (p *parser) word(key, _ string) string {
	text, _ := p.take(key)
	return text
}

func (p *parser) has(key string, _ bool) bool {
	_, some := p.fields[key]
	return some
}

func (p *parser) Op(key string, _ mpispec.Op) mpispec.Op {
	name := p.word(key, "")
	op, ok := mpispec.ParseOp(name)
	if !ok {
		p.Fail("the name of an operation", strconv.Quote(name))
	}
	return op
}

func (p *parser) CommKind(key string, _ abi.CommKind) abi.CommKind {
	name := p.word(key, "")
	kind, ok := abi.ParseCommKind(name)
	if !ok {
		p.Fail("a kind of communicator", strconv.Quote(name))
	}
	return kind
}

func (p *parser) List(key string, _ int) int {
	text, ok := p.take(key)
	inner, begins := strings.CutPrefix(text, "[")
	inner, ends := strings.CutSuffix(inner, "]")
	if ok && !(begins && ends) {
		p.Fail(key+" in brackets", strconv.Quote(text))
	}
	if p.list = key; p.err != nil || inner == "" {
		return 0
	}
	p.items = strings.Split(inner, ",")
	return len(p.items)
}

func (p *parser) Next() {
	p.whole()
	p.parts, p.items = strings.Split(p.items[0], ":"), p.items[1:]
}

func (p *parser) End() {
	p.whole()
	p.list, p.parts = "", nil
}

// whole looks whether the element has more fields than are known.
func (p *parser) whole() {
	if len(p.parts) > 0 {
		p.Fail("no more in an element of "+p.list, strconv.Quote(p.parts[0]))
	}
}

func (p *parser) Fixed(key string, bytes int, _ uint64) uint64 { return p.Uint(key, 8*bytes, 0) }
func (p *parser) Index(key string, _ uint64) uint64            { return p.Uint(key, 64, 0) }
func (p *parser) Event(key string, _ uint64) uint64            { return p.Uint(key, 64, 0) }
func (p *parser) Back(key string, _, _ uint64) uint64          { return p.Uint(key, 64, 0) }
func (p *parser) Count(_ string, _, n int) int                 { return n }
