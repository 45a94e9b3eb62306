package gdb

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/modules"
)

// bp is one breakpoint of the user's; its ID is gdb's number of it.
type bp = base.Breakpoint[string]

// breakpoints are the user's.
type breakpoints struct {
	base.Breakpoints[string]
	places  map[string]place    // by number
	hit     []*bp               // those that were hit since the last resume, at a hit to stop at
	rearm   []*bp               // of those, which gdb is to be told the next hit of
	more    map[string][]string // the further numbers of one that catches something, by its first
	logKeys int
}

// place is what gdb tells of a breakpoint.
type place struct {
	times int
	addrs []uint64
}

func newBreakpoints() breakpoints {
	return breakpoints{
		Breakpoints: base.NewBreakpoints[string](),
		places:      map[string]place{},
		more:        map[string][]string{},
	}
}

// hitAt returns the IDs of those that were hit: gdb names one, and counts up each.
func (s *breakpoints) hitAt(number string, pc uint64) []int {
	var ids []int
	if b := s.ByID[number]; b != nil {
		ids = append(ids, b.Want.ID)
	}
	for _, b := range s.hit {
		if slices.Contains(s.places[b.ID].addrs, pc) && b.Want.LogMessage == "" {
			ids = append(ids, b.Want.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (o *owner) SetBreakpoints(ctx context.Context, req backend.SetBreakpointsRequest) ([]backend.Breakpoint, error) {
	if o.b.State != base.Stopped && o.b.State != base.Running {
		return nil, &backend.StateError{Asked: "set breakpoints", State: o.b.State.String()}
	}
	return o.bps.Replace(req, func(b *bp) error { return o.insertBreakpoint(ctx, b) }, func(number string) error {
		for _, n := range append([]string{number}, o.bps.more[number]...) {
			delete(o.bps.ByID, n)
			if _, err := o.send(ctx, gdbmi.Cmd("break-delete", n)); err != nil && !refusedByGdb(err) {
				return err
			} // else a console command has deleted it
		}
		delete(o.bps.more, number)
		return nil
	})
}

// insertBreakpoint gives gdb a breakpoint; the error is only for a gdb that does not answer.
func (o *owner) insertBreakpoint(ctx context.Context, b *bp) error {
	if o.core != nil {
		b.Refuse("A core file does not run, so no breakpoint can be hit in it.")
		return nil
	}
	if b.Source == backend.DataBreakpoints {
		return o.insertWatch(ctx, b)
	}
	if b.Source == backend.ExceptionBreakpoints {
		return o.insertCatch(ctx, b)
	}
	c := gdbmi.Cmd("break-insert", "-f")
	switch {
	case b.Want.LogMessage != "":
		key, refusal, err := o.registerLog(ctx, b)
		if err != nil {
			return err
		}
		if refusal != "" {
			b.Refuse("%s", refusal)
			return nil
		}
		c = c.Opt("-c", fmt.Sprintf("$_cohort_log(%d)", key))
	case b.Want.Condition != "":
		c = c.Opt("-c", b.Want.Condition)
	}
	if b.Hits.First > 1 && b.Want.LogMessage == "" {
		c = c.Opt("-i", strconv.Itoa(b.Hits.First-1))
	}
	switch b.Source {
	case backend.FunctionBreakpoints:
		c = c.Opt("--function", b.Want.Function)
	case backend.InstructionBreakpoints:
		c = c.Opt(fmt.Sprintf("*%#x", b.Want.Address))
	default:
		c = c.Opt("--source", b.Source, "--line", strconv.Itoa(b.Want.Line))
	}
	r, said, err := o.capture(ctx, c)
	if refusedByGdb(err) {
		b.RefusedBy(message(err))
		return nil
	}
	if err != nil {
		return err
	}
	f := r.Fields()
	o.place(b, f.Tuple("bkpt"))
	if b.Source == "" {
		if err := o.oncePerCall(ctx, f.Tuple("bkpt")); err != nil {
			return err
		}
	}
	if !b.Is.Verified {
		var why []string
		for _, s := range said {
			if s.Kind == gdbmi.Log {
				why = append(why, strings.TrimRight(strings.TrimSpace(s.Text), "."))
			}
		}
		b.Refuse("No code for %s is loaded: %s. It takes effect if a library that holds it is loaded.", b.What,
			strings.Join(why, "; "))
	}
	return f.Err()
}

// fortranInterface matches the libraries of MPICH's and Open MPI's Fortran interfaces.
var fortranInterface = regexp.MustCompile(`^lib(mpi\w*fort|mpi_mpifh|mpi_usempi)`)

// oncePerCall leaves a breakpoint on an MPI function in the interposer's function only, which the program calls: MPI's
// own, which that calls in turn, would be a second stop in one call, and one where the program has called nothing.
func (o *owner) oncePerCall(ctx context.Context, bkpt *gdbmi.Fields) error {
	o.modules.Pid = o.pid
	interposed := false
	var inMPI []string // numbers of places
	for place := range bkpt.Tuples("locations") {
		addr, _ := place.OptAddr("addr")
		switch modules.OwnerOf(o.modules.At(addr), o.program) { //nolint:exhaustive // others are the program's own
		case modules.Cohort:
			interposed = true
		case modules.MPI:
			inMPI = append(inMPI, place.OptString("number"))
		}
	}
	// A Fortran interface of MPI's may call MPI's own function, past the interposer's.
	fortran := slices.ContainsFunc(modules.Read(o.pid), func(s modules.Span) bool {
		return fortranInterface.MatchString(filepath.Base(s.Path))
	})
	if !interposed || len(inMPI) == 0 || fortran {
		return nil
	}
	_, err := o.send(ctx, gdbmi.Cmd("break-disable", inMPI...))
	return err
}

// placeOf reads where gdb has put a breakpoint; at is the first of its places.
func placeOf(f *gdbmi.Fields) (p place, at *gdbmi.Fields) {
	p, at = place{times: f.OptInt("times", 0)}, f
	if a, ok := f.OptAddr("addr"); ok {
		p.addrs = append(p.addrs, a)
	}
	for loc := range f.Tuples("locations") {
		if a, ok := loc.OptAddr("addr"); ok {
			if len(p.addrs) == 0 {
				at = loc
			}
			p.addrs = append(p.addrs, a)
		}
	}
	return p, at
}

// place takes in where gdb has put b.
func (o *owner) place(b *bp, f *gdbmi.Fields) {
	b.ID = f.String("number")
	p, at := placeOf(f)
	o.bps.places[b.ID] = p
	if b.Source == backend.DataBreakpoints {
		return
	}
	if len(p.addrs) > 0 {
		b.Place(at.OptString("fullname"), at.OptInt("line", 0), cmp.Or(at.OptString("func"), "no known function"))
	} else {
		b.Is.Verified = false
	}
}

func (o *owner) breakpointModified(f *gdbmi.Fields) {
	b := o.bps.ByID[f.OptString("number")]
	if b == nil {
		return
	}
	if b.Want.Catch != "" {
		o.catchModified(b, f)
		return
	}
	was, times := b.Is, o.bps.places[b.ID].times
	o.place(b, f)
	if now := o.bps.places[b.ID].times; now > times && b.Hits.Stops(now) {
		o.bps.hit = append(o.bps.hit, b)
		if b.Hits.PassAfter() > 0 {
			o.bps.rearm = append(o.bps.rearm, b)
		}
	}
	o.changed(b, was)
}

// rearm has gdb pass the hits up to the next one to stop at, of breakpoints that have just been hit.
func (o *owner) rearm(ctx context.Context) {
	for _, b := range o.bps.rearm {
		if b.ID == "" || b.Want.LogMessage != "" {
			continue
		}
		if _, err := o.send(ctx, gdbmi.Cmd("break-after", b.ID, strconv.Itoa(b.Hits.PassAfter()))); err != nil {
			o.warn("the hit condition of a breakpoint is not kept", err)
		}
	}
	o.bps.rearm = nil
}

// changed tells of a breakpoint that is not what it was.
func (o *owner) changed(b *bp, was backend.Breakpoint) {
	if is := b.Is; is != was {
		o.b.Publish(backend.Event{Changed: &is})
	}
}

func (o *owner) breakpointDeleted(number string) {
	if number == o.stopPoint {
		// `delete` without a number takes ours along, and without it the job would never hear of a stop point.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := o.plantStopPoint(ctx); err != nil {
			o.b.Log.Error("the breakpoint on cohort_stop_here was deleted and cannot be set again", "error", err)
		}
		return
	}
	if b := o.bps.ByID[number]; b != nil {
		delete(o.bps.ByID, number)
		if number != b.ID {
			return // of several
		}
		was := b.Is
		b.ID, b.Is.Verified, b.Is.Message = "", false, "A console command has deleted this breakpoint."
		if b.Over = b.Source == backend.DataBreakpoints; b.Over {
			b.Is.Message = "It has ended, as its variable has: the frame was left, or a console command has deleted it."
		}
		o.changed(b, was)
	}
}
