// Command benchdatatypes measures what datatypes cost and how fast they are decoded (see package benchdatatypes): `make
// bench-datatypes`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/cohort-debugger/cohort/bench/benchdatatypes"
	"github.com/cohort-debugger/cohort/bench/benchpage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-datatypes:", err)
		stop()
		os.Exit(1) //nolint:forbidigo,gocritic // this is a command; stop was called
	}
}

func run(ctx context.Context, args []string) error {
	o := benchdatatypes.Options{Progress: os.Stderr}
	flags := flag.NewFlagSet("bench-datatypes", flag.ContinueOnError)
	mpis := flags.String("mpi", "openmpi,mpich", "which MPIs")
	flags.IntVar(&o.Rounds, "rounds", 7, "rounds")
	flags.IntVar(&o.Elements, "elements", 100_000, "elements that a loop of gdb's prints, at most 1000000")
	flags.BoolVar(&o.Quick, "quick", false, "3 rounds of less work")
	page := flags.String("o", "", "write the page there (default: to standard output)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("the command line: %w", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.Rounds < 1 || o.Elements < 1 || o.Elements > 1_000_000 {
		return errors.New("there must be a round, and from 1 to 1000000 elements")
	}
	if o.Quick {
		o.Rounds, o.Elements = 3, 20_000
	}
	o.MPIs = strings.Split(*mpis, ",")
	if os.Geteuid() == 0 { // as in the tests
		for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
			if err := os.Setenv(name, "1"); err != nil {
				return fmt.Errorf("allowing Open MPI to run as root: %w", err)
			}
		}
	}
	report, err := benchdatatypes.Measure(ctx, o)
	if err != nil {
		return err
	}
	return benchpage.Write(*page, benchdatatypes.NotesMark, report.Markdown)
}
