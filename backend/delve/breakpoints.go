package delve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/internal/logmessage"
)

// plant gives Delve a breakpoint.
func (o *owner) plant(set proc.SetBreakpoint) (int, error) {
	o.logical++
	l := &proc.LogicalBreakpoint{LogicalID: o.logical, HitCount: map[int64]uint64{}, Set: set}
	o.group.LogicalBreakpoints[l.LogicalID] = l
	if err := o.group.SetBreakpointEnabled(l, true); err != nil {
		delete(o.group.LogicalBreakpoints, l.LogicalID)
		return 0, err //nolint:wrapcheck // callers look at its type
	}
	return l.LogicalID, nil
}

func (o *owner) unplant(id int) error {
	l := o.group.LogicalBreakpoints[id]
	if l == nil {
		return nil
	}
	delete(o.group.LogicalBreakpoints, id)
	return o.group.SetBreakpointEnabled(l, false) //nolint:wrapcheck // Delve's words
}

func (o *owner) SetBreakpoints(_ context.Context, req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error) {
	if o.b.State != base.Stopped && o.b.State != base.Running {
		return nil, &backend.StateError{Asked: "set breakpoints", State: o.b.State.String()}
	}
	var result []backend.Breakpoint
	err := o.unseen(func() (err error) {
		result, err = o.bps.Replace(req, o.insert, o.unplant)
		return err
	})
	return result, err
}

// bp is one breakpoint of the user's; its ID is our number of it.
type bp = base.Breakpoint[int]

// insert gives Delve a breakpoint of the user's.
func (o *owner) insert(b *bp) error {
	if b.Source == backend.DataBreakpoints {
		b.Refuse("%v.", &backend.UnsupportedError{What: "A data breakpoint"})
		return nil
	}
	var parts []logmessage.Part
	var err error
	if b.Want.LogMessage != "" {
		if parts, err = logmessage.Parse(b.Want.LogMessage); err != nil {
			b.Refuse("%v", err)
			return nil
		}
	}
	var id int
	switch {
	case b.Want.Catch != "":
		id, err = o.plantCatch(b)
	case b.Source == backend.InstructionBreakpoints:
		id, err = o.plant(proc.SetBreakpoint{PidAddrs: []proc.PidAddr{{Pid: o.rank.pid, Addr: b.Want.Address}}})
	case b.Source == "":
		id, err = o.plantFunction(b.Want.Function)
	default:
		id, err = o.plantLine(b.Source, b.Want.Line)
	}
	if exists, ok := errors.AsType[proc.BreakpointExistsError](err); ok {
		b.Refuse("There is a breakpoint at %s:%d already, and Delve has one at each place.", filepath.Base(exists.File),
			exists.Line)
		return nil
	}
	if err != nil {
		b.Refuse("The breakpoint at %s is refused: %v.", b.What, err)
		return nil
	}
	logical := o.group.LogicalBreakpoints[id]
	hits := ""
	switch {
	case b.Hits.Every == 0:
		hits = fmt.Sprint("== ", b.Hits.First)
	case b.Hits.Every > 1:
		hits = fmt.Sprint("% ", b.Hits.Every)
	case b.Hits.First > 1:
		hits = fmt.Sprint(">= ", b.Hits.First)
	}
	condition := b.Want.Condition
	if b.Want.Catch == backend.CatchExit {
		condition = "code != 0"
	}
	if err := o.group.ChangeBreakpointCondition(logical, condition, hits, false); err != nil {
		b.Refuse("The breakpoint at %s with the condition %q is refused: %v.", b.What, b.Want.Condition, err)
		if err := o.unplant(id); err != nil {
			o.b.Log.Warn("a breakpoint that was refused is not removed", "error", err)
		}
		return nil
	}
	b.ID = id
	o.place(b, logical, parts)
	return nil
}

// place says where Delve has put a breakpoint.
func (o *owner) place(b *bp, logical *proc.LogicalBreakpoint, parts []logmessage.Part) {
	source, line := "", 0
	for _, at := range o.target().Breakpoints().M {
		if at.LogicalID() != b.ID {
			continue
		}
		if at.Line > 0 {
			source, line = at.File, at.Line
		}
		if parts != nil {
			at.UserBreaklet().SetCallback(func(th proc.Thread, t *proc.Target) (bool, error) {
				o.log(th, t, parts)
				return false, nil
			})
		}
	}
	b.Place(source, line, logical.FunctionName)
}

// catches are the functions through which what can be caught goes: one of them is there.
var catches = map[backend.Catch][]string{
	backend.CatchMPIErrors: {"ompi_errhandler_invoke", "MPIR_Err_return_comm"},
	backend.CatchMPIAbort:  {"PMPI_Abort"},
	backend.CatchExit:      {"os.Exit"},
}

func (o *owner) plantCatch(b *bp) (int, error) {
	if b.Want.Catch == backend.CatchExit && b.Want.Condition != "" {
		return 0, errors.New("a condition on exits can be a rank set only")
	}
	err := errors.New("a Go program has none; a panic that nobody recovers always stops")
	for _, function := range catches[b.Want.Catch] {
		var id int
		if id, err = o.plantFunction(function); err == nil {
			return id, nil
		}
	}
	return 0, err
}

// caught says what was caught.
var caught = map[backend.Catch]backend.Caught{
	backend.CatchMPIErrors: {Name: "MPI error", Text: "got an MPI error"},
	backend.CatchMPIAbort:  {Name: "MPI_Abort", Text: "called MPI_Abort"},
	backend.CatchExit:      {Name: "os.Exit", Text: "is about to exit with a status other than 0"},
}

// furthest is how many lines further on code is looked for, if a line holds none.
const furthest = 50

func (o *owner) plantLine(source string, line int) (int, error) {
	var first error
	for l := line; l < line+furthest; l++ {
		id, err := o.plant(proc.SetBreakpoint{File: source, Line: l})
		missing, ok := errors.AsType[*proc.ErrCouldNotFindLine](err)
		if !ok {
			return id, err
		}
		if first == nil {
			first = missing
		}
	}
	return 0, first
}

// plantFunction finds a function by its name with its package, without it if it is main's, or a symbol of C.
func (o *owner) plantFunction(name string) (int, error) {
	id, err := o.plant(proc.SetBreakpoint{FunctionName: name})
	if _, missing := errors.AsType[*proc.ErrFunctionNotFound](err); missing {
		if id, again := o.plant(proc.SetBreakpoint{FunctionName: "main." + name}); again == nil {
			return id, nil
		}
		if addr, again := o.SymbolAddress(o.b.Life, name); again == nil {
			return o.plant(proc.SetBreakpoint{PidAddrs: []proc.PidAddr{{Pid: o.rank.pid, Addr: addr}}})
		}
	}
	return id, err
}

// log prints a log message, while Delve runs the rank: it is called from there.
func (o *owner) log(th proc.Thread, t *proc.Target, parts []logmessage.Part) {
	scope, err := proc.GoroutineScope(t, th)
	var out strings.Builder
	for _, p := range parts {
		if p.Expr == "" {
			out.WriteString(p.Text)
			continue
		}
		if err != nil {
			fmt.Fprintf(&out, "<%v>", err)
			continue
		}
		v, evalErr := scope.EvalExpression(p.Expr, loadFull)
		if evalErr != nil {
			fmt.Fprintf(&out, "<%v>", evalErr)
			continue
		}
		out.WriteString(text(v))
	}
	o.b.Publish(backend.Event{Output: &backend.Output{Category: "console", Data: []byte(out.String() + "\n")}})
}
