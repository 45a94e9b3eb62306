package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/script"
	"github.com/cohort-debugger/cohort/tui"
)

// frontEnd is what debug and core have in common: a session in the terminal, or commands without one.
type frontEnd struct {
	launch       protocol.LaunchArguments
	batch, quiet bool
	keepGoing    bool
	commands     []string
	logFile      string
	watch        *script.Watch // of batch
}

func (f *frontEnd) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.batch, "batch", false, "carry out the -x commands without a terminal, and end")
	f.addScriptFlags(cmd, "with --batch: ")
}

// addScriptFlags adds those of a front end without a terminal.
func (f *frontEnd) addScriptFlags(cmd *cobra.Command, when string) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.commands, "command", "x", nil, when+"a `COMMAND` to carry out; may be repeated")
	flags.BoolVar(&f.keepGoing, "keep-going", false,
		when+"carry out the commands after one that is refused; the exit status says that one was")
	flags.StringVar(&f.logFile, "log-file", "", logFileHelp)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, when+"do not print the commands")
}

// run returns when the session has ended. Without -x a batch has the commands that are given.
func (f *frontEnd) run(cmd *cobra.Command, std streams, title string, commands ...string) error {
	if len(f.commands) > 0 && !f.batch {
		return usageError("-x needs --batch.")
	}
	if !f.batch && !isTerminal(std.In) {
		return usageError("Standard input is not a terminal, so the terminal interface cannot work. Use --batch " +
			"with -x commands, or \"cohort dap\".")
	}
	if len(f.commands) > 0 {
		commands = f.commands
	}
	log, err := logTo(cmd, std, f.logFile)
	if err != nil {
		return err
	}
	defer log.close()
	if !f.batch {
		ctx, cancel := withSignals(cmd.Context(), nil)
		defer cancel()
		if log.file == "" { // the screen belongs to the interface: the log must not write on it
			log.Logger = slog.New(slog.DiscardHandler)
		}
		return serve(ctx, log, func(ctx context.Context, conn net.Conn) error {
			return tui.Run(ctx, tui.Options{Conn: conn, Launch: f.launch, Title: title})
		})
	}
	return f.runScript(cmd, std, log, commands)
}

// runScript carries out commands without a terminal.
func (f *frontEnd) runScript(cmd *cobra.Command, std streams, log *logs, commands []string) error {
	interrupts := make(chan struct{})
	ctx, cancel := withSignals(cmd.Context(), interrupts)
	defer cancel()
	return serve(ctx, log, func(ctx context.Context, conn net.Conn) error {
		return script.Run(ctx, script.Options{
			Conn: conn, Launch: f.launch, Commands: commands, Out: std.Out, Echo: !f.quiet, KeepGoing: f.keepGoing,
			Interrupts: interrupts, Watch: f.watch,
		})
	})
}

// title is the name of what is debugged.
func (f *frontEnd) title() string {
	switch a := &f.launch; {
	case a.Recording != "":
		return filepath.Base(a.Recording)
	case a.Program != "":
		return filepath.Base(a.Program)
	case a.Attach != nil:
		if a.Attach.Program != "" {
			return filepath.Base(a.Attach.Program)
		}
		return strings.Trim(fmt.Sprint(a.Attach.Pids), "[]")
	default:
		return filepath.Base(a.Cores[0])
	}
}

func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// serve serves DAP on a pipe inside this process to one of our own front ends. Both have ended when it returns.
func serve(ctx context.Context, log *logs, frontEnd func(context.Context, net.Conn) error) error {
	// the front end ends the job in good order after a signal
	serverCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	server, client := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- newDAPServer(log, "").ServeConn(serverCtx, server, false) }()
	err := frontEnd(ctx, client)
	serveErr := <-served
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err == nil && serveErr != nil && !errors.Is(serveErr, net.ErrClosed) && !errors.Is(serveErr, io.ErrClosedPipe):
		// the front end leaves once its disconnect is answered
		return fmt.Errorf("the debug server: %w", serveErr)
	}
	return err
}
