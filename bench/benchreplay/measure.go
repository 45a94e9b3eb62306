package benchreplay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/bench/benchpage"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/runner"
)

// Options say what to measure.
type Options struct {
	Root     string    // of the repository
	MPIs     []string  // "mpich", "openmpi"
	Programs []Program // rows
	Columns  []Column
	Rounds   int
	Tiny     bool // with the arguments for tests
	// MostBare bounds the rounds of the bare column where the others yield: without yielding a program can take a
	// hundred times as long.
	MostBare int
	Progress io.Writer // lines for people
	Self     string    // see launch.Options
	SelfArgs []string
}

// Row is what was found out about a program on one MPI.
type Row struct {
	Program Program             `json:"program"`
	MPI     string              `json:"mpi"`
	Args    []string            `json:"args"`
	Yield   bool                `json:"yield"` // blocking calls yield, in all columns but bare
	Samples map[Column][]Sample `json:"samples"`
	// Absent are columns that this version does not have.
	Absent []Column `json:"absent,omitempty"`
	// Traced is of the last recording in mode racing, where there is one.
	Traced *Traced `json:"traced,omitempty"`
}

// Base is the column that ratios are to.
func (r *Row) Base() Column {
	if r.Yield {
		return Unrecorded
	}
	return Bare
}

// Ratio of the medians of a column's times and the base's, and the quartiles of the ratios round by round. False: one
// of them was not measured.
func (r *Row) Ratio(column Column) (ratio float64, byRound benchpage.Quartiles, ok bool) {
	base, own := seconds(r.Samples[r.Base()]), seconds(r.Samples[column])
	if len(base) == 0 || len(own) == 0 {
		return 0, benchpage.Quartiles{}, false
	}
	var ratios []float64
	for i := range min(len(base), len(own)) {
		ratios = append(ratios, own[i]/base[i])
	}
	return benchpage.QuartilesOf(own).Median / benchpage.QuartilesOf(base).Median, benchpage.QuartilesOf(ratios), true
}

// Measure runs all rows.
func Measure(ctx context.Context, o Options) ([]Row, error) {
	scratch, err := os.MkdirTemp("", "bench-replay-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the recordings: %w", err)
	}
	defer os.RemoveAll(scratch)
	var rows []Row
	for _, mpi := range o.MPIs {
		for _, program := range o.Programs {
			j, err := o.prepare(ctx, mpi, program, scratch)
			if err != nil {
				return nil, err
			}
			began := time.Now()
			row, err := j.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", mpi, err)
			}
			rows = append(rows, row)
			o.sayf("%-8s %-20s%s  (%.0f s)\n", mpi, program.Name, row.line(), time.Since(began).Seconds())
		}
	}
	return rows, nil
}

func (o *Options) sayf(format string, args ...any) {
	if o.Progress != nil {
		fmt.Fprintf(o.Progress, format, args...) //nolint:errcheck // nowhere else to say it
	}
}

// prepare builds the program and the interposer, and decides about yielding.
func (o *Options) prepare(ctx context.Context, mpi string, program Program, scratch string) (*job, error) {
	found, err := pmpi.FindMPI(mpi)
	if err != nil {
		return nil, err
	}
	j := &job{
		program: program, dir: filepath.Join(scratch, mpi+"-"+program.Name), options: o,
		orders: map[Column][]string{},
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making a directory for the recordings: %w", err)
	}
	j.binary = filepath.Join(j.dir, strings.TrimSuffix(program.File, ".c"))
	source := filepath.Join(o.Root, "testprograms", program.File)
	build := exec.CommandContext(ctx, found.Mpicc, "-g", "-O2", "-pthread", "-o", j.binary, source, "-lm")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(build.Args, " "), err, text)
	}
	if j.tools, err = runner.Tools(ctx, j.binary, nil, "", nil); err != nil {
		return nil, err
	}
	yields, err := runner.YieldAuto.Decide(j.tools.Program.MPI, program.Ranks)
	if err != nil {
		return nil, err
	}
	j.args = program.arguments(o.Root, o.Tiny, yields)
	j.yield = runner.YieldOff
	if yields {
		j.yield = runner.YieldOn
	}
	return j, nil
}

// measure runs the rounds: each column once, beginning with another one each time. The first round begins with the
// first column, so that there is a recording when the first replay comes.
func (j *job) measure(ctx context.Context) (Row, error) {
	row := Row{
		Program: j.program, Args: j.args, MPI: j.tools.Program.MPI.String(), Yield: j.yields(),
		Samples: map[Column][]Sample{},
	}
	for round := range j.options.Rounds {
		for i := range j.options.Columns {
			column := j.options.Columns[(i+round)%len(j.options.Columns)]
			if slices.Contains(row.Absent, column) || column == Bare && row.Yield && round >= j.options.MostBare {
				continue
			}
			sample, err := j.run(ctx, column)
			switch {
			case errors.Is(err, errNotThere):
				row.Absent = append(row.Absent, column)
			case err != nil:
				return row, err
			default:
				row.Samples[column] = append(row.Samples[column], sample)
			}
		}
	}
	if len(row.Samples[Racing]) > 0 && j.program.Kind != MessageOnly {
		var err error
		if row.Traced, err = j.traced(ctx); err != nil {
			return row, fmt.Errorf("%s: %w", j.program.Name, err)
		}
	}
	return row, nil
}

// line sums a row up for people who wait.
func (r *Row) line() string {
	var line strings.Builder
	for _, column := range Columns() {
		samples := r.Samples[column]
		if len(samples) == 0 {
			continue
		}
		fmt.Fprintf(&line, "  %s", column)
		if ratio, _, ok := r.Ratio(column); ok && column != r.Base() {
			fmt.Fprintf(&line, " %.2f", ratio)
		} else {
			fmt.Fprintf(&line, " %.3f s", benchpage.QuartilesOf(seconds(samples)).Median)
		}
	}
	return line.String()
}
