// Package mpitest builds the programs of testprograms/ and runs them under each MPI that is installed, for tests of all
// packages. It imports nothing of ours.
//
// A test that needs an MPI which is missing is skipped, with the reason, unless the environment variable
// COHORT_REQUIRE_MPI is 1; then it fails.
//
// **Invariant:** Build is safe when several test processes call it at once: a program appears under its final name
// complete, by a rename.
package mpitest
