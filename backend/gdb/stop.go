package gdb

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/backend/gdb/cli"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// stopFrames is how many frames a Stopped event carries.
const stopFrames = 16

// stop takes in *stopped: it continues by itself where the stop is none of the user's, and else publishes it.
func (o *owner) stop(r gdbmi.Record) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f := r.Fields()
	reason := f.OptString("reason")
	if strings.HasPrefix(reason, "exited") {
		o.exit(f)
		return
	}
	o.rearm(ctx)
	interrupted := reason == "signal-received" &&
		(f.OptString("signal-name") == "SIGINT" || f.OptString("signal-name") == "SIGSTOP") && o.interrupting > 0
	if interrupted {
		o.interrupting--
		if !o.pauseWanted {
			// The rank stopped for another reason before our interrupt reached it, and has been resumed since.
			if o.again(ctx) {
				return
			}
		}
	}
	// gdb gives no reason for the end of some finishes, such as those of an outer frame.
	if reason == "" && o.plan != nil && strings.HasPrefix(o.plan.command.Name(), "exec-") &&
		o.plan.command.Name() != "exec-continue" && o.plan.entry == nil {
		reason = "end-stepping-range"
	}
	if o.plan != nil && o.plan.then != nil && (reason == "function-finished" || reason == "end-stepping-range") {
		next, line := *o.plan.then, o.plan.thenLine
		o.plan = &plan{command: next}
		frame, _ := f.OptTuple("frame")
		// A call whose result nobody wants returns to the first instruction of the next line.
		if arrived := line != 0 && frame.OptInt("line", line) != line; !arrived && o.again(ctx) {
			return
		}
		reason = "end-stepping-range" // not the value that the interposer's function has returned
	}
	if p := o.plan; p != nil && p.leaves != "" && reason == "breakpoint-hit" && breakpointNumber(f) == p.leaves &&
		f.OptInt("thread-id", 1) == p.leavesThread && o.leaveOn(ctx, p.leavesThread) {
		return
	}
	s := o.describeStop(ctx, f, reason, interrupted)
	o.halt(ctx, s)
}

// again gives the present plan's command once more.
func (o *owner) again(ctx context.Context) bool {
	if o.plan == nil || o.plan.command.Name() == "" {
		return false
	}
	if _, err := o.send(ctx, o.plan.command); err != nil {
		o.b.Log.Warn("the rank could not be resumed unseen", "error", err)
		return false
	}
	return true
}

// leaveOn steps on out of an MPI call; false: the thread is in none.
func (o *owner) leaveOn(ctx context.Context, thread int) bool {
	if call, err := o.callFrames(ctx, thread); err != nil || call == 0 {
		return false
	}
	p := &plan{}
	if err := o.planStep(ctx, p, backend.ResumeRequest{Kind: backend.StepOut, Thread: thread}); err != nil {
		return false
	}
	o.plan = p
	if !o.again(ctx) {
		return false
	}
	o.bps.hit = nil
	return true
}

// breakpointNumber is gdb's number of the breakpoint that was hit, without that of its place.
func breakpointNumber(f *gdbmi.Fields) string {
	number, _, _ := strings.Cut(f.OptString("bkptno"), ".")
	return number
}

// warn logs what is missing from a stop, unless the backend is being ended: then everything is.
func (o *owner) warn(text string, err error) {
	if o.b.Life.Err() == nil {
		o.b.Log.Warn(text, "error", err)
	}
}

// halt completes s with frames, threads and the control block, and publishes it.
func (o *owner) halt(ctx context.Context, s backend.Stopped) {
	p := o.plan
	o.b.State, o.plan, o.pauseWanted = base.Stopped, nil, false
	o.atStopPoint = s.Reason == backend.ReasonStopPoint
	if s.Reason != backend.ReasonBreakpoint {
		o.hitNumber = ""
	}
	o.modules.Pid = o.pid
	var err error
	if s.Frames, err = o.frames(ctx, s.Thread, 0, stopFrames-1, true); err == nil {
		s.Frames, err = o.framesToUser(ctx, s.Thread, s.Frames)
	}
	if err != nil {
		o.warn("the stack of the stopped thread is not known", err)
	}
	if s.Threads, err = o.Threads(ctx); err != nil {
		o.warn("the threads are not known", err)
	}
	if p != nil && p.entry != nil {
		if s.Reason == backend.ReasonBreakpoint && len(s.Breakpoints) == 0 {
			s.Reason = backend.ReasonEntry
		}
		p.entry(&s, nil)
		return
	}
	o.b.Publish(backend.Event{Stopped: &s})
}

func (o *owner) describeStop(ctx context.Context, f *gdbmi.Fields, reason string, interrupted bool) backend.Stopped {
	s := backend.Stopped{Thread: f.OptInt("thread-id", 1)}
	if f.OptString("signal-name") == "0" {
		reason = "" // starti stops with "signal 0"
	}
	switch reason {
	case "breakpoint-hit":
		s.Reason = backend.ReasonBreakpoint
		o.describeHit(ctx, f, &s)
	case "end-stepping-range", "location-reached":
		s.Reason = backend.ReasonStep
	case "function-finished":
		s.Reason = backend.ReasonStep
		if v := f.OptString("return-value"); v != "" {
			s.Text = "The function returned " + v + "."
		}
	case "signal-received":
		if interrupted {
			s.Reason = backend.ReasonPause
			o.choosePaused(ctx, &s)
			break
		}
		s.Reason = backend.ReasonSignal
		s.Signal, s.SignalText = f.OptString("signal-name"), f.OptString("signal-meaning")
		o.describeSignal(ctx, &s)
	case "":
		s.Reason = backend.ReasonPause
		if o.plan != nil && o.plan.entry != nil {
			s.Reason = backend.ReasonEntry
		}
	default:
		if o.describeWatch(f, &s) {
			break
		}
		// Watchpoints, catchpoints, forks: what a console command asked gdb for.
		s.Reason = backend.ReasonBreakpoint
		s.Text = "Stopped by gdb: " + describeOther(f, reason) + "."
	}
	return s
}

func (o *owner) describeHit(ctx context.Context, f *gdbmi.Fields, s *backend.Stopped) {
	number := breakpointNumber(f)
	o.hitNumber = number
	switch number {
	case o.stopPoint:
		s.Reason = backend.ReasonStopPoint
		return
	case o.entry:
		s.Reason = backend.ReasonEntry
	}
	frame, _ := f.OptTuple("frame")
	pc, _ := frame.OptAddr("addr")
	s.Breakpoints = o.bps.hitAt(number, pc)
	if b := o.bps.ByID[number]; b != nil && b.Want.Catch != "" {
		s.Reason, s.Caught = backend.ReasonSignal, o.describeCaught(
			ctx,
			s.Thread,
			b.Want.Catch,
			frame.OptString("func"),
		)
	} else if len(s.Breakpoints) > 0 {
		s.Reason = backend.ReasonBreakpoint
	} else if s.Reason != backend.ReasonEntry {
		s.Text = fmt.Sprintf("Stopped at gdb's breakpoint %s, which a console command has set.", number)
	}
}

// choosePaused shows the main thread rather than the one that happened to take the interrupt, which is
// often one of the MPI library's.
func (o *owner) choosePaused(ctx context.Context, s *backend.Stopped) {
	if s.Thread == 1 {
		return
	}
	if _, err := o.send(ctx, gdbmi.Cmd("thread-select", "1")); err == nil {
		s.Thread = 1
	}
}

// describeSignal finds the address of a fault.
func (o *owner) describeSignal(ctx context.Context, s *backend.Stopped) {
	at := backend.FrameID{Thread: s.Thread}
	text, err := o.value(ctx, at, "$_siginfo.si_code")
	if err != nil {
		return
	}
	code, err := strconv.Atoi(text)
	if err != nil || !isFault(s.Signal, code) {
		return
	}
	v, err := o.value(ctx, at, "$_siginfo._sifields._sigfault.si_addr")
	if a, ok := cli.Number(v); ok && err == nil {
		faultAt(s, a)
	}
}

// isFault tells whether a signal has the address of a fault: the kernel sent it for one (0 and below: a process did),
// and knows the address (128, SI_KERNEL: it does not).
func isFault(signal string, code int) bool {
	const siKernel = 128
	return slices.Contains([]string{"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"}, signal) && code > 0 && code != siKernel
}

// faultAt notes the address of a fault. Address 0, which FaultAddr has no room for, is said in words.
func faultAt(s *backend.Stopped, addr uint64) {
	if s.FaultAddr = addr; addr == 0 {
		s.Text = "The address is 0x0: a null pointer."
	}
}

func describeOther(f *gdbmi.Fields, reason string) string {
	if wpt, ok := f.OptTuple("wpt"); ok {
		value, _ := f.OptTuple("value")
		return fmt.Sprintf("watchpoint on %s, which was %s and is %s", wpt.OptString("exp"), value.OptString("old"),
			value.OptString("new"))
	}
	return strings.ReplaceAll(reason, "-", " ")
}

func (o *owner) exit(f *gdbmi.Fields) {
	e := backend.Exited{Signal: f.OptString("signal-name"), Code: f.OptOctal("exit-code")}
	if err := f.Err(); err != nil {
		o.b.Log.Warn("gdb's record of the program's end is not understood", "error", err)
	}
	p := o.plan
	o.b.State, o.plan, o.interrupting, o.pauseWanted = base.Exited, nil, 0, false
	o.forget()
	if p != nil && p.entry != nil {
		p.entry(nil, &e)
		return
	}
	o.b.Publish(backend.Event{Exited: &e})
}
