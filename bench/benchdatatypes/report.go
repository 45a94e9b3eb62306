package benchdatatypes

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/bench/benchpage"
	"github.com/cohort-debugger/cohort/bench/benchreplay"
)

// NotesMark stands in the page above what people wrote: the tool keeps what follows it.
const NotesMark = "<!-- What follows is written by hand; make bench-datatypes keeps it. -->"

// Options of a benchmark.
type Options struct {
	MPIs     []string
	Rounds   int
	Quick    bool      // less work in each
	Tiny     bool      // so little that it measures nothing: for tests
	Elements int       // that a loop of gdb's prints
	Progress io.Writer // may be nil
}

// Report is a whole benchmark.
type Report struct {
	Machine benchreplay.Machine
	Options Options
	Pairs   []Pair
	Views   map[string][]View // by MPI
	Loops   map[string][]Loop
}

// Measure measures everything.
func Measure(ctx context.Context, o Options) (*Report, error) {
	dir, err := os.MkdirTemp("", "cohort-bench-*")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the benchmark: %w", err)
	}
	defer os.RemoveAll(dir)
	r := &Report{
		Machine: benchreplay.Look(ctx, o.MPIs), Options: o, Views: map[string][]View{},
		Loops: map[string][]Loop{},
	}
	for _, mpi := range o.MPIs {
		p, err := build(ctx, mpi, dir)
		if err != nil {
			return nil, err
		}
		for _, kind := range Kinds() {
			pair, err := p.pair(ctx, mpi, kind, &o)
			if err != nil {
				return nil, err
			}
			r.Pairs = append(r.Pairs, pair)
			o.sayf("%-8s %-8s ×%.2f\n", mpi, kind.Name, pair.Ratio().Median)
		}
		if err := r.decode(ctx, p, mpi, dir); err != nil {
			return nil, err
		}
	}
	r.Machine.Minutes = time.Since(r.Machine.Began).Minutes()
	return r, nil
}

// decode measures the decoder and the loops that it competes with, in turn.
func (r *Report) decode(ctx context.Context, p *programs, mpi, dir string) (err error) {
	if r.Views[mpi], err = p.decoder(ctx, r.Options.Rounds); err != nil {
		return err
	}
	for _, v := range r.Views[mpi] {
		r.Options.sayf("%-8s %-8s %.4f s\n", mpi, v.Name, benchpage.QuartilesOf(v.Seconds).Median)
	}
	all := loops()
	for range r.Options.Rounds {
		for i := range all {
			all[i].Elements = r.Options.Elements
			took, err := p.gdbLoop(ctx, all[i], dir)
			if err != nil {
				return err
			}
			all[i].Seconds = append(all[i].Seconds, took)
		}
	}
	r.Loops[mpi] = all
	for i := range all {
		r.Options.sayf("%-8s %-8s %.2f µs an element\n", mpi, all[i].Name, 1e6*all[i].perElement())
	}
	return nil
}

func (l *Loop) perElement() float64 {
	return benchpage.QuartilesOf(l.Seconds).Median / float64(l.Elements)
}

func (o *Options) sayf(format string, args ...any) {
	if o.Progress != nil {
		fmt.Fprintf(o.Progress, format, args...) //nolint:errcheck // nowhere else to say it
	}
}

// Markdown writes the page. notes is what follows NotesMark.
func (r *Report) Markdown(w io.Writer, notes string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# What datatypes cost, and how fast they are decoded

Written by `+"`make bench-datatypes`"+` (bench/benchdatatypes) on %s, in %.0f minutes.

* Machine: %s. Load before the first run: %s. Cohort %s.
* %d rounds; figures are medians, in brackets quartiles.
* %s.
`, r.Machine.Began.Format("2006-01-02"), r.Machine.Minutes, r.Machine.String(), r.Machine.Load,
		r.Machine.Cohort, r.Options.Rounds, r.versions())
	r.createTable(&b)
	r.viewTable(&b)
	r.loopTable(&b)
	fmt.Fprintf(&b, "\n%s\n%s", NotesMark, notes)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func (r *Report) versions() string {
	var all []string
	for _, mpi := range r.Options.MPIs {
		all = append(all, r.Machine.MPIs[mpi])
	}
	return strings.Join(all, " and ")
}

func verdict(ok bool) string {
	if ok {
		return "met"
	}
	return "**missed**"
}

func (r *Report) createTable(b *strings.Builder) {
	fmt.Fprint(b, `
## What the registry costs the program

The same program without and with the interposer, in turn. Memory is what the process grew by between a tenth of the
work and its end.

| MPI | what | without, µs a type | with, µs | ratio | memory without | with | target |
|---|---|--:|--:|--:|--:|--:|---|
`)
	for i := range r.Pairs {
		p := &r.Pairs[i]
		if p.Kind.Name == "live" {
			continue
		}
		each := func(run Run) float64 { return 1e6 * run.Seconds / float64(run.Types) }
		q := p.Ratio()
		fmt.Fprintf(b, "| %s | %s | %.3f | %.3f | ×%.2f [%.2f, %.2f] | %+.0f KiB | %+.0f KiB | ×%.1f: %s |\n", p.MPI,
			p.title(), median(p.Bare, each), median(p.Loaded, each),
			q.Median, q.Low, q.High, median(p.Bare, grown), median(p.Loaded, grown), p.Kind.Target,
			verdict(q.Median <= p.Kind.Target))
	}
	fmt.Fprint(b, `
Bytes that a live vector type takes (4 arguments, 32 bytes, included): resident memory of the process by the number of
types.

| MPI | without | with | Cohort's | target: 200 and 32 |
|---|--:|--:|--:|---|
`)
	for i := range r.Pairs {
		p := &r.Pairs[i]
		if p.Kind.Name != "live" {
			continue
		}
		per := func(runs []Run) float64 { return 1024 * median(runs, grown) / float64(runs[0].Types) }
		fmt.Fprintf(b, "| %s | %.0f | %.0f | %.0f | %s |\n", p.MPI, per(p.Bare), per(p.Loaded), p.PerLive(),
			verdict(p.PerLive() <= 232))
	}
}

func (r *Report) viewTable(b *strings.Builder) {
	fmt.Fprint(b, `
## The decoder, in a gdb session

A gdb as an agent has it (MI, package backend/gdb), stopped in a program with a buffer of 10^8 doubles and a matrix of
10^6 rows. Everything is read anew for each command.

| MPI | command | ms | target |
|---|---|--:|---|
`)
	for _, mpi := range r.Options.MPIs {
		for _, v := range r.Views[mpi] {
			q := benchpage.QuartilesOf(v.Seconds)
			target := ""
			if v.Target > 0 {
				target = fmt.Sprintf("%.0f ms: %s", 1000*v.Target, verdict(q.Median <= v.Target))
			}
			fmt.Fprintf(b, "| %s | %s | %.1f [%.1f, %.1f] | %s |\n", mpi, v.Title, 1000*q.Median, 1000*q.Low,
				1000*q.High, target)
		}
	}
}

func (r *Report) loopTable(b *strings.Builder) {
	fmt.Fprintf(b, `
## Against loops of gdb's own

The same column, printed one element at a time in a plain gdb (batch mode, into a file), %d elements; mpipp prints all
10^6, each with its address in the datatype and in memory. The target, at least 20 times as fast, is for loops that
evaluate an expression for each element.

| MPI | loop | µs an element | mpipp is faster by | target |
|---|---|--:|--:|---|
`, r.Options.Elements)
	for _, mpi := range r.Options.MPIs {
		column := r.Views[mpi][len(r.Views[mpi])-1]
		each := benchpage.QuartilesOf(column.Seconds).Median / columnElements
		fmt.Fprintf(b, "| %s | mpipp | %.3f | | |\n", mpi, 1e6*each)
		for i := range r.Loops[mpi] {
			l := &r.Loops[mpi][i]
			factor, target := l.perElement()/each, ""
			if l.Expression {
				target = "×20: " + verdict(factor >= 20)
			}
			fmt.Fprintf(b, "| %s | %s | %.2f | ×%.0f | %s |\n", mpi, l.Title, 1e6*l.perElement(), factor, target)
		}
	}
}
