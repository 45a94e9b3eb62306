// Command benchreplay measures what recording and replaying cost (see package benchreplay): `make bench-replay`.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cohort-debugger/cohort/bench/benchpage"
	"github.com/cohort-debugger/cohort/bench/benchreplay"
	"github.com/cohort-debugger/cohort/launch/self"
)

func main() {
	if status, ok := self.Serve(os.Args[1:], nil); ok {
		os.Exit(status) //nolint:forbidigo // this is a command
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-replay:", err)
		stop()
		os.Exit(1) //nolint:forbidigo,gocritic // this is a command; stop was called
	}
}

func run(ctx context.Context, args []string) error {
	o := benchreplay.Options{Columns: benchreplay.Columns(), Progress: os.Stderr}
	flags := flag.NewFlagSet("bench-replay", flag.ContinueOnError)
	flags.StringVar(&o.Root, "root", ".", "root of the repository")
	mpis := flags.String("mpi", "openmpi,mpich", "which MPIs")
	programs := flags.String("programs", "",
		"rows, by name or the beginning of it, separated by commas (default: all but the extra ones); list: print them")
	columns := flags.String("columns", "", "columns (default: all)")
	flags.IntVar(&o.Rounds, "rounds", 7, "rounds; each runs every column once")
	flags.IntVar(&o.MostBare, "bare-rounds", 1, "rounds of the bare column where the others yield")
	quick := flags.Bool("quick", false, "3 rounds of a few programs")
	page := flags.String("o", "", "write the page there (default: to standard output)")
	figures := flags.String("json", "", "write all figures there")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("the command line: %w", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *quick {
		o.Rounds, *programs = 3, "wildcard-recv,wildcard-waitany,bicgstab,mesh,sys"
	}
	if *programs == "list" {
		for _, p := range benchreplay.Programs() {
			fmt.Fprintln(os.Stdout, p.Name) //nolint:errcheck // nowhere else to say it
		}
		return nil
	}
	o.MPIs = strings.Split(*mpis, ",")
	var err error
	if o.Programs, err = choose(*programs); err != nil {
		return err
	}
	if err := chooseColumns(&o, *columns); err != nil {
		return err
	}
	if os.Geteuid() == 0 { // as in the tests
		for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
			if err := os.Setenv(name, "1"); err != nil {
				return fmt.Errorf("allowing Open MPI to run as root: %w", err)
			}
		}
	}
	report := benchreplay.Report{Machine: benchreplay.Look(ctx, o.MPIs), Rounds: o.Rounds}
	if report.Rows, err = benchreplay.Measure(ctx, o); err != nil {
		return err
	}
	report.Machine.Minutes = time.Since(report.Machine.Began).Minutes()
	return write(&report, *page, *figures)
}

// choose finds the rows that were named.
func choose(names string) ([]benchreplay.Program, error) {
	all := benchreplay.Programs()
	if names == "" {
		return slices.DeleteFunc(all, func(p benchreplay.Program) bool { return p.Extra }), nil
	}
	var chosen []benchreplay.Program
	for name := range strings.SplitSeq(names, ",") {
		exact := slices.ContainsFunc(all, func(p benchreplay.Program) bool { return p.Name == name })
		n := len(chosen)
		for _, p := range all {
			if p.Name == name || !exact && strings.HasPrefix(p.Name, name) {
				chosen = append(chosen, p)
			}
		}
		if len(chosen) == n {
			return nil, fmt.Errorf("no program is called %q; -programs list prints them", name)
		}
	}
	return chosen, nil
}

func chooseColumns(o *benchreplay.Options, names string) error {
	if names == "" {
		return nil
	}
	o.Columns = nil
	for name := range strings.SplitSeq(names, ",") {
		if !slices.Contains(benchreplay.Columns(), benchreplay.Column(name)) {
			return fmt.Errorf("no column is called %q; there are %v", name, benchreplay.Columns())
		}
		o.Columns = append(o.Columns, benchreplay.Column(name))
	}
	if replay := slices.Index(o.Columns, benchreplay.Replay); replay >= 0 &&
		!slices.Contains(o.Columns[:replay], benchreplay.Order) {
		return errors.New("a replay needs the recording of the column order before it")
	}
	return nil
}

// write writes page and figures.
func write(report *benchreplay.Report, page, figures string) error {
	if figures != "" {
		text, err := json.MarshalIndent(report, "", " ") //nolint:musttag // Machine's durations and times
		if err != nil {
			return fmt.Errorf("the figures as JSON: %w", err)
		}
		if err := os.WriteFile(figures, append(text, '\n'), 0o644); err != nil { //nolint:gosec // for everybody to read
			return fmt.Errorf("writing the figures: %w", err)
		}
	}
	return benchpage.Write(page, benchreplay.NotesMark, report.Markdown)
}
