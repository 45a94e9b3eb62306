// Package script runs debugger commands without a terminal: `cohort debug --batch -x COMMAND...`, for CI jobs,
// demonstrations and bug reports.
//
// It is a DAP client like every front end: the commands are the console's, and what comes back is printed as
// text that a person can read. A command that fails ends the script with an error that names it, or with KeepGoing is
// that of the whole script when it is over, so that a script cannot pass by accident.
//
// With a Watch it also notices crashes, aborts, and that ranks do not get on, and fills a report (package report) of
// what it is told: `cohort batch`.
//
// **Invariant:** script is a DAP client only: it knows of a job what dap/protocol and dap/client tell.
package script
