package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
	"github.com/cohort-debugger/cohort/trace/tracetext"
)

func newTraceCommand(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Look into a recording: what it holds, its text form, whether it is whole",
		Long:  "Looks into a recording without running anything. docs/trace-format.md specifies the format.",
		Example: `  cohort trace info tsp.cohort
  cohort trace dump tsp.cohort --rank 2 > rank-2.txt
  cohort trace undump rank-2.txt -o rank-2.trace
  cohort trace verify tsp.cohort`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTraceInfoCommand(std), newTraceDumpCommand(std), newTraceUndumpCommand(std),
		newTraceVerifyCommand(std), newTraceMinimizeCommand(std))
	cmd.AddCommand(newTracePackCommand(std), newTraceUnpackCommand(std), newTraceRepairCommand(std))
	return cmd
}

// openRecording opens a recording, also one whose cohort was killed while it recorded.
func openRecording(std streams, dir string) (*recording.Recording, error) {
	rec, notes, err := runner.Open(dir)
	for _, note := range notes {
		noteTo(std)(note)
	}
	return rec, err
}

func newTraceInfoCommand(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info RECORDING",
		Short: "Print what a recording holds",
		Args:  oneRecording(""),
		RunE: func(_ *cobra.Command, args []string) error {
			rec, err := openRecording(std, args[0])
			if err != nil {
				return err
			}
			summary, err := recording.Summarize(rec)
			if err != nil {
				return err
			}
			return reply(std.Out, asJSON, struct {
				Meta    recording.Meta     `json:"meta"`
				Summary *recording.Summary `json:"summary"`
			}{rec.Meta, summary}, infoText(rec, summary))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func infoText(rec *recording.Recording, s *recording.Summary) string {
	m := rec.Meta
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", rec.Dir)
	fmt.Fprintf(&b, "  command     %s\n", strings.Join(m.Command, " "))
	fmt.Fprintf(&b, "  directory   %s\n", m.Cwd)
	fmt.Fprintf(&b, "  program     %s\n", m.Program.Path)
	fmt.Fprintf(&b, "  MPI         %s %s, %d ranks, mode %s, waiting ranks yielded: %t\n", m.MPI.Kind, m.MPI.Version,
		m.Ranks, m.Mode, m.Yield)
	fmt.Fprintf(&b, "  recorded    %s, in %s, by cohort %s\n", m.Start.Local().Format("2006-01-02 15:04:05"),
		m.Elapsed.Round(1e6), m.Cohort)
	fmt.Fprintf(&b, "  holds       %d events, %d messages (%d bytes), %d failed polls\n", s.Events, s.Messages,
		s.PayloadBytes, s.FailedPolls)
	fmt.Fprintf(&b, "  decisions   %d, of them %d for wildcards (%d never matched), %.2f bytes per wildcard\n",
		s.Decisions, s.Wildcards, s.Never, s.BytesPerWildcard)
	if s.Values > 0 {
		fmt.Fprintf(&b, "  inputs      %d values that another run would not be given\n", s.Values)
	}
	fmt.Fprintf(&b, "  on disk     %d bytes, event graph %d bytes\n", s.TraceBytes, s.GraphBytes)
	for i, c := range byNumber(s.EventsByClass) {
		name := ""
		if i == 0 {
			name = "events"
		}
		fmt.Fprintf(&b, "  %-11s %8d %s\n", name, s.EventsByClass[c], c)
	}
	for _, r := range m.PerRank {
		fmt.Fprintf(&b, "  rank %-6d %s, %d events, %d messages sent, %d decisions", r.Rank, r.End, r.Events,
			r.Messages, r.Decisions)
		if r.Repaired != nil {
			fmt.Fprintf(&b, "; its trace was damaged, and was saved up to event %d", r.Repaired.Events)
		}
		if r.Incomplete != nil {
			fmt.Fprintf(&b, "; not covered: %s (event %d%s, %d such calls)", r.Incomplete.Call, r.Incomplete.Event,
				decisions.At(r.Incomplete.Place), r.Incomplete.Count)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func newTraceDumpCommand(std streams) *cobra.Command {
	var (
		rank  int
		graph bool
	)
	cmd := &cobra.Command{
		Use:   "dump RECORDING --rank RANK",
		Short: "Print the text form of a rank's trace: a line per record",
		Args:  oneRecording(" --rank 0"),
		RunE: func(cmd *cobra.Command, args []string) error {
			rec, err := openRecording(std, args[0])
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("rank") {
				return usageError("--rank is missing: a trace belongs to one rank, from 0 to %d.", rec.Meta.Ranks-1)
			}
			if rank < 0 || rank >= rec.Meta.Ranks {
				return usageError("--rank %d: the recording has ranks 0 to %d.", rank, rec.Meta.Ranks-1)
			}
			open := rec.Rank
			if graph {
				g, err := rec.Graph()
				if err != nil {
					return err
				}
				open = g.Rank
			}
			reader, err := open(rank)
			if err != nil {
				return err
			}
			return errors.Join(tracetext.Dump(std.Out, reader), reader.Close())
		},
	}
	cmd.Flags().IntVar(&rank, "rank", 0, "whose trace")
	cmd.Flags().BoolVar(&graph, "graph", false,
		"the full trace of the event graph, which \"cohort replay --full\" or \"cohort cut\" leaves")
	return cmd
}

func newTraceUndumpCommand(std streams) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "undump TEXT -o FILE",
		Short: "Make a trace file of a text form: the inverse of dump",
		Long: `Reads what "cohort trace dump" printed (- is standard input) and writes the trace file that it
tells of. A trace that was cut short is so again.

In a recording the file has the name rank-RANK.trace; a rank-RANK.trace.zst beside it is the same trace
packed, and has to go if the text was changed.`,
		Example: `  cohort trace dump run.cohort --rank 0 > rank-0.txt
  cohort trace undump rank-0.txt -o rank-0.trace`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || out == "" {
				return usageError("One text and -o with the file to write are needed. Write: cohort trace undump " +
					"rank-0.txt -o rank-0.trace")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			in := std.In
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("reading the text form of a trace: %w", err)
				}
				defer f.Close() //nolint:errcheck // it was read
				in = f
			}
			if err := tracetext.Undump(out, in); err != nil {
				return fmt.Errorf("making %s of %s: %w", out, args[0], err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the trace file to write; it must not exist")
	return cmd
}

func newTraceVerifyCommand(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "verify RECORDING",
		Short: "Read every trace to its end, checksums included, and check that nothing is missing",
		Args:  oneRecording(""),
		RunE: func(_ *cobra.Command, args []string) error {
			rec, err := openRecording(std, args[0])
			if err != nil {
				return err
			}
			if err := rec.Verify(); err != nil {
				return fmt.Errorf("the recording %s is damaged: %w", rec.Dir, err)
			}
			if err := say(std.Out, fmt.Sprintf("%s: all %d traces are whole.\n", rec.Dir, rec.Meta.Ranks)); err != nil {
				return err
			}
			// Whole files may hold less than a replay needs.
			_, errs := rec.AllDecisions(decisions.Options{})
			for _, err := range errs {
				if incomplete, ok := errors.AsType[*decisions.IncompleteError](err); ok {
					return incomplete
				}
			}
			return nil
		},
	}
}

func newTracePackCommand(std streams) *cobra.Command {
	return repackCommand(std, "packed", func(ctx context.Context, rec *recording.Recording) error {
		if err := rec.Verify(); err != nil {
			return err
		}
		return rec.Pack(ctx, nil)
	}, cobra.Command{
		Use:   "pack RECORDING",
		Short: "Pack traces that are not: those of a run whose cohort was killed, or that was recorded with --unpacked",
		Long: `Packs the traces that are not packed yet, as "cohort record" does at its end. A trace is
checked before it is packed, and removed only when the packed one is on the disk and has been read back.`,
	})
}

func newTraceUnpackCommand(std streams) *cobra.Command {
	return repackCommand(std, "unpacked", func(ctx context.Context, rec *recording.Recording) error {
		return rec.Unpack(ctx)
	}, cobra.Command{Use: "unpack RECORDING", Short: "Put traces back as the ranks wrote them"})
}

// repackCommand completes a command that changes how traces are on the disk; how is what they are then.
func repackCommand(std streams, how string, do func(context.Context, *recording.Recording) error,
	cmd cobra.Command,
) *cobra.Command {
	cmd.Args = oneRecording("")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rec, err := openRecording(std, args[0])
		if err != nil {
			return err
		}
		ctx, cancel := withSignals(cmd.Context(), nil)
		defer cancel()
		before := rec.TraceSize()
		if err := do(ctx, rec); err != nil {
			return fmt.Errorf("the recording %s could not be %s: %w", rec.Dir, how, err)
		}
		return say(std.Out, fmt.Sprintf("%s: %s, %s before and %s now.\n", rec.Dir, how, size(uint64(before)),
			size(uint64(rec.TraceSize()))))
	}
	return &cmd
}
