// Package abi mirrors pmpi/include/cohort_abi.h, the one contract between the interposer inside a rank and Cohort
// outside it: the layout of the control block, the registry, the decisions file and the trace header, and the numbers
// that cross the border.
//
// The structs here have the same fields in the same order as the C ones, so that unsafe.Offsetof gives the C offset; a
// test compares each with the DWARF of a library built with -g.
//
// **Invariant:** nothing here interprets what it carries. The package knows layouts and atomic access, not record and
// replay.
//
// **Invariant:** every word of a control block that both sides touch is read and written atomically.
package abi
