package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/session"
	"github.com/cohort-debugger/cohort/trace"
)

func newDAPCommand(std streams) *cobra.Command {
	var listen, token, logFile string
	cmd := &cobra.Command{
		Use:   "dap",
		Short: "Serve the Debug Adapter Protocol, on stdio or a socket",
		Long: `Serves the Debug Adapter Protocol for editors and scripts: VS Code, Neovim, Emacs and others.

Without --listen it talks on standard input and output to one client, which is how editors start it. With
--listen several clients may share one job: the first launches, the others attach. On TCP each must send the
token as the argument "token" of launch or attach; a Unix socket is protected by its directory. docs/dap.md
has the launch arguments and what Cohort adds to the protocol.`,
		Example: `  cohort dap                                  an editor starts this
  cohort dap --listen unix:/run/user/1000/cohort.sock
  cohort dap --listen 127.0.0.1:7777          prints a token
  COHORT_DAP_TOKEN=... cohort dap --listen 127.0.0.1:0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("%q is not understood: dap takes no arguments. To debug a program, send it in the "+
					"launch request.", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := withSignals(cmd.Context(), nil)
			defer cancel()
			log, err := logTo(cmd, std, logFile)
			if err != nil {
				return err
			}
			defer log.close()
			if listen == "" {
				server := newDAPServer(log, "")
				return endOf(ctx, server.ServeConn(ctx, dap.Stdio(), false))
			}
			return serveDAP(ctx, std, log, listen, token)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "serve on `ADDRESS`: unix:PATH, or HOST:PORT on a loopback address")
	cmd.Flags().StringVar(&token, "token", os.Getenv("COHORT_DAP_TOKEN"),
		"token that clients must send on TCP; default: $COHORT_DAP_TOKEN, else one is made and printed")
	cmd.Flags().StringVar(&logFile, "log-file", "", logFileHelp)
	cmd.Flags().Lookup("token").DefValue = ""
	return cmd
}

func serveDAP(ctx context.Context, std streams, log *logs, address, token string) error {
	l, err := dap.Listen(address)
	if err != nil {
		return usageError("%s", prose.Sentence(err.Error()))
	}
	made := ""
	if l.NeedsToken() && token == "" {
		token = rand.Text()
		made = " token " + token
	}
	// One line, for people and for programs that start this.
	if err := say(std.Out, fmt.Sprintf("cohort dap listens on %s%s\n", l.Address(), made)); err != nil {
		return err
	}
	return endOf(ctx, newDAPServer(log, token).Serve(ctx, l))
}

// endOf turns the end by a signal into its error, and any other end of a server into err.
func endOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func newDAPServer(log *logs, token string) *dap.Server {
	return dap.NewServer(dap.Options{
		Starter: &session.Starter{
			Log:     log.Logger,
			LogFile: log.file,
		}, Token: token, Log: log.Logger, Version: launch.Version(),
		CallName: func(op int) string { return trace.CallName(uint32(op)) },
	})
}
