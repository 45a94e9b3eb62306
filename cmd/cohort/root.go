package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cohort-debugger/cohort/internal/logfile"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/launch"
)

// streams are the standard streams. In is a file because it is handed to the launcher, which hands it to rank 0.
type streams struct {
	In  *os.File
	Out io.Writer
	Err io.Writer
}

// of is the stream of a category of output.
func (s streams) of(category string) io.Writer {
	if category == "stderr" {
		return s.Err
	}
	return s.Out
}

// run is the whole program apart from the exit.
func run(args []string, std streams) int {
	root := newRoot(std)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exitOK
	}
	sayError(std, err)
	return exitStatus(err)
}

func newRoot(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "cohort",
		Short: "A debugger for MPI programs: all ranks at once, record and exact replay",
		Long: `Cohort debugs MPI programs: all ranks at once, from VS Code, the terminal and scripts.
It records a run so that it replays exactly, and stops the whole job at a consistent place.

Start with:
  cohort doctor                                 what of gdb, MPI and compilers is here
  cohort record -n 4 -o run.cohort -- ./prog    run at full speed, and record
  cohort replay run.cohort                      run again, in the recorded order
  cohort debug -n 4 -- ./prog                   all ranks under the terminal UI`,
		Version:       launch.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("There is no command %q. Run \"cohort help\" for the list.", args[0])
			}
			return cmd.Help()
		},
	}
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetVersionTemplate("cohort {{.Version}}\n")
	root.PersistentFlags().String("log-level", "warn", "what to log on standard error: debug, info, warn or error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		text := err.Error()
		if bad := new(pflag.InvalidValueError); errors.As(err, &bad) {
			text = fmt.Sprintf("%q was given for --%s, which takes %s", bad.GetValue(), bad.GetFlag().Name,
				kindOf(bad.GetFlag()))
		}
		return usageError("%s. Run \"cohort help%s\" for what is possible.", strings.ToUpper(text[:1])+text[1:],
			strings.TrimPrefix(cmd.CommandPath(), "cohort"))
	})
	root.AddCommand(newRecordCommand(std), newReplayCommand(std), newDebugCommand(std), newBatchCommand(std),
		newAttachCommand(std), newCoreCommand(std),
		newDAPCommand(std), newCutCommand(std), newRacesCommand(std), newTraceCommand(std), newGdbScriptCommand(std),
		newLibraryCommand(std), newDoctorCommand(std), newAgentCommand(std), newGdbDecoderCommand(std),
		newGuardCommand(std), newManCommand())
	completeFlags(root)
	return root
}

// kindOf says what a flag takes.
func kindOf(flag *pflag.Flag) string {
	switch kind := flag.Value.Type(); kind {
	case "int", "uint":
		return "a whole number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 30s"
	default:
		return "a " + kind
	}
}

// logger logs to standard error at the level that --log-level says.
func logger(cmd *cobra.Command, std streams) (*slog.Logger, error) {
	text, err := cmd.Flags().GetString("log-level")
	if err != nil {
		return nil, fmt.Errorf("reading --log-level: %w", err)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return nil, usageError("--log-level %q is not a level; use debug, info, warn or error.", text)
	}
	return slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: level})), nil
}

// logFileHelp is what --log-file is for.
const logFileHelp = "append what editors, cohort and debuggers say to each other to `FILE`, for a bug report"

// logs is where a debugging session logs.
type logs struct {
	*slog.Logger
	file  string // absolute path of the file that --log-file names; "": standard error
	close func()
}

// logTo logs to a file, and with none as logger does.
func logTo(cmd *cobra.Command, std streams, file string) (*logs, error) {
	if file == "" {
		log, err := logger(cmd, std)
		return &logs{Logger: log, close: func() {}}, err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", file, err)
	}
	log, f, err := logfile.Open(path)
	if err != nil {
		return nil, usageError("%s", prose.Sentence(err.Error()))
	}
	return &logs{Logger: log, file: path, close: func() { _ = f.Close() }}, nil
}

// noArguments is for commands that take none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("%q is not understood: %s takes no arguments.", args[0], cmd.Name())
	}
	return nil
}

// oneRecording is for commands that take a recording; flags are those that it takes to write the command.
func oneRecording(flags string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError("One recording is needed, %d arguments were given. Write: %s run.cohort%s", len(args),
				cmd.CommandPath(), flags)
		}
		return nil
	}
}

// programArgs checks that a command got its program after "--".
func programArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError("No program was named. Write it after \"--\", as in: %s -n 4 -- ./prog arg",
			cmd.CommandPath())
	}
	if dash := cmd.ArgsLenAtDash(); dash > 0 {
		return usageError("%q is before \"--\", and is not a flag. Write: %s [flags] -- PROGRAM ARGUMENTS", args[0],
			cmd.CommandPath())
	}
	return nil
}
