package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// flagValues are the values of flags that take one of a few words, for shell completion. Flags that are not listed take
// files, as the shell completes them, or free text.
var flagValues = map[string][]string{
	"log-level": {"debug", "info", "warn", "error"},
	"mode":      {"order", "racing", "full"},
	"mpi":       {"mpich", "openmpi"},
	"only":      {"differ", "equal", "unknown"},
	"yield":     {"auto", "on", "off"},
}

// completeFlags has the shell complete the values of flags, in all commands below root.
func completeFlags(root *cobra.Command) {
	for flag, values := range flagValues {
		for _, cmd := range append(root.Commands(), root) {
			if cmd.LocalFlags().Lookup(flag) == nil {
				continue
			}
			// The only error is a second registration.
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// newManCommand writes the man pages: `make man` calls it.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write a man page for each command",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // man pages are for everybody
				return fmt.Errorf("creating the directory of the man pages: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the same sources make the same pages
			indentExamples(root)
			head := &doc.GenManHeader{Section: "1", Source: "Cohort", Manual: "Cohort"}
			if err := doc.GenManTree(root, head, args[0]); err != nil {
				return fmt.Errorf("writing the man pages: %w", err)
			}
			return nil
		},
	}
}

// indentExamples makes what is indented in help texts literal blocks of Markdown, which man pages are made of.
func indentExamples(cmd *cobra.Command) {
	lines := strings.Split(cmd.Long, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "    " + line
			if i > 0 && lines[i-1] != "" && !strings.HasPrefix(lines[i-1], "  ") {
				lines[i] = "\n" + lines[i]
			}
		}
	}
	cmd.Long = strings.Join(lines, "\n")
	for _, sub := range cmd.Commands() {
		indentExamples(sub)
	}
}
