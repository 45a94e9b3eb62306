package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

func newDebugCommand(std streams) *cobra.Command {
	var f frontEnd
	args := &f.launch
	cmd := &cobra.Command{
		Use:   "debug [flags] (-- PROGRAM [ARGUMENT...] | RECORDING)",
		Short: "Debug all ranks of a program, or of a recording, in the terminal",
		Long: `Starts an MPI program with every rank under a debugger and shows all of them in the terminal; ?
lists the keys there. With a recording (NAME.cohort, see "cohort record") it is replayed: the ranks take the
same messages in the same order as when it was recorded, and causal breakpoints work.

With --batch commands are carried out without a terminal, for scripts and bug reports; -x gives a command, and
may be repeated:
` + dap.ConsoleHelp() + `
Everything else is an expression of the program's language, evaluated in the innermost frame with source.

After a command that resumes ranks, the next one waits until these have stopped or ended; a rank that is in an MPI call
which needs a rank that has stopped is left running, and that is said. The first Ctrl-C pauses all ranks and carries out
the rest of the commands, the second ends the session. A command that is refused ends it with status 1.`,
		Example: `  cohort debug -n 4 -- ./heat 64
  cohort debug tsp.cohort
  cohort debug --batch -n 4 -x 'break exchange_halo mode all' -x continue \
    -x 'mpipp block->column_type grid' -- ./heat 64
  cohort debug --batch tsp.cohort -x 'break receive_task ranks 2 mode causal if tasks_received == 3' \
    -x continue -x ranks`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, positional []string) error {
			if err := debugTarget(cmd, positional, args); err != nil {
				return err
			}
			args.StopOnEntry = !f.batch
			return f.run(cmd, std, f.title())
		},
	}
	f.addTargetFlags(cmd)
	f.addFlags(cmd)
	return cmd
}

// addTargetFlags adds those that say what is started, and how.
func (f *frontEnd) addTargetFlags(cmd *cobra.Command) {
	flags, args := cmd.Flags(), &f.launch
	flags.IntVarP(&args.Ranks, "ranks", "n", 0, "number of ranks of a live run (default 4)")
	flags.StringVar(&args.MPI, "mpi", "",
		"mpich, openmpi or the `PATH` of an mpiexec; default: the MPI that the program is linked to")
	flags.StringArrayVar(&args.LauncherArgs, "launcher-arg", nil, "further argument of mpiexec; may be repeated")
	flags.StringVar(&args.Yield, "yield", "auto", "let waiting ranks yield their core: auto, on or off")
	flags.StringVar(&args.Gdb, "gdb", "", "`PATH` of gdb")
	flags.StringVar(&args.Debugger, "debugger", "",
		"gdb or delve for all ranks; default: delve for Go programs, gdb for others")
	flags.StringVar(&args.Program, "program", "", "in a replay: another copy of the recorded program")
	flags.BoolVar(&args.IncompleteOK, "incomplete-ok", false,
		"replay a recording that holds calls which replay does not cover")
	flags.IntVar(&args.BoundBuffering, "bound-buffering", 0,
		"in a replay: hold senders back, so that at most `N` messages wait at a rank for their receives")
	flags.BoolVar(&args.NoInterpose, "no-interpose", false,
		"debug without Cohort's library in the ranks: no mpipp, no positions")
}

// debugTarget takes the program or the recording from the positional arguments.
func debugTarget(cmd *cobra.Command, positional []string, args *protocol.LaunchArguments) error {
	dash, name := cmd.ArgsLenAtDash(), cmd.CommandPath()
	switch {
	case cmd.Flags().Changed("ranks") && args.Ranks < 1: // 0 means the default in a launch request
		return usageError("A job of %d ranks was asked for. Ask for at least 1, with -n.", args.Ranks)
	case cmd.Flags().Changed("bound-buffering") && args.BoundBuffering < 1:
		return usageError("--bound-buffering %d: at least 1 message must be let through.", args.BoundBuffering)
	case len(positional) == 0:
		return usageError("Neither a program nor a recording was named. Write: %s -n 4 -- ./prog, or: %[1]s "+
			"run.cohort", name)
	case dash == 0:
		if args.Program != "" {
			return usageError("--program is for replays; write the program after \"--\".")
		}
		args.Program, args.Args = positional[0], positional[1:]
	case dash < 0 && len(positional) == 1:
		path, err := filepath.Abs(positional[0])
		if err != nil {
			return fmt.Errorf("finding %s: %w", positional[0], err)
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return usageError("%s is a file, not a recording. To debug a program, write: %s -n 4 -- %[1]s",
				positional[0], name)
		}
		if cmd.Flags().Changed("ranks") {
			return usageError("-n cannot be given with a recording: a replay has as many ranks as were recorded.")
		}
		args.Recording = path
	case dash < 0:
		return usageError("%q follows a recording. To debug a program, write it after \"--\": %s -n 4 "+
			"-- %s", positional[1], name, strings.Join(positional, " "))
	default:
		return usageError("A recording (%s) and a program (%s) were given; one of them is possible.", positional[0],
			positional[dash])
	}
	return nil
}
