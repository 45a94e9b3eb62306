package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/session"
)

// raceStyle says how `cohort races` prints for people.
type raceStyle struct {
	Colour bool
	Dir    string // paths below it are printed relative to it
	Most   int    // groups to print; 0: all
}

const (
	colourNone   = ""
	colourBold   = "1"
	colourRed    = "1;31"
	colourYellow = "33"
	colourGreen  = "32"
	colourFaint  = "2"
)

func (s *raceStyle) paint(colour, text string) string {
	if !s.Colour || colour == colourNone {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// in is "in work at tsp.c:10".
func (s *raceStyle) in(p session.Place) string {
	where := p.Where(session.Below(s.Dir))
	if p.Function != "" {
		return "in " + p.Function + " at " + where
	}
	return "at " + where
}

func percent(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

func rankText(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + strconv.Itoa(ranks[0])
	}
	return "ranks " + rankset.InOrder(ranks)
}

// racesText prints a report for people.
func racesText(r *session.RaceReport, style raceStyle) string {
	var b strings.Builder
	c := r.Counts
	fmt.Fprintf(&b, "%s: %d of %s with MPI_ANY_SOURCE could have taken another message (%s).\n",
		r.Recording, c.Racing, prose.Count(c.Wildcards, "receive or probe", "receives and probes"),
		percent(c.Racing, c.Wildcards))
	fmt.Fprintf(&b, "%d of %s race (%s): %s.\n",
		c.RacingMessages, prose.Count(c.Messages, "message"), percent(c.RacingMessages, c.Messages),
		prose.Count(c.Races, "frontier race"))
	shown, races := r.Groups, uint64(0)
	if style.Most > 0 && len(shown) > style.Most {
		shown = shown[:style.Most]
	}
	for i := range shown {
		b.WriteString("\n")
		groupText(&b, &shown[i], &style)
		races += shown[i].Races
	}
	b.WriteString("\n")
	switch {
	case c.Races == 0:
		b.WriteString("No races: whatever the timing, each receive takes the message that it took here (failed polls " +
			"and the order of completions apart).\n")
	case len(r.Groups) == 0:
		b.WriteString("No race matches the filter.\n")
	default:
		all := "all"
		if races < c.Races {
			all = strconv.FormatUint(races, 10) + " of"
		}
		groups := prose.Count(len(r.Groups), "group")
		if len(shown) < len(r.Groups) {
			groups = fmt.Sprintf("%d of %s", len(shown), groups)
		}
		fmt.Fprintf(&b, "Showing %s %s in %s.", all, prose.Count(c.Races, "race"), groups)
		if len(shown) < len(r.Groups) {
			b.WriteString(" -n 0 shows all groups.")
		}
		fmt.Fprintf(&b, " cohort races %s --explain 1 draws the example of group 1.\n", r.Recording)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "%s\n", note)
	}
	if r.DoubtN > 0 {
		fmt.Fprintf(&b, "%s, as the trace does not settle them:\n",
			prose.Count(uint64(r.DoubtN), "thing puts the races in doubt", "things put the races in doubt"))
		for _, d := range r.Doubts {
			fmt.Fprintf(&b, "  %s\n", d)
		}
		if hidden := r.DoubtN - len(r.Doubts); hidden > 0 {
			fmt.Fprintf(&b, "  … and %d more\n", hidden)
		}
	}
	return b.String()
}

// verdictText says what a verdict means to the user.
func (s *raceStyle) verdictText(v causal.Verdict) string {
	switch v {
	case causal.VerdictDiffer:
		return s.paint(colourRed, "could have changed the result")
	case causal.VerdictEqual:
		return s.paint(colourGreen, "the messages are equal but for their senders")
	case causal.VerdictUnknown:
	}
	return s.paint(colourYellow, "unknown whether it could have changed the result")
}

func groupText(b *strings.Builder, g *session.RaceGroup, style *raceStyle) {
	line := func(head, format string, args ...any) {
		fmt.Fprintf(b, "   %-9s %s\n", head, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(b, "%s  %s: %s\n", style.paint(colourBold, strconv.Itoa(g.Number)),
		style.paint(colourBold, g.Receive.Call+" "+style.in(g.Receive)), style.verdictText(g.Verdict))
	line("where", "%s of %s, in %s; at most %d messages for one", prose.Count(g.Receives, "time"),
		rankText(g.Receivers), prose.Count(g.Races, "race"), g.Most)
	for i, p := range g.Sends {
		head := ""
		if i == 0 {
			head = "messages"
		}
		from := ""
		if i == len(g.Sends)-1 {
			from = ", of " + rankText(g.Senders)
		}
		line(head, "%s %s%s", p.Call, style.in(p), from)
	}
	var parts []string
	for _, part := range []struct {
		n    uint64
		text string
	}{
		{g.Differ, "between messages that differ in length, tag or content"},
		{g.Equal, "between messages that are equal but for the sender"},
		{g.Unknown, "between messages of the same length whose contents are not in the recording"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	line("races", "%s", strings.Join(parts, "; "))
	e := &g.Example
	line("example", "%s took the message of %s (%s); it could have taken that of %s (%s)", e.Post, e.Took.Send,
		messageSize(&e.Took), e.Other.Send, messageSize(&e.Other))
	what := "receive"
	if e.Probe {
		what = "probe"
	}
	line("to do", "if this is not intended, name the source in the %s at %s", what,
		g.Receive.Where(session.Below(style.Dir)))
}

func messageSize(m *session.RaceMessage) string {
	return fmt.Sprintf("%s, tag %d", prose.Count(m.Bytes, "byte"), m.Tag)
}
