package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/trace/recording"
	"github.com/cohort-debugger/cohort/trace/rewrite"
)

func newTraceRepairCommand(std streams) *cobra.Command {
	var to outputFlags
	cmd := &cobra.Command{
		Use:   "repair RECORDING [-o OUTPUT]",
		Short: "Save what is whole of a recording whose traces are cut off or damaged",
		Long: `Writes what is intact of a recording whose traces are damaged or cut off, as after a crash of
the machine, or an incomplete copy, as a new recording. Of a damaged trace it takes the chunks before the
damage whose checksums are right, up to the last event of which all is known. The output replays as far as the
ranks with damaged traces go. The recording itself is not changed.

A recording in racing mode is refused: what is lost of it may be about any event before.`,
		Example: `  cohort trace repair run.cohort
  cohort replay run-repaired.cohort`,
		Args: oneRecording(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := to.path(args[0])
			ctx, cancel := withSignals(cmd.Context(), nil)
			defer cancel()
			rec, report, err := rewrite.Repair(args[0], out, recording.CreateOptions{Overwrite: to.force})
			if err != nil {
				return err
			}
			found := struct {
				From  string               `json:"from"`
				To    string               `json:"to,omitempty"` // not written if nothing was damaged
				Ranks []recording.Repaired `json:"ranks"`
			}{From: args[0], Ranks: append([]recording.Repaired{}, report...)}
			if rec != nil {
				if err := rec.Pack(ctx, nil); err != nil {
					return fmt.Errorf("packing the traces of %s: %w", out, err)
				}
				found.To = rec.Dir
			}
			return reply(std.Out, to.asJSON, found, repairText(args[0], rec, report))
		},
	}
	to.addFlags(cmd, "repaired")
	return cmd
}

// outputFlags are those of commands that make a recording of another.
type outputFlags struct {
	out, suffix   string
	force, asJSON bool
}

func (f *outputFlags) addFlags(cmd *cobra.Command, suffix string) {
	f.suffix = "-" + suffix + ".cohort"
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "the recording to write; default: NAME"+f.suffix)
	cmd.Flags().BoolVar(&f.force, "force", false, "replace a recording that is there already")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
}

// path is that of the recording to write.
func (f *outputFlags) path(from string) string {
	return cmp.Or(f.out, strings.TrimSuffix(strings.TrimRight(from, "/"), ".cohort")+f.suffix)
}

func repairText(from string, rec *recording.Recording, report []recording.Repaired) string {
	if rec == nil {
		return from + ": all traces are whole; nothing was written.\n"
	}
	var b strings.Builder
	for _, r := range report {
		of := ""
		if r.Of > 0 {
			of = fmt.Sprintf(" of %d", r.Of)
		}
		fmt.Fprintf(&b, "Rank %d: events 1 to %d%s are saved. %s.\n", r.Rank, r.Events, of, r.Fault)
	}
	others := prose.Count(uint64(rec.Meta.Ranks-len(report)), "other rank")
	fmt.Fprintf(&b, "%s was written; the traces of %s are as they were. A replay goes as far as the damaged traces "+
		"do.\n", rec.Dir, others)
	return b.String()
}
