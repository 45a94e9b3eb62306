package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/runner"
)

func newRecordCommand(std streams) *cobra.Command {
	var o runner.RecordOptions
	var jsonFile string
	var label, quiet, strict bool
	var untilFail int
	cmd := &cobra.Command{
		Use:   "record -n RANKS -o NAME.cohort [flags] -- PROGRAM [ARGUMENTS]",
		Short: "Run a program at full speed and record the order of its messages",
		Long: `Record runs an MPI program at full speed, without a debugger, and leaves a recording: a
directory from which "cohort replay" and "cohort debug" run it again, each message in the same order.

With --mode racing only the receives that could have taken another message are recorded. To know which they
are, each message of the program carries a header of 24 to 128 bytes with vector time; all ranks do, or none
does. It does not cover MPI_THREAD_MULTIPLE.

The program's output passes through as it is; with --label each line carries the rank that wrote it.

What MPI_Wtime returns is recorded, and a replay returns it again. With --record-time the same holds for the C
library's clocks and random numbers (clock_gettime, gettimeofday, time, clock, timespec_get, getrusage, times;
getrandom, getentropy, arc4random), as far as the program and its libraries ask for them between MPI_Init and
MPI_Finalize. What is read from /dev/urandom is not recorded (the recording is marked incomplete); the
processor's own counters and random instructions (rdtsc, rdrand) cannot be seen. rand() and random() are
determined by their seeds.

On a terminal a line below the program's output shows how far the run is. At the end the traces are packed,
and a summary says what was recorded, and of ranks that did not end well where they ended.

The exit status is the program's: 0 if all ranks ended with 0, else that of the rank that failed first (128
plus the number of the signal if one ended it). With --strict it is 1 if that is 0 and the recording does not
hold the whole run (a full disk, a call that is not covered). If nothing was started, because something is
wrong with what was asked, it is 2. There is a recording even if a rank is killed, the program aborts, the
launcher dies or Ctrl-C ends the run.

With --until-fail the program is run again and again, at most N times if N is given, until a run fails: until
its status is not 0 (a crash and MPI_Abort among that), or with --stall-timeout until its ranks get stuck,
which is status 6. Only that recording is left; of runs that did well, or that Ctrl-C ended, none is. Without
a failing run the status is 0.`,
		Example: `  cohort record -n 4 -o tsp.cohort -- ./tsp cities18.txt
  cohort record -n 4 -o tsp.cohort --force --mode full -- ./tsp cities18.txt
  cohort record -n 4 -o bug.cohort --until-fail=100 --stall-timeout 30s -- ./prog
  cohort record -n 64 -o big.cohort --launcher-arg --hostfile --launcher-arg hosts -- ./prog`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := programArgs(cmd, args); err != nil {
				return err
			}
			log, err := logger(cmd, std)
			if err != nil {
				return err
			}
			o.Program, o.Args, o.Log = args[0], args[1:], log
			switch {
			case cmd.Flags().Changed("until-fail") && untilFail < 1 && untilFail != endless:
				return usageError(
					"--until-fail=%d: write how many runs there may be, or --until-fail alone.",
					untilFail,
				)
			case o.StallTimeout < 0:
				return usageError("--stall-timeout %v: write how long ranks may complete no MPI call, such as 30s.",
					o.StallTimeout)
			}
			runs := 1
			var line *screen
			if !quiet {
				line = newScreen(std)
			}
			shared := line.share(std)
			flush := passOutput(shared, &o.Common, label, o.Ranks)
			if line != nil {
				o.Progress = func(p runner.RecordProgress) {
					text := progressText(p)
					if untilFail != 0 {
						text = fmt.Sprintf("%s (run %d)", text, runs)
					}
					line.show(text)
				}
			}
			ctx, stop := withSignals(cmd.Context(), nil)
			defer stop()
			result, err := runner.Record(ctx, o)
			for untilFail != 0 && result != nil && (err != nil || recordStatus(result) == exitOK) {
				if removeErr := result.Recording.Remove(); removeErr != nil || err != nil || runs == untilFail {
					flush()
					line.clear()
					sayRuns(shared, runs, false)
					return errors.Join(err, removeErr)
				}
				runs++
				o.Note = func(string) {} // said of the first
				result, err = runner.Record(ctx, o)
			}
			flush()
			line.clear()
			if result == nil {
				return err
			}
			if untilFail != 0 {
				sayRuns(shared, runs, true)
			}
			races := countRaces(ctx, result)
			recordSummary(shared.Err, result, races, quiet)
			if jsonFile != "" {
				if err := writeRecordJSON(jsonFile, result, races); err != nil {
					return err
				}
			}
			if err != nil {
				return fmt.Errorf("%w; what had been recorded until then is in %s", err, o.Dir)
			}
			code := recordStatus(result)
			if strict && code == exitOK && len(recordMissing(result)) > 0 {
				code = exitFailure
			}
			return endWith(code)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVarP(&o.Ranks, "ranks", "n", 4, "number of ranks")
	f.StringVarP(&o.Dir, "output", "o", "", "directory of the recording, such as run.cohort")
	f.StringVar(&o.Mode, "mode", "order",
		"what to record: order (every outcome that replay needs), racing (only outcomes that could have differed;\n"+
			"messages carry a header) or full (every event)")
	f.BoolVar(&o.RecordTime, "record-time", false, "also record what clock_gettime, gettimeofday, time, getrandom "+
		"and their kin give the program (MPI_Wtime is always recorded)")
	f.BoolVar(&o.Overwrite, "force", false, "replace a recording that is there already")
	f.IntVar(&untilFail, "until-fail", 0,
		"run again and again, at most `N` times if given, until a run fails, and leave its recording only")
	f.Lookup("until-fail").NoOptDefVal = strconv.Itoa(endless)
	f.DurationVar(&o.StallTimeout, "stall-timeout", 0,
		"end the run when no rank has completed an MPI call for so long, such as 30s, with status 6")
	f.BoolVarP(&quiet, "quiet", "q", false, "no progress, and of the summary only what went wrong")
	f.BoolVar(&strict, "strict", false, "exit with status 1 if the program did well and the recording is not complete")
	f.StringVar(&jsonFile, "json", "", "write the summary as JSON to `FILE`")
	f.BoolVar(&o.Unpacked, "unpacked", false,
		"leave the traces as the ranks wrote them (\"cohort trace pack\" packs them later)")
	f.StringArrayVar(&o.Env, "env", nil, "NAME=VALUE to set for the ranks (may be repeated)")
	f.StringVar(&o.Cwd, "cwd", "", "working directory of the ranks")
	runFlags(cmd, &o.Common, &label)
	return cmd
}

// endless is --until-fail without a number.
const endless = -1

// recordStatus is the status that stands for the end of a recorded run.
func recordStatus(r *runner.RecordResult) int {
	if r.Stalled {
		return exitNoProgress
	}
	return r.Status()
}

// sayRuns says how many runs there were, of which the last may have failed.
func sayRuns(std streams, runs int, failed bool) {
	text := fmt.Sprintf("%s, none failed: no recording is left", prose.Count(runs, "run"))
	if failed {
		text = fmt.Sprintf("run %d failed", runs)
	}
	noteTo(std)(text)
}

// runFlags are common to the commands that run a job without a debugger.
func runFlags(cmd *cobra.Command, o *runner.Common, label *bool) {
	cmd.Flags().StringVar((*string)(&o.Yield), "yield", "auto",
		"let waiting ranks give up the processor: auto (if there are more ranks than cores), on or off")
	cmd.Flags().BoolVar(label, "label", false, "write the rank in front of each line of output")
	cmd.Flags().StringVar(&o.MPI, "mpi", "",
		"mpich, openmpi or the path of an mpiexec (default: what the program is linked to)")
	cmd.Flags().StringArrayVar(&o.LauncherArgs, "launcher-arg", nil, "argument passed on to mpiexec (may be repeated)")
}

// noteTo tells the user what is not the command's output.
func noteTo(std streams) func(string) {
	return func(text string) { fmt.Fprintf(std.Err, "cohort: %s\n", text) } //nolint:errcheck // nowhere else to say it
}

// passOutput decides where the ranks' output goes. The function that it returns writes what is still held back.
func passOutput(std streams, o *runner.Common, label bool, ranks int) func() {
	o.Stdin = std.In
	o.Note = noteTo(std)
	_, outIs := std.Out.(*os.File)
	_, errIs := std.Err.(*os.File)
	_, shared := std.Err.(screenWriter)
	switch {
	case label:
		l := newLabeller(std, ranks)
		o.Output = l.take
		return l.flush
	case outIs && errIs, shared:
		o.Stdout, o.Stderr = std.Out, std.Err
	default:
		o.Output = func(chunk launch.OutputChunk) {
			std.of(chunk.Category).Write(chunk.Data) //nolint:errcheck // the user closed it
		}
	}
	return func() {}
}
