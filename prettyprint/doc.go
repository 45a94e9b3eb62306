// Package prettyprint turns the interposer's registry, read as bytes from a stopped rank's memory, into what an MPI
// programmer wants to see: datatypes as constructor trees, buffers as the values that a datatype selects from them, and
// communicators with their members.
//
// It follows Protze, Hilbrich, Knüpfer, de Supinski and Müller, "Holistic Debugging of MPI Derived Datatypes" (IPDPS
// 2012): the meta type-tree (section IV.A) is what the registry holds, the expanded type-tree (IV.B) gives each element
// its address (IV.C, t(STRUCT)[2][5](CHAR)), and the constructor is printed in the form of the paper's Fig. 5.
//
// Its packages, each of which imports only those before it:
//
//   - fault: the error; view: the tree that is shown
//   - registry: the records in the rank's memory
//   - datatype: constructor trees, buffers, signatures; picture: layouts as text and SVG
//   - handle: communicators, groups, windows, files, ...
//   - mpicall: what MPI functions do with their arguments, and calls in source text; call: calls and requests
//   - command: the console command mpipp
//
// They own no process, no connection and no goroutine. All they need is a [registry.MemoryReader] and the address of
// the symbol cohort_registry; whoever implements a [call.Resolver] lends them the user's expressions. They neither call
// into the program nor write to it, so they serve a live rank, a replayed one and a core file alike.
//
// **Invariant:** nothing that is read from the rank is trusted. Every count is bounded before it is used, every record
// is read in pieces that must be mapped before more is allocated, cycles and depth are checked, and arithmetic on
// displacements is checked for overflow. A corrupt registry yields a [fault.Error], never a panic, a hang or a giant
// allocation.
package prettyprint
