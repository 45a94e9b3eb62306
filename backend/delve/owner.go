package delve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/proc"
	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/internal/executable"
	"github.com/cohort-debugger/cohort/internal/modules"
)

// owner is the goroutine that owns the rank, and but for the one that runs it, the only one that touches Delve.
type owner struct {
	b     *Backend
	rank  *started
	group *proc.TargetGroup

	program   string
	goroot    string // where the sources of Go itself were, with a slash at the end; "": not known
	stopPoint int    // Delve's number of the breakpoint on cohort_stop_here; 0 none
	bps       base.Breakpoints[int]
	logical   int // the last of our numbers of breakpoints

	ran         chan error     // how a run ended
	resumed     <-chan nothing // closed when the rank of the present run really runs
	ended       <-chan nothing // closed when that run is over, before its outcome is on ran
	plan        *plan          // what it is for
	pauseWanted bool           // Interrupt was called since the last stop was published

	modules modules.Map
	symbols map[string]*symbolTable
	numbers numbers

	deaths chan os.Signal            // a child, which is the program, has changed its state
	stacks map[int][]proc.Stackframe // of this stop, by thread
	refs   base.Refs[*node]
	done   bool
}

func (o *owner) run() {
	signal.Notify(o.deaths, unix.SIGCHLD)
	defer signal.Stop(o.deaths)
	for !o.done {
		// What overtakes comes first; select alone would choose at random.
		select {
		case f := <-o.b.Urgent:
			f()
			continue
		default:
		}
		select {
		case f := <-o.b.Urgent:
			f()
		case f := <-o.b.Calls:
			f()
		case err := <-o.ran:
			o.runEnded(err)
		case <-o.deaths:
			if o.b.State == base.Stopped && zombie(o.rank.pid) { // somebody else has killed it
				o.gone(o.reap())
			}
		case <-o.killed():
			o.end()
		}
	}
}

// killed is ready once Kill was called, unless the end of a run will tell.
func (o *owner) killed() <-chan struct{} {
	if o.b.State == base.Running {
		return nil
	}
	return o.b.Life.Done()
}

// end ends the program, if it is there still, and the backend.
func (o *owner) end() {
	if o.b.State == base.Stopped {
		unix.Kill(o.rank.pid, unix.SIGKILL) //nolint:errcheck // it has ended by itself
		o.gone(o.reap())
	}
	o.done = true
	o.b.End("")
}

// gone notes that the program has ended, and lets go of it.
func (o *owner) gone(e backend.Exited) {
	o.b.State, o.plan, o.pauseWanted = base.Exited, nil, false
	o.forget()
	if err := o.group.Detach(true); err != nil { // which also ends Delve's thread
		o.b.Log.Debug("letting go of a program that has ended", "error", err)
	}
	o.rank.over()
	alone.Unlock()
	o.b.pid.Store(0)
	o.b.Publish(backend.Event{Exited: &e})
}

// reap waits for a program that has ended while it was stopped, and says how. It is not over before its threads are,
// for which nobody else waits: Delve does only while it runs the program.
func (o *owner) reap() backend.Exited {
	for _, th := range o.target().ThreadList() {
		if th.ThreadID() != o.rank.pid {
			unix.Wait4(th.ThreadID(), nil, unix.WALL, nil) //nolint:errcheck // it has ended before
		}
	}
	var status unix.WaitStatus
	switch _, err := unix.Wait4(o.rank.pid, &status, unix.WALL, nil); {
	case err == nil && status.Exited():
		return backend.Exited{Code: status.ExitStatus()}
	case err == nil && status.Signaled():
		return backend.Exited{Signal: signalName(status.Signal())}
	}
	return backend.Exited{Signal: "SIGKILL"}
}

// forget drops what holds for one stop only.
func (o *owner) forget() {
	o.refs.Clear()
	o.modules.Stale = true
	o.stacks = map[int][]proc.Stackframe{}
}

func (o *owner) target() *proc.Target { return o.group.Selected }

func (o *owner) Launch(_ context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	fail := func(format string, args ...any) (backend.LaunchResult, error) {
		return backend.LaunchResult{}, base.NotLaunched(req, format, args...)
	}
	if o.b.State != base.NotStarted {
		return backend.LaunchResult{}, &backend.StateError{Asked: "launch", State: o.b.State.String()}
	}
	if req.Core != "" {
		return backend.LaunchResult{}, &backend.UnsupportedError{What: "Opening a core file"}
	}
	cwd, err := executable.WorkingDirectory(req)
	if err != nil {
		return backend.LaunchResult{}, err
	}
	if o.program, err = executable.Find(req.Program, cwd); err != nil {
		return backend.LaunchResult{}, err
	}
	if !executable.IsGo(o.program) {
		return fail("%s is not a program that the Go tools built, so Delve cannot debug it. Leave out --debugger.",
			o.program)
	}
	if !alone.TryLock() {
		return backend.LaunchResult{}, &backend.UnsupportedError{What: "A second program in one process"}
	}
	if o.rank, err = start(o.program, req, cwd, executable.Environment(environ(), req.Env)); err != nil {
		alone.Unlock()
		return fail("%s", cannotStart(o.program, err))
	}
	o.group = o.rank.group
	o.group.KeepSteppingBreakpoints = proc.HaltKeepsSteppingBreakpoints
	o.b.pid.Store(int64(o.rank.pid))
	o.modules.Pid = o.rank.pid
	o.b.State = base.Stopped
	o.forget()
	if err := o.runToEntry(req.HasControl); err != nil {
		if code, gone := exitOf(err); gone {
			o.gone(code)
		} else {
			o.end()
		}
		return fail(base.EndedEarly, o.program, err, o.program)
	}
	stop := o.describe()
	stop.Reason, stop.Breakpoints = backend.ReasonEntry, nil
	return backend.LaunchResult{
		Pid: o.rank.pid, Stop: stop,
		Can: backend.Capabilities{Debugger: "Delve, for " + o.target().BinInfo().Producer(), Goroutines: true},
	}, nil
}

func cannotStart(program string, err error) string {
	reason := fmt.Sprintf("%s could not be started under Delve: %s.", program, strings.TrimSuffix(err.Error(), "."))
	switch {
	case errors.Is(err, unix.EPERM):
		reason += base.NoPtrace
	case strings.Contains(err.Error(), "debug"):
		reason += " Build it without -ldflags=-w or -s."
	}
	return reason
}

// runToEntry runs from the first instruction, which is the dynamic linker's, to main.main. On the way, where all
// libraries are mapped and none of the program has run, it plants the breakpoint on the interposer's hook.
func (o *owner) runToEntry(hasControl bool) error {
	entry, err := o.entryPoint()
	if err != nil {
		return err
	}
	if err := o.runTo([]uint64{entry}); err != nil {
		return err
	}
	o.modules.Stale = true
	if hasControl {
		addr, err := o.SymbolAddress(o.b.Life, "cohort_stop_here")
		if err == nil {
			o.stopPoint, err = o.plant(proc.SetBreakpoint{PidAddrs: []proc.PidAddr{{Pid: o.rank.pid, Addr: addr}}})
		}
		if err != nil { // as when the program is linked statically: nothing will park in it
			o.b.Log.Info("the rank has no stop points", "error", err)
		}
	}
	mains, err := proc.FindFunctionLocation(o.target(), "main.main", 0)
	if err != nil {
		return fmt.Errorf("finding its main function: %w", err)
	}
	if file, _, _ := o.target().BinInfo().PCToLine(mains[0]); file != "" {
		if fns, err := o.target().BinInfo().FindFunction("runtime.main"); err == nil && len(fns) > 0 {
			file, _ := o.target().BinInfo().EntryLineForFunc(fns[0])
			if dir := filepath.Dir(filepath.Dir(file)); filepath.IsAbs(dir) {
				o.goroot = dir + "/"
			}
		}
	}
	return o.runTo(mains)
}

// runTo lets the stopped rank run to one of the addresses, and waits for it.
func (o *owner) runTo(addrs []uint64) error {
	for _, a := range addrs {
		if _, err := o.target().SetBreakpoint(0, a, proc.NextBreakpoint, nil); err != nil {
			return err //nolint:wrapcheck // Delve's words
		}
	}
	return o.group.Continue() //nolint:wrapcheck // exitOf looks at it
}

// runEnded takes in that the rank has stopped, or is gone.
func (o *owner) runEnded(err error) {
	if e, gone := exitOf(err); gone {
		o.gone(e)
		return
	}
	if zombie(o.rank.pid) {
		o.gone(o.reap())
		return
	}
	o.b.State = base.Stopped
	o.forget()
	p := o.plan
	if err == nil && p != nil && p.then != nil && !o.pauseWanted && o.target().StopReason != proc.StopManual {
		if next := p.then(); next != nil {
			o.begin(p, next)
			return
		}
	}
	o.halt(err)
}

// exitOf is how the program ended, if that is what an error of Delve's says.
func exitOf(err error) (backend.Exited, bool) {
	gone, ok := errors.AsType[proc.ErrProcessExited](err)
	switch {
	case !ok:
		return backend.Exited{}, false
	case gone.Status < 0:
		return backend.Exited{Signal: signalName(unix.Signal(-gone.Status))}, true
	}
	return backend.Exited{Code: gone.Status}, true
}

func signalName(s unix.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

// halt publishes the stop that the rank is at. err is what Delve could not do on the way, such as evaluate a condition.
func (o *owner) halt(err error) {
	stop := o.describe()
	if err != nil {
		stop.Text = sentence(err)
	}
	o.plan, o.pauseWanted = nil, false
	o.b.Publish(backend.Event{Stopped: &stop})
}

func sentence(err error) string {
	return "Delve reports: " + strings.TrimSuffix(err.Error(), ".") + "."
}

// What Delve calls its own breakpoints (pkg/proc has the numbers, not exported).
const (
	unrecoveredPanic = -1
	fatalThrow       = -2
	hardcoded        = -3
)

// describe says why the rank is stopped.
func (o *owner) describe() backend.Stopped {
	t := o.target()
	s := backend.Stopped{Reason: backend.ReasonPause, Thread: o.currentThread()}
	switch t.StopReason { //nolint:exhaustive // the rest are pauses: nobody asked for a stop, and there is one
	case proc.StopNextFinished:
		s.Reason = backend.ReasonStep
	case proc.StopHardcodedBreakpoint:
		s.Reason, s.Text = backend.ReasonBreakpoint, "The program called runtime.Breakpoint."
	case proc.StopBreakpoint:
		o.describeHits(&s)
	}
	if o.plan != nil && o.plan.step && s.Reason == backend.ReasonPause && !o.pauseWanted {
		s.Reason = backend.ReasonStep
	}
	if s.Reason == backend.ReasonPause {
		// The main goroutine, rather than the one whose thread happened to take the interrupt.
		if err := o.choose(1); err == nil {
			s.Thread = 1
			o.leaveSwitch()
		}
	}
	var err error
	if s.Frames, err = o.frames(s.Thread); err != nil {
		o.b.Log.Warn("the stack of the stopped goroutine is not known", "error", err)
	}
	user := slices.IndexFunc(s.Frames, func(f backend.Frame) bool { return f.User })
	s.Frames = s.Frames[:min(len(s.Frames), max(stopFrames, user+1))]
	if s.Threads, err = o.Threads(o.b.Life); err != nil {
		o.b.Log.Warn("the goroutines are not known", "error", err)
	}
	return s
}

// leaveSwitch lets the chosen goroutine finish gogo: some instructions by which the runtime switches to it, amid which
// neither its registers nor what the runtime has saved of them tell its stack.
func (o *owner) leaveSwitch() {
	t := o.target()
	defer func(why proc.StopReason) { t.StopReason = why }(t.StopReason)
	const most = 20 // instructions; it has fewer
	for range most {
		g := t.SelectedGoroutine()
		if g == nil || g.Thread == nil {
			return
		}
		regs, err := g.Thread.Registers()
		if err != nil {
			return
		}
		if fn := t.BinInfo().PCToFunc(regs.PC()); fn == nil || fn.Name != gogo {
			return
		}
		if err := o.group.StepInstruction(false); err != nil {
			o.b.Log.Warn("the goroutine stopped amid a switch to it", "error", err)
			return
		}
	}
}

// stopFrames is how many frames a Stopped event carries, unless the user's code is further out.
const stopFrames = 16

// describeHits says which breakpoints the threads have reached: several can have arrived at once.
func (o *owner) describeHits(s *backend.Stopped) {
	s.Reason = backend.ReasonBreakpoint
	for _, th := range o.target().ThreadList() {
		at := th.Breakpoint()
		if at == nil || !at.Active || at.Breakpoint == nil {
			continue
		}
		switch id := at.LogicalID(); {
		case id == unrecoveredPanic || id == fatalThrow:
			s.Reason, s.Signal, s.SignalText = backend.ReasonSignal, "panic", "unrecovered panic"
			if id == fatalThrow {
				s.Signal, s.SignalText = "fatal error", "the Go runtime gave up"
			} else if text := o.panicText(); text != "" {
				s.SignalText = text
			}
		case o.stopPoint != 0 && id == o.stopPoint:
			s.Reason = backend.ReasonStopPoint
		default:
			if b := o.bps.ByID[id]; b != nil {
				s.Breakpoints = append(s.Breakpoints, b.Want.ID)
				if is, ok := caught[b.Want.Catch]; ok {
					s.Reason, s.Caught = backend.ReasonSignal, &is
				}
			}
		}
	}
	slices.Sort(s.Breakpoints)
}

// panicText is what the program panicked with.
func (o *owner) panicText() string {
	scope, err := proc.GoroutineScope(o.target(), o.target().CurrentThread())
	if err != nil {
		return ""
	}
	v, err := scope.EvalExpression("runtime.curg._panic.arg", loadFull)
	if err != nil {
		return ""
	}
	return text(v)
}

// machine names the architecture as BFD does.
func machine() string {
	if name, ok := map[string]string{"amd64": "i386:x86-64", "arm64": "aarch64"}[runtime.GOARCH]; ok {
		return name
	}
	return runtime.GOARCH
}
