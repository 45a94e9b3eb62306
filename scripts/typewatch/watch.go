package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// mostProblems are reported in full; the rest is counted.
const mostProblems = 20

// watch keeps what was found of a rank's types.
type watch struct {
	seen, open int // types that were freed; that were alive at the end
	compared   int // of these, with figures of the library's
	kinds      map[string]int
	depth      int
	elements   int64
	problems   []string
	more       int
}

// memory reads a rank's memory.
type memory struct{ file io.ReaderAt }

// ReadMemory implements prettyprint.MemoryReader.
func (m memory) ReadMemory(addr uint64, p []byte) (int, error) {
	n, err := m.file.ReadAt(p, int64(addr))
	if n == len(p) {
		return n, nil
	}
	return n, err //nolint:wrapcheck // the decoder says what of
}

func (w *watch) problemf(format string, args ...any) {
	if len(w.problems) < mostProblems {
		w.problems = append(w.problems, fmt.Sprintf(format, args...))
	} else {
		w.more++
	}
}

// freed looks at the type that is about to be freed, whose handle lies at an address.
func (w *watch) freed(file io.ReaderAt, registry, at uint64) {
	w.seen++
	r, err := handle.Open(memory{file}, registry)
	if err != nil {
		w.problemf("the registry: %v", err)
		return
	}
	handle := make([]byte, 8)
	if _, err := (memory{file}).ReadMemory(at, handle[:r.HandleSize()]); err != nil {
		w.problemf("a handle at 0x%x: %v", at, err)
		return
	}
	t, err := r.DatatypeOfHandle(word(handle), false)
	if err != nil {
		w.problemf("a type that is freed: %v", err)
		return
	}
	w.look(t)
}

// left looks at all types that are alive.
func (w *watch) left(file io.ReaderAt, symbol uint64) {
	r, err := handle.Open(memory{file}, symbol)
	if err != nil {
		w.problemf("the registry: %v", err)
		return
	}
	heads, problems, _, err := r.Heads(registry.ClassOf(registry.KindDatatype))
	if err = errors.Join(append(problems, err)...); err != nil {
		w.problemf("the types that are left: %v", err)
	}
	for _, h := range heads {
		t, err := r.DatatypeAt(h.Address)
		if err != nil {
			w.problemf("a type that is left: %v", err)
		} else if t.Combiner() != abi.CombinerNamed && !t.Freed {
			w.open++
			w.look(t)
		}
	}
}

// look decodes a type, and all that it is made of.
func (w *watch) look(t *datatype.Type) {
	if err := t.Problem; err != nil {
		w.problemf("%s: %v", t.Title(), err)
	}
	for _, d := range t.Differences() {
		w.problemf("%s: %s\n%s", t.Title(), d, text(t))
	}
	// the interposer does not ask for those of all types of a program that makes very many
	if _, known := t.Reported(); known {
		w.compared++
	}
	w.count(t)
	w.depth = max(w.depth, t.Depth)
	w.elements = max(w.elements, t.Elements)
	n := int64(0)
	for range t.Typemap(0) {
		n++
		if n == 1000 {
			break
		}
	}
	if n != min(t.Elements, 1000) {
		w.problemf("%s: the typemap has %d elements, and there are %d\n%s", t.Title(), n, t.Elements, text(t))
	}
	if err := t.Text(io.Discard, "t", view.Options{}); err != nil {
		w.problemf("%s: %v", t.Title(), err)
	}
}

func (w *watch) count(t *datatype.Type) {
	if w.kinds == nil {
		w.kinds = map[string]int{}
	}
	if t.Combiner() == abi.CombinerUnknown {
		w.problemf("a type is not decoded: it was made by %s", t.Name)
	}
	w.kinds[t.Combiner().String()]++
	for _, sub := range t.Types {
		if sub.Combiner() != abi.CombinerNamed {
			w.count(sub)
		}
	}
}

func text(t *datatype.Type) string {
	var s strings.Builder
	if err := t.Text(&s, "t", view.Options{MaxLines: 40}); err != nil {
		return err.Error()
	}
	return s.String()
}

// text is the report of a rank.
func (w *watch) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "types %d, depth %d, elements %d\nleft %d\ncompared %d\n", w.seen, w.depth, w.elements, w.open,
		w.compared)
	for _, kind := range slices.Sorted(maps.Keys(w.kinds)) {
		fmt.Fprintf(&s, "kind %s %d\n", kind, w.kinds[kind])
	}
	for _, p := range w.problems {
		fmt.Fprintf(&s, "PROBLEM %s\n", p)
	}
	if w.more > 0 {
		fmt.Fprintf(&s, "PROBLEM and %d more\n", w.more)
	}
	return s.String()
}
