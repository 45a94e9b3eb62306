// Command cohort is a debugger for MPI programs: it records, replays and debugs all ranks of a job at once. It is a
// thin main: flags, signals, exit statuses. What the commands do is in the packages runner, launch, job, dap and tui.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
