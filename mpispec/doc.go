// Package mpispec is the one table of what MPI's functions are: MPI 4.0's C interface with the forms with large counts,
// sessions, partitioned communication and the tools interface, and what MPI removed and a library still declares.
// Everything in Cohort that knows an MPI function derives it from here: the wrappers of the interposer (package pmpi),
// the operations of traces, who waits for whom in a collective (package causal), and the buffers of a call (package
// prettyprint).
//
// The table is functions.txt, one row per function or per family of functions that differ in their name only:
//
//	NAME[=OPERATION[/OPERATION]] ...: PARAMETER ... ; TRAIT ...
//
// A line that begins with a tab continues the row before it, a number sign begins a comment, and a line in brackets
// gives the rows below it, up to the next one, their traits. Names are those of C without MPI_. OPERATION is the number
// that traces have for a call; of a collective, a second one for its nonblocking form. Numbers are part of the format
// of traces and never change meaning; a new one takes the next free one from 128 on (98 and 126 were never written and
// stay unused; 256 to 767 are what divergences have for other things).
//
// A PARAMETER is named as in the standard: [SIGN]NAME[:TYPE][[LENGTH]].
//
//   - SIGN says which way it goes: none in, "*" out, "&" in and out. Buffers have "<" for what the call writes
//     (receives), ">" for what it reads (sends), "=" for both, "~" for what the root reads and others write. "+" stands
//     before those that only the form with large counts has.
//   - TYPE is its C type, without the const, pointer and brackets that follow from the rest; "A|B" is B in the form
//     with large counts; a dot stands for a space. Without it, the lines "type TYPE: NAME ..." say it, else it is int.
//   - LENGTH says that it is an array, of as many entries as the parameter of that name says, or "n" (the members of
//     the communicator; of an intercommunicator, those of its remote group), "local" (of the local group), "in" or
//     "out" (neighbours in the communicator's topology); empty if nothing simple.
//
// The count, displacements and datatype of a buffer are the next ones behind it, before the next buffer; buffers that
// follow each other share theirs. Behind the name of a buffer, "*n", "*in" or "*out" say that its count is for each
// member or neighbour, "*sum" that all entries of its counts are meant, "*me" that this rank's entry is, and "*NAME"
// that the count is multiplied by that parameter; "@root" that it means something at the root only.
//
// A TRAIT is one of:
//
//	event=CLASS      a call is an event of that class in traces, and replay enforces its outcome
//	as=NAME          is the same operation as the function of that name, in a row above
//	uncovered        record and replay do not cover it: it makes a recording incomplete, by name
//	value            what it returns is recorded as a value
//	lifecycle        starts the recorder
//	objects          is watched for the registry of handles only
//	operation        an operation of traces that is no function
//	local, nonlocal  may need another rank to act before it returns; local is the default
//	mode=MODE        of a send: standard, buffered, synchronous or ready
//	poll             may find that nothing is complete: then it is no event but counted
//	completes=SET    one, all, any or some of the requests given; none of Request_get_status
//	after=WHO        of a collective: whose calls must have begun for a call to end; see Dependence
//	among            collective over the members of the communicator that it makes, and no others
//	orders           of a collective: racing mode takes its order of events from it
//	synchronizes     orders one-sided communication of several ranks in a way that traces do not show
//	forms=I,init,R   has forms whose names begin with I or R, or end in _init
//	fortran[=HOW]    how calls from Fortran are wrapped; see Fortran
//	f08=own          mpi_f08 of MPICH passes sentinels in a way of its own, so that the C function must be wrapped
//	always           its object is in the registry even where calls in progress are not tracked
//	hidden           a call in progress is not shown
//	verbs=OUT/IN     what it does with the buffers that it reads and writes; sends/receives is the default
//	since=V until=V  the versions of MPI that brought and removed it
//	missing=MPI      a library that does not have it, besides those of an older MPI
//	returns=TYPE     what it returns, if not an int
//
// Forms with large counts (NAME_c) exist where a parameter has another type in them. They are the same operation, and
// covered where the function is, but for those that return before their arrays of counts may be changed.
package mpispec
