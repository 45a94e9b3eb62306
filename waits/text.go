package waits

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/rankset"
)

func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

func at(place string) string {
	if place == "" {
		return ""
	}
	return " (" + place + ")"
}

// in names the communicator of an operation, unless it is MPI_COMM_WORLD.
func (g *graph) in(r int, op *Operation) string { return g.commText(r, op.Comm) }

func (g *graph) commText(r int, comm uint64) string {
	const world = 1
	if name := g.ranks[r].Comms[comm].Name; comm != world && name != "" {
		return " in " + name
	}
	return ""
}

// most bounds how many of the things that a call waits for are listed.
const most = 4

func callText(c *Call, waits []Wait, blocked bool) string {
	head := "in " + c.Name + at(c.At)
	switch {
	case c.Polls:
		return head + ", which waits for nobody."
	case !blocked && c.unclear():
		return head + "; what it waits for is not known."
	case !blocked:
		return head + ", which can return: what it waits for is there."
	}
	var what []string
	for i, w := range waits {
		if i == most && len(waits) > most+1 {
			what = append(what, fmt.Sprintf("%d more", len(waits)-most))
			break
		}
		what = append(what, w.What)
	}
	join := " and "
	if c.Any {
		join = " or "
	}
	return "waiting in " + c.Name + at(c.At) + " for " + strings.Join(what, join) + "."
}

// Text is the report for people: ranks of which the same is said are said together.
func (r *Report) Text() string {
	var b strings.Builder
	said := map[string]rankset.Set{}
	var order []string
	for _, s := range r.Ranks {
		if _, again := said[s.Text]; !again {
			order = append(order, s.Text)
		}
		said[s.Text] = said[s.Text].With(s.Rank)
	}
	for _, text := range order {
		fmt.Fprintf(&b, "[%s] %s\n", said[text], text)
	}
	for _, text := range r.Findings {
		b.WriteString(text + "\n")
	}
	b.WriteString(r.verdict())
	for _, text := range r.Unsure {
		b.WriteString("\n" + text)
	}
	return b.String()
}

func (r *Report) verdict() string {
	each := ""
	if len(r.Cycle) > 1 {
		path := make([]string, 0, len(r.Cycle)+1)
		for _, rank := range append(slices.Clone(r.Cycle), r.Cycle[0]) {
			path = append(path, strconv.Itoa(rank))
		}
		each = " They wait for each other: " + strings.Join(path, " → ") + "."
	}
	switch {
	case !r.Deadlock.Empty():
		return fmt.Sprintf("Deadlock: [%s] can never go on.%s", r.Deadlock, each)
	case !r.Likely.Empty():
		return fmt.Sprintf("Deadlock: [%s] can never go on, unless %s.%s", r.Likely, strings.Join(r.Unless, ", or "),
			each)
	case len(r.Unsure) > 0:
		return "No deadlock is certain."
	}
	return "No deadlock: every rank that waits waits for one that can go on."
}

// DOT is the report as a graph for Graphviz: an arrow from who waits to whom, dashed where one of several is enough.
func (r *Report) DOT() string {
	var b strings.Builder
	b.WriteString("digraph waits {\n  node [shape=box, fontname=monospace];\n")
	for _, s := range r.Ranks {
		style := ""
		if s.Deadlock {
			style = ", color=red, penwidth=2"
		}
		fmt.Fprintf(&b, "  %d [tooltip=%q%s];\n", s.Rank, s.Text, style)
	}
	for _, s := range r.Ranks {
		for _, w := range s.For {
			style := ""
			if s.Any || !w.All && w.Ranks.Len() > 1 {
				style = ", style=dashed"
			}
			for to := range w.Ranks.Each {
				fmt.Fprintf(&b, "  %d -> %d [tooltip=%q%s];\n", s.Rank, to, w.What, style)
			}
		}
	}
	b.WriteString("}\n")
	return b.String()
}
