// Command benchdatatypes measures what datatypes cost and how fast they are decoded (see package benchdatatypes): `make bench-datatypes`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cohort-debugger/cohort/internal/benchdatatypes"
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
	return write(report, *page)
}

// write writes the page. Of one that is there the part that people wrote is kept.
func write(report *benchdatatypes.Report, page string) error {
	if page == "" {
		return report.Markdown(os.Stdout, "")
	}
	before, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading what people wrote into the page: %w", err)
	}
	_, notes, _ := strings.Cut(string(before), benchdatatypes.NotesMark+"\n")
	file, err := os.CreateTemp(filepath.Dir(page), ".bench-datatypes-")
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // renamed, or of no use
	if err := errors.Join(report.Markdown(file, notes), file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if err := os.Rename(file.Name(), page); err != nil {
		return fmt.Errorf("putting the page into place: %w", err)
	}
	return nil
}
