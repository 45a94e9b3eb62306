// Command typewatch runs a rank of an MPI program under the interposer and decodes every datatype that it makes: when
// it is freed, and those that are left when the program ends. `mpiexec -n 4 typewatch -lib LIBCOHORT -report DIR
// PROGRAM ARGS` writes DIR/PID.types for each rank: how many types of which constructors there were, and
// each that could not be decoded, or whose figures, computed from its constructor, are not those that MPI reports. It
// is for scripts/derivedtypes.sh, which runs programs that people use (ScaLAPACK's test programs, HPC Challenge), and
// not part of Cohort.
//
// It stops the rank by breakpoints of its own (ptrace) at the interposer's MPI_Type_free and MPI_Finalize and reads the
// registry from its memory, as a debugger does. Linux on x86-64 only.
package main
