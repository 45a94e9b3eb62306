package dap

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
)

// endGrace is how long the stream of a job whose processes are gone may take to say so.
const endGrace = 5 * time.Second

// follow turns the job's stream into this client's events, until the job has ended and everything of it is gone, or the
// connection ends.
func (c *client) follow(d *debuggee) {
	sub := c.sub
	defer sub.Close()
	f := &follower{c: c, d: d, changed: map[int]job.RankStatus{}, progress: map[string]*progress{}}
	defer f.endProgress()
	c.gate.Lock()
	for _, r := range sub.Ranks {
		f.rankChanged(r)
	}
	f.focus = sub.Focus.String()
	f.flushRanks()
	c.gate.Unlock()
	if !slices.ContainsFunc(sub.Ranks, func(r job.RankStatus) bool { return !r.State.Gone() }) {
		f.farewell(nil) // the end was in the stream before this client listened
		return
	}

	ended := d.done
	var late <-chan time.Time // set when the end should have been in the stream
	for {
		select {
		case e, ok := <-sub.Events():
			switch {
			case sub.Overflowed() && !ok:
				c.giveUp("it leaves too much unread")
				return
			case !ok || e.Ended != nil:
				f.handle(e, false)
				f.farewell(e.Ended)
				return
			}
			f.handle(e, sub.More())
		case <-ended:
			ended, late = nil, time.After(endGrace)
		case <-late:
			if sub.Unread() { // it comes when the client has read the output before it
				late = time.After(endGrace)
				continue
			}
			f.farewell(nil)
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// follower is the state of follow, owned by its goroutine.
type follower struct {
	c        *client
	d        *debuggee
	focus    string
	newest   uint64                 // number of the newest event
	changed  map[int]job.RankStatus // the last state of ranks of which cohort/ranks has not told it yet
	category string                 // of text
	text     strings.Builder        // output of which the client has not been told yet
	held     atomic.Bool            // output is held back until the client has read what it was sent
	progress map[string]*progress
}

const (
	// mostText is how much output is gathered for one event, in bytes.
	mostText = 64 << 10
	// outputAhead is how much may wait to be sent to a client before output is held back, in bytes.
	outputAhead = 64 << 10
)

// print takes in what ranks printed. While more is on its way it is gathered, so that a client that is slower than the
// ranks is told in few, large events.
func (f *follower) print(o job.Output) {
	text := labelled(o, f.d.Job.Ranks())
	if o.Category != f.category || f.text.Len()+len(text) > mostText {
		f.flushOutput()
	}
	f.category = o.Category
	f.text.WriteString(text)
}

// flushOutput sends what was gathered. When the client has much to read by then, further output is held back until it
// has read it.
func (f *follower) flushOutput() {
	if f.text.Len() == 0 {
		return
	}
	f.flushRanks() // who prints on and on must not delay that
	f.c.say(f.category, f.text.String())
	f.text.Reset()
	if f.held.Load() || f.c.out.queue.Weight() < outputAhead {
		return
	}
	f.held.Store(true)
	f.c.sub.HoldOutput(true)
	f.c.pump.Go(func() {
		if f.awaitReader() {
			f.c.sub.HoldOutput(false)
			f.held.Store(false)
		}
	})
}

// stuckTime is how long a client that shares its job may leave output unread before it is given up.
const stuckTime = 30 * time.Second

// awaitReader waits until the client has read most of what it was sent. So a rank that prints faster than its clients
// read is slowed down, and no memory fills up. One client alone may take as long as it likes. A client that reads
// nothing while others share the job is given up, for it would stop their output too. It returns false when the
// connection has ended.
func (f *follower) awaitReader() bool {
	for {
		ctx, cancel := context.WithTimeout(f.c.ctx, stuckTime)
		room := f.c.out.queue.Below(ctx, outputAhead)
		cancel()
		switch {
		case f.c.ctx.Err() != nil:
			return false
		case room:
			return true
		case len(f.d.everyone()) > 1:
			f.c.giveUp(fmt.Sprintf("it has read nothing for %v, and others share its job", stuckTime))
			return false
		}
	}
}

// handle sends what one event means. more tells that another one is waiting: then changes of ranks, and output, are
// gathered further.
func (f *follower) handle(e job.Event, more bool) {
	if e.RankChanged != nil && e.RankChanged.State == job.Running {
		f.c.noticeRunning()
	}
	f.c.gate.Lock()
	defer f.c.gate.Unlock()
	overtaken := e.Seq < f.newest
	f.newest = max(f.newest, e.Seq)
	if e.Output == nil {
		f.flushOutput()
	}
	switch {
	case e.RankChanged != nil:
		f.rankChanged(*e.RankChanged)
	case e.Output != nil:
		f.print(*e.Output)
	case e.Breakpoint != nil:
		f.d.breakpoints.changed(f.c, *e.Breakpoint)
	case e.Idle:
		f.flushRanks()
		if !overtaken || f.idle() { // else another one follows
			f.c.cohortEvent(protocol.EventIdle, struct{}{})
		}
	case e.Focus != nil:
		f.focus = e.Focus.String()
		f.c.cohortEvent(protocol.EventFocus, protocol.FocusBody{Ranks: f.focus})
	case e.Cut != nil:
		f.flushRanks()
		f.c.cohortEvent(protocol.EventCut, cutBody(*e.Cut))
	case e.Mark != nil:
		f.flushRanks()
		e.Mark()
	case e.Progress != nil:
		f.jobProgress(*e.Progress)
	}
	if !more {
		f.flushRanks()
		f.flushOutput()
	}
}

// idle asks the job, as nothing in the stream tells that it is busy again; a closed job has nothing to be busy with.
func (f *follower) idle() bool {
	idle, err := f.d.Job.Idle()
	return idle || err != nil
}

// flushRanks tells the ranks that changed, all at once.
func (f *follower) flushRanks() {
	if len(f.changed) == 0 {
		return
	}
	body := protocol.RanksBody{Focus: f.focus, Idle: f.idle()}
	for _, r := range slices.Sorted(maps.Keys(f.changed)) {
		body.Ranks = append(body.Ranks, rankStatus(f.changed[r], f.c.srv.o.CallName))
	}
	clear(f.changed)
	f.c.cohortEvent(protocol.EventRanks, body)
}

// rankChanged sends the thread, stopped and continued events that a rank's new state means.
func (f *follower) rankChanged(s job.RankStatus) {
	f.changed[s.Rank] = s
	for _, e := range f.c.view.change(s, f.d.hidesStop(s), f.c.caps) {
		f.c.event(e.name, e.body)
	}
	// That the ranks have been killed is what the user asked for, and of which ranks there is no core file a note says.
	expected := f.d.wasStopped() || f.d.Cores && s.Pid == 0
	failed := s.State == job.Lost || s.State == job.Exited && (s.Exit.Signal != "" || s.Exit.Code != 0)
	if failed && !expected {
		f.c.say("console", strings.TrimSuffix(s.Text, "\n")+"\n")
	}
}

// farewell waits until everything of the job is gone and then says so.
func (f *follower) farewell(ended *job.Ended) {
	select {
	case <-f.d.done:
	case <-f.c.ctx.Done():
		return
	}
	f.c.gate.Lock()
	defer f.c.gate.Unlock()
	f.flushRanks()
	f.endProgress()
	summary := ""
	if ended != nil {
		summary = ended.Summary
	}
	if over, why := f.d.ended(); over && (summary == "" || f.d.wasStopped()) {
		summary = why
	}
	if !f.c.dispatch.isClosing() || !f.d.wasStopped() { // else it is what the client has asked for
		f.c.say("console", sentence("the job has ended: "+summary)+"\n")
	}
	if err := f.d.stopErr; err != nil {
		f.c.say("important", "Cohort could not clear up after the job: "+sentence(err.Error())+"\n")
	}
	f.c.event("exited", godap.ExitedEventBody{ExitCode: f.d.exitCode})
	f.c.event("terminated", godap.TerminatedEventBody{})
}

func (f *follower) endProgress() {
	for id, p := range f.progress {
		p.end("")
		delete(f.progress, id)
	}
}

// jobProgress shows the progress of something that belongs to the job.
func (f *follower) jobProgress(p job.Progress) {
	shown, ok := f.progress[p.ID]
	if !ok && !p.End {
		shown = f.c.newProgress(p.Title, 0)
		f.progress[p.ID] = shown
	}
	if shown == nil {
		return
	}
	if p.End {
		shown.end(p.Text)
		delete(f.progress, p.ID)
		return
	}
	shown.report(p.Text, p.Done, p.Total)
}

// namedEvent is an event to be sent.
type namedEvent struct {
	name string
	body any
}

// change takes a rank's new state into the view and returns the events that tell the client of it. hide: the stop is
// not for people.
func (v *view) change(s job.RankStatus, hide bool, caps clientCaps) []namedEvent {
	v.mu.Lock()
	defer v.mu.Unlock()
	rv := v.rank(s.Rank)
	before := rv.status
	rv.status = s
	var out []namedEvent
	switch s.State {
	case job.Starting:
	case job.Running:
		if !rv.announced {
			rv.announced = true
			rv.threads = []backend.Thread{{ID: 1}}
			out = append(out, threadEvent("started", s.Rank, 1))
		}
		if rv.stopShown {
			for _, t := range rv.threads {
				body := protocol.ContinuedEventBody{ThreadID: protocol.ThreadID(s.Rank, t.ID)}
				out = append(out, namedEvent{"continued", body})
			}
		}
		rv.stopShown = false
		if before.State != job.Running {
			v.forgetStop(rv)
		}
		v.lost(s.Rank)
	case job.Stopped:
		if before.State == job.Stopped && before.Stop == s.Stop && (hide || rv.stopShown) {
			break // the same stop; something else about the rank has changed
		}
		v.forgetStop(rv)
		out = rv.changeThreads(visibleThreads(s.Stop, caps.showLibraries))
		rv.announced = true
		if !hide {
			v.lost(s.Rank)
			out = append(out, v.stoppedEvents(rv, caps.cohort)...)
			rv.stopShown = true
		}
	case job.Exited, job.Lost:
		if before.State.Gone() {
			break
		}
		rv.stopShown = false
		v.forgetStop(rv)
		v.lost(s.Rank)
		out = rv.changeThreads(nil)
	}
	return out
}

func threadEvent(reason string, rank, thread int) namedEvent {
	return namedEvent{"thread", godap.ThreadEventBody{Reason: reason, ThreadId: protocol.ThreadID(rank, thread)}}
}

// changeThreads replaces the threads that are shown and returns the events that tell the difference. v.mu is held.
func (rv *rankView) changeThreads(now []backend.Thread) []namedEvent {
	var out []namedEvent
	tell := func(reason string, list, other []backend.Thread) {
		for _, t := range list {
			if !slices.ContainsFunc(other, func(o backend.Thread) bool { return o.ID == t.ID }) {
				out = append(out, threadEvent(reason, rv.status.Rank, t.ID))
			}
		}
	}
	tell("started", now, rv.threads)
	tell("exited", rv.threads, now)
	rv.threads = now
	return out
}

// stoppedEvents tell that a rank stands still: one for the thread that stopped, and one for each other thread that is
// shown, for they stand still too. v.mu is held.
//
// A client that does not know ranks may show the first stop only, and so is not asked to leave that aside. Further ones
// have the reason pause: nvim-dap notes those, and answers others with continue.
func (v *view) stoppedEvents(rv *rankView, knowsRanks bool) []namedEvent {
	stop, r := rv.status.Stop, rv.status.Rank
	body := stoppedBody(rv.status)
	first, takes := v.tell(rv), v.takes(r, stop)
	body.PreserveFocusHint, body.AllThreadsStopped = !takes && (knowsRanks || !first), v.onlyRank(r)
	var out []namedEvent
	if !knowsRanks && !first {
		if stop.Reason == backend.ReasonSignal {
			said := godap.OutputEventBody{Category: "important", Output: body.Text + "\n"}
			out = append(out, namedEvent{"output", said})
		}
		body.Reason = string(backend.ReasonPause)
	}
	if lines := job.RecentCalls(r, stop.Control.Recent); job.Diverged(stop.Control) && len(lines) > 0 {
		text := fmt.Sprintf("The last calls of rank %d were:\n  %s\n", r, strings.Join(lines, "\n  "))
		out = append(out, namedEvent{"output", godap.OutputEventBody{Category: "important", Output: text}})
	}
	out = append(out, namedEvent{"stopped", body})
	for _, t := range rv.threads {
		if t.ID != stop.Thread {
			out = append(out, namedEvent{"stopped", godap.StoppedEventBody{
				Reason: string(backend.ReasonPause), Description: fmt.Sprintf("Stopped with thread %d", stop.Thread),
				ThreadId: protocol.ThreadID(r, t.ID), PreserveFocusHint: true,
			}})
		}
	}
	return out
}

// stoppedBody tells of a stop what does not depend on the client.
func stoppedBody(s job.RankStatus) godap.StoppedEventBody {
	return godap.StoppedEventBody{
		Reason: string(s.Stop.Reason), Description: stopDescription(s), Text: s.Text,
		ThreadId: protocol.ThreadID(s.Rank, s.Stop.Thread), HitBreakpointIds: s.Stop.Breakpoints,
	}
}

// onlyRank tells whether r is the only rank that is not gone: then all threads have stopped. With several ranks each
// has its own stopped event, because one event for all would give each the reason of one. v.mu is held.
func (v *view) onlyRank(r int) bool {
	for n, rv := range v.ranks {
		if n != r && !rv.status.State.Gone() {
			return false
		}
	}
	return true
}

// stopDescription is shown by editors as it is, in few words.
func stopDescription(s job.RankStatus) string {
	stop := s.Stop
	switch stop.Reason {
	case backend.ReasonEntry:
		return "At the program's entry"
	case backend.ReasonBreakpoint:
		return "Paused on breakpoint"
	case backend.ReasonData:
		return "Paused on data breakpoint"
	case backend.ReasonStep:
		return "Paused after step"
	case backend.ReasonPause:
		return "Paused"
	case backend.ReasonSignal:
		if stop.Caught != nil {
			return stop.Caught.Name
		}
		return strings.TrimSuffix(stop.Signal+" ("+stop.SignalText+")", " ()")
	case backend.ReasonStopPoint:
		switch {
		case job.Diverged(stop.Control):
			return protocol.DescriptionDiverged
		case job.AtRecordingEnd(stop.Control):
			return "At the end of the recording"
		}
		return "Paused at the cut"
	case backend.ReasonCore:
		return "Core file"
	default:
		return string(stop.Reason)
	}
}

// rankStatus is a rank as every front end shows it. callName names an MPI operation by its number.
func rankStatus(s job.RankStatus, callName func(int) string) protocol.RankStatus {
	out := protocol.RankStatus{
		Rank: s.Rank, ThreadID: protocol.ThreadID(s.Rank, 1), State: s.State.String(), Text: s.Text, Host: s.Host,
		Pid: s.Pid, Debugger: s.Can.Debugger, Event: s.Control.Events,
	}
	if s.Control.Present && s.Control.Current != 0 && s.Control.CurrentOp != 0 && !s.State.Gone() {
		out.Call = callName(s.Control.CurrentOp)
		if call, known := s.Control.InCall(); known {
			out.Call = job.CallText(call)
		}
	}
	switch {
	case s.State == job.Stopped:
		out.Reason = string(s.Stop.Reason)
		out.ThreadID = protocol.ThreadID(s.Rank, max(s.Stop.Thread, 1))
		if len(s.Stop.Frames) > 0 {
			f := s.Stop.Frames[job.UserFrame(s.Stop.Frames)]
			out.Function, out.File, out.Line = f.Function, f.File, f.Line
		}
	case s.State == job.Exited && s.Exit.Signal != "":
		out.Reason = "signal " + s.Exit.Signal
	case s.State == job.Exited:
		out.Reason = fmt.Sprintf("exit code %d", s.Exit.Code)
	case s.State == job.Lost:
		out.Reason = s.Text
	}
	return out
}

func cutBody(cut job.CutReached) protocol.CutBody {
	text := "All ranks are at the cut " + positions(cut.Positions)
	if cut.At != "" {
		text = "All ranks are at the causal cut of " + cut.At + ": " + positions(cut.Positions)
	}
	if !cut.Beyond.Empty() {
		text += "; [" + cut.Beyond.String() + "] had gone further than that before, and stay"
	}
	if !cut.Finished.Empty() {
		text += "; [" + cut.Finished.String() + "] had ended before"
	}
	return protocol.CutBody{At: cut.At, Positions: cut.Positions, Consistent: true, Text: sentence(text)}
}

func positions(p []uint64) string {
	parts := make([]string, len(p))
	for r, n := range p {
		parts[r] = fmt.Sprintf("%d:%d", r, n)
	}
	return strings.Join(parts, " ")
}

// labelled is what ranks printed as it is shown: the ranks are named in front of each line unless the job has only one,
// or the text is the debugger's.
func labelled(o job.Output, ranks int) string {
	text := strings.ToValidUTF8(o.Text, "\uFFFD")
	if ranks == 1 {
		return text
	}
	label := ""
	if !o.Ranks.Empty() {
		label = "[" + o.Ranks.String() + "] "
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(label)
		b.WriteString(line)
	}
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n') // part of a line, such as a prompt; what comes next may be another rank's
	}
	return b.String()
}
