package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// RecordOptions say what to record.
type RecordOptions struct {
	Common
	Ranks     int
	Program   string
	Args      []string
	Cwd       string   // "": this process's
	Env       []string // "NAME=value", added to the ranks' environment
	Dir       string   // of the recording
	Mode      string   // "order" (default), "racing" or "full"
	Overwrite bool     // replace a recording that is there
	Unpacked  bool     // leave the traces as the ranks wrote them
	// Progress, if set, is called about twice a second while the ranks run, and while their traces are packed; from one
	// goroutine at a time.
	Progress func(RecordProgress)
	// StallTimeout ends the run once all ranks have returned from MPI_Init and then none has completed an MPI call for
	// so long; 0: never.
	StallTimeout time.Duration
	// RecordTime records what the C library's clocks and random numbers give the program, besides MPI_Wtime, which
	// always is recorded.
	RecordTime bool
}

// RecordProgress is what the ranks have done so far.
type RecordProgress struct {
	Elapsed    time.Duration
	Events     uint64
	Messages   uint64 // sent
	Bytes      uint64 // of payload, sent
	TraceBytes uint64 // written
	// Packed and ToPack count bytes of traces; ToPack is 0 until the ranks have ended.
	Packed, ToPack int64
}

// RecordResult is what became of a recorded run.
type RecordResult struct {
	Recording *recording.Recording
	Summary   *recording.Summary // nil if the traces cannot be read; Problem says why
	Job       launch.Result
	Elapsed   time.Duration
	Yield     bool
	Problem   error // what makes the recording useless for replay, or nil
	Stalled   bool  // the run was ended because no rank completed an MPI call
	NotPacked error // why traces are not packed, which does no harm; or nil
	// Refusals are what interposers said when they could not record, by rank; Cut is what they said when they had to
	// stop.
	Refusals, Cut map[int]string
}

// aborted tells whether a rank called MPI_Abort: how each rank ended then says in which order the launcher killed them.
func aborted(job launch.Result) bool {
	return slices.ContainsFunc(job.Ranks, func(r launch.RankResult) bool {
		return r.Control.Present && r.Control.CurrentOp == int(mpispec.OpAbort)
	})
}

// byLauncher tells whether a rank was ended by a signal that its launcher sent when something else had gone wrong:
// those that launchers send, where the launcher's own status is not the one of a rank that was ended so (MPICH: the
// signal's number, Open MPI: 128 more).
func byLauncher(job launch.Result, exit *backend.Exited) bool {
	signal := int(unix.SignalNum(exit.Signal))
	return (exit.Signal == "SIGKILL" || exit.Signal == "SIGTERM") && job.Code != signal && job.Code != 128+signal
}

// Status is that of its job.
func (r *RecordResult) Status() int { return Status(r.Job) }

// Status is the exit status that stands for the program's end: 0 if all ranks ended with 0; else that of the rank that
// failed first, its own or 128 plus the number of the signal; the launcher's if no rank's is known.
func Status(job launch.Result) int {
	first := job.First()
	var exit *backend.Exited
	if first >= 0 {
		exit = job.Ranks[first].Exit
	}
	switch {
	case exit == nil:
	case exit.Signal == "":
		return exit.Code
	case job.Code <= 0 || !aborted(job) && !byLauncher(job, exit):
		return 128 + int(unix.SignalNum(exit.Signal))
	}
	switch {
	case job.Code > 0:
		return job.Code
	case job.Signal != "":
		return 128 + int(unix.SignalNum(job.Signal))
	case first >= 0:
		return 1
	}
	return 0
}

var errStalled = errors.New("no rank completed an MPI call")

// Record runs a program and leaves a recording. When ctx ends the run is ended, the recording is kept, and the result
// comes with the error. An error without a result means that there is no recording.
func Record(ctx context.Context, o RecordOptions) (*RecordResult, error) {
	if o.Dir == "" {
		return nil, refuse(nil, "No directory was named for the recording. Name one with -o NAME.cohort.")
	}
	o.Mode = cmp.Or(o.Mode, "order")
	mode, known := map[string]abi.Mode{
		"order": abi.ModeOrder, "racing": abi.ModeRacing, "full": abi.ModeFull,
	}[o.Mode]
	if !known {
		return nil, refuse(nil, "The recording mode %q was asked for; there are order, racing and full.", o.Mode)
	}
	options := launch.Options{
		Ranks: o.Ranks, Program: o.Program, Args: o.Args, Cwd: o.Cwd, Env: o.Env,
		Mode: launch.Run,
	}
	o.fill(&options)
	if err := launch.Check(&options); err != nil {
		return nil, err
	}
	tools, err := Tools(ctx, options.Program, o.Args, o.MPI, o.Note)
	if err != nil {
		return nil, err
	}
	yield, err := o.Yield.Decide(tools.Program.MPI, o.Ranks)
	if err != nil {
		return nil, err
	}
	rec, discard, err := o.create(ctx, tools, yield)
	if errors.As(err, new(*fs.PathError)) {
		return nil, refuse(err, "No recording can be made at %s: %v. Name another place with -o.", o.Dir, err)
	}
	if err != nil {
		return nil, err
	}
	var flags abi.Flag
	if yield {
		flags |= abi.FlagYield
		o.notef("There are more ranks (%d) than cores (%d), so blocking MPI calls yield the processor; "+
			"that changes timing (--yield off leaves them as they are).", o.Ranks, launch.Cores())
	}
	if o.RecordTime {
		flags |= abi.FlagRecordTime
	}
	options.Interpose = tools.Interpose(mode, flags)
	if options.Interpose.TraceDir, err = filepath.Abs(rec.Dir); err != nil {
		return nil, errors.Join(err, discard())
	}
	started := time.Now()
	session, err := launch.Start(ctx, options)
	if err != nil {
		return nil, errors.Join(err, discard())
	}
	for _, n := range session.Notes() {
		o.notef("%s", n)
	}
	result := &RecordResult{Recording: rec, Yield: yield, Refusals: map[int]string{}, Cut: map[int]string{}}
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	stopProgress := o.watchProgress(session, started, func() { end(errStalled) })
	result.Job = watchRecording(running, session, result.Refusals)
	result.Stalled = errors.Is(context.Cause(running), errStalled)
	last, interrupted := stopProgress(), context.Cause(ctx)
	result.Elapsed = time.Since(started)
	result.finish(session)
	if !o.Unpacked && result.Problem == nil {
		result.pack(ctx, &o, last)
	}
	if result.Problem == nil {
		result.Summary, result.Problem = recording.Summarize(rec)
	}
	return result, interrupted
}

// create makes the directory of the recording. discard takes it away again, as long as no rank has written into it.
func (o *RecordOptions) create(ctx context.Context, tools Toolchain, yield bool) (rec *recording.Recording,
	discard func() error, err error,
) {
	program, err := recording.IdentifyProgram(tools.Program.Path)
	if err != nil {
		return nil, nil, err
	}
	cwd, err := filepath.Abs(o.Cwd)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the working directory: %w", err)
	}
	_, statErr := os.Lstat(o.Dir)
	isNew := errors.Is(statErr, os.ErrNotExist)
	rec, err = recording.Create(o.Dir, recording.Meta{
		Cohort: launch.Version(), Command: append([]string{o.Program}, o.Args...), Cwd: cwd,
		Env: append(mpiEnv(), o.Env...), Ranks: o.Ranks,
		MPI:  recording.MPI{Kind: tools.Program.MPI.String(), Version: MPIVersion(ctx, tools.Installation.Mpiexec)},
		Mode: o.Mode, Yield: yield, RecordTime: o.RecordTime, Program: program, Interposer: tools.Library.Hash,
		Start: time.Now(),
	}, recording.CreateOptions{Overwrite: o.Overwrite})
	if err != nil {
		return nil, nil, err
	}
	discard = func() error {
		if !isNew {
			return nil
		}
		if err := os.Remove(filepath.Join(rec.Dir, "recording.json")); err != nil {
			return fmt.Errorf("removing the empty recording: %w", err)
		}
		os.Remove(rec.Dir) //nolint:errcheck // not empty: a rank wrote into it, and that is kept
		return nil
	}
	return rec, discard, nil
}

// watchRecording waits for the end of the run, or ends it when ctx does.
func watchRecording(ctx context.Context, session *launch.Session, refusals map[int]string) launch.Result {
	var group sync.WaitGroup
	var mu sync.Mutex
	for i, rank := range session.Ranks() {
		group.Go(func() {
			for event := range rank.Backend().Events() {
				if c := event.Control; c != nil && c.State == abi.StateRefused {
					mu.Lock()
					refusals[i] = c.Message
					mu.Unlock()
				}
			}
		})
	}
	stop := context.AfterFunc(ctx, func() {
		now, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		session.Stop(now)
	})
	defer stop()
	result := session.Wait()
	group.Wait()
	return result
}

// stopTimeout bounds how long a job that is ended gets to end in good order.
const stopTimeout = 10 * time.Second

// finish writes how the ranks ended into the recording, and counts what it holds.
func (r *RecordResult) finish(session *launch.Session) {
	ranks := make([]recording.RankMeta, len(r.Job.Ranks))
	for i, end := range r.Job.Ranks {
		info := session.Ranks()[i].Info()
		c := end.Control
		ranks[i] = recording.RankMeta{
			Rank: i, Host: info.Host, PID: info.Pid, End: rankEnd(end),
			Events: c.Events, Messages: c.Messages, Bytes: c.Bytes, Decisions: c.Decisions,
		}
		for op, n := range c.Calls {
			if ranks[i].Calls == nil {
				ranks[i].Calls = map[string]uint64{}
			}
			ranks[i].Calls[mpispec.Op(op).String()] = n
		}
		if c.Message != "" && c.State != abi.StateRefused {
			r.Cut[i] = c.Message
		}
		if c.Incomplete > 0 {
			ranks[i].Incomplete = &recording.IncompleteCall{
				Call: c.IncompleteCall, Event: c.IncompleteEvent,
				Count: uint64(c.Incomplete),
			}
		}
	}
	errs := make([]error, len(ranks))
	modules := make([][]*trace.Module, len(ranks))
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range ranks {
		slots <- struct{}{}
		group.Go(func() {
			modules[i], errs[i] = r.finishRank(i, &ranks[i])
			<-slots
		})
	}
	group.Wait()
	r.Problem = errors.Join(errs...)
	r.lastCalls(ranks, modules)
	r.Problem = errors.Join(r.Problem, r.Recording.Update(func(m *recording.Meta) {
		m.PerRank, m.Elapsed = ranks, r.Elapsed
	}))
}

// finishRank reads what the rank recorded. A rank that was ended before it had begun its trace gets an empty one.
func (r *RecordResult) finishRank(i int, rank *recording.RankMeta) ([]*trace.Module, error) {
	end := r.Job.Ranks[i]
	wasKilled := end.Exit == nil || end.Exit.Signal != ""
	// before its MPI_Init had ended
	inInit := wasKilled && end.Control.Present && end.Control.State == abi.StateNew
	// The library marks the control block first and makes the trace then. What it could not make it says.
	inInit = inInit || wasKilled && end.Control.Present && end.Control.State == abi.StateRunning &&
		rank.Events == 0 && end.Control.Message == ""
	if inInit || rank.Events == 0 && r.Recording.MadeNotBegun(i) {
		if err := r.Recording.WriteEmpty(i); err != nil {
			return nil, err
		}
	}
	d, err := r.Recording.Decisions(i, decisions.Options{})
	if incomplete, ok := errors.AsType[*decisions.IncompleteError](err); ok {
		if rank.Incomplete != nil && rank.Incomplete.Call == incomplete.Call {
			rank.Incomplete.Place = placeOf(incomplete)
		}
		d, err = r.Recording.Decisions(i, decisions.Options{AllowIncomplete: true})
	}
	if err != nil {
		return nil, err
	}
	rank.Unrecorded = d.Unrecorded.Names()
	for _, p := range d.Polls {
		rank.Polls += p.Failures
	}
	return d.Modules, nil
}

// pack packs the traces. Ctrl-C leaves them as they are.
func (r *RecordResult) pack(ctx context.Context, o *RecordOptions, progress RecordProgress) {
	// the run was interrupted: the traces are packed all the same, but a second signal must not wait for that
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	progress.ToPack = r.Recording.TraceSize()
	var mu sync.Mutex
	last := time.Time{}
	r.NotPacked = r.Recording.Pack(ctx, func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		progress.Packed += n
		if o.Progress != nil && time.Since(last) > progressEvery/4 {
			last = time.Now()
			o.Progress(progress)
		}
	})
}

func rankEnd(end launch.RankResult) recording.RankEnd {
	switch {
	case end.Exit == nil:
		return recording.RankEnd{How: recording.EndUnknown}
	case end.Exit.Signal != "":
		return recording.RankEnd{How: recording.EndSignal, Signal: end.Exit.Signal}
	case end.Exit.Code == 0 && end.Control.State == abi.StateFinalized:
		return recording.RankEnd{How: recording.EndFinalized}
	default:
		return recording.RankEnd{How: recording.EndExited, Code: end.Exit.Code}
	}
}
