// Package gdbmitest is a gdb that follows a script, for the faults that a real one does not produce on
// demand: it dies in the middle of a record, answers late or in another order, writes garbage, never answers, or
// gives an error after ^running.
//
// A script is a transcript, in the form that gdbmi.Options.Transcript writes, so what a real gdb did
// can be played back, whole or edited. One line is one step:
//
//	> 7-exec-run        wait for a command that begins with "-exec-run"; 7 stands for its token from here on
//	< 7^running         write the line, with the real token in place of 7
//	<| *stopped,reas    write without a line feed
//	2> text             write the line to stderr
//	! exit 3            end with that status
//	! signal 9          end by that signal (SIGKILL is the one that Go leaves alone: others write stacks first)
//	! hang              read commands and answer none, ignoring SIGINT and SIGTERM and the end of stdin, until killed
//	! close             shut stdout and stderr, then hang
//	# text              nothing
//
// After the last step the scripted gdb waits for -gdb-exit or the end of its stdin and then ends with status 0.
// A command other than the one that a step waits for makes it say so on stderr and end with status 97.
//
// A package that uses it calls [Serve] first thing in TestMain: the scripted gdb is the test binary itself,
// started again.
package gdbmitest
