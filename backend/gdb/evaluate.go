package gdb

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/backend/gdb/cli"
	"github.com/cohort-debugger/cohort/internal/effect"
)

func (o *owner) Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	expr := strings.TrimSpace(req.Expression)
	if req.Context == backend.ContextREPL {
		if line, ok := consoleLine(expr); ok {
			return o.evaluateConsole(ctx, req.Frame, line)
		}
	}
	if err := o.b.NeedStopped("evaluate " + expr); err != nil {
		return backend.EvaluateResult{}, err
	}
	if expr == "" {
		return backend.EvaluateResult{}, errors.New("there is no expression to evaluate")
	}
	o.b.evaluating.Store(true)
	defer o.b.evaluating.Store(false)
	if req.Context == backend.ContextREPL {
		return o.evaluatePrint(ctx, req, expr)
	}
	return o.evaluateQuietly(ctx, req, expr)
}

// consoleLine reports whether the text is a command for gdb itself.
func consoleLine(expr string) (string, bool) {
	if word, line, _ := strings.Cut(expr, " "); word == "-exec" && line != "" {
		return strings.TrimSpace(line), true
	}
	if line, ok := strings.CutPrefix(expr, "`"); ok {
		return strings.TrimSpace(line), true
	}
	return "", false
}

func (o *owner) evaluateConsole(ctx context.Context, at backend.FrameID, line string) (backend.EvaluateResult, error) {
	if o.gdb == nil {
		return backend.EvaluateResult{}, &backend.StateError{Asked: "run a command of gdb", State: o.b.State.String()}
	}
	o.b.evaluating.Store(o.b.State == base.Stopped)
	defer o.b.evaluating.Store(false)
	if o.b.State != base.Stopped {
		at = backend.FrameID{}
	}
	if err := o.needsNoProcess(line); err != nil {
		return backend.EvaluateResult{}, err
	}
	text, err := o.consoleIn(ctx, at, line)
	o.stale = true
	// What the command changed (breakpoints, the program's state) is known before the next request is looked at.
	if err := o.settle(ctx); err != nil {
		o.b.Log.Warn("what a console command has changed is not known yet", "command", line, "error", err)
	}
	if err != nil {
		return backend.EvaluateResult{}, fmt.Errorf("gdb refuses %q: %s", line, message(err))
	}
	return backend.EvaluateResult{Variable: backend.Variable{Value: text}, Text: text}, nil
}

func (o *owner) consoleIn(ctx context.Context, at backend.FrameID, line string) (string, error) {
	_, streams, err := o.capture(ctx, inFrame("interpreter-exec", at).Opt("console", line))
	var b strings.Builder
	for _, s := range streams {
		if !strings.HasPrefix(s.Text, logMark) {
			b.WriteString(s.Text)
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), err
}

var (
	printCommand = regexp.MustCompile(`^(?:p|print|output|inspect)(/\w+)?(?:\s+(.*))?$`)
	history      = regexp.MustCompile(`(?s)^(\$\d+) = (.*)$`)
)

// evaluatePrint evaluates once, effects included, by gdb's print, and shows the result's structure
// from gdb's value history.
func (o *owner) evaluatePrint(ctx context.Context, req backend.EvaluateRequest, expr string) (
	backend.EvaluateResult, error,
) {
	format := ""
	if m := printCommand.FindStringSubmatch(expr); len(m) == 3 && m[2] != "" {
		format, expr = m[1], m[2]
	}
	text, expr, err := named(ctx, o, req.Frame, expr, func(expr string) (string, error) {
		return o.consoleIn(ctx, req.Frame, "print -- "+format+" "+expr)
	})
	o.stale = true
	if err != nil {
		return backend.EvaluateResult{}, fmt.Errorf("cannot evaluate %s: %s", expr, message(err))
	}
	e := backend.EvaluateResult{Variable: backend.Variable{Name: expr, Value: text}, Text: text}
	m := history.FindStringSubmatch(text)
	if m == nil {
		return e, nil
	}
	e.Text, e.Value = m[2], m[2]
	n := &node{frame: req.Frame}
	v, err := o.createVar(ctx, req.Frame, m[1])
	if err != nil {
		return e, nil //nolint:nilerr // the value is there; only its structure is not
	}
	n.fortran = o.isFortran(ctx, req.Frame)
	s := o.show(ctx, n, expr, v, form{hex: format == "" && req.Hex, addresses: true})
	if format == "" && req.Hex {
		switch {
		case v.children == 0:
			e.Text, e.Value = s.Value, s.Value
		case isArray(v) && !floating.MatchString(v.typ):
			if hex, err := o.consoleIn(ctx, req.Frame, "output/x "+m[1]); err == nil {
				e.Text, e.Value = hex, hex
			}
		}
	}
	s.Value, s.EvaluateName = e.Value, expr
	e.Variable = s
	return e, nil
}

// evaluateQuietly evaluates without any effect on the program: three locks, because each alone has a
// gap (registers, convenience variables, calls of overloaded operators).
func (o *owner) evaluateQuietly(ctx context.Context, req backend.EvaluateRequest, expr string) (
	backend.EvaluateResult, error,
) {
	fortran := o.isFortran(ctx, req.Frame)
	if what := effect.Of(expr, fortran); what != "" {
		return backend.EvaluateResult{}, fmt.Errorf("%s is not evaluated here, because %s would change the program; "+
			"use the console for that", expr, what)
	}
	unlock, err := o.lockProgram(ctx)
	defer unlock()
	if err != nil {
		return backend.EvaluateResult{}, err
	}
	v, err := o.createVar(ctx, req.Frame, expr)
	if err != nil {
		return backend.EvaluateResult{}, fmt.Errorf("cannot evaluate %s: %s", expr, message(err))
	}
	if v.value == "" && v.children == 0 && !v.dynamic {
		// gdb makes an object also of what it cannot evaluate; the reason is had only this way.
		if _, err := o.value(ctx, req.Frame, expr); err != nil {
			return backend.EvaluateResult{}, fmt.Errorf("cannot evaluate %s: %s", expr, message(err))
		}
	}
	s := o.show(ctx, &node{frame: req.Frame, fortran: fortran}, expr, v, form{hex: req.Hex})
	s.Address = o.addressOf(ctx, req.Frame, expr)
	if req.Context == backend.ContextClipboard && s.Ref != 0 {
		if whole, err := o.value(ctx, req.Frame, expr); err == nil {
			s.Value = whole
		}
	}
	return backend.EvaluateResult{Variable: s, Text: s.Value}, nil
}

func (o *owner) SymbolAddress(ctx context.Context, name string) (uint64, error) {
	v, err := o.value(ctx, backend.FrameID{}, "&"+name)
	if addr, known := o.b.opt.Symbols[name]; known && refusedByGdb(err) {
		return addr, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the symbol %s has no address: %s", name, message(err))
	}
	a, ok := cli.Number(v)
	if !ok {
		return 0, fmt.Errorf("gdb's address of %s is %q, which is none", name, v)
	}
	return a, nil
}
