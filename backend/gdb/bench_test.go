package gdb

import (
	"testing"

	"github.com/cohort-debugger/cohort/backend"
)

// BenchmarkStep is a step over a line, from the request to the Stopped event with frames and threads.
func BenchmarkStep(b *testing.B) {
	s := launch(b, build(b, "loop.c"))
	s.breakAt("loop.c", backend.SourceBreakpoint{ID: 1, Line: 32})
	s.go_(backend.Continue)
	s.stop()
	s.breakAt("loop.c")
	for b.Loop() {
		s.go_(backend.Next)
		s.stop()
	}
}

// BenchmarkLaunch is from nothing to the stop at main, and the end.
func BenchmarkLaunch(b *testing.B) {
	exe := build(b, "exits.c")
	for b.Loop() {
		s := launch(b, exe)
		if err := s.Kill(testContext(b)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPage reads a hundred elements far out in a long array.
func BenchmarkPage(b *testing.B) {
	s := launch(b, build(b, "loop.c"))
	r, err := s.eval(backend.ContextWatch, "big")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if vs := s.vars(r.Ref, 100_000, 100); len(vs) != 100 {
			b.Fatal(len(vs))
		}
	}
}
