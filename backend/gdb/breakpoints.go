package gdb

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// bp is one breakpoint of the user's that gdb has.
type bp struct {
	want   backend.SourceBreakpoint
	source string // as in the request
	number string // gdb's
	is     backend.Breakpoint
	times  int
	addrs  []uint64
}

// breakpoints are the user's.
type breakpoints struct {
	bySource map[string][]*bp
	byNumber map[string]*bp
	hit      []*bp // those whose count went up since the last resume
	logKeys  int
}

func newBreakpoints() breakpoints {
	return breakpoints{bySource: map[string][]*bp{}, byNumber: map[string]*bp{}}
}

// hitAt returns the IDs of those that were hit: gdb names one, and counts up each.
func (s *breakpoints) hitAt(number string, pc uint64) []int {
	var ids []int
	if b := s.byNumber[number]; b != nil {
		ids = append(ids, b.want.ID)
	}
	for _, b := range s.hit {
		if b.number != number && slices.Contains(b.addrs, pc) && b.want.LogMessage == "" {
			ids = append(ids, b.want.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// setBreakpoints keeps what is asked for again, so that its hits go on counting, removes the others
// and adds the new ones.
func (o *owner) setBreakpoints(ctx context.Context, req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error) {
	if o.state != stopped && o.state != running {
		return nil, &backend.StateError{Asked: "set breakpoints", State: o.state.String()}
	}
	if o.core != nil {
		return noBreakpoints(req), nil
	}
	old := o.bps.bySource[req.Source]
	kept := make([]*bp, 0, len(req.Breakpoints))
	for _, want := range req.Breakpoints {
		i := slices.IndexFunc(old, func(b *bp) bool { return b.number != "" && sameButID(b.want, want) })
		if i < 0 {
			kept = append(kept, &bp{want: want, source: req.Source})
			continue
		}
		b := old[i]
		old = slices.Delete(slices.Clone(old), i, i+1)
		b.want.ID, b.is.ID = want.ID, want.ID
		kept = append(kept, b)
	}
	for _, b := range old {
		if err := o.removeBreakpoint(ctx, b); err != nil {
			return nil, err
		}
	}
	o.bps.bySource[req.Source] = kept
	result := make([]backend.Breakpoint, len(kept))
	for i, b := range kept {
		if b.number == "" {
			if err := o.insertBreakpoint(ctx, b); err != nil {
				return nil, err
			}
		}
		result[i] = b.is
	}
	return result, nil
}

func sameButID(a, b backend.SourceBreakpoint) bool {
	a.ID = b.ID
	return a == b
}

func (o *owner) removeBreakpoint(ctx context.Context, b *bp) error {
	if b.number == "" {
		return nil
	}
	delete(o.bps.byNumber, b.number)
	_, err := o.send(ctx, gdbmi.Cmd("break-delete", b.number))
	if refusedByGdb(err) {
		return nil // a console command has deleted it
	}
	return err
}

// insertBreakpoint fills b.is; the error is only for a gdb that does not answer.
func (o *owner) insertBreakpoint(ctx context.Context, b *bp) error {
	b.is = backend.Breakpoint{ID: b.want.ID, Line: b.want.Line, Source: b.source}
	refuse := func(format string, args ...any) error {
		b.is.Message = fmt.Sprintf(format, args...)
		return nil
	}
	c := gdbmi.Cmd("break-insert", "-f")
	if h := strings.TrimSpace(b.want.HitCondition); h != "" {
		n, err := strconv.Atoi(h)
		if err != nil || n < 1 {
			return refuse("The hit condition %q is not a number from 1 up. Give the count of the first hit that is "+
				"to stop, such as 10.", h)
		}
		if b.want.LogMessage == "" {
			c = c.Opt("-i", strconv.Itoa(n-1))
		}
	}
	switch {
	case b.want.LogMessage != "":
		key, msg, err := o.registerLog(ctx, b.want)
		if err != nil {
			return err
		}
		if msg != "" {
			return refuse("%s", msg)
		}
		c = c.Opt("-c", fmt.Sprintf("$_cohort_log(%d)", key))
	case b.want.Condition != "":
		c = c.Opt("-c", b.want.Condition)
	}
	var what string
	switch {
	case b.source == "" && b.want.Function != "":
		what = "function " + b.want.Function
		c = c.Opt("--function", b.want.Function)
	case b.source != "" && b.want.Line > 0:
		what = fmt.Sprintf("%s:%d", filepath.Base(b.source), b.want.Line)
		c = c.Opt("--source", b.source, "--line", strconv.Itoa(b.want.Line))
	default:
		return refuse("A breakpoint needs a file and a line from 1 up, or a function.")
	}
	r, said, err := o.gdb.SendCapture(ctx, c)
	if refusedByGdb(err) {
		if b.want.Condition != "" && b.want.LogMessage == "" {
			return refuse("The breakpoint at %s with the condition %q is refused: %s.", what, b.want.Condition,
				message(err))
		}
		return refuse("The breakpoint at %s is refused: %s.", what, message(err))
	}
	if err != nil {
		return err
	}
	f := r.Fields()
	o.place(b, f.Tuple("bkpt"))
	if err := f.Err(); err != nil {
		return err
	}
	o.bps.byNumber[b.number] = b
	if !b.is.Verified {
		var why []string
		for _, s := range said {
			if s.Kind == gdbmi.Log {
				why = append(why, strings.TrimRight(strings.TrimSpace(s.Text), "."))
			}
		}
		b.is.Message = fmt.Sprintf("No code for %s is loaded: %s. It takes effect if a library that holds it is loaded.", what, strings.Join(why, "; "))
	}
	return nil
}

// place reads where gdb has put b.
func (o *owner) place(b *bp, f *gdbmi.Fields) {
	b.number = f.String("number")
	b.times = f.OptInt("times", 0)
	b.addrs = b.addrs[:0]
	at := f
	if a, ok := f.OptAddr("addr"); ok {
		b.addrs = append(b.addrs, a)
	}
	for loc := range f.Tuples("locations") {
		if a, ok := loc.OptAddr("addr"); ok {
			if len(b.addrs) == 0 {
				at = loc
			}
			b.addrs = append(b.addrs, a)
		}
	}
	b.is.Verified = len(b.addrs) > 0
	b.is.Message = ""
	if !b.is.Verified {
		return
	}
	if line := at.OptInt("line", 0); line > 0 {
		if b.want.Line > 0 && line != b.want.Line {
			b.is.Message = fmt.Sprintf("Line %d holds no code; the breakpoint is at line %d, in %s.", b.want.Line, line,
				functionOr(at.OptString("func")))
		}
		b.is.Line = line
	}
	if file := at.OptString("fullname"); file != "" {
		b.is.Source = file
	}
}

func functionOr(name string) string {
	if name == "" {
		return "no known function"
	}
	return name
}

func (o *owner) breakpointModified(f *gdbmi.Fields) {
	b := o.bps.byNumber[f.OptString("number")]
	if b == nil {
		return
	}
	was, times := b.is, b.times
	o.place(b, f)
	if b.times > times {
		o.bps.hit = append(o.bps.hit, b)
	}
	if !b.is.Verified && was.Message != "" {
		b.is.Message = was.Message
	}
	if b.is != was {
		is := b.is
		o.publish(backend.Event{Changed: &is})
	}
}

func (o *owner) breakpointDeleted(number string) {
	if n, err := strconv.Atoi(number); err == nil && n == o.stopPoint && n != 0 {
		// `delete` without a number takes ours along, and without it the job would never hear of a stop point.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := o.plantStopPoint(ctx); err != nil {
			o.b.log.Error("the breakpoint on cohort_stop_here was deleted and cannot be set again", "error", err)
		}
		return
	}
	b := o.bps.byNumber[number]
	if b == nil {
		return
	}
	delete(o.bps.byNumber, number)
	b.number = ""
	b.is.Verified = false
	b.is.Message = "A console command has deleted this breakpoint."
	is := b.is
	o.publish(backend.Event{Changed: &is})
}
