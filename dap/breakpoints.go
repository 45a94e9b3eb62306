package dap

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/internal/hitcondition"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

// breakpointTable has what each client of a debuggee wants of breakpoints. A job has one list per source; several
// clients may each have set their own there, and a client that sets its breakpoints replaces its own only.
type breakpointTable struct {
	d *debuggee
	// turn is held (by sending into it) while the job's list of a source is being replaced, so that the last list is
	// the one that the table says.
	turn chan struct{}

	// guarded by Server.mu:
	unreachable string // why the last causal run could not begin; "": it could
	next        int
	entries     []tableEntry // in the order in which they were made
}

// breakpointOwner tells what a client sets by requests, which name all of a source, from what it sets in the console.
type breakpointOwner struct {
	client  *client
	console bool
}

// tableEntry is one breakpoint of one client.
type tableEntry struct {
	breakpointOwner
	bp job.Breakpoint
}

func newBreakpointTable(d *debuggee) *breakpointTable {
	return &breakpointTable{d: d, turn: make(chan struct{}, 1), next: 1}
}

// set replaces an owner's breakpoints of a source and returns what became of each, in order. The IDs of wanted are
// given here: a breakpoint that the client has had before keeps its own, and with it the hits that were counted.
func (b *breakpointTable) set(ctx context.Context, own breakpointOwner, source string,
	wanted []job.Breakpoint,
) ([]job.BreakpointStatus, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	statuses, err := b.d.Job.SetBreakpoints(ctx, source, b.replace(own, source, wanted))
	if err != nil {
		return nil, err
	}
	return statuses[len(statuses)-len(wanted):], nil
}

// replace updates the table and returns the job's new list of the source, the owner's last.
func (b *breakpointTable) replace(own breakpointOwner, source string, wanted []job.Breakpoint) []job.Breakpoint {
	b.d.srv.mu.Lock()
	defer b.d.srv.mu.Unlock()
	var old []job.Breakpoint
	b.entries = slices.DeleteFunc(b.entries, func(e tableEntry) bool {
		if e.breakpointOwner == own && e.bp.Source == source {
			old = append(old, e.bp)
			return true
		}
		return false
	})
	for _, bp := range wanted {
		if bp.ID != 0 {
			// one that the console has, and has changed
		} else if i := slices.IndexFunc(old, func(o job.Breakpoint) bool { return sameBreakpoint(o, bp) }); i >= 0 {
			bp.ID = old[i].ID
			old = slices.Delete(old, i, i+1)
		} else {
			bp.ID = b.next
			b.next++
		}
		b.entries = append(b.entries, tableEntry{own, bp})
	}
	return b.where(func(e tableEntry) bool { return e.bp.Source == source })
}

// where lists the breakpoints that match, in the order in which they were made. Server.mu is held.
func (b *breakpointTable) where(match func(tableEntry) bool) []job.Breakpoint {
	var out []job.Breakpoint
	for _, e := range b.entries {
		if match(e) {
			out = append(out, e.bp)
		}
	}
	return out
}

// sameBreakpoint compares all but the ID.
func sameBreakpoint(a, b job.Breakpoint) bool {
	return a.Source == b.Source && a.Catch == b.Catch && a.Line == b.Line && a.Function == b.Function &&
		a.Condition == b.Condition &&
		a.HitCondition == b.HitCondition && a.LogMessage == b.LogMessage && a.Mode == b.Mode &&
		a.Temporary == b.Temporary && a.Watch == b.Watch && a.Address == b.Address &&
		a.Ranks.Equal(b.Ranks)
}

// forget takes out all breakpoints of a client that leaves while the job continues.
func (b *breakpointTable) forget(c *client) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	for {
		var e tableEntry
		b.d.srv.mu.Lock()
		i := slices.IndexFunc(b.entries, func(e tableEntry) bool { return e.client == c })
		if i >= 0 {
			e = b.entries[i]
		}
		b.d.srv.mu.Unlock()
		if i < 0 {
			return
		}
		if _, err := b.set(ctx, e.breakpointOwner, e.bp.Source, nil); err != nil {
			b.d.srv.o.Log.Warn("dap: removing the breakpoints of a client that has left", "source", e.bp.Source,
				"error", err)
			return
		}
	}
}

// all are the breakpoints of all clients.
func (b *breakpointTable) all() []job.Breakpoint {
	b.d.srv.mu.Lock()
	defer b.d.srv.mu.Unlock()
	return b.where(func(tableEntry) bool { return true })
}

// of are an owner's breakpoints of a source.
func (b *breakpointTable) of(own breakpointOwner, source string) []job.Breakpoint {
	b.d.srv.mu.Lock()
	defer b.d.srv.mu.Unlock()
	return b.where(func(e tableEntry) bool { return e.breakpointOwner == own && e.bp.Source == source })
}

// causal tells whether any breakpoint needs steering.
func (b *breakpointTable) causal() bool {
	return slices.ContainsFunc(b.all(), func(bp job.Breakpoint) bool {
		return bp.Mode == job.ModeCausal && !bp.Disabled
	})
}

// setUnreachable enters why no causal run can begin, "" if one can, and tells whether that is news.
func (b *breakpointTable) setUnreachable(why string) (news bool) {
	b.d.srv.mu.Lock()
	defer b.d.srv.mu.Unlock()
	news, b.unreachable = b.unreachable != why, why
	return news
}

// changed takes in that a client's breakpoint has changed or is gone, and tells the client if it has set it by
// requests: it knows no others.
func (b *breakpointTable) changed(c *client, s job.BreakpointStatus) {
	b.d.srv.mu.Lock()
	i := slices.IndexFunc(b.entries, func(e tableEntry) bool { return e.client == c && e.bp.ID == s.ID })
	known := i >= 0 && !b.entries[i].console
	if i >= 0 && b.entries[i].bp.Mode == job.ModeCausal && s.Verified && b.unreachable != "" {
		s.Verified, s.Message = false, b.unreachable
	}
	reason := "changed"
	if i >= 0 && s.Removed {
		reason = "removed"
		b.entries = slices.Delete(b.entries, i, i+1)
	}
	b.d.srv.mu.Unlock()
	if known {
		c.event("breakpoint", godap.BreakpointEventBody{Reason: reason, Breakpoint: c.breakpoint(s)})
	}
}

// breakpoint is a status as DAP has it.
func (c *client) breakpoint(s job.BreakpointStatus) godap.Breakpoint {
	b := godap.Breakpoint{Id: s.ID, Verified: s.Verified, Message: s.Message, Line: c.lineOut(s.Line)}
	if s.Source != "" {
		b.Source = c.source(s.Source)
	}
	return b
}

// sourcePath is the path of a source that a client names. One that is relative and names no file of the job's directory
// stays as it is: the debugger knows the program's files by the ends of their paths.
func (d *debuggee) sourcePath(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	in := filepath.Join(d.Launch.Cwd, path)
	if filepath.IsAbs(in) && readable(in) {
		return in
	}
	return filepath.Clean(path)
}

func setBreakpoints(k *call, a protocol.SetBreakpointsArguments) (any, error) {
	d, c := k.d, k.c
	path, err := c.pathIn(a.Source)
	if err != nil {
		return nil, err
	}
	path = d.sourcePath(path)
	if a.Breakpoints == nil {
		for _, line := range a.Lines {
			a.Breakpoints = append(a.Breakpoints,
				protocol.SourceBreakpoint{SourceBreakpoint: godap.SourceBreakpoint{Line: line}})
		}
	}
	body := godap.SetBreakpointsResponseBody{}
	body.Breakpoints, err = k.setAll(path, len(a.Breakpoints), func(i int) (job.Breakpoint, error) {
		b := a.Breakpoints[i]
		bp := job.Breakpoint{
			Source: path, Line: c.lineIn(b.Line), Condition: b.Condition, HitCondition: b.HitCondition,
			LogMessage: b.LogMessage,
		}
		if bp.Line < 1 {
			return bp, refuse("there is no line %d: lines are numbered from 1", bp.Line)
		}
		return d.checkBreakpoint(bp, b.BreakpointExtra)
	})
	for i := range body.Breakpoints {
		if !body.Breakpoints[i].Verified {
			body.Breakpoints[i].Line = a.Breakpoints[i].Line
		}
	}
	return body, err
}

func setFunctionBreakpoints(k *call, a protocol.SetFunctionBreakpointsArguments) (any, error) {
	list, err := k.setAll("", len(a.Breakpoints), func(i int) (job.Breakpoint, error) {
		b := a.Breakpoints[i]
		bp := job.Breakpoint{Function: strings.TrimSpace(b.Name), Condition: b.Condition, HitCondition: b.HitCondition}
		if bp.Function == "" {
			return bp, refuse("a function breakpoint needs the name of a function, and this one is empty")
		}
		return k.d.checkBreakpoint(bp, b.BreakpointExtra)
	})
	return godap.SetFunctionBreakpointsResponseBody{Breakpoints: list}, err
}

// checkBreakpoint fills in mode and ranks, and refuses what cannot be.
func (d *debuggee) checkBreakpoint(bp job.Breakpoint, extra protocol.BreakpointExtra) (job.Breakpoint, error) {
	switch {
	case d.Cores:
		return bp, refuse("core files do not run, so there are no breakpoints")
	case d.Running:
		return bp, refuse("the job was launched without debuggers (noDebug), so there are no breakpoints: launch it " +
			"without noDebug")
	}
	ranks, condition, prefixed, err := splitRanks(bp.Condition, d.Job.Ranks())
	if err != nil {
		return bp, refuse("the condition starts with a rank set that cannot be used: %s", sentence(err.Error()))
	}
	if prefixed && extra.Ranks != "" {
		return bp, refuse("the ranks are given twice, as `ranks` (%s) and in front of the condition ([%s]): give "+
			"them once",
			extra.Ranks, ranks)
	}
	if extra.Ranks != "" {
		if ranks, err = rankset.Parse(extra.Ranks, d.Job.Ranks()); err != nil {
			return bp, err
		}
	}
	bp.Ranks, bp.Condition, bp.HitCondition = ranks, condition, strings.TrimSpace(bp.HitCondition)
	bp.Mode, bp.Temporary = cmp.Or(job.Mode(extra.Mode), job.ModeRank), extra.Temporary
	if _, err := hitcondition.Parse(bp.HitCondition); err != nil {
		return bp, refuse("%v", err)
	}
	switch {
	case bp.Mode == job.ModeCausal && d.Controller == nil:
		return bp, refuse("the mode causal needs a replay, and %s", d.notReplay())
	case bp.Mode == job.ModeCausal && bp.Catch != "":
		return bp, refuse("the mode causal is for places in the program, not for what happens anywhere in it")
	case bp.Mode == job.ModeCausal && (bp.Temporary || bp.LogMessage != ""):
		return bp, refuse("a causal breakpoint cannot be temporary, nor print instead of stopping")
	case !slices.Contains(protocol.Modes, string(bp.Mode)):
		return bp, refuse("there is no breakpoint mode %s: use one of %s", quoteShort(extra.Mode),
			strings.Join(protocol.Modes, ", "))
	}
	return bp, nil
}

// splitRanks takes a rank set in front of a condition or console line apart: "[0,2] x > 3". given is false if there is
// none; then ranks is empty, which means all.
func splitRanks(text string, n int) (ranks rankset.Set, rest string, given bool, err error) {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "[") {
		return rankset.Set{}, text, false, nil
	}
	inside, rest, ok := strings.Cut(trimmed[1:], "]")
	if !ok {
		return rankset.Set{}, "", true, refuse("the rank set in %s has no closing bracket: write it as in `[0,2] x "+
			"> 3`",
			quoteShort(trimmed))
	}
	ranks, err = rankset.Parse(strings.TrimSpace(inside), n)
	if err != nil {
		return rankset.Set{}, "", true, err
	}
	return ranks, strings.TrimSpace(rest), true, nil
}

// setAll puts those of n breakpoints that can be had into the table and answers for all.
func (k *call) setAll(source string, n int, wanted func(i int) (job.Breakpoint, error)) ([]godap.Breakpoint, error) {
	var bps []job.Breakpoint
	out := make([]godap.Breakpoint, n)
	for i := range out {
		if bp, err := wanted(i); err != nil {
			out[i].Message = sentence(err.Error())
		} else {
			bps = append(bps, bp)
		}
	}
	k.lockGate() // the client learns the numbers from the answer, and only then that one of them has changed
	statuses, err := k.d.breakpoints.set(k.ctx, breakpointOwner{client: k.c}, source, bps)
	if over, why := k.d.ended(); over { // who moves a breakpoint in an editor need not know whether a job still runs
		for i := range out {
			out[i].Message = cmp.Or(out[i].Message, fmt.Sprintf("The job has ended (%s): launch again.", why))
		}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Message == "" {
			out[i] = k.c.breakpoint(statuses[0])
			statuses = statuses[1:]
		}
	}
	return out, nil
}
