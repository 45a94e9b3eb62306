package tracetext

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// Dump writes the text form of what r still has to read: the header, then a line per record. Parse is its inverse.
// If the trace ends with a fault, what could be read is written and the fault is returned.
//
// A line is the kind of record and key=value fields; numbers are decimal unless they begin with 0x, strings are quoted
// as in Go, lists are in brackets, the fields of their elements separated by colons, and lines that begin with # are
// comments.
func Dump(w io.Writer, r *trace.Reader) error {
	out := bufio.NewWriter(w)
	h := r.Header()
	out.WriteString(textVersion + "\n" + headerText(&h) + "\n") //nolint:errcheck // sticks to out: Flush returns it
	var fault error
	for rec, err := range r.All() {
		if err != nil {
			fault = err
			break
		}
		line := &writer{b: []byte(trace.Name(rec))}
		record(line, rec)
		out.Write(append(line.b, '\n')) //nolint:errcheck // sticks to out: Flush returns it
	}
	if err := out.Flush(); err != nil {
		return errors.Join(fault, fmt.Errorf("write text: %w", err))
	}
	return fault
}

func headerText(h *trace.Header) string {
	line := &writer{b: []byte("header")}
	header(line, h)
	return string(line.b)
}

// writer writes the fields of a line.
type writer struct {
	b       []byte
	list    bool // within a list
	element bool // within an element of it, after the first field
	n       int  // elements of the list so far
}

// put writes a field; those of an element of a list have no keys.
func (w *writer) put(key, value string) {
	switch {
	case !w.list:
		w.b = append(w.b, " "+key+"="...)
	case w.element:
		w.b = append(w.b, ':')
	}
	w.b, w.element = append(w.b, value...), w.list
}

func (w *writer) Uint(key string, _ int, v uint64) uint64 {
	switch {
	case key == "hash":
		w.put(key, fmt.Sprintf("%#08x", v))
	case hexNumbers[key]:
		w.put(key, fmt.Sprintf("%#x", v))
	default:
		w.put(key, strconv.FormatUint(v, 10))
	}
	return v
}

func (w *writer) Int(key string, v int32) int32 {
	if key == "source" && v == trace.NoSource {
		w.put(key, noSource)
	} else {
		w.put(key, strconv.Itoa(int(v)))
	}
	return v
}

func (w *writer) String(key, v string) string {
	if hexStrings[key] {
		w.put(key, strconv.Quote(hex.EncodeToString([]byte(v))))
	} else {
		w.put(key, strconv.Quote(v))
	}
	return v
}

func (w *writer) word(key, v string) string {
	w.put(key, v)
	return v
}

func (w *writer) has(_ string, some bool) bool { return some }

func (w *writer) List(key string, n int) int {
	w.put(key, "[")
	w.list, w.n = true, 0
	return n
}

func (w *writer) Next() {
	if w.n++; w.n > 1 {
		w.b = append(w.b, ',')
	}
	w.element = false
}

func (w *writer) End() {
	w.b = append(w.b, ']')
	w.list, w.element = false, false
}

func (w *writer) Fixed(key string, _ int, v uint64) uint64 { return w.Uint(key, 64, v) }
func (w *writer) Index(key string, v uint64) uint64        { return w.Uint(key, 64, v) }
func (w *writer) Event(key string, v uint64) uint64        { return w.Uint(key, 64, v) }
func (w *writer) Back(key string, _, v uint64) uint64      { return w.Uint(key, 64, v) }
func (w *writer) Count(_ string, _, n int) int             { return n }
func (w *writer) Fail(string, string)                      {} // what was read, or checked, before

func (w *writer) Op(key string, v mpispec.Op) mpispec.Op {
	w.put(key, v.String())
	return v
}

func (w *writer) CommKind(key string, v abi.CommKind) abi.CommKind {
	w.put(key, v.String())
	return v
}
