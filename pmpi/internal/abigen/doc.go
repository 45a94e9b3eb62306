// Package abigen writes package pmpi/abi from pmpi/include/cohort_abi.h: a Go type for each enum and struct, a constant
// for each number, with the comments of the header. It reads the part of C that the header keeps to, which its first
// comment describes, and refuses the rest by line. Operations (enum cohort_op) are not there: package mpispec has them.
package abigen
