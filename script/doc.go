// Package script runs debugger commands without a terminal: `cohort debug --batch -x COMMAND...`, for CI jobs,
// demonstrations and bug reports.
//
// It is a DAP client like every front end: the commands are the console's, and what comes back is printed as
// text that a person can read. A command that fails ends the script with an error that names it, or with KeepGoing is
// that of the whole script when it is over, so that a script cannot pass by accident.
//
// **Invariant:** script imports dap/protocol and dap/client and nothing else of ours.
package script
