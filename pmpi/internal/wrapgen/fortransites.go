package wrapgen

import (
	"fmt"
	"strings"
)

// fortranSites makes wrappers that pass a call of MPICH's Fortran on as it is, and only note where it comes from: the C
// function that it calls sees an address in the MPI's library, not in the program. The calls without buffers of mpi_f08
// are wrapped for other reasons (fortranWrappers).
func fortranSites(all []function) string {
	var b strings.Builder
	b.WriteString(header + `/* MPICH's mpif.h and "use mpi" call the C symbols, its "use mpi_f08" does for calls with buffers: where they are called from is told here. */
#include "fortran.h"
#ifndef OPEN_MPI

`)
	for _, f := range all {
		if !f.fortran || f.hasText() {
			continue
		}
		lower := strings.ToLower(f.name)
		fmt.Fprintf(&b, "FORTRAN_SITE%d(mpi_%s_)\n", len(f.parameters)+1, lower)
		if f.hasBuffer() && !noF08[f.name] && f.name != "Win_allocate" { // those have no such symbol
			fmt.Fprintf(&b, "FORTRAN_SITE%d(mpi_%s_f08ts_)\n", len(f.parameters)+1, lower)
		}
	}
	b.WriteString("#endif\n")
	text := b.String()
	return strings.Replace(text, "#ifndef OPEN_MPI\n\n", "#ifndef OPEN_MPI\n\n"+siteMacros(text), 1)
}

// siteMacros defines the macros that a text uses. All arguments of a Fortran call are addresses, so their number is all
// that matters.
func siteMacros(text string) string {
	var b strings.Builder
	const most = 20
	for n := 1; n <= most; n++ {
		if !strings.Contains(text, fmt.Sprintf("FORTRAN_SITE%d(", n)) {
			continue
		}
		var kinds, declared, passed []string
		for i := range n {
			kinds = append(kinds, "void *")
			declared = append(declared, fmt.Sprintf("void *a%d", i))
			passed = append(passed, fmt.Sprintf("a%d", i))
		}
		fmt.Fprintf(&b, `#define FORTRAN_SITE%d(symbol) \
  EXPORT void symbol(%s) { \
    static void *next; \
    if (UNLIKELY(next == NULL)) next = fortran_next(#symbol); \
    cohort_fortran_site(SITE); \
    ((void (*)(%s))next)(%s); \
    cohort_fortran_site(0); \
  }
`, n, strings.Join(declared, ", "), strings.Join(kinds, ", "), strings.Join(passed, ", "))
	}
	return b.String() + "\n"
}

// hasText says whether a call passes the length of a text too, behind the other arguments.
func (f function) hasText() bool {
	for _, p := range f.parameters {
		if strings.HasPrefix(strings.TrimPrefix(p.kind, "const "), "char") {
			return true
		}
	}
	return false
}
