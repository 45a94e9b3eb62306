// Command benchdebug measures what debugging all ranks costs (see package benchdebug): `make bench-debug`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cohort-debugger/cohort/bench/benchdebug"
	"github.com/cohort-debugger/cohort/bench/benchpage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-debug:", err)
		stop()
		os.Exit(1) //nolint:forbidigo,gocritic // this is a command; stop was called
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "-gdb" {
		return benchdebug.BecomeGdb(args[1], args[2])
	}
	o := benchdebug.Options{Progress: os.Stderr}
	flags := flag.NewFlagSet("bench-debug", flag.ContinueOnError)
	mpis := flags.String("mpi", "mpich,openmpi", "which MPIs")
	ranks := flags.String("ranks", "8,32,64,128", "how many ranks")
	flags.IntVar(&o.Rounds, "rounds", 5, "rounds")
	quick := flags.Bool("quick", false, "8 and 16 ranks, 3 rounds")
	flags.StringVar(&o.Cohort, "cohort", filepath.Join("bin", "cohort"), "the cohort that is measured")
	page := flags.String("o", "", "write the page there (default: to standard output)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("the command line: %w", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *quick {
		*ranks, o.Rounds = "8,16", 3
	}
	for _, text := range strings.Split(*ranks, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of ranks", text)
		}
		o.Ranks = append(o.Ranks, n)
	}
	if o.Rounds < 1 {
		return errors.New("there must be a round")
	}
	o.MPIs = strings.Split(*mpis, ",")
	if os.Geteuid() == 0 { // as in the tests
		for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
			if err := os.Setenv(name, "1"); err != nil {
				return fmt.Errorf("allowing Open MPI to run as root: %w", err)
			}
		}
	}
	report, err := benchdebug.Measure(ctx, o)
	if err != nil {
		return err
	}
	return benchpage.Write(*page, benchdebug.NotesMark, report.Markdown)
}
