package handles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// The benchmarks run the console's commands in a real gdb session, on a program with a buffer of 10^8 elements (that of
// bench/benchdatatypes).

const large = "../../bench/benchdatatypes/programs/large.c" // from testdata

func benchConsole(b *testing.B, line string, lines int) {
	b.Helper()
	for _, name := range mpitest.Names() {
		b.Run(name, func(b *testing.B) {
			r := stopped(b, mpitest.Need(b, name), large, true)
			b.ResetTimer()
			for b.Loop() {
				got, err := r.console(line)
				if err != nil || strings.Count(got, "\n") < lines {
					b.Fatalf("%s: %v, %d lines", line, err, strings.Count(got, "\n"))
				}
			}
		})
	}
}

// BenchmarkFirstPage: the first page of a buffer of 10^8 elements, a type of 10^5 blocks.
func BenchmarkFirstPage(b *testing.B) { benchConsole(b, "mpipp indexed buffer", 200) }

// BenchmarkAllHandles: mpipp alone.
func BenchmarkAllHandles(b *testing.B) { benchConsole(b, "mpipp", 5) }

// BenchmarkPicture: the picture of a type of 10^5 blocks.
func BenchmarkPicture(b *testing.B) { benchConsole(b, "mpipp --layout indexed", 20) }

// BenchmarkColumn: all 10^6 elements of a vector column.
func BenchmarkColumn(b *testing.B) { benchConsole(b, "mpipp --list 200000 column matrix", 200_000) }

// BenchmarkGdbLoop: what BenchmarkColumn competes with, elements of the same column printed by a loop of gdb's own: a
// two-hundredth of them.
func BenchmarkGdbLoop(b *testing.B) {
	r := stopped(b, mpitest.Need(b, "mpich"), large, true)
	for b.Loop() {
		for i := range 1000 {
			got, err := r.console(fmt.Sprintf("-exec output matrix[%d]", 10*i))
			if err != nil || got == "" {
				b.Fatalf("%q, %v", got, err)
			}
		}
	}
}
