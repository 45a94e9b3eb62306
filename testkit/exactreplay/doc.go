// Package exactreplay holds tests only: that what is recorded replays exactly, whatever a program does with MPI.
//
//   - TestCallClasses: every class of MPI call (testprograms/callclasses.c), recorded once and replayed five times, the
//     senders slow in another way each time; the class that differs is named.
//   - TestRandomPrograms: random programs (testprograms/randomprog.c), each recorded in each mode and replayed; a
//     failure is made smaller.
//
// With COHORT_SOAK=MINUTES random programs run for so long.
//
// **Invariant:** no package imports exactreplay.
package exactreplay
