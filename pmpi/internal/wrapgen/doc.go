// Package wrapgen generates the C functions that stand in for MPI's, from the table in package mpispec. Package pmpi
// calls it when it builds the interposer; no generated C is in the repository.
//
// A wrapper is one C function made of stages (compose): it publishes the call for a debugger (track.go), enters the
// recorder, carries the call out and records or replays its outcome, leaves, and notes what became of it. What a class
// of calls does between entering and leaving is made of the table here (stages.go), or it is a function stage_X written
// by hand, in the file that includes the wrappers of its part: both are inlined, so that a call has one frame of ours.
package wrapgen
