package benchdatatypes

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cohort-debugger/cohort/bench/benchpage"
	"github.com/cohort-debugger/cohort/pmpi"
)

//go:embed programs/create.c
var createSource string

//go:embed programs/large.c
var largeSource string

// runTimeout bounds one run: one that takes so long hangs.
const runTimeout = 5 * time.Minute

// Kind is one way of making types.
type Kind struct {
	Name, Title string
	N, Quick    int // how often
	Target      float64
}

// Kinds are the rows of the first table.
func Kinds() []Kind {
	return []Kind{
		{"vector", "a vector type made, committed and freed", 1_000_000, 100_000, 1.5},
		{"struct", "a struct of 10^4 blocks made, committed and freed", 500, 100, 1.5},
		{"nested", "50 types, each made of the one before (depth 50), and freed", 4000, 1000, 1.5},
		{"live", "vector types alive at once", 100_000, 30_000, 0},
	}
}

// Run is what the program printed.
type Run struct {
	Seconds     float64
	Early, Late int64 // KiB resident
	Types       int64
}

// Pair are the runs of one row, without the interposer and with it.
type Pair struct {
	Kind         Kind
	MPI          string
	N            int
	Bare, Loaded []Run
}

func (p *Pair) title() string { return fmt.Sprintf("%s, %d times", p.Kind.Title, p.N) }

// Ratio is the median over the rounds of what the interposed run took against the bare one of its round, with
// quartiles.
func (p *Pair) Ratio() benchpage.Quartiles {
	ratios := make([]float64, len(p.Bare))
	for i := range p.Bare {
		ratios[i] = p.Loaded[i].Seconds / p.Bare[i].Seconds
	}
	return benchpage.QuartilesOf(ratios)
}

func median(runs []Run, of func(r Run) float64) float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	return benchpage.QuartilesOf(values).Median
}

// Grown is by how much the resident memory grew from a tenth of the work to its end, in KiB.
func grown(r Run) float64 { return float64(r.Late - r.Early) }

// PerLive are the bytes that a live type takes with the interposer beyond what it takes without.
func (p *Pair) PerLive() float64 {
	return 1024 * (median(p.Loaded, grown) - median(p.Bare, grown)) / float64(p.Loaded[0].Types)
}

// programs are what is measured, compiled for one MPI.
type programs struct {
	mpi           pmpi.Installation
	lib           string
	create, large string
	largeFile     string // the source as the debugger knows it
}

// build compiles the programs and the interposer for an MPI.
func build(ctx context.Context, mpi, dir string) (*programs, error) {
	found, err := pmpi.FindMPI(mpi)
	if err != nil {
		return nil, err
	}
	lib, err := pmpi.Build(ctx, pmpi.Options{Mpicc: found.Mpicc})
	if err != nil {
		return nil, err
	}
	p := &programs{mpi: found, lib: lib.Path, largeFile: filepath.Join(dir, "large.c")}
	for _, c := range []struct {
		name, source, optimise string
		binary                 *string
	}{{"create", createSource, "-O2", &p.create}, {"large", largeSource, "-O0", &p.large}} {
		file := filepath.Join(dir, c.name+".c")
		*c.binary = filepath.Join(dir, c.name+"."+mpi)
		if err := os.WriteFile(file, []byte(c.source), 0o600); err != nil {
			return nil, fmt.Errorf("writing a program to be measured: %w", err)
		}
		cmd := exec.CommandContext(ctx, found.Mpicc, "-g", c.optimise, "-o", *c.binary, file)
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
		}
	}
	return p, nil
}

// run runs create once.
func (p *programs) run(ctx context.Context, kind Kind, n int, loaded bool) (Run, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	args := []string{"-n", "1"}
	if p.mpi.MPI == pmpi.OpenMPI {
		args = append(args, "--bind-to", "none")
	}
	if loaded {
		args = append(args, "env", "LD_PRELOAD="+p.lib)
	}
	args = append(args, p.create, kind.Name, fmt.Sprint(n))
	cmd := exec.CommandContext(ctx, p.mpi.Mpiexec, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	var r Run
	at := bytes.Index(text, []byte("seconds "))
	if err == nil && at >= 0 {
		var k int
		k, err = fmt.Sscanf(string(text[at:]), "seconds %g rss-early %d rss-late %d types %d", &r.Seconds, &r.Early,
			&r.Late, &r.Types)
		if k == 4 && err == nil {
			return r, nil
		}
	}
	return r, fmt.Errorf("%s: %w; it wrote:\n%s", strings.Join(cmd.Args, " "), err, text)
}

// pair runs one row: both ways in each round, beginning with the other one each time.
func (p *programs) pair(ctx context.Context, mpi string, kind Kind, o *Options) (Pair, error) {
	n := kind.N
	switch {
	case o.Tiny:
		n = 20
	case o.Quick:
		n = kind.Quick
	}
	out := Pair{Kind: kind, MPI: mpi, N: n}
	for round := range o.Rounds {
		for half := range 2 {
			loaded := (round+half)%2 == 1
			r, err := p.run(ctx, kind, n, loaded)
			if err != nil {
				return out, err
			}
			if loaded {
				out.Loaded = append(out.Loaded, r)
			} else {
				out.Bare = append(out.Bare, r)
			}
		}
	}
	return out, nil
}
