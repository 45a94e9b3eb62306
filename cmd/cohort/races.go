package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/session"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// graphFlags are those of commands that need the event graph of a recording.
type graphFlags struct {
	incompleteOK bool
	program      string
}

const graphProgramUsage = "another copy of the recorded program, for its lines and for the replay that obtains the " +
	"graph"

func (f *graphFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.incompleteOK, "incomplete-ok", false,
		"use a recording that holds calls which replay does not cover")
	cmd.Flags().StringVar(&f.program, "program", "", graphProgramUsage)
}

// open opens a recording and obtains its event graph.
func (f *graphFlags) open(ctx context.Context, std streams, dir string) (*recording.Recording, *causal.Graph, error) {
	rec, err := openRecording(std, dir)
	if err != nil {
		return nil, nil, err
	}
	bar := newProgressLine(std)
	graph, err := session.Graph(ctx, rec, session.GraphOptions{
		Common: runner.Common{Note: noteTo(std)}, Program: f.program, IncompleteOK: f.incompleteOK, Progress: bar.show,
	})
	bar.screen.clear()
	return rec, graph, err
}

type racesFlags struct {
	graphFlags
	asJSON        bool
	most, explain int
	to, from      string
	at, only      string
	colour        string
}

func newRacesCommand(std streams) *cobra.Command {
	var f racesFlags
	cmd := &cobra.Command{
		Use:   "races RECORDING",
		Short: "Report the message races of a recording: what else each wildcard receive could have taken",
		Long: `Reports each frontier race (Netzer & Miller): two messages of different senders of which one
receive or probe with MPI_ANY_SOURCE could have taken either, because the one that it did not take does not
depend on what it took. Races are grouped by the place of the receive and the places of the two sends; for
each group it is said how often, on which ranks, and whether the messages differ:

  could have changed the result      they differ in length, tag or content
  equal but for their senders        only a program that looks at MPI_SOURCE can tell them apart
  unknown                            same length, and the recording does not have the contents (those of large messages
                                     are not compared)

Races are found in the event graph. A recording in order or racing mode has none yet: it is replayed once, and
the graph is kept in the recording. Failed polls and the order in which Waitany and its like complete requests
are nondeterministic too, and are recorded, but are no races between messages.`,
		Example: `  cohort races tsp.cohort
  cohort races tsp.cohort --explain 1
  cohort races tsp.cohort --to 0 --only differ
  cohort races tsp.cohort --at 0:17
  cohort races tsp.cohort --json | jq '.groups[] | {line: .receive.line, races}'`,
		Args: oneRecording(""),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, std, args[0]) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.IntVarP(&f.most, "groups", "n", 20, "print at most `N` groups (0 = all)")
	flags.IntVar(&f.explain, "explain", 0, "draw the example of group `N`")
	flags.StringVar(&f.to, "to", "", "only races at receives of these `RANKS`, such as 0-3,7")
	flags.StringVar(&f.from, "from", "", "only races in which one of the messages is of these `RANKS`")
	flags.StringVar(&f.at, "at", "", "only races at the receive that the event `RANK:EVENT` posted or completed")
	flags.StringVar(&f.only, "only", "", "only races with this `VERDICT`: differ, equal or unknown")
	flags.StringVar(&f.colour, "color", "auto", "colours: auto, always or never")
	f.add(cmd)
	return cmd
}

func (f *racesFlags) run(cmd *cobra.Command, std streams, dir string) error {
	if f.most < 0 || f.explain < 0 {
		return usageError("-n and --explain take a number from 0 on.")
	}
	style, err := f.style(std)
	if err != nil {
		return err
	}
	filter, err := f.filter()
	if err != nil {
		return err
	}
	ctx, cancel := withSignals(cmd.Context(), nil)
	defer cancel()
	rec, graph, err := f.open(ctx, std, dir)
	if err != nil {
		return err
	}
	if err := f.ranks(&filter, graph.Ranks()); err != nil {
		return err
	}
	report, err := session.Races(rec, graph, filter, f.program)
	if err != nil {
		return fmt.Errorf("reporting races: %w", err)
	}
	switch {
	case f.explain > len(report.Groups):
		return usageError("--explain %d: there are %d groups of races.", f.explain, len(report.Groups))
	case f.explain > 0:
		group := &report.Groups[f.explain-1]
		return reply(std.Out, f.asJSON, group, explainRace(report, group, style))
	}
	return reply(std.Out, f.asJSON, report, racesText(report, style))
}

func (f *racesFlags) style(std streams) (raceStyle, error) {
	style := raceStyle{Most: f.most}
	switch f.colour {
	case "always":
		style.Colour = true
	case "never":
	case "auto":
		file, _ := std.Out.(*os.File)
		style.Colour = isTerminal(file) && os.Getenv("NO_COLOR") == ""
	default:
		return style, usageError("--color %q: use auto, always or never.", f.colour)
	}
	var err error
	if style.Dir, err = os.Getwd(); err != nil {
		return style, fmt.Errorf("finding the working directory: %w", err)
	}
	return style, nil
}

func (f *racesFlags) filter() (causal.RaceFilter, error) {
	var filter causal.RaceFilter
	if f.at != "" {
		at, err := causal.ParseEventID(f.at)
		if err != nil {
			return filter, usageError("--at: %v", err)
		}
		filter.At = at
	}
	switch v := causal.Verdict(f.only); v {
	case "", causal.VerdictDiffer, causal.VerdictEqual, causal.VerdictUnknown:
		filter.Verdict = v
	default:
		return filter, usageError("--only %q: use differ, equal or unknown.", f.only)
	}
	return filter, nil
}

// ranks completes the filter with what needs the number of ranks.
func (f *racesFlags) ranks(filter *causal.RaceFilter, n int) error {
	for _, one := range []struct {
		flag, text string
		into       *func(int) bool
	}{{"--to", f.to, &filter.Receiver}, {"--from", f.from, &filter.Sender}} {
		if one.text == "" {
			continue
		}
		set, err := rankset.Parse(one.text, n)
		if err != nil {
			return usageError("%s: %v", one.flag, err)
		}
		*one.into = set.Contains
	}
	if at := filter.At; !at.IsZero() && at.Rank >= n {
		return usageError("--at %s: the recording has ranks 0 to %d.", at, n-1)
	}
	return nil
}
