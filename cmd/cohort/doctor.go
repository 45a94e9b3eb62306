package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/doctor"
)

func newDoctorCommand(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check gdb, MPI and compilers, and what is unavailable without them",
		Long: `Doctor checks what Cohort needs: gdb and whether it may trace, MPI installations and whether
the interposer builds with them, compilers, cores, shared memory, the terminal. For what is missing it reports
what is unavailable without it, and how to fix that.

The exit status is 1 if something essential is missing.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := withSignals(cmd.Context(), nil)
			defer stop()
			out, _ := std.Out.(*os.File)
			report := doctor.Examine(ctx, isTerminal(out))
			err := reply(std.Out, asJSON, report, doctorText(report))
			if err == nil && !report.OK {
				err = endWith(exitFailure)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func doctorText(report doctor.Report) string {
	var b strings.Builder
	for _, c := range report.Checks {
		fmt.Fprintf(&b, "%-8s %-22s %s\n", c.Status, c.Name, indentRest(c.Found))
		if c.Costs != "" {
			fmt.Fprintf(&b, "%31s %s\n", "", indentRest(c.Costs))
		}
		if c.Fix != "" {
			fmt.Fprintf(&b, "%31s Fix: %s\n", "", indentRest(c.Fix))
		}
	}
	if report.OK {
		b.WriteString("\nNothing essential is missing.\n")
	} else {
		b.WriteString("\nSomething essential is missing: see above.\n")
	}
	return b.String()
}

func indentRest(text string) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 32))
}
