// Package corefile reads core files: which program died of what, which files it had mapped, its memory, its
// environment.
//
// It knows the format (ELF64, little endian; core(5), and what Linux and gdb's generate-core-file write) and nothing of
// MPI, of gdb or of Cohort. It runs nothing and writes nothing.
//
// **Invariant:** nothing in the file is trusted. Every size is bounded before it is used, and a file that ends too
// early, or contradicts itself, yields an error, never a panic or a giant allocation.
package corefile
