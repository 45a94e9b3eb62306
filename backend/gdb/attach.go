package gdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// letGo is how long gdb may take to leave a rank in good order: one that is killed leaves its breakpoints in it.
const letGo = time.Minute

// attach makes the rank be a process that runs, and stops it where it is.
func (o *owner) attach(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	var none backend.LaunchResult
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", req.Attach))
	if err != nil {
		return none, base.NotLaunched(req, "Process %d cannot be looked at: %v.%s", req.Attach, errors.Unwrap(err),
			base.MayAttach)
	}
	o.program, o.attached = strings.TrimSuffix(exe, " (deleted)"), true
	if err := o.startGdb(ctx, req, req.Cwd, environment{}); err != nil {
		return none, err
	}
	res, err := o.attachIn(ctx, req)
	if err != nil && o.b.State == base.Starting {
		o.b.State = base.Exited
	}
	return res, err
}

func (o *owner) attachIn(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	var res backend.LaunchResult
	if err := o.applySettings(ctx); err != nil {
		return res, err
	}
	o.python = o.addLogFunction(ctx)
	var got *backend.Stopped
	var gone *backend.Exited
	o.b.State, o.pauseWanted = base.Starting, true
	o.plan = &plan{entry: func(s *backend.Stopped, e *backend.Exited) { got, gone = s, e }}
	if _, err := o.send(ctx, gdbmi.Cmd("target-attach", fmt.Sprint(req.Attach))); err != nil {
		ce, refused := errors.AsType[*gdbmi.CommandError](err)
		if !refused {
			return res, err
		}
		text := fmt.Sprintf("gdb cannot attach to process %d: %s.", req.Attach, strings.TrimSuffix(ce.Msg, "."))
		if strings.Contains(ce.Msg, "not permitted") {
			text += base.MayAttach
		}
		return res, base.NotLaunched(req, "%s", text)
	}
	if err := o.pump(ctx, func() bool { return got != nil || gone != nil }); err != nil {
		return res, err
	}
	if gone != nil {
		return res, base.NotLaunched(req, "Process %d ended (%v) while gdb attached to it.", req.Attach, how(*gone))
	}
	got.Reason, got.Text = backend.ReasonPause, ""
	o.b.State = base.Stopped
	res.Pid, res.Stop, res.Can.Debugger = req.Attach, *got, o.version
	if note := debugNoteCore(o.program, *got); note != "" {
		res.Notes = append(res.Notes, note)
	}
	return res, nil
}
