package delve

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/internal/lifetime"
)

// plan is what the present run is for.
type plan struct {
	step bool
	// then, after a stop that a run came to by itself: the next run of the plan, or nil if the rank is there.
	then func() func() error
}

// begin lets the rank run. The owner does not touch Delve until the run's end is on o.ran.
func (o *owner) begin(p *plan, run func() error) {
	o.plan, o.b.State = p, base.Running
	resumed, ended := make(chan nothing), make(chan nothing)
	o.resumed, o.ended = resumed, ended
	o.group.ResumeNotify(resumed)
	go func() {
		err := run()
		close(ended)
		o.ran <- err
	}()
}

func (o *owner) Resume(_ context.Context, req backend.ResumeRequest) error {
	if req.Kind == backend.Continue {
		o.forget()
		o.begin(&plan{}, o.group.Continue)
		return nil
	}
	thread := req.Thread
	if thread == 0 {
		thread = o.currentThread()
	}
	if err := o.choose(thread); err != nil {
		return err
	}
	p := &plan{step: true}
	run, err := o.planStep(p, req, thread)
	if err != nil {
		return fmt.Errorf("cannot %s: %w", req.Kind, err)
	}
	o.forget()
	o.begin(p, run)
	return nil
}

// choose makes a goroutine, or a thread without one, that which is stepped.
func (o *owner) choose(thread int) error {
	k, g, err := o.goroutine(thread)
	switch {
	case err != nil:
		return err
	case k.goroutine == 0:
		return o.target().SwitchThread(k.thread) //nolint:wrapcheck // Delve's words
	}
	return o.target().SwitchGoroutine(g) //nolint:wrapcheck // Delve's words
}

// planStep says how to step from the frame that the user sees. While the innermost ones are C's or the runtime's, as in
// a call through cgo, they are finished first.
func (o *owner) planStep(p *plan, req backend.ResumeRequest, thread int) (func() error, error) {
	raw, err := o.stack(thread)
	if err != nil {
		return nil, err
	}
	if req.Instruction {
		return func() error { return o.group.StepInstruction(req.Kind == backend.Next) }, nil
	}
	outer := o.userFrame(raw)
	line := raw[outer].Call.Line
	step := o.group.Next
	switch req.Kind { //nolint:exhaustive // Continue is no step
	case backend.StepIn:
		step = o.group.Step
	case backend.StepOut:
		if outer == 0 {
			return o.group.StepOut, nil
		}
		if outer+1 >= len(raw) {
			return nil, errors.New("nothing has called this function")
		}
		return o.group.Continue, o.stopIn(thread, raw[outer+1])
	}
	again := func() func() error {
		now, err := o.stack(o.currentThread())
		if err != nil {
			return nil
		}
		in := o.userFrame(now)
		switch {
		case in > 0 && o.currentThread() == thread: // stepped into a call through cgo, or a thread of its own
			if err := o.stopIn(thread, now[in]); err != nil {
				o.b.Log.Warn("a step ends where it is", "error", err)
				return nil
			}
			return o.group.Continue
		case len(now) == len(raw)-outer && now[0].Call.Line == line && now[0].Call.Fn == raw[outer].Call.Fn:
			return step // back in the middle of the line
		}
		return nil
	}
	if req.Kind == backend.StepIn {
		p.then = again
	}
	if outer == 0 {
		return step, nil
	}
	p.then = again
	return o.group.Continue, o.stopIn(thread, raw[outer])
}

// stopIn plants a breakpoint that the return of a goroutine into a frame ends at.
func (o *owner) stopIn(thread int, frame proc.Stackframe) error {
	k, err := o.numbers.key(thread)
	if err != nil {
		return err
	}
	var cond ast.Expr
	if k.goroutine != 0 {
		frame.SystemStack = false // Delve takes a goroutine that is in C to be on the system's stack altogether
		cond, err = parser.ParseExpr(fmt.Sprintf("runtime.curg.goid == %d && runtime.frameoff == %d", k.goroutine,
			frame.FrameOffset()))
		if err != nil {
			return err //nolint:wrapcheck // the text is ours
		}
	}
	_, err = o.target().SetBreakpoint(0, frame.Current.PC, proc.NextBreakpoint, cond)
	return err //nolint:wrapcheck // Delve's words
}

// Interrupt stops a running rank. Before Delve has let it go, the request would be lost.
func (o *owner) Interrupt(context.Context) error {
	if o.b.State != base.Running || o.pauseWanted {
		return nil
	}
	o.pauseWanted = true
	group, resumed, ended := o.group, o.resumed, o.ended
	go func() {
		select {
		case <-resumed:
		case <-ended:
			return
		}
		if err := group.RequestManualStop(); err != nil {
			o.b.Log.Debug("nothing to interrupt", "error", err)
		}
	}()
	return nil
}

// unseen does something for which the rank must be stopped, and lets it run again if it ran.
func (o *owner) unseen(f func() error) error {
	if o.b.State != base.Running {
		return f()
	}
	select {
	case <-o.resumed:
		if err := o.group.RequestManualStop(); err != nil {
			o.b.Log.Debug("nothing to interrupt", "error", err)
		}
	case <-o.ended:
	}
	ended := <-o.ran
	if _, gone := exitOf(ended); gone || zombie(o.rank.pid) {
		o.runEnded(ended)
		return &backend.StateError{Asked: "set breakpoints", State: o.b.State.String()}
	}
	p := o.plan
	o.b.State = base.Stopped
	err := f()
	if ended != nil || o.pauseWanted || o.target().StopReason != proc.StopManual || o.atBreakpoint() {
		o.runEnded(ended)
		return err
	}
	o.begin(p, o.group.Continue)
	return err
}

// atBreakpoint reports whether a thread is at a breakpoint, which an interrupt can arrive together with.
func (o *owner) atBreakpoint() bool {
	for _, th := range o.target().ThreadList() {
		if at := th.Breakpoint(); at != nil && at.Active && at.Breakpoint != nil && at.Breakpoint.Logical != nil {
			return true
		}
	}
	return false
}

// zombie reports whether a process has ended, or is not there any more.
func zombie(pid int) bool {
	_, alive := lifetime.StartTime(pid)
	return !alive
}
