package gdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// insertWatch gives gdb a data breakpoint; the error is only for a gdb that does not answer. gdb tells only when a
// program is resumed that the processor has no room for another one, and then refuses to resume it. So it is made to
// put breakpoints into the program at once meanwhile.
func (o *owner) insertWatch(ctx context.Context, b *bp) error {
	if o.b.State != base.Stopped {
		b.Refuse("A data breakpoint is set while the rank is stopped, and it is %s: pause it, and set it again.",
			o.b.State)
		return nil
	}
	atOnce := gdbmi.Cmd("gdb-set", "breakpoint", "always-inserted")
	if _, err := o.send(ctx, atOnce.Opt("on")); err != nil {
		return err
	}
	err := o.watch(ctx, b)
	_, lifted := o.send(ctx, atOnce.Opt("off"))
	return cmp.Or(err, lifted)
}

func (o *owner) watch(ctx context.Context, b *bp) error {
	before, err := o.lastBreakpoint(ctx)
	if err != nil {
		return err
	}
	w := b.Want.Watch
	c := inFrame("break-watch", w.Frame)
	switch w.Access {
	case backend.Write, "":
	case backend.Read:
		c = c.Opt("-r")
	case backend.ReadWrite:
		c = c.Opt("-a")
	}
	_, refusal := o.send(ctx, c.Opt(w.Expression))
	if refusal != nil && !refusedByGdb(refusal) {
		return refusal
	}
	number, err := o.lastBreakpoint(ctx)
	if err != nil {
		return err
	}
	kind := ""
	if refusal == nil {
		if kind, refusal, err = o.refineWatch(ctx, b, number); err != nil {
			return err
		}
	}
	switch {
	case refusal != nil && number != before && kind == "":
		b.Refuse(
			"The processor has no room to watch %s as well: it watches few places at once (on x86 four, of 8 bytes "+
				"each), in which all data breakpoints of the rank must fit.",
			b.What,
		)
	case refusal != nil:
		b.RefusedBy(message(refusal))
	case kind == "watchpoint":
		b.Refuse("%s cannot be watched by the processor, which watches few bytes of memory at once (on x86 four times "+
			"8), and without it the rank would run some thousand times slower. Watch a part of it.", b.What)
	default:
		b.ID = number
		b.Is.Verified, b.Is.Message = true, ""
		o.bps.places[number] = place{}
		return nil
	}
	if number == before {
		return nil
	}
	_, err = o.send(ctx, gdbmi.Cmd("break-delete", number))
	return err
}

// refineWatch gives a watchpoint its conditions, and says which type it has in gdb's table of breakpoints: what gdb
// cannot have the processor watch has another one.
func (o *owner) refineWatch(ctx context.Context, b *bp, number string) (kind string, refusal, err error) {
	r, err := o.send(ctx, gdbmi.Cmd("break-info", number))
	if err != nil {
		return "", nil, err
	}
	f := r.Fields()
	for row := range f.Tuple("BreakpointTable").Tuples("body") {
		kind = row.OptString("type")
	}
	if err := f.Err(); err != nil {
		return "", nil, err
	}
	refine := func(c gdbmi.Command) {
		if refusal != nil || err != nil {
			return
		}
		if _, err = o.send(ctx, c); refusedByGdb(err) {
			refusal, err = err, nil
		}
	}
	if b.Want.Condition != "" {
		refine(gdbmi.Cmd("break-condition", number, b.Want.Condition))
	}
	if b.Hits.First > 1 {
		refine(gdbmi.Cmd("break-after", number, strconv.Itoa(b.Hits.First-1)))
	}
	return kind, refusal, err
}

// lastBreakpoint is gdb's number of the breakpoint that was made last; also of one that it has complained about.
func (o *owner) lastBreakpoint(ctx context.Context) (string, error) {
	return o.value(ctx, backend.FrameID{}, "$bpnum")
}

// describeWatch says which data breakpoints were hit, with the values; false: none of ours was.
func (o *owner) describeWatch(f *gdbmi.Fields, s *backend.Stopped) bool {
	number := f.OptString("wpnum") // of one whose frame has been left
	for _, name := range []string{"wpt", "hw-rwpt", "hw-awpt"} {
		if t, ok := f.OptTuple(name); ok {
			number = t.OptString("number")
		}
	}
	b := o.bps.ByID[number]
	if b == nil || b.Source != backend.DataBreakpoints {
		return false
	}
	s.Reason, s.Breakpoints = backend.ReasonData, []int{b.Want.ID}
	if f.OptString("reason") == "watchpoint-scope" {
		s.Text = fmt.Sprintf("The function of %s has returned, and the data breakpoint has ended with it.", b.What)
		return true
	}
	for _, other := range o.bps.hit {
		if other.Source == backend.DataBreakpoints && other.ID != "" {
			s.Breakpoints = append(s.Breakpoints, other.Want.ID)
		}
	}
	slices.Sort(s.Breakpoints)
	s.Breakpoints = slices.Compact(s.Breakpoints)
	value, _ := f.OptTuple("value")
	was, is := value.OptString("old"), cmp.Or(value.OptString("new"), value.OptString("value"))
	if was != "" {
		s.Text = fmt.Sprintf("%s was %s and is %s.", b.What, was, is)
	} else {
		s.Text = fmt.Sprintf("%s was accessed, and is %s.", b.What, is)
	}
	return true
}
