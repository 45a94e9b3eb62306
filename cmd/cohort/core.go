package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/internal/corefile"
)

func newCoreCommand(std streams) *cobra.Command {
	var f frontEnd
	cmd := &cobra.Command{
		Use:   "core [flags] [PROGRAM] CORE...",
		Short: "Look at the core files of a program's ranks, all at once",
		Long: `Opens the core files that the ranks of one run have left and shows all of them in the terminal,
as "cohort debug" shows a job that has stopped: stacks, variables, MPI handles (mpipp), on one rank or on rank
sets. Nothing is run, and nothing can be changed.

Which rank a core file was is found in its memory or in the environment of its process. PROGRAM must be the
very build that was running; without it, it is the one that the core files name. docs/core.md says how to get
core files.

With --batch commands are carried out without a terminal, as in "cohort debug --batch"; without -x they are
"ranks" and "bt".`,
		Example: `  cohort core ./heat core.*
  cohort core --batch -x ranks -x bt -x locals -x mpipp -x '[all] p step' ./heat core.4711 core.4712`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, positional []string) error {
			if err := coreTarget(positional, &f.launch); err != nil {
				return err
			}
			return f.run(cmd, std, "core files of "+f.title(), "ranks", "bt")
		},
	}
	f.addFlags(cmd)
	cmd.Flags().StringVar(&f.launch.Gdb, "gdb", "", "`PATH` of gdb")
	cmd.Flags().BoolVar(&f.launch.ShowLibraryThreads, "library-threads", false,
		"show the threads of the MPI library too")
	return cmd
}

// coreTarget takes the program and the core files from the positional arguments.
func coreTarget(positional []string, args *protocol.LaunchArguments) error {
	if len(positional) == 0 {
		return usageError("No core file was named. Write: cohort core ./prog core.*")
	}
	var err error
	if args.Cwd, err = os.Getwd(); err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	for i, name := range positional {
		path, err := filepath.Abs(name)
		if err != nil {
			return fmt.Errorf("finding %s: %w", name, err)
		}
		if i == 0 && !isCore(path) {
			if len(positional) == 1 {
				return usageError("Only %s was named, which is no core file that can be read. Write: cohort core "+
					"./prog core.*", name)
			}
			args.Program = path
			continue
		}
		args.Cores = append(args.Cores, path)
	}
	return nil
}

func isCore(path string) bool {
	file, err := corefile.Open(path)
	if err != nil {
		return false
	}
	file.Close() //nolint:errcheck // read only
	return true
}
