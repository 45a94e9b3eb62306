package gdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/executable"
)

// settings are made before anything else. Those that a gdb may not know are allowed to fail.
var settings = []struct {
	command  gdbmi.Command
	optional bool
}{
	{gdbmi.Cmd("gdb-set", "mi-async", "on"), false}, // commands are taken while the program runs
	{gdbmi.Cmd("gdb-set", "non-stop", "off"), false},
	{gdbmi.Cmd("gdb-set", "confirm", "off"), false},
	{gdbmi.Cmd("gdb-set", "pagination", "off"), false},
	{gdbmi.Cmd("gdb-set", "width", "0"), false},
	{gdbmi.Cmd("gdb-set", "breakpoint", "pending", "on"), false},
	{gdbmi.Cmd("gdb-set", "debuginfod", "enabled", "off"), true}, // it would ask the network
	{gdbmi.Cmd("gdb-set", "print", "elements", "200"), false},
	{gdbmi.Cmd("gdb-set", "print", "finish", "on"), true},
	{gdbmi.Cmd("gdb-set", "host-charset", "UTF-8"), false}, // bytes as they are, whatever the launcher's LANG
	{gdbmi.Cmd("gdb-set", "target-charset", "UTF-8"), false},
	{gdbmi.Cmd("gdb-set", "unwindonsignal", "on"), false}, // an interrupted call leaves no frame of gdb's behind
	{gdbmi.Cmd("gdb-set", "max-value-size", "67108864"), true},
	{gdbmi.Cmd("gdb-set", "style", "enabled", "off"), true},
	{gdbmi.Cmd("enable-pretty-printing"), true},
	// What MPI libraries and their launchers use goes straight to the program. SIGTERM: a launcher
	// that ends the job must not be held up.
	{gdbmi.CLI("handle SIGALRM SIGVTALRM SIGPROF SIGCHLD SIGPIPE SIGUSR1 SIGUSR2 SIGURG SIGIO SIGWINCH SIGCONT " +
		"SIGTERM nostop noprint pass"), false},
	{gdbmi.CLI("handle SIGSEGV SIGABRT SIGFPE SIGBUS SIGILL stop print pass"), false},
	// A step must not end inside an MPI wrapper, whether it has debug information or not.
	{gdbmi.CLI(`skip -rfu ^[Pp]?(MPI|mpi)_`), true},
	{gdbmi.CLI(`skip -rfu ^cohort_`), true},
}

func (o *owner) Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	if o.b.State != base.NotStarted {
		return backend.LaunchResult{}, &backend.StateError{Asked: "launch", State: o.b.State.String()}
	}
	// Kill overtakes a launch that waits.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(o.b.Life, func() { cancel(&backend.EndedError{Why: "it was asked to"}) })
	defer stop()

	if req.Attach != 0 {
		return o.attach(ctx, req)
	}
	cwd, err := executable.WorkingDirectory(req)
	if err != nil {
		return backend.LaunchResult{}, err
	}
	req = executable.Script(req, cwd)
	path, err := executable.Find(req.Program, cwd)
	if err != nil {
		return backend.LaunchResult{}, err
	}
	env, err := splitEnvironment(os.Environ(), req.Env)
	if err != nil {
		return backend.LaunchResult{}, err
	}
	o.program = path
	if o.gdb == nil {
		if err := o.startGdb(ctx, req, cwd, env); err != nil {
			return backend.LaunchResult{}, err
		}
	}
	if req.Core != "" {
		return o.openCore(ctx, req)
	}
	res, err := o.launchIn(ctx, req, env)
	if err != nil && o.b.State == base.Starting {
		o.b.State = base.Exited
	}
	return res, err
}

func (o *owner) startGdb(ctx context.Context, req backend.LaunchRequest, cwd string, env environment) error {
	p, err := gdbmi.Start(ctx, gdbmi.Options{
		Path: req.DebuggerPath, Env: env.gdb, Dir: cwd, Log: o.b.Log, Transcript: o.b.opt.Transcript,
		Leave: o.attached, Patience: map[bool]time.Duration{true: letGo}[o.attached],
	})
	if err != nil {
		return base.NotLaunched(req, "gdb could not be started: %v. Install gdb (Debian, Ubuntu: apt install gdb), or "+
			"name it with --gdb.", err)
	}
	o.gdb, o.events = p, p.Events()
	o.b.proc.Store(p)
	if o.b.Life.Err() != nil {
		// Kill did not see the gdb that has just come up.
		_ = p.Close(context.Background())
		return &backend.EndedError{Why: "it was asked to"}
	}
	return nil
}

func (o *owner) launchIn(ctx context.Context, req backend.LaunchRequest, env environment) (
	backend.LaunchResult, error,
) {
	var none backend.LaunchResult
	if err := o.applySettings(ctx); err != nil {
		return backend.LaunchResult{}, err
	}
	o.python = o.addLogFunction(ctx)
	if _, err := o.send(ctx, gdbmi.Cmd("file-exec-and-symbols", o.program)); err != nil {
		return none, base.NotLaunched(req, "gdb cannot load %s: %v.", o.program, message(err))
	}
	args, shell := arguments(req.Args)
	lines := slices.Sorted(slices.Values(env.tell))
	if args != "" {
		lines = append(lines, "set args "+args)
	}
	onOff := map[bool]string{true: "on", false: "off"}
	lines = append(lines, "set startup-with-shell "+onOff[shell])
	if shell {
		// The shell is not to preload anything either: env, the last to run before the program, adds it.
		for i, l := range lines {
			if v, ok := strings.CutPrefix(l, "set environment LD_PRELOAD="); ok {
				lines[i] = "set exec-wrapper env " + shellQuote("LD_PRELOAD="+v)
			}
		}
	}
	for _, l := range lines {
		if _, err := o.send(ctx, gdbmi.CLI(l)); err != nil {
			return none, base.NotLaunched(req, "gdb refuses %q: %v.", l, message(err))
		}
	}
	if req.InferiorTTY != "" {
		if _, err := o.send(ctx, gdbmi.Cmd("inferior-tty-set", req.InferiorTTY)); err != nil {
			return none, base.NotLaunched(req, "gdb refuses the terminal %s: %v.", req.InferiorTTY, message(err))
		}
	}
	if err := o.plantOwn(ctx, req.HasControl); err != nil {
		return backend.LaunchResult{}, err
	}
	return o.runToEntry(ctx, req)
}

func (o *owner) applySettings(ctx context.Context) error {
	for _, s := range settings {
		if _, err := o.send(ctx, s.command); err != nil && !s.optional {
			return fmt.Errorf("gdb does not take a setting that Cohort needs: %w", err)
		}
	}
	version, err := o.consoleIn(ctx, backend.FrameID{}, "show version")
	o.version, _, _ = strings.Cut(version, "\n")
	return ended(err)
}

// plantOwn sets the breakpoints that are ours: at the entry and on the hook of the interposer.
func (o *owner) plantOwn(ctx context.Context, hasControl bool) error {
	if err := o.plantEntry(ctx); err != nil || !hasControl {
		return err
	}
	return o.plantStopPoint(ctx)
}

// plantEntry sets the breakpoint at the entry; a wrapper's is where it becomes another program.
func (o *owner) plantEntry(ctx context.Context) error {
	o.entry, o.stripped = "", false
	if o.wrapper = executable.IsWrapper(o.program); o.wrapper {
		_, err := o.send(ctx, gdbmi.CLI("tcatch exec"))
		return err
	}
	// gfortran's main program is MAIN__; its main() only calls that.
	for _, f := range []string{"MAIN__", "main"} {
		r, err := o.send(ctx, gdbmi.Cmd("break-insert", "-t", "--function", f))
		if refusedByGdb(err) {
			continue
		}
		if err != nil {
			return err
		}
		return o.enterAt(r)
	}
	o.stripped = true
	if !executable.Imports(o.program, libcStart) {
		return nil
	}
	// Unlike at the first instruction, libraries are loaded there.
	r, err := o.send(ctx, gdbmi.Cmd("break-insert", "-t", "-f", "--function", libcStart))
	if err != nil {
		return err
	}
	return o.enterAt(r)
}

// libcStart is the function of the C library that calls main.
const libcStart = "__libc_start_main"

func (o *owner) enterAt(r gdbmi.Record) error {
	fields := r.Fields()
	o.entry = fields.Tuple("bkpt").String("number")
	return fields.Err()
}

func (o *owner) plantStopPoint(ctx context.Context) error {
	r, err := o.send(ctx, gdbmi.Cmd("break-insert", "-f", "--function", "cohort_stop_here"))
	if err != nil {
		return err
	}
	fields := r.Fields()
	o.stopPoint = fields.Tuple("bkpt").String("number")
	return fields.Err()
}

func (o *owner) runToEntry(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	var res backend.LaunchResult
	run := gdbmi.Cmd("exec-run")
	if o.entry == "" && !o.wrapper {
		run = gdbmi.CLI("starti")
	}
	stop, err := o.enter(ctx, req, run)
	// What a wrapper becomes may be one, too.
	for err == nil && o.wrapper && stop.Reason == backend.ReasonEntry {
		if o.program, err = os.Readlink(fmt.Sprintf("/proc/%d/exe", o.pid)); err != nil {
			return res, fmt.Errorf("finding out which program it became: %w", err)
		}
		if err := o.plantEntry(ctx); err != nil {
			return res, err
		}
		if o.entry == "" && !o.wrapper {
			break // it has just begun
		}
		stop, err = o.enter(ctx, req, gdbmi.Cmd("exec-continue"))
	}
	if err != nil {
		return res, err
	}
	o.b.State = base.Stopped
	if stop.Reason == backend.ReasonEntry {
		stop.Text = "" // about the breakpoint, which is ours
	}
	res.Pid, res.Stop, res.Can.Debugger = o.pid, *stop, o.version
	if o.stripped {
		res.Notes = append(res.Notes, fmt.Sprintf(
			"%s has no symbol for its main function (it is stripped): it stops before that, "+
				"and functions and lines are unknown. Compile it with -g and do not strip it.", o.program))
	} else if note := debugNote(o.program, *stop); note != "" {
		res.Notes = append(res.Notes, note)
	}
	return res, nil
}

// enter runs the program until it stops for the first time.
func (o *owner) enter(ctx context.Context, req backend.LaunchRequest, run gdbmi.Command) (*backend.Stopped, error) {
	o.warnings = nil
	o.b.State = base.Starting
	var got *backend.Stopped
	var gone *backend.Exited
	o.plan = &plan{entry: func(s *backend.Stopped, e *backend.Exited) { got, gone = s, e }}
	if _, err := o.send(ctx, run); err != nil {
		return nil, o.cannotStart(req, err)
	}
	if err := o.pump(ctx, func() bool { return got != nil || gone != nil }); err != nil {
		return nil, err
	}
	switch {
	case gone != nil && o.wrapper:
		return nil, base.NotLaunched(req, "%s ended (%v) and never became another program, so there was nothing to "+
			"debug. A script must start the program that is to be debugged with exec, as in: exec ./prog \"$@\".",
			strings.Join(append([]string{req.Program}, req.Args...), " "), how(*gone))
	case gone != nil:
		return nil, base.NotLaunched(req, base.EndedEarly, o.program, how(*gone), o.program)
	}
	return got, nil
}

func how(e backend.Exited) string {
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// cannotStart says why -exec-run failed. gdb's reasons are in the warnings that it prints before the error.
func (o *owner) cannotStart(req backend.LaunchRequest, err error) error {
	ce, ok := errors.AsType[*gdbmi.CommandError](err)
	if !ok {
		return err
	}
	// The warnings were events before the answer; take those in that wait.
	for taken := true; taken; {
		select {
		case e, open := <-o.events:
			o.take(e, open)
			taken = open
		default:
			taken = false
		}
	}
	said := strings.Join(append(o.warnings, ce.Msg), " ")
	reason := fmt.Sprintf("%s could not be started: %s.", o.program, strings.TrimSuffix(said, "."))
	if strings.Contains(said, "ptrace") || strings.Contains(said, "Could not trace") {
		reason += base.NoPtrace
	}
	return base.NotLaunched(req, "%s", reason)
}

func debugNote(program string, s backend.Stopped) string {
	if len(s.Frames) > 0 && s.Frames[0].Line > 0 {
		return ""
	}
	return fmt.Sprintf("%s has no debug information: it runs and can be stopped, but its lines and variables are "+
		"unknown. Compile it with -g.", filepath.Base(program))
}

// refusedByGdb reports whether err is an answer of gdb's, and not that there was none.
func refusedByGdb(err error) bool {
	_, ok := errors.AsType[*gdbmi.CommandError](err)
	return ok
}

// message is gdb's own text of an error, without what it was asked.
func message(err error) string {
	if ce, ok := errors.AsType[*gdbmi.CommandError](err); ok {
		text := strings.TrimSuffix(ce.Msg, ".")
		if strings.Contains(text, "Couldn't write extended state status") {
			text += " (a gdb before 14 cannot set vector registers, nor call functions of the program, on this " +
				"processor)"
		}
		return text
	}
	return err.Error()
}
