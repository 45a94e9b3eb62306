// Package cohorttest runs the cohort of this repository in tests, as users run it: a binary of its own, built once for
// each test process (with the race detector if the test has it). Each test has a Workplace: directories of its own, and
// a mark in the environment of its processes, by which it sees at its end that nothing is left.
//
// A package that uses it has a TestMain that calls Main. Should the test process be killed, or ended by `go test` at
// its timeout, its workplaces are cleaned up all the same.
package cohorttest
