package causal

import (
	"fmt"
	"strings"
)

// Text is the report for people: a line per rank, up to maxCutLines.
func (r *CutReport) Text() string {
	const maxCutLines = 256
	var b strings.Builder
	if r.At != nil {
		fmt.Fprintf(&b, "Causal cut of event %s", r.At)
		if call := r.Positions[r.At.Rank].Call; call != "" {
			fmt.Fprintf(&b, " (%s)", call)
		}
		b.WriteString(": every other rank at the earliest position that holds all that happened before.\n")
	}
	for i, p := range r.Positions {
		if i == maxCutLines {
			fmt.Fprintf(&b, "… and %d further ranks\n", len(r.Positions)-i)
			break
		}
		what := "before its first event"
		switch {
		case p.Event == p.Last && p.Event > 0:
			what = "after " + p.Call + ", its last event"
		case p.Event > 0:
			what = fmt.Sprintf("after %s; %d of its %d events", p.Call, p.Event, p.Last)
		}
		mark := " "
		if r.At != nil && r.At.Rank == p.Rank {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s rank %-4d %d:%-8d %s\n", mark, p.Rank, p.Rank, p.Event, what)
	}
	if r.DoubtCount > 0 {
		fmt.Fprintf(&b, "%d things put the cut in doubt, as the trace does not settle them:\n", r.DoubtCount)
		for _, d := range r.Doubts {
			fmt.Fprintf(&b, "  %s\n", d)
		}
		if hidden := r.DoubtCount - len(r.Doubts); hidden > 0 {
			fmt.Fprintf(&b, "  … and %d more\n", hidden)
		}
	}
	if r.Consistent {
		b.WriteString("The cut is consistent: no message is received in it without having been sent.\n")
		return b.String()
	}
	fmt.Fprintf(&b, "The cut is not consistent: %v.\n", r.Problem)
	fmt.Fprintf(&b, "The nearest consistent cuts are %v (below) and %v (above).\n", r.Below, r.Above)
	return b.String()
}
