package benchreplay

import (
	"fmt"
	"strings"
)

// paperTable is Table 1 of Netzer and Miller, "Optimal Tracing and Replay for Debugging Message-Passing Parallel
// Programs", with the figures of the paper below ours.
func (r *Report) paperTable(b *strings.Builder, mpi string) {
	fmt.Fprintf(b, `
## %s: in the form of Table 1 of Netzer and Miller

Messages sent and traced, of the last recording in mode racing, and how far that is from the least trace of that run (a
lower bound by cliques, causal.Bound); the overhead of tracing all messages (mode full) and of tracing racing messages
only (mode racing). Mode order traces all receives with a wildcard. The success of a poll (tsp, iprobe) is always
traced: so is its message, racing or not. Below each row, in italics, that of the paper (a 64-node CM-5 for tycho, a
32-node iPSC/2 for the others).

| program | messages sent | traced | %% | optimal | order | all (full) | racing |
|---|--:|--:|--:|---|--:|--:|--:|
`, r.Machine.title(mpi))
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.MPI != mpi || row.Program.Kind == MessageOnly {
			continue
		}
		sent, traced, percent, optimal := number(median(row.Samples[Order], func(s Sample) float64 {
			return float64(s.Messages)
		}), "%.0f"), "-", "-", "-"
		if t := row.Traced; t != nil {
			sent, traced, percent, optimal = fmt.Sprint(t.Sent), fmt.Sprint(t.Traced),
				fmt.Sprintf("%.1f", 100*float64(t.Traced)/float64(t.Sent)), t.optimal()
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", row.command(), sent, traced, percent, optimal,
			row.overhead(Order), row.overhead(Full), row.overhead(Racing))
		if p := row.Program.Paper; p != nil {
			fmt.Fprintf(b, "| *%s* | *%d* | *%d* | *%d* | *%s* | | *%s* | *%s* |\n",
				strings.TrimSuffix(row.Program.File, ".c"), p.Sent, p.Traced, p.Percent, p.Optimal,
				reported(p.All), reported(p.Racing))
		}
	}
}

func (r *Row) overhead(column Column) string {
	ratio, _, ok := r.Ratio(column)
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*(ratio-1))
}

func reported(percent float64) string {
	if percent < 0 {
		return "not reported"
	}
	return fmt.Sprintf("%g%%", percent)
}
