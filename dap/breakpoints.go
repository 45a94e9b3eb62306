package dap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
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

	mu      sync.Mutex // guards the fields below; held for moments only
	next    int
	entries []tableEntry // in the order in which they were made
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
	list, ids := b.replace(own, source, wanted)
	statuses, err := b.d.Job.SetBreakpoints(ctx, source, list)
	if err != nil {
		return nil, err
	}
	byID := map[int]job.BreakpointStatus{}
	for _, s := range statuses {
		byID[s.ID] = s
	}
	out := make([]job.BreakpointStatus, len(ids))
	for i, id := range ids {
		s, ok := byID[id]
		if !ok {
			s = job.BreakpointStatus{ID: id, Message: "The job has not answered for this breakpoint."}
		}
		out[i] = s
	}
	return out, nil
}

// replace updates the table and returns the job's new list of the source, and the IDs of the owner's.
func (b *breakpointTable) replace(own breakpointOwner, source string, wanted []job.Breakpoint) (list []job.Breakpoint,
	ids []int,
) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var old []job.Breakpoint
	b.entries = slices.DeleteFunc(b.entries, func(e tableEntry) bool {
		if e.breakpointOwner == own && e.bp.Source == source {
			old = append(old, e.bp)
			return true
		}
		return false
	})
	for _, bp := range wanted {
		bp.ID = 0
		for i := range old {
			if sameBreakpoint(old[i], bp) {
				bp.ID = old[i].ID
				old = slices.Delete(old, i, i+1)
				break
			}
		}
		if bp.ID == 0 {
			bp.ID = b.next
			b.next++
		}
		ids = append(ids, bp.ID)
		b.entries = append(b.entries, tableEntry{own, bp})
	}
	for _, e := range b.entries {
		if e.bp.Source == source {
			list = append(list, e.bp)
		}
	}
	return list, ids
}

// sameBreakpoint compares all but the ID.
func sameBreakpoint(a, b job.Breakpoint) bool {
	return a.Source == b.Source && a.Line == b.Line && a.Function == b.Function && a.Condition == b.Condition &&
		a.HitCondition == b.HitCondition && a.LogMessage == b.LogMessage && a.Mode == b.Mode && a.Ranks.Equal(b.Ranks)
}

// forget takes out all breakpoints of a client that leaves while the job continues.
func (b *breakpointTable) forget(c *client) {
	b.mu.Lock()
	type list struct {
		owner  breakpointOwner
		source string
	}
	lists := map[list]bool{}
	for _, e := range b.entries {
		if e.client == c {
			lists[list{e.breakpointOwner, e.bp.Source}] = true
		}
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	for l := range lists {
		if _, err := b.set(ctx, l.owner, l.source, nil); err != nil {
			b.d.srv.log.Warn("dap: removing the breakpoints of a client that has left", "source", l.source, "error",
				err)
		}
	}
}

// all are the breakpoints of all clients, in the order in which they were made.
func (b *breakpointTable) all() []job.Breakpoint {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]job.Breakpoint, len(b.entries))
	for i, e := range b.entries {
		out[i] = e.bp
	}
	return out
}

// of are an owner's breakpoints of a source.
func (b *breakpointTable) of(own breakpointOwner, source string) []job.Breakpoint {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []job.Breakpoint
	for _, e := range b.entries {
		if e.breakpointOwner == own && e.bp.Source == source {
			out = append(out, e.bp)
		}
	}
	return out
}

// causal tells whether any breakpoint needs steering.
func (b *breakpointTable) causal() bool {
	return slices.ContainsFunc(b.all(), func(bp job.Breakpoint) bool { return bp.Mode == job.ModeCausal })
}

// changed tells a client that one of the breakpoints that it has set by requests has changed: it knows no others.
func (b *breakpointTable) changed(c *client, s job.BreakpointStatus) {
	b.mu.Lock()
	mine := slices.ContainsFunc(b.entries, func(e tableEntry) bool {
		return e.breakpointOwner == breakpointOwner{client: c} && e.bp.ID == s.ID
	})
	b.mu.Unlock()
	if mine {
		c.event("breakpoint", godap.BreakpointEventBody{Reason: "changed", Breakpoint: c.breakpoint(s)})
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
	if info, err := os.Stat(in); err == nil && !info.IsDir() && filepath.IsAbs(in) {
		return in
	}
	return filepath.Clean(path)
}

func setBreakpoints(k *call, a protocol.SetBreakpointsArguments) (any, error) {
	d, c := k.c.debuggee(), k.c
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
	wanted := make([]wantedBreakpoint, len(a.Breakpoints))
	for i, b := range a.Breakpoints {
		bp := job.Breakpoint{
			Source: path, Line: c.lineIn(b.Line), Condition: b.Condition,
			HitCondition: strings.TrimSpace(b.HitCondition), LogMessage: b.LogMessage,
		}
		wanted[i] = d.checkBreakpoint(bp, b.BreakpointExtra)
		if wanted[i].refused == "" && bp.Line < 1 {
			wanted[i].refused = fmt.Sprintf("There is no line %d: lines are numbered from 1.", bp.Line)
		}
	}
	body := godap.SetBreakpointsResponseBody{}
	body.Breakpoints, err = k.setAll(path, wanted)
	for i := range body.Breakpoints {
		if !body.Breakpoints[i].Verified {
			body.Breakpoints[i].Line = a.Breakpoints[i].Line
		}
	}
	return body, err
}

func setFunctionBreakpoints(k *call, a protocol.SetFunctionBreakpointsArguments) (any, error) {
	d := k.c.debuggee()
	wanted := make([]wantedBreakpoint, len(a.Breakpoints))
	for i, b := range a.Breakpoints {
		name := strings.TrimSpace(b.Name)
		bp := job.Breakpoint{Function: name, Condition: b.Condition, HitCondition: strings.TrimSpace(b.HitCondition)}
		wanted[i] = d.checkBreakpoint(bp, b.BreakpointExtra)
		if wanted[i].refused == "" && name == "" {
			wanted[i].refused = "A function breakpoint needs the name of a function, and this one is empty."
		}
	}
	body := godap.SetFunctionBreakpointsResponseBody{}
	var err error
	body.Breakpoints, err = k.setAll("", wanted)
	return body, err
}

// wantedBreakpoint is one that the client wants, or why it cannot be had.
type wantedBreakpoint struct {
	bp      job.Breakpoint
	refused string // whole sentence
}

// checkBreakpoint fills in mode and ranks, and says what cannot be.
func (d *debuggee) checkBreakpoint(bp job.Breakpoint, extra protocol.BreakpointExtra) wantedBreakpoint {
	w := wantedBreakpoint{bp: bp}
	ranks, condition, prefixed, err := splitRanks(bp.Condition, d.Job.Ranks())
	if err != nil {
		w.refused = "The condition starts with a rank set that cannot be used: " + sentence(err.Error())
		return w
	}
	w.bp.Ranks, w.bp.Condition = ranks, condition
	if extra.Ranks != "" {
		if prefixed {
			w.refused = fmt.Sprintf(
				"The ranks are given twice, as `ranks` (%s) and in front of the condition ([%s]): give them once.",
				extra.Ranks,
				ranks,
			)
			return w
		}
		if w.bp.Ranks, err = rankset.Parse(extra.Ranks, d.Job.Ranks()); err != nil {
			w.refused = sentence(err.Error())
			return w
		}
	}
	switch extra.Mode {
	case "", protocol.ModeRank:
		w.bp.Mode = job.ModeRank
	case protocol.ModeAll:
		w.bp.Mode = job.ModeAll
	case protocol.ModeCausal:
		w.bp.Mode = job.ModeCausal
		if d.Controller == nil {
			w.refused = "The mode causal needs a replay, and this job is live: record it with cohort record, and " +
				"debug the recording."
		}
	default:
		w.refused = fmt.Sprintf("There is no breakpoint mode %s: use %q, %q or %q.", quoteShort(extra.Mode),
			protocol.ModeRank, protocol.ModeAll, protocol.ModeCausal)
	}
	if h := bp.HitCondition; w.refused == "" && h != "" && (!isNumber(h) || strings.Trim(h, "0") == "") {
		w.refused = fmt.Sprintf("The hit condition %s cannot be used: give a number, and the breakpoint stops at "+
			"that hit and at each later one.", quoteShort(h))
	}
	if d.Cores {
		w.refused = "Core files do not run, so there are no breakpoints."
	}
	if w.refused == "" && d.Running {
		w.refused = "The job was launched without debuggers (noDebug), so there are no breakpoints: launch it " +
			"without noDebug."
	}
	return w
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
		return rankset.Set{}, "", true, refuse(
			"the rank set in %s has no closing bracket: write it as in `[0,2] x > 3`",
			quoteShort(trimmed),
		)
	}
	ranks, err = rankset.Parse(strings.TrimSpace(inside), n)
	if err != nil {
		return rankset.Set{}, "", true, err
	}
	return ranks, strings.TrimSpace(rest), true, nil
}

// setAll puts the breakpoints that can be had into the table and answers for all.
func (k *call) setAll(source string, wanted []wantedBreakpoint) ([]godap.Breakpoint, error) {
	var bps []job.Breakpoint
	for _, w := range wanted {
		if w.refused == "" {
			bps = append(bps, w.bp)
		}
	}
	k.lockGate() // the client learns the numbers from the answer, and only then that one of them has changed
	statuses, err := k.c.debuggee().breakpoints.set(k.ctx, breakpointOwner{client: k.c}, source, bps)
	if err != nil {
		return nil, err
	}
	out := make([]godap.Breakpoint, 0, len(wanted))
	for _, w := range wanted {
		if w.refused != "" {
			out = append(out, godap.Breakpoint{Message: w.refused})
			continue
		}
		out = append(out, k.c.breakpoint(statuses[0]))
		statuses = statuses[1:]
	}
	return out, nil
}
