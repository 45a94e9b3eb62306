package gdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/modules"
)

// plan is what the present run is for.
type plan struct {
	command gdbmi.Command // as given, to be given again when a stop is none of the user's
	// after the first stop by which command is done: a step out of the interposer, then the user's
	then *gdbmi.Command
	// where the user was: a way out of the interposer that ends on another line was the step; 0: it never is
	thenLine int
	// a step out of an MPI call that began at this breakpoint of gdb's: another place of it within the call, MPI's own
	// function below the interposer's, does not end it; "": every breakpoint does
	leaves       string
	leavesThread int
	// towards the entry, not nil: is told of the stop there, or of the program's end before it
	entry func(*backend.Stopped, *backend.Exited)
}

func (o *owner) Resume(ctx context.Context, req backend.ResumeRequest) error {
	if err := o.notCore(req.Kind.String()); err != nil {
		return err
	}
	p := &plan{}
	if req.Kind == backend.Continue {
		p.command = gdbmi.Cmd("exec-continue")
	} else if err := o.planStep(ctx, p, req); err != nil {
		return err
	}
	o.dropRefs(ctx)
	if _, err := o.send(ctx, p.command); err != nil {
		if ce, ok := errors.AsType[*gdbmi.CommandError](err); ok {
			return fmt.Errorf("cannot %s: %s", req.Kind, ce.Msg)
		}
		return err
	}
	o.plan = p
	o.resumed()
	return nil
}

// planStep says how to step from the frame that the user sees: while the innermost ones are inside the
// interposer, they are finished first. A step out from within an MPI call leaves the call; but at a stop point, where
// the call only is the place up to which the program has come, it leaves the function that the user sees.
func (o *owner) planStep(ctx context.Context, p *plan, req backend.ResumeRequest) error {
	thread := req.Thread
	if thread == 0 {
		thread = o.currentThread(ctx)
	}
	internal, line, err := o.internalFrames(ctx, thread)
	if err != nil {
		return err
	}
	step := gdbmi.Cmd("exec-next")
	switch {
	case req.Kind == backend.StepIn && req.Instruction:
		step = gdbmi.Cmd("exec-step-instruction")
	case req.Kind == backend.StepIn:
		step = gdbmi.Cmd("exec-step")
	case req.Kind == backend.Next && req.Instruction:
		step = gdbmi.Cmd("exec-next-instruction")
	case req.Kind == backend.StepOut:
		if call, err := o.callFrames(ctx, thread); err != nil {
			return err
		} else if call > 0 && !o.atStopPoint {
			internal, p.leaves, p.leavesThread = call-1, o.hitNumber, thread
		}
		p.command = gdbmi.Cmd("exec-finish").Thread(thread).Frame(internal)
		return nil
	case req.Kind != backend.Next:
		return &backend.UnsupportedError{What: req.Kind.String()}
	}
	step = step.Thread(thread)
	if internal == 0 {
		p.command = step
		return nil
	}
	p.command = gdbmi.Cmd("exec-finish").Thread(thread).Frame(internal - 1)
	p.then = &step
	if !req.Instruction {
		p.thenLine = line
	}
	return nil
}

// callFrames counts the innermost frames that are an MPI call's: those above the innermost of the user's code, if one
// of them is MPI's or the interposer's. 0: the thread is in no MPI call.
func (o *owner) callFrames(ctx context.Context, thread int) (int, error) {
	frames, err := o.frames(ctx, thread, 0, mostFrames-1, false)
	if err != nil {
		return 0, err
	}
	user := slices.IndexFunc(frames, func(f backend.Frame) bool { return f.User })
	if user < 0 || !slices.ContainsFunc(frames[:user], func(f backend.Frame) bool {
		return f.Internal || modules.OwnerOf(f.Module, o.program) == modules.MPI
	}) {
		return 0, nil
	}
	return user, nil
}

// internalFrames counts the innermost frames that belong to the interposer. line is that of the frame that called it.
func (o *owner) internalFrames(ctx context.Context, thread int) (n, line int, err error) {
	frames, err := o.frames(ctx, thread, 0, 15, false)
	if err != nil {
		return 0, 0, err
	}
	for n < len(frames) && frames[n].Internal {
		n++
	}
	if n == len(frames) {
		return 0, 0, nil
	}
	return n, frames[n].Line, nil
}

// resumed notes that the rank runs.
func (o *owner) resumed() {
	o.b.State = base.Running
	o.forget()
	o.bps.hit = nil
	o.pauseWanted, o.interrupted = false, false
}

func (o *owner) currentThread(ctx context.Context) int {
	r, err := o.send(ctx, gdbmi.Cmd("thread-info"))
	if err != nil {
		return 1
	}
	return r.Fields().OptInt("current-thread-id", 1)
}

// interrupt stops a running rank. gdb does it by SIGINT to the process; a program in which every
// thread blocks that gets a SIGSTOP, which none can block.
func (o *owner) Interrupt(ctx context.Context) error {
	if o.b.State != base.Running && o.b.State != base.Starting || o.gdb == nil {
		return nil
	}
	o.pauseWanted = true
	if o.interrupted {
		return nil
	}
	if blocksSignal(o.pid, unix.SIGINT) {
		if _, err := o.send(ctx, gdbmi.CLI("handle SIGSTOP stop print nopass")); err != nil {
			return err
		}
		if err := unix.Kill(o.pid, unix.SIGSTOP); err != nil {
			return fmt.Errorf("the program (process %d) cannot be stopped: %w", o.pid, err)
		}
		o.signalSent()
		return nil
	}
	_, err := o.send(ctx, gdbmi.Cmd("exec-interrupt"))
	if ce, ok := errors.AsType[*gdbmi.CommandError](err); ok {
		// It has stopped or ended in this moment; the record of that is on its way.
		o.b.Log.Debug("nothing to interrupt", "gdb", ce.Msg)
		return nil
	}
	if err == nil {
		o.signalSent()
	}
	return err
}

// signalSent: one that was sent before the rank was resumed may still come, besides the one that was sent now.
func (o *owner) signalSent() {
	o.interrupting = min(o.interrupting, 1) + 1
	o.interrupted = true
}

// blocksSignal reports whether every thread of the process blocks the signal.
func blocksSignal(pid int, sig unix.Signal) bool {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		return false
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has just ended
		}
		_, mask, ok := strings.Cut(string(text), "\nSigBlk:\t")
		if !ok {
			return false
		}
		mask, _, _ = strings.Cut(mask, "\n")
		bits, err := strconv.ParseUint(mask, 16, 64)
		if err != nil || bits&(1<<(uint(sig)-1)) == 0 {
			return false
		}
	}
	return true
}
