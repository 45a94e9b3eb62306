// Package benchreplay measures what recording and replaying cost: `make bench-replay`. It runs programs of
// testprograms/ in several ways (columns) and writes what it found into docs/bench-replay.md and a JSON file.
// bench/benchreplay/cmd is the command.
//
// What is measured: the time between the moment at which the last rank begins the measured part of the program and the
// moment at which the last rank ends it (testprograms/times.h). Starting a job (0.1 s to 0.5 s, with MPI_Init) and
// ending it are not in it, nor is what is done after the run with what was recorded.
//
// Noise: the columns are run in turn, round by round, beginning with another column each round, so that what else the
// machine does hits all of them. Figures are medians over the rounds, with quartiles.
//
// Ratios are to the unrecorded program with the same yielding: where blocking calls yield (MPICH, more ranks than
// cores) that is the program under the interposer with recording off; where they do not it is the program without any
// part of Cohort.
//
// **Invariant:** a run whose program found its own answer wrong, or a replay in which a rank saw another order than in
// the recording, ends the benchmark with an error: no figure of a wrong run is reported.
package benchreplay
