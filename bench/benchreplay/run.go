package benchreplay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/runner"
)

// runTimeout bounds one run: one that takes so long hangs.
const runTimeout = 5 * time.Minute

// timesVar makes a test program print its times.
const timesVar = "TESTPROGRAM_TIMES=1"

// bareTimeout ends a bare run where the other columns yield: without yielding a program can take a thousand times as
// long.
const bareTimeout = 5 * time.Second

// errNotThere: this Cohort has no such column.
var errNotThere = errors.New("there is no such mode in this version")

// job is a row on one MPI, ready to run.
type job struct {
	program Program
	args    []string
	binary  string
	tools   runner.Toolchain
	yield   runner.Yield // what was decided for all columns
	dir     string       // for recordings
	options *Options
	orders  map[Column][]string // what the ranks saw when the last recordings were made
}

func (j *job) yields() bool { return j.yield == runner.YieldOn }

func (j *job) common(output func(launch.OutputChunk)) runner.Common {
	return runner.Common{Yield: j.yield, Output: output, Self: j.options.Self, SelfArgs: j.options.SelfArgs}
}

// collector keeps what ranks write, whole lines of each.
type collector struct{ byRank map[int]*bytes.Buffer }

func (c *collector) take(chunk launch.OutputChunk) {
	if c.byRank == nil {
		c.byRank = map[int]*bytes.Buffer{}
	}
	if c.byRank[chunk.Rank] == nil {
		c.byRank[chunk.Rank] = &bytes.Buffer{}
	}
	c.byRank[chunk.Rank].Write(chunk.Data)
}

func (c *collector) text() string {
	var text strings.Builder
	for _, b := range c.byRank {
		text.WriteString(b.String())
		if !strings.HasSuffix(b.String(), "\n") {
			text.WriteByte('\n')
		}
	}
	return text.String()
}

// run runs one column once.
func (j *job) run(ctx context.Context, column Column) (Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	var output collector
	var sample Sample
	var err error
	began := time.Now()
	switch column {
	case Bare:
		if j.yields() {
			cut, done := context.WithTimeout(ctx, bareTimeout)
			defer done()
			if err = j.bare(cut, &output); cut.Err() != nil && ctx.Err() == nil {
				return Sample{Seconds: bareTimeout.Seconds(), Wall: time.Since(began).Seconds(), Cut: true}, nil
			}
			break
		}
		err = j.bare(ctx, &output)
	case Unrecorded:
		err = j.unrecorded(ctx, &output)
	case Order, Racing, Full:
		err = j.record(ctx, column, &output, &sample)
	case Replay:
		err = j.replay(ctx, Order, false, &output)
	}
	sample.Wall = time.Since(began).Seconds()
	if err != nil {
		if errors.Is(err, errNotThere) {
			return sample, err
		}
		return sample, fmt.Errorf("%s, %s: %w; it wrote:\n%s", j.program.Name, column, err, output.text())
	}
	err = j.judge(column, output.text(), &sample)
	return sample, err
}

// judge takes the times from what the ranks wrote, and holds a replay against its recording.
func (j *job) judge(column Column, text string, sample *Sample) error {
	var err error
	if sample.Seconds, err = elapsed(text, j.program.Ranks); err != nil {
		return fmt.Errorf("%s, %s: %w", j.program.Name, column, err)
	}
	saw, err := orders(text, j.program.Ranks)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", j.program.Name, column, err)
	}
	switch column {
	case Order, Racing, Full:
		j.orders[column] = saw
	case Replay:
		return j.compare(saw, Order)
	case Bare, Unrecorded:
	}
	return nil
}

// compare holds what the ranks of a replay saw against the recording.
func (j *job) compare(saw []string, recording Column) error {
	if recorded := j.orders[recording]; !slices.Equal(saw, recorded) {
		return fmt.Errorf("%s: the replay of a recording in mode %s is WRONG: it took\n%s\nand the recorded run\n%s",
			j.program.Name, recording, strings.Join(saw, "\n"), strings.Join(recorded, "\n"))
	}
	return nil
}

// bare starts the program with its launcher alone.
func (j *job) bare(ctx context.Context, output *collector) error {
	args := []string{"-n", fmt.Sprint(j.program.Ranks)}
	if j.tools.Program.MPI == pmpi.OpenMPI && j.program.Ranks > launch.Cores() {
		args = append(args, "--oversubscribe") // as launch does
	}
	cmd := exec.CommandContext(ctx, j.tools.Installation.Mpiexec, append(append(args, j.binary), j.args...)...)
	cmd.Env = append(os.Environ(), timesVar)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it ends its ranks
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	output.take(launch.OutputChunk{Data: text})
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}

// unrecorded starts it as for a recording, with the interposer in mode off.
func (j *job) unrecorded(ctx context.Context, output *collector) error {
	var flags abi.Flag
	if j.yields() {
		flags = abi.FlagYield
	}
	session, err := launch.Start(ctx, launch.Options{
		Ranks: j.program.Ranks, Program: j.binary, Args: j.args, Env: []string{timesVar}, Mode: launch.Run,
		Interpose: j.tools.Interpose(abi.ModeOff, flags),
		Output:    output.take, Self: j.options.Self, SelfArgs: j.options.SelfArgs,
	})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		now, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		session.Stop(now)
	})
	defer stop()
	var group sync.WaitGroup
	for _, rank := range session.Ranks() { // who starts a job has to take its events
		group.Go(func() {
			for range rank.Backend().Events() {
			}
		})
	}
	result := session.Wait()
	group.Wait()
	if status := runner.Status(result); status != 0 || ctx.Err() != nil {
		return errors.Join(fmt.Errorf("it ended with status %d", status), ctx.Err())
	}
	return nil
}

func (j *job) recording(column Column) string { return filepath.Join(j.dir, string(column)+".cohort") }

func (j *job) record(ctx context.Context, column Column, output *collector, sample *Sample) error {
	result, err := runner.Record(ctx, runner.RecordOptions{
		Common: j.common(output.take), Ranks: j.program.Ranks, Program: j.binary, Args: j.args, Env: []string{timesVar},
		Dir: j.recording(column), Mode: string(column), Overwrite: true,
	})
	switch {
	case err != nil && column == Racing && errors.As(err, new(*launch.RefusedError)) &&
		strings.Contains(err.Error(), "recording mode"):
		return errNotThere
	case err != nil:
		return err
	case result.Status() != 0:
		return fmt.Errorf("it ended with status %d", result.Status())
	case result.Problem != nil:
		return result.Problem
	case len(result.Refusals) > 0:
		return fmt.Errorf("ranks were not recorded: %v", result.Refusals)
	}
	s := result.Summary
	sample.Events, sample.Messages, sample.Decisions, sample.Wildcards, sample.TraceBytes = s.Events, s.Messages,
		s.Decisions, s.Wildcards, s.TraceBytes
	if s.Incomplete > 0 {
		return errors.New("the recording is incomplete")
	}
	return nil
}

func (j *job) replay(ctx context.Context, recording Column, full bool, output *collector) error {
	result, err := runner.Replay(ctx, runner.ReplayOptions{
		Common: j.common(output.take), Recording: j.recording(recording), Env: []string{timesVar}, Full: full,
	})
	switch {
	case err != nil:
		return err
	case !result.OK():
		return fmt.Errorf("the replay left the recording, or did not get to its end: %+v", result.Ranks)
	}
	return nil
}
