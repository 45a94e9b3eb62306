package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/runner"
	"github.com/cohort-debugger/cohort/trace"
)

func newRecordCommand(std streams) *cobra.Command {
	var o runner.RecordOptions
	var yield string
	var label bool
	cmd := &cobra.Command{
		Use:   "record -n RANKS -o NAME.cohort [flags] -- PROGRAM [ARGUMENTS]",
		Short: "Run a program at full speed and record the order of its messages",
		Long: `Record runs an MPI program at full speed, without a debugger, and leaves a recording: a directory from which
"cohort replay" and "cohort debug" run it again, each message in the same order.

The program's output passes through as it is; with --label each line carries the rank that wrote it.

What MPI_Wtime returns is recorded, and a replay returns it again. With --record-time the same holds for the C library's clocks and random
numbers (clock_gettime, gettimeofday, time, clock, timespec_get, getrusage, times; getrandom, getentropy, arc4random), as far as the program
and its libraries ask for them between MPI_Init and MPI_Finalize. What is read from /dev/urandom is not recorded (the recording is marked incomplete);
the processor's own counters and random instructions (rdtsc, rdrand) cannot be seen. rand() and random() are determined by their seeds.

The exit status is the program's: 0 if all ranks ended with 0, else that of the rank that failed first (128 plus the number of
the signal if one ended it). If nothing was started, because something is wrong with what was asked, it is 2. The recording is kept
even if a rank is killed, the program aborts, the launcher dies or Ctrl-C ends the run.`,
		Example: `  cohort record -n 4 -o tsp.cohort -- ./tsp cities18.txt
  cohort record -n 4 -o tsp.cohort --force --mode full -- ./tsp cities18.txt
  cohort record -n 64 -o big.cohort --launcher-arg --hostfile --launcher-arg hosts -- ./prog`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := programArgs(cmd, args); err != nil {
				return err
			}
			log, err := logger(cmd, std)
			if err != nil {
				return err
			}
			o.Program, o.Args, o.Yield, o.Log = args[0], args[1:], runner.Yield(yield), log
			flush := passOutput(std, &o.Common, label, o.Ranks)
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			result, err := runner.Record(ctx, o)
			flush()
			if result == nil {
				return err
			}
			recordSummary(std.Err, result)
			if err != nil {
				return fmt.Errorf("%w; what had been recorded until then is kept in %s", err, o.Dir)
			}
			if code := result.Status(); code != exitOK {
				return &exitError{Code: code}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVarP(&o.Ranks, "ranks", "n", 4, "number of ranks")
	f.StringVarP(&o.Dir, "output", "o", "", "directory of the recording, such as run.cohort")
	f.StringVar(&o.Mode, "mode", "order", "what to record: order (every outcome that replay needs), racing (only those that could have been\nanother; messages carry a header) or full (every event)")
	f.StringVar(&yield, "yield", "auto", "let waiting ranks give up the processor: auto (if there are more ranks than cores), on or off")
	f.BoolVar(&o.RecordTime, "record-time", false, "also record what clock_gettime, gettimeofday, time, getrandom and their kin give the program (MPI_Wtime is always recorded)")
	f.BoolVar(&o.Overwrite, "force", false, "replace a recording that is there already")
	f.BoolVar(&label, "label", false, "write the rank in front of each line of output")
	f.StringArrayVar(&o.Env, "env", nil, "NAME=VALUE to set for the ranks (may be repeated)")
	f.StringVar(&o.Cwd, "cwd", "", "working directory of the ranks")
	mpiFlags(cmd, &o.Common)
	return cmd
}

// mpiFlags are common to the commands that start a job.
func mpiFlags(cmd *cobra.Command, o *runner.Common) {
	cmd.Flags().StringVar(&o.MPI, "mpi", "", "mpich, openmpi or the path of an mpiexec (default: what the program is linked to)")
	cmd.Flags().StringArrayVar(&o.LauncherArgs, "launcher-arg", nil, "argument passed on to mpiexec (may be repeated)")
}

// passOutput decides where the ranks' output goes. The function that it returns writes what is still held back.
func passOutput(std streams, o *runner.Common, label bool, ranks int) func() {
	o.Stdin = std.In
	o.Note = func(text string) { fmt.Fprintf(std.Err, "cohort: %s\n", text) } //nolint:errcheck // nowhere else to say it
	out, outIs := std.Out.(fileLike)
	err, errIs := std.Err.(fileLike)
	switch {
	case label:
		l := newLabeller(std, ranks)
		o.Output = l.take
		return l.flush
	case outIs && errIs:
		o.Stdout, o.Stderr = out, err
	default:
		o.Output = plainOutput(std)
	}
	return func() {}
}

// recordSummary tells what was recorded, on standard error: standard output is the program's.
func recordSummary(w io.Writer, r *runner.RecordResult) {
	var b strings.Builder
	rec := r.Recording
	fmt.Fprintf(&b, "\ncohort: recorded %s of %s in %s\n", count(uint64(len(r.Job.Ranks)), "rank"), strings.Join(rec.Meta.Command, " "), elapsed(r.Elapsed))
	for _, line := range rankEnds(r) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if s := r.Summary; s != nil {
		fmt.Fprintf(&b, "  %s, %s sent (%s), %s for replay, %s\n",
			count(s.Events, "MPI event"), count(s.Messages, "message"), size(s.PayloadBytes), count(s.Decisions, "decision"), count(s.FailedPolls, "failed poll"))
		fmt.Fprintf(&b, "  traces: %s in mode %s; waiting ranks yielded: %s\n", size(s.TraceBytes), rec.Meta.Mode, map[bool]string{true: "yes", false: "no"}[r.Yield])
	}
	for rank, why := range r.Refusals {
		fmt.Fprintf(&b, "  WARNING: rank %d was not recorded: %s\n", rank, why)
	}
	for _, rank := range rec.Meta.PerRank {
		if i := rank.Incomplete; i != nil {
			fmt.Fprintf(&b, "  WARNING: rank %d called %s (event %d:%d; %s in all), which record/replay does not cover: "+
				"the recording is incomplete, and replay refuses it without --incomplete-ok.\n",
				rank.Rank, i.Call, rank.Rank, i.Event, count(i.Count, "such call"))
		}
	}
	if r.Problem != nil {
		fmt.Fprintf(&b, "  WARNING: the recording cannot be replayed as it is: %v\n", r.Problem)
	}
	fmt.Fprintf(&b, "  The recording is %s. Next:\n    cohort replay %s\n    cohort debug %s\n", rec.Dir, rec.Dir, rec.Dir)
	io.WriteString(w, b.String()) //nolint:errcheck // nowhere else to say it
}

// rankEnds says how the ranks ended, equal ends in one line.
func rankEnds(r *runner.RecordResult) []string {
	var order []string
	ranks := map[string][]int{}
	for i, rank := range r.Recording.Meta.PerRank {
		text := endText(rank.End, r.Job.Stopped)
		if ranks[text] == nil {
			order = append(order, text)
		}
		ranks[text] = append(ranks[text], i)
	}
	var lines []string
	for _, text := range order {
		said := text
		if rest, ok := strings.CutPrefix(text, "was "); ok && len(ranks[text]) > 1 {
			said = "were " + rest
		}
		lines = append(lines, fmt.Sprintf("[%s] %s", rankList(ranks[text]), said))
	}
	return lines
}

func endText(end trace.RankEnd, stopped bool) string {
	switch end.How {
	case trace.EndFinalized:
		return "ended well"
	case trace.EndExited:
		return fmt.Sprintf("exited with status %d", end.Code)
	case trace.EndSignal:
		return "was ended by " + end.Signal
	}
	if stopped {
		return "was ended with the job"
	}
	return "was ended by the launcher, or lost"
}

func elapsed(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }
