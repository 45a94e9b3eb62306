package benchdebug

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/bench/benchpage"
	"github.com/cohort-debugger/cohort/bench/benchreplay"
	"github.com/cohort-debugger/cohort/pmpi"
)

// NotesMark stands in the page above what people wrote: the tool keeps what follows it.
const NotesMark = "<!-- What follows is written by hand; make bench-debug keeps it. -->"

// Options of a benchmark.
type Options struct {
	Cohort   string // its path
	MPIs     []string
	Ranks    []int
	Rounds   int
	Progress io.Writer
}

// Report is a whole benchmark.
type Report struct {
	Machine benchreplay.Machine
	Options Options
	Rows    []Row
}

// Row is what was measured with so many ranks of an MPI.
type Row struct {
	MPI   string
	Ranks int
	Ours  map[step][]float64 // seconds, a round each
	Bare  map[step][]float64
	// resident memory for each rank, in bytes, when all have stopped; a round each
	Agent, Gdb, BareGdb []float64
}

// Measure measures everything.
func Measure(ctx context.Context, o Options) (*Report, error) {
	dir, err := os.MkdirTemp("", "cohort-bench-*")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the benchmark: %w", err)
	}
	defer os.RemoveAll(dir)
	r := &Report{Machine: benchreplay.Look(ctx, o.MPIs), Options: o}
	for _, name := range o.MPIs {
		mpi, err := pmpi.FindMPI(name)
		if err != nil {
			return nil, fmt.Errorf("finding %s: %w", name, err)
		}
		program := filepath.Join(dir, name)
		if err := os.WriteFile(program+".c", []byte(source), 0o600); err != nil {
			return nil, fmt.Errorf("writing the program: %w", err)
		}
		compile := exec.CommandContext(ctx, mpi.Mpicc, "-g", "-O0", "-o", program, program+".c")
		if text, err := compile.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the program: %w: %s", err, text)
		}
		for _, ranks := range o.Ranks {
			row := Row{MPI: name, Ranks: ranks, Ours: map[step][]float64{}, Bare: map[step][]float64{}}
			for round := range o.Rounds {
				if err := row.measure(ctx, o.Cohort, mpi, program); err != nil {
					return nil, fmt.Errorf("%s, %d ranks: %w", name, ranks, err)
				}
				fmt.Fprintf(o.Progress, "%-8s %3d ranks, round %d: launch ×%.2f\n", name, ranks, round+1,
					row.Ours[launchStep][round]/row.Bare[launchStep][round]) //nolint:errcheck // only progress
			}
			r.Rows = append(r.Rows, row)
		}
	}
	r.Machine.Minutes = time.Since(r.Machine.Began).Minutes()
	return r, nil
}

// measure does everything once, bare and by Cohort.
func (row *Row) measure(ctx context.Context, cohort string, mpi pmpi.Installation, program string) error {
	agents, gdbs, err := walk(row.Bare, func() (run, error) { return startBare(ctx, mpi, row.Ranks, program) })
	if err != nil {
		return fmt.Errorf("bare gdb: %w", err)
	}
	ranks := float64(row.Ranks)
	row.BareGdb = append(row.BareGdb, float64(gdbs)/ranks)
	agents, gdbs, err = walk(row.Ours, func() (run, error) {
		return startOurs(ctx, cohort, row.MPI, row.Ranks, program)
	})
	if err != nil {
		return fmt.Errorf("cohort: %w", err)
	}
	row.Agent, row.Gdb = append(row.Agent, float64(agents)/ranks), append(row.Gdb, float64(gdbs)/ranks)
	return nil
}

// walk does all steps of a run and notes how long each takes. The start of the run is part of the launch.
func walk(seconds map[step][]float64, start func() (run, error)) (agents, gdbs uint64, err error) {
	began := time.Now()
	r, err := start()
	if err != nil {
		return 0, 0, err
	}
	defer r.end()
	for _, s := range steps {
		if s == pauseStep {
			agents, gdbs = r.memory()
			if err := r.resume(); err != nil {
				return 0, 0, fmt.Errorf("resuming: %w", err)
			}
		}
		if s != launchStep {
			began = time.Now()
		}
		if err := r.do(s); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", s, err)
		}
		seconds[s] = append(seconds[s], time.Since(began).Seconds())
	}
	return agents, gdbs, nil
}

// ratios are those of a step in each round.
func (row *Row) ratios(s step) []float64 {
	out := make([]float64, len(row.Ours[s]))
	for i := range out {
		out[i] = row.Ours[s][i] / row.Bare[s][i]
	}
	return out
}

// Markdown writes the page.
func (r *Report) Markdown(w io.Writer, notes string) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"# What debugging all ranks costs\n\n`make bench-debug` writes this page: %s, with cohort %s on %s, load "+
			"%s before; %.0f minutes.\n\nEach step is done to all ranks by Cohort, through its debug adapter, and by as many bare "+
			"gdb processes under the same\nlauncher, which one program drives in parallel over gdb/MI; in turn, %d rounds. A cell "+
			"is Cohort's seconds / bare gdb's\n(medians), and the median of the rounds' ratios.\n",
		r.Machine.Began.Format(time.DateOnly),
		r.Machine.Cohort,
		r.Machine.String(),
		r.Machine.Load,
		r.Machine.Minutes,
		r.Options.Rounds,
	)
	median := func(v []float64) float64 { return benchpage.QuartilesOf(v).Median }
	for _, mpi := range r.Options.MPIs {
		fmt.Fprintf(&b, "\n## %s\n\n| |", r.Machine.MPIs[mpi])
		var rows []Row
		for _, row := range r.Rows {
			if row.MPI == mpi {
				rows = append(rows, row)
				fmt.Fprintf(&b, " %d ranks |", row.Ranks)
			}
		}
		b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(rows)) + "\n")
		for _, s := range steps {
			fmt.Fprintf(&b, "| %s |", s)
			for _, row := range rows {
				fmt.Fprintf(&b, " %.3g / %.3g s, ×%.2f |", median(row.Ours[s]), median(row.Bare[s]),
					median(row.ratios(s)))
			}
			b.WriteString("\n")
		}
		b.WriteString("| Cohort's memory for each rank, beside its gdb's (a bare gdb's) |")
		for _, row := range rows {
			fmt.Fprintf(&b, " %.1f MB, %.0f (%.0f) MB |", median(row.Agent)/1e6, median(row.Gdb)/1e6,
				median(row.BareGdb)/1e6)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%s\n%s", NotesMark, notes)
	_, err := io.WriteString(w, b.String())
	return err //nolint:wrapcheck // benchpage names the page
}
