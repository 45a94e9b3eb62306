// Package abi is Go's view of pmpi/include/cohort_abi.h, the contracts between the interposer inside a rank and Cohort
// outside it: the layout of the control block, the registry, the decisions file and the trace header, and the numbers
// that cross the border. layout.go is generated from the header; tests compare it with the header and with the DWARF of
// a library built with -g.
//
// **Invariant:** nothing here interprets what it carries, and nothing here imports another package of ours: anybody may
// import it, so that no number is typed twice.
package abi
