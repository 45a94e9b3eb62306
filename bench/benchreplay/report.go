package benchreplay

import (
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/bench/benchpage"
)

// Report is a whole benchmark, as it goes into the JSON file.
type Report struct {
	Machine Machine `json:"machine"`
	Rounds  int     `json:"rounds"`
	Rows    []Row   `json:"rows"`
}

// NotesMark stands in the page above what people wrote: the tool keeps what follows it.
const NotesMark = "<!-- What follows is written by hand; make bench-replay keeps it. -->"

// Target is the ratio that a column may reach, for a kind of program; false: none was set.
func Target(kind Kind, column Column) (float64, bool) {
	limit, ok := map[Kind]map[Column]float64{
		MessageOnly: {Order: 1.3, Racing: 2.0, Full: 1.5, Replay: 1.5},
		Application: {Order: 1.03, Racing: 1.10, Replay: 1.05},
	}[kind][column]
	return limit, ok
}

// targetRanks and targetMPI: the targets are for these.
const (
	targetRanks = 4
	targetMPI   = "openmpi"
)

// Markdown writes the page. notes is what follows NotesMark.
func (r *Report) Markdown(w io.Writer, notes string) error {
	var b strings.Builder
	r.head(&b)
	for _, mpi := range r.mpis() {
		r.timesTable(&b, mpi)
	}
	r.jobsTable(&b)
	r.sizesTable(&b)
	for _, mpi := range r.mpis() {
		r.paperTable(&b, mpi)
	}
	r.targets(&b)
	fmt.Fprintf(&b, "\n%s\n%s", NotesMark, notes)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func (r *Report) mpis() []string {
	var names []string
	for i := range r.Rows {
		if !slices.Contains(names, r.Rows[i].MPI) {
			names = append(names, r.Rows[i].MPI)
		}
	}
	return names
}

func (r *Report) head(b *strings.Builder) {
	versions := slices.Sorted(maps.Values(r.Machine.MPIs))
	fmt.Fprintf(b, `# What recording and replaying cost

Written by `+"`make bench-replay`"+` (bench/benchreplay) on %s, in %.0f minutes; with `+"`-json FILE`"+`
it also writes the figures of each run.

* Machine: %s. Load before the first run: %s.
* %s; programs and interposer compiled by their mpicc, programs with -O2. Cohort %s.
* The columns are run in turn, %d rounds, beginning with another column each round. Times are medians, in seconds, with
  quartiles in brackets; they are of the measured part of the program (from when the last rank began it to when the
  last one ended it), without starting the job.
* **bare**: the program alone. **unrecorded**: with the interposer, recording nothing. **order**, **racing**, **full**:
  recorded in that mode. **replay**: of the order recording of that round. Each replay was checked to have taken the
  same messages in the same order, with the same content, as its recording.
* Ratios (×) are to the unrecorded program with the same yielding. Where there are more ranks than cores, Cohort lets
  MPICH's blocking calls yield, in every column but bare; ratios are to *unrecorded* there, as recording alone is what
  they are about, and *bare* shows what the program takes when left alone (it spins; a run was ended after 5 s). Sizes
  are smaller there. Open MPI yields by itself; ratios are to *bare*. In brackets: quartiles of the ratios round by
  round.
`, r.Machine.Began.Format("2006-01-02"), r.Machine.Minutes, r.Machine.String(), r.Machine.Load,
		strings.Join(versions, " and "), r.Machine.Cohort, r.Rounds)
}

func (r *Report) timesTable(b *strings.Builder, mpi string) {
	fmt.Fprintf(b, "\n## %s\n\n| program | ranks | bare | unrecorded | order | racing | full | replay "+
		"|\n|---|--:|--:|--:|--:|--:|--:|--:|\n", r.Machine.title(mpi))
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.MPI != mpi {
			continue
		}
		fmt.Fprintf(b, "| %s | %d |", row.command(), row.Program.Ranks)
		for _, column := range Columns() {
			fmt.Fprintf(b, " %s |", row.cell(column))
		}
		b.WriteByte('\n')
	}
}

func (m *Machine) title(mpi string) string {
	if title, ok := m.MPIs[mpi]; ok {
		return title
	}
	return mpi
}

// command is the program with its arguments, without the folders of data files.
func (r *Row) command() string {
	words := []string{strings.TrimSuffix(r.Program.File, ".c")}
	for _, arg := range r.Args {
		words = append(words, filepath.Base(arg))
	}
	return strings.Join(words, " ")
}

// cell is a time with its quartiles, and for recordings and replays the ratio.
func (r *Row) cell(column Column) string {
	if slices.Contains(r.Absent, column) {
		return "not yet"
	}
	samples := r.Samples[column]
	if len(samples) == 0 {
		return "-"
	}
	q := benchpage.QuartilesOf(seconds(samples))
	text := fmt.Sprintf("%.3f [%.3f, %.3f]", q.Median, q.Low, q.High)
	if samples[0].Cut {
		return fmt.Sprintf("> %.0f", q.Median)
	}
	if column == Bare && r.Yield {
		return fmt.Sprintf("%.3f", q.Median)
	}
	if column == r.Base() {
		return text
	}
	ratio, byRound, ok := r.Ratio(column)
	if !ok {
		return text
	}
	return fmt.Sprintf("%.3f, **%.2f×** [%.2f, %.2f]", q.Median, ratio, byRound.Low, byRound.High)
}

// jobsTable: what a job takes besides its measured part.
func (r *Report) jobsTable(b *strings.Builder) {
	b.WriteString(`
## Whole jobs

What a job takes besides the measured part of its program, in seconds: starting the launcher, Cohort's agents and MPI,
ending them, what the program does to make its data and to check its answer, and (after a recording) reading and
packing what was recorded. Medians over all programs and rounds.

`)
	fmt.Fprintf(b, "| MPI | ranks |%s |\n|---|--:|%s\n", columnNames(), strings.Repeat("--:|", len(Columns())))
	for _, mpi := range r.mpis() {
		for _, ranks := range r.ranks() {
			fmt.Fprintf(b, "| %s | %d |", mpi, ranks)
			for _, column := range Columns() {
				var besides []float64
				for i := range r.Rows {
					if row := &r.Rows[i]; row.MPI == mpi && row.Program.Ranks == ranks {
						for _, s := range row.Samples[column] {
							if !s.Cut {
								besides = append(besides, s.Wall-s.Seconds)
							}
						}
					}
				}
				fmt.Fprintf(b, " %s |", number(benchpage.QuartilesOf(besides).Median, "%.2f"))
			}
			b.WriteByte('\n')
		}
	}
}

func columnNames() string {
	var names strings.Builder
	for i, column := range Columns() {
		if i > 0 {
			names.WriteString(" |")
		}
		names.WriteString(" " + string(column))
	}
	return names.String()
}

func (r *Report) ranks() []int {
	var all []int
	for i := range r.Rows {
		if n := r.Rows[i].Program.Ranks; !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// number is a dash if there is none.
func number(v float64, format string) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// sizesTable: what the recordings hold.
func (r *Report) sizesTable(b *strings.Builder) {
	b.WriteString(`
## Sizes on disk

Whole trace files, headers included; per wildcard receive in mode order (the target is at most 1.0), per event in mode
full.

| program | MPI | events | messages | wildcard receives | order: bytes | per wildcard | full: bytes | per event |
|---|---|--:|--:|--:|--:|--:|--:|--:|
`)
	for i := range r.Rows {
		row := &r.Rows[i]
		order, full := row.Samples[Order], row.Samples[Full]
		if len(order) == 0 {
			continue
		}
		wildcards := median(order, func(s Sample) float64 { return float64(s.Wildcards) })
		bytes := median(order, func(s Sample) float64 { return float64(s.TraceBytes) })
		perWildcard, fullBytes, perEvent := "-", "-", "-"
		if wildcards > 0 {
			perWildcard = fmt.Sprintf("%.2f", median(order, func(s Sample) float64 {
				return float64(s.TraceBytes) / float64(s.Wildcards)
			}))
		}
		if len(full) > 0 {
			fullBytes = fmt.Sprintf("%.0f", median(full, func(s Sample) float64 { return float64(s.TraceBytes) }))
			perEvent = fmt.Sprintf("%.2f", median(full, func(s Sample) float64 {
				return float64(s.TraceBytes) / float64(s.Events)
			}))
		}
		fmt.Fprintf(b, "| %s, %d ranks | %s | %.0f | %.0f | %.0f | %.0f | %s | %s | %s |\n", row.command(),
			row.Program.Ranks, row.MPI,
			median(order, func(s Sample) float64 {
				return float64(s.Events)
			}), median(order, func(s Sample) float64 { return float64(s.Messages) }),
			wildcards, bytes, perWildcard, fullBytes, perEvent)
	}
}

// targets lists what was met and what was missed.
func (r *Report) targets(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Targets\n\nRatios with %s, %d ranks: message-only programs order 1.3, full 1.5, racing 2.0, "+
		"replay 1.5; "+
		"applications order 1.03, racing 1.10, replay 1.05.\n\n",
		r.Machine.title(targetMPI), targetRanks)
	met, unclear, missed := 0, 0, 0
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.MPI != targetMPI || row.Program.Ranks != targetRanks {
			continue
		}
		for _, column := range Columns() {
			limit, ok := Target(row.Program.Kind, column)
			ratio, byRound, measured := row.Ratio(column)
			switch {
			case !ok || !measured:
			case ratio <= limit:
				met++
			case byRound.Low <= limit: // the target lies between the quartiles
				unclear++
				fmt.Fprintf(b, "* unclear: %s, %s: %.3f, and %.3f to %.3f in half of the rounds: target %.2f\n",
					row.command(), column, ratio, byRound.Low, byRound.High, limit)
			default:
				missed++
				fmt.Fprintf(b, "* **missed**: %s, %s: %.3f, and %.3f to %.3f in half of the rounds: target %.2f\n",
					row.command(), column, ratio, byRound.Low, byRound.High, limit)
			}
		}
	}
	fmt.Fprintf(b, "* %d met, %d missed by less than the rounds differ, %d missed.\n", met, unclear, missed)
}
