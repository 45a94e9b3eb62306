package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/script"
	"github.com/cohort-debugger/cohort/script/report"
)

func newBatchCommand(std streams) *cobra.Command {
	var f frontEnd
	var scriptFile string
	var reports []string
	f.watch = &script.Watch{Report: &report.Report{}}
	cmd := &cobra.Command{
		Use:   "batch [flags] (-- PROGRAM [ARGUMENT...] | RECORDING)",
		Short: "Debug all ranks by a script, and write a report: for CI jobs",
		Long: `Runs an MPI program, or replays a recording, with every rank under a debugger and without a terminal.
When a rank crashes, calls MPI_Abort or leaves the recording, or the ranks do not get on any more, all ranks
are stopped and looked at: where each is, all stacks as one tree, the MPI call that each is in, and the
expressions of --show. --report writes that, with what was expected and what was printed, as one page of HTML
that needs nothing else, as text or as JSON.

A script (--script, or -x for each line) has the commands of "cohort debug --batch" (cohort help debug), and

` + script.Help() + `

Empty lines and such that begin with # are left out. Without a script the program is let run to its end.

The exit status is
  0  all went well: the program ended with status 0, or the script came to its end
  1  a command of the script was refused, or something else went wrong on the way
  2  nothing was started
  3  a rank left the recording that is replayed
  4  an expectation is unmet, or could not be found out
  5  a rank crashed, called MPI_Abort, or ended with another status than 0
  6  the ranks did not get on: perhaps a deadlock
  128 and the number of the signal if cohort was interrupted`,
		Example: `  cohort batch -n 4 --report report.html -- ./heat 64
  cohort batch -n 4 --script check.cohort --report report.json --report report.html -- ./heat 64
  cohort batch -n 4 -x 'expect [0-3] iteration < 1000 at heat.c:180' -x continue -- ./heat 64
  cohort batch --show 'tasks_received' run.cohort`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, positional []string) error {
			if err := debugTarget(cmd, positional, &f.launch); err != nil {
				return err
			}
			if err := checkReports(reports); err != nil {
				return err
			}
			if f.watch.Stall < 0 {
				return usageError("--stall-timeout %v: write how long ranks may complete no MPI call, such as 30s.",
					f.watch.Stall)
			}
			commands, err := scriptLines(scriptFile, f.commands)
			if err != nil {
				return err
			}
			log, err := logTo(cmd, std, f.logFile)
			if err != nil {
				return err
			}
			defer log.close()
			rep := f.watch.Report
			rep.Cohort, rep.Start = launch.Version(), time.Now()
			rep.Command = append([]string{f.launch.Program}, f.launch.Args...)
			if f.launch.Recording != "" {
				rep.Command = []string{f.launch.Recording}
			}
			err = f.runScript(cmd, std, log, commands)
			return endBatch(std, rep, reports, err)
		},
	}
	f.addTargetFlags(cmd)
	f.addScriptFlags(cmd, "")
	flags := cmd.Flags()
	flags.StringVar(&scriptFile, "script", "", "`FILE` of commands, a line each; those of -x follow it")
	flags.StringArrayVar(&reports, "report", nil, "write the report to `FILE`, .html, .txt or .json; may be repeated")
	flags.StringArrayVar(&f.watch.Show, "show", nil,
		"`EXPRESSION` to evaluate on all ranks whenever they are looked at; may be repeated")
	flags.DurationVar(&f.watch.Stall, "stall-timeout", 0,
		"look at the ranks and end when none has completed an MPI call for so long, such as 30s\n"+
			"(default: 1m0s once all ranks are within MPI calls, or poll)")
	return cmd
}

// scriptLines are the commands of a script: of its file, then those of -x.
func scriptLines(file string, more []string) ([]string, error) {
	var lines []string
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, usageError("The script cannot be read: %v.", err)
		}
		lines = strings.Split(string(text), "\n")
	}
	if lines = append(lines, more...); len(lines) == 0 {
		lines = []string{"continue"}
	}
	return lines, nil
}

// checkReports refuses reports that could not be written, before anything is started for them.
func checkReports(names []string) error {
	for _, name := range names {
		if kinds := slices.Sorted(maps.Keys(report.Kinds)); !slices.Contains(kinds, filepath.Ext(name)) {
			return usageError("--report %s: the name of a report ends with %s.", name, strings.Join(kinds, ", "))
		}
		if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
			return usageError("--report %s: there is no directory %s to write it to.", name, filepath.Dir(name))
		}
	}
	return nil
}

// endBatch writes the reports and says how the run has ended, which was with an error or nil.
func endBatch(std streams, rep *report.Report, names []string, err error) error {
	status := exitStatus(err)
	if status == exitUsage {
		return err
	}
	rep.Elapsed = time.Since(rep.Start).Seconds()
	switch rep.Outcome {
	case report.Crash, report.Abort, report.Failed:
		status = exitProgram
	case report.NoProgress:
		status = exitNoProgress
	case report.Diverged:
		status = exitDiverged
	case report.Interrupted:
		if !errors.As(err, new(*interruptedError)) {
			status = exitInterrupted
		}
	}
	rep.Status = status
	text := "\n" + rep.Conclusion() + "\n"
	failures := []error{}
	for _, name := range names {
		var b bytes.Buffer
		writeErr := rep.Write(&b, name)
		if writeErr == nil {
			writeErr = atomicfile.Write(name, b.Bytes())
		}
		if writeErr != nil {
			failures = append(failures, fmt.Errorf("writing the report %s: %w", name, writeErr))
			continue
		}
		text += "report: " + name + "\n"
	}
	if sayErr := say(std.Out, text); sayErr != nil {
		failures = append(failures, sayErr)
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return endWith(status)
}
