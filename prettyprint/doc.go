// Package prettyprint turns the interposer's registry, read as bytes from a stopped rank's memory, into what an MPI
// programmer wants to see: datatypes as constructor trees, buffers as the values that a datatype selects from them, and
// communicators with their members.
//
// It follows Protze, Hilbrich, Knüpfer, de Supinski and Müller, "Holistic Debugging of MPI Derived Datatypes" (IPDPS
// 2012): the meta type-tree (section IV.A) is what the registry holds, the expanded type-tree (IV.B) gives each element
// its address (IV.C, t(STRUCT)[2][5](CHAR)), and the constructor is printed in the form of the paper's Fig. 5.
//
// It owns no process, no connection and no goroutine. All it needs is a [MemoryReader] and the address of the symbol
// cohort_registry; whoever implements a [Resolver] lends it the user's expressions. It neither calls into the program
// nor writes to it, so it serves a live rank, a replayed one and a core file alike.
//
// **Invariant:** nothing that is read from the rank is trusted. Every count is bounded before it is used, every record
// is read in pieces that must be mapped before more is allocated, cycles and depth are checked, and arithmetic on
// displacements is checked for overflow. A corrupt registry yields an [*Error], never a panic, a hang or a giant
// allocation.
//
// **Invariant:** what is shown lazily stays lazy. A datatype knows its number of elements, so that the n-th element is
// found in O(depth + log blocks) without walking the first n; memory is read only for the elements of the page asked
// for.
//
// **Invariant:** this package imports nothing of ours. It mirrors the registry structs of pmpi/include/cohort_abi.h by
// offset (abi.go), and a test compares the mirror with that header.
package prettyprint
