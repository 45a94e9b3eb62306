package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/plaingdb"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/runner"
)

func newGdbScriptCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "gdb-script",
		Short: "Print the path of a script that gives plain gdb mpipp and printers for MPI handles",
		Long: `Prints the path of a script for gdb, which is written if need be. It gives gdb, and what is
built on it, the command mpipp and printers for variables of MPI handle types. The rank must run with Cohort's
library, whose path "cohort library" prints. The script's path stays the same, so ~/.gdbinit may name it.`,
		Example: `  gdb -x $(cohort gdb-script) -ex "set environment LD_PRELOAD $(cohort library ./heat)" ./heat
  gdb -x $(cohort gdb-script) ./heat core
  echo "source $(cohort gdb-script)" >> ~/.gdbinit`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding the path of cohort: %w", err)
			}
			cache, err := os.UserCacheDir()
			if err != nil {
				return fmt.Errorf("finding a place for the script: %w; set XDG_CACHE_HOME", err)
			}
			path, err := plaingdb.Install(filepath.Join(cache, "cohort"), self)
			if err != nil {
				return err
			}
			return say(std.Out, path+"\n")
		},
	}
}

// newGdbDecoderCommand is the other end of gdb's script.
func newGdbDecoderCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use:    "gdb-decoder",
		Short:  "Decodes MPI handles for a gdb; its script starts it",
		Long:   "The decoder is started by the script of \"cohort gdb-script\". It is of no use by hand.",
		Hidden: true,
		Args:   noArguments,
		RunE: func(*cobra.Command, []string) error {
			// The end of its input is how it hears of gdb's end; this is for an end of which nobody tells.
			if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
				return fmt.Errorf("asking to end with gdb: %w", err)
			}
			return plaingdb.Serve(std.In, std.Out, launch.Version())
		},
	}
}

func newLibraryCommand(std streams) *cobra.Command {
	var mpi string
	cmd := &cobra.Command{
		Use:   "library [--mpi MPI] [PROGRAM]",
		Short: "Print the path of Cohort's library for a program, or for an MPI",
		Long: `Prints the path of libcohort.so for the MPI that PROGRAM is linked to, or for --mpi; it is
built if need be. Ranks that other tools start, such as plain gdb, are given it with LD_PRELOAD; then their
MPI handles can be decoded, also in the core files that they leave.`,
		Example: `  mpiexec -n 4 env LD_PRELOAD=$(cohort library ./heat) ./heat
  cohort library --mpi openmpi`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			note := func(text string) { fmt.Fprintln(std.Err, text) } //nolint:errcheck // only a note
			var library pmpi.Library
			switch {
			case len(args) > 1:
				return usageError("%q is not understood: library takes one program.", args[1])
			case len(args) == 1:
				tools, err := runner.Tools(cmd.Context(), args[0], args[1:], mpi, note)
				if err != nil {
					return err
				}
				library = tools.Library
			case mpi == "":
				return usageError("Neither a program nor an MPI was named. Write: cohort library ./prog, or: cohort " +
					"library --mpi openmpi")
			default:
				installation, err := pmpi.FindMPI(mpi)
				if err != nil {
					return usageError("The MPI cannot be chosen: %v.", err)
				}
				if library, err = pmpi.Build(cmd.Context(), pmpi.Options{Mpicc: installation.Mpicc}); err != nil {
					return err
				}
			}
			return say(std.Out, library.Path+"\n")
		},
	}
	cmd.Flags().StringVar(&mpi, "mpi", "",
		"mpich, openmpi or the `PATH` of an mpiexec; default: the MPI that the program is linked to")
	return cmd
}
