package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

func newAttachCommand(std streams) *cobra.Command {
	var f frontEnd
	var ranks string
	cmd := &cobra.Command{
		Use:   "attach [flags] PID...|PROGRAM",
		Short: "Debug the ranks of a job that runs already",
		Long: `Attaches a debugger to each rank of a job that runs on this host, stops all where they are, and
shows them in the terminal, as "cohort debug" does. PID is that of the launcher (mpiexec, mpirun), whose
ranks are meant, or of a rank; PROGRAM is the name of the program that the ranks run (for Python the script).
--ranks attaches to some of them only. At the end the ranks run on as if nothing had been, also if cohort is
killed.

Ranks that were started without Cohort's library have stacks, variables and breakpoints, but no mpipp of their
handles: docs/attach.md. With --batch commands are carried out without a terminal, as in "cohort debug
--batch"; without -x they are "ranks" and "bt".`,
		Example: `  cohort attach 4711
  cohort attach heat
  cohort attach --batch --ranks 0-3 -x ranks -x '[all] p step' heat`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, targets []string) error {
			target, err := attachTarget(targets)
			if err != nil {
				return err
			}
			target.Ranks = ranks
			f.launch.Attach = &target
			return f.run(cmd, std, f.title(), "ranks", "bt")
		},
	}
	f.addFlags(cmd)
	cmd.Flags().StringVar(&ranks, "ranks", "", "the `SET` of ranks to attach to, such as 0-3,7 (default: all)")
	cmd.Flags().BoolVar(&f.launch.ShowLibraryThreads, "library-threads", false,
		"show the threads of the MPI library too")
	return cmd
}

// attachTarget reads process ids, or one name of a program.
func attachTarget(targets []string) (protocol.AttachTarget, error) {
	var target protocol.AttachTarget
	if len(targets) == 0 {
		return target, usageError("Nothing was named to attach to. Write the process id of the launcher, those of " +
			"ranks, or the name of the program: cohort attach 4711")
	}
	for _, text := range targets {
		pid, err := strconv.Atoi(text)
		switch {
		case err == nil && pid > 0:
			target.Pids = append(target.Pids, pid)
		case len(targets) > 1:
			return target, usageError("%q is no process id. Write several process ids, or one name of a program.", text)
		default:
			target.Program = text
		}
	}
	return target, nil
}
