package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/internal/corefile"
	"github.com/cohort-debugger/cohort/script"
	"github.com/cohort-debugger/cohort/tui"
)

func newCoreCommand(std streams) *cobra.Command {
	var (
		args  protocol.LaunchArguments
		batch bool
		exec  []string
		quiet bool
	)
	cmd := &cobra.Command{
		Use:   "core [flags] [PROGRAM] CORE...",
		Short: "Look at the core files of a program's ranks, all at once",
		Long: `Opens the core files that the ranks of one run have left and shows all of them in the terminal, as "cohort debug" shows a job that has stopped:
stacks, variables, MPI handles (mpipp), on one rank or on rank sets. Nothing is run, and nothing can be changed.

Which rank a core file was is found in its memory or in the environment of its process. PROGRAM must be the very build that was running; without it, it
is the one that the core files name. docs/core.md says how to get core files.

With --batch commands are carried out without a terminal, as in "cohort debug --batch"; without -x they are "ranks" and "bt".`,
		Example: `  cohort core ./heat core.*
  cohort core --batch -x ranks -x bt -x locals -x mpipp -x '[all] p step' ./heat core.4711 core.4712`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, positional []string) error {
			if err := coreTarget(positional, &args); err != nil {
				return err
			}
			if len(exec) > 0 && !batch {
				return usageError("-x needs --batch.")
			}
			if !batch && !isTerminal(std.In) {
				return usageError("Standard input is not a terminal, so the terminal interface cannot work. Use " +
					"--batch with -x commands, or \"cohort dap\".")
			}
			if len(exec) == 0 {
				exec = []string{"ranks", "bt"}
			}
			log, err := logger(cmd, std)
			if err != nil {
				return err
			}
			ctx, cancel := withSignals(cmd.Context())
			defer cancel()
			if batch {
				return runDebug(ctx, log, func(ctx context.Context, conn net.Conn) error {
					return script.Run(ctx, script.Options{
						Conn: conn, Launch: args, Commands: exec, Out: std.Out, Echo: !quiet,
					})
				})
			}
			return runDebug(ctx, slog.New(slog.DiscardHandler), func(ctx context.Context, conn net.Conn) error {
				return tui.Run(ctx, tui.Options{Conn: conn, Launch: args, Title: "core files of " + coreTitle(args)})
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&args.Gdb, "gdb", "", "`PATH` of gdb")
	flags.BoolVar(&args.ShowLibraryThreads, "library-threads", false, "show the threads of the MPI library too")
	flags.BoolVar(&batch, "batch", false, "carry out the -x commands without a terminal")
	flags.StringArrayVarP(&exec, "command", "x", nil, "a `COMMAND` of --batch; may be repeated")
	flags.BoolVarP(&quiet, "quiet", "q", false, "with --batch: do not print the commands")
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

func coreTitle(args protocol.LaunchArguments) string {
	if args.Program != "" {
		return filepath.Base(args.Program)
	}
	return filepath.Base(args.Cores[0])
}
