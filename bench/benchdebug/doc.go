// Package benchdebug measures what debugging all ranks costs: Cohort, by its debug adapter, beside as many bare gdb
// processes under the same launcher, which one program drives in parallel over gdb/MI and which do nothing but what
// they are told. Both do the same things to the same program, in turn, so that what else the machine does hits both.
//
// `make bench-debug` writes docs/bench-debug.md.
package benchdebug
