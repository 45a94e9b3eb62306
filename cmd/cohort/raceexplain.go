package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/session"
)

// explainRace draws the example of a group: the two sends, the receive, and why both messages were possible.
func explainRace(r *session.RaceReport, g *session.RaceGroup, style raceStyle) string {
	var b strings.Builder
	e := &g.Example
	fmt.Fprintf(&b, "Group %d, one of %s: %s.\n\n", g.Number, prose.Count(g.Races, "race"),
		style.verdictText(e.Verdict))
	if e.Took.Send.Rank != e.Post.Rank && e.Other.Send.Rank != e.Post.Rank {
		drawRace(&b, e)
		b.WriteString("\n")
	}
	item := func(head string, event causal.EventID, p session.Place, format string, args ...any) {
		fmt.Fprintf(&b, "  %-12s %s %s %s, rank %d%s\n", head, style.paint(colourBold, fmt.Sprintf("%-9s", event)),
			p.Call, style.in(p), event.Rank, fmt.Sprintf(format, args...))
	}
	item("receive", e.Post, e.Receive, "")
	item("took", e.Took.Send, e.Took.Sent, ": %s", messageSize(&e.Took))
	item("could take", e.Other.Send, e.Other.Sent, ": %s", messageSize(&e.Other))
	if e.Other.Receive != nil {
		item("taken by", *e.Other.Receive, *e.Other.By, ", later")
	} else {
		fmt.Fprintf(&b, "  %-12s nobody: the message of %s was not received\n", "taken by", e.Other.Send)
	}
	b.WriteString("\n")
	before := fmt.Sprintf("of rank %d only events up to %d:%d", e.Post.Rank, e.Post.Rank, e.Known)
	if e.Known == 0 {
		before = fmt.Sprintf("no event of rank %d", e.Post.Rank)
	}
	fmt.Fprintf(&b, "What was received at %s was settled at %s. Before rank %d sent its message at %s, %s had begun "+
		"in its past, so that\n"+
		"it did not depend on what was received: had the message been faster, or that of %s slower, it would have "+
		"been received instead.\n",
		e.Post, e.Decided, e.Other.Send.Rank, e.Other.Send, before, e.Took.Send)
	switch e.Verdict {
	case causal.VerdictDiffer:
		b.WriteString("The two messages differ, so the run could have had another result.\n")
	case causal.VerdictEqual:
		b.WriteString("The two messages are equal in length, tag and content: it makes a difference only where the " +
			"program looks at the sender (MPI_SOURCE).\n")
	case causal.VerdictUnknown:
		b.WriteString("The two messages have the same length. Whether their contents differ is not in the recording.\n")
	}
	fmt.Fprintf(&b, "\nTo see all ranks there:\n  cohort cut %s --at %s\n  cohort debug --batch %s -x 'runto %s' -x "+
		"ranks\n", r.Recording, e.Decided, r.Recording, e.Decided)
	return b.String()
}

const column = 28

// drawRace draws three ranks: the sender of what was taken, the receiver, the other sender. Time runs down.
func drawRace(b *strings.Builder, e *session.Race) {
	row := func(cells ...string) {
		for i, c := range cells {
			if len(c) > column-2 {
				c = c[:column-3] + "…"
			}
			cells[i] = fmt.Sprintf("%-*s", column, c)
		}
		b.WriteString(strings.TrimRight("  "+strings.Join(cells, ""), " ") + "\n")
	}
	where := func(p session.Place) string {
		return p.Where(func(path string) string { return path[strings.LastIndexByte(path, '/')+1:] })
	}
	bar := "  |"
	row("rank "+strconv.Itoa(e.Took.Send.Rank), "rank "+strconv.Itoa(e.Post.Rank),
		"rank "+strconv.Itoa(e.Other.Send.Rank))
	row(bar, bar, bar)
	row(e.Took.Send.String()+" "+e.Took.Sent.Call, bar, e.Other.Send.String()+" "+e.Other.Sent.Call)
	row(where(e.Took.Sent), bar, where(e.Other.Sent))
	row(messageSize(&e.Took), bar, messageSize(&e.Other))
	// A message is drawn from the bar of its sender to that of the receiver.
	fmt.Fprintf(b, "    '%s>|<%s'\n", strings.Repeat("-", column-2), strings.Repeat(".", column-2))
	row(bar, e.Post.String()+" "+e.Receive.Call, bar)
	row(bar, where(e.Receive), bar)
	if e.Other.Receive != nil {
		row(bar, bar, bar)
		fmt.Fprintf(b, "    |%s|<%s'\n", strings.Repeat(" ", column-1), strings.Repeat("-", column-2))
		row(bar, e.Other.Receive.String()+" "+e.Other.By.Call, bar)
		row(bar, where(*e.Other.By), bar)
	}
	row(bar, bar, bar)
}
