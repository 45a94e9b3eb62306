package delve

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/logmessage"
)

// bp is one breakpoint of the user's.
type bp struct {
	want backend.SourceBreakpoint
	id   int // Delve's; 0: it has none
	is   backend.Breakpoint
}

type breakpoints struct {
	bySource map[string][]*bp
	byID     map[int]*bp
	last     int
}

func newBreakpoints() breakpoints {
	return breakpoints{bySource: map[string][]*bp{}, byID: map[int]*bp{}}
}

// plant gives Delve a breakpoint.
func (o *owner) plant(set proc.SetBreakpoint) (int, error) {
	o.bps.last++
	l := &proc.LogicalBreakpoint{LogicalID: o.bps.last, HitCount: map[int64]uint64{}, Set: set}
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

// setBreakpoints keeps what is asked for again, so that its hits go on counting, removes the others and adds the new
// ones.
func (o *owner) setBreakpoints(req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error) {
	if o.state != stopped && o.state != running {
		return nil, &backend.StateError{Asked: "set breakpoints", State: o.state.String()}
	}
	var result []backend.Breakpoint
	err := o.unseen(func() error {
		old := slices.Clone(o.bps.bySource[req.Source])
		all := make([]*bp, len(req.Breakpoints))
		for i, want := range req.Breakpoints {
			all[i] = &bp{want: want}
			same := slices.IndexFunc(old, func(b *bp) bool {
				before := b.want
				before.ID = want.ID
				return b.id != 0 && before == want
			})
			if same >= 0 {
				all[i] = old[same]
				old = slices.Delete(old, same, same+1)
				all[i].want.ID, all[i].is.ID = want.ID, want.ID
			}
		}
		for _, b := range old {
			delete(o.bps.byID, b.id)
			if err := o.unplant(b.id); err != nil {
				return err
			}
		}
		o.bps.bySource[req.Source] = all
		for _, b := range all {
			if b.id == 0 {
				o.insert(b, req.Source)
			}
			result = append(result, b.is)
		}
		return nil
	})
	return result, err
}

// insert gives Delve a breakpoint of the user's, and fills b.is.
func (o *owner) insert(b *bp, source string) {
	b.is = backend.Breakpoint{ID: b.want.ID, Line: b.want.Line, Source: source}
	refuse := func(format string, args ...any) { b.is.Message = fmt.Sprintf(format, args...) }
	hits := ""
	if h := strings.TrimSpace(b.want.HitCondition); h != "" {
		if n, err := strconv.Atoi(h); err != nil || n < 1 {
			refuse("The hit condition %q is not a number from 1 up. Give the count of the first hit that is to stop, "+
				"such as 10.", h)
			return
		}
		hits = ">= " + h
	}
	var parts []logmessage.Part
	if b.want.LogMessage != "" {
		var err error
		if parts, err = logmessage.Parse(b.want.LogMessage); err != nil {
			refuse("%v", err)
			return
		}
	}
	var what string
	var err error
	switch {
	case source == "" && b.want.Function != "":
		what = "function " + b.want.Function
		b.id, err = o.plantFunction(b.want.Function)
	case source != "" && b.want.Line > 0:
		what = fmt.Sprintf("%s:%d", filepath.Base(source), b.want.Line)
		b.id, err = o.plantLine(source, b.want.Line)
	default:
		refuse("A breakpoint needs a file and a line from 1 up, or a function.")
		return
	}
	if exists, ok := errors.AsType[proc.BreakpointExistsError](err); ok {
		refuse("There is a breakpoint at %s:%d already, and Delve has one at each place.", filepath.Base(exists.File),
			exists.Line)
		return
	}
	if err != nil {
		refuse("The breakpoint at %s is refused: %v.", what, err)
		return
	}
	logical := o.group.LogicalBreakpoints[b.id]
	if err := o.group.ChangeBreakpointCondition(logical, b.want.Condition, hits, false); err != nil {
		refuse("The breakpoint at %s with the condition %q is refused: %v.", what, b.want.Condition, err)
		if err := o.unplant(b.id); err != nil {
			o.b.log.Warn("a breakpoint that was refused is not removed", "error", err)
		}
		b.id = 0
		return
	}
	o.bps.byID[b.id] = b
	o.place(b, logical, parts)
}

// place says where Delve has put a breakpoint.
func (o *owner) place(b *bp, logical *proc.LogicalBreakpoint, parts []logmessage.Part) {
	b.is.Verified = true
	for _, at := range o.target().Breakpoints().M {
		if at.LogicalID() != b.id {
			continue
		}
		if at.Line > 0 {
			b.is.Line, b.is.Source = at.Line, at.File
		}
		if parts != nil {
			at.UserBreaklet().SetCallback(func(th proc.Thread, t *proc.Target) (bool, error) {
				o.log(th, t, parts)
				return false, nil
			})
		}
	}
	if b.want.Line > 0 && b.is.Line != b.want.Line {
		b.is.Message = fmt.Sprintf("Line %d holds no code; the breakpoint is at line %d, in %s.", b.want.Line,
			b.is.Line, logical.FunctionName)
	}
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
		if addr, again := o.symbolAddress(name); again == nil {
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
	o.b.publish(backend.Event{Output: &backend.Output{Category: "console", Data: []byte(out.String() + "\n")}})
}
