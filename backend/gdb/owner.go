package gdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/corefile"
	"github.com/cohort-debugger/cohort/internal/modules"
)

// patience bounds what the owner asks gdb on its own account, such as the stack at a stop. It is an
// end, not an expectation: reading the symbols of a large program can take long.
const patience = 2 * time.Minute

// owner is the goroutine that owns the rank.
type owner struct {
	b      *Backend
	gdb    *gdbmi.Process
	events <-chan gdbmi.Event

	pid     int
	program string
	version string
	core    *corefile.File // not nil: the rank is a core file
	python  bool
	// the rank was running before, and is to run on: gdb detaches at its end
	attached bool

	entry     string // gdb's number of the breakpoint at the entry; "" none
	wrapper   bool   // the program becomes another one, at which the entry is
	stripped  bool   // nothing tells where its main function is
	stopPoint string // of the one on cohort_stop_here
	bps       breakpoints

	plan        *plan  // what the present run is for
	atStopPoint bool   // the last stop was at cohort_stop_here
	hitNumber   string // gdb's number of the breakpoint at which the last stop was; "" none
	pauseWanted bool   // Interrupt was called since the last stop was published
	// SIGINTs or SIGSTOPs that were sent and have not been seen. gdb absorbs one that comes as the rank stops for
	// another reason, so that one may never be.
	interrupting int
	interrupted  bool // one was sent since the rank was resumed

	modules modules.Map
	library map[int]bool // threads that are known to belong, or not to belong, to the MPI library
	refs    base.Refs[*node]
	roots   []string // variable objects of gdb's, to be deleted when the rank resumes
	stale   bool     // memory was written since they were read

	regNames []string
	logText  string   // a log message whose end has not come yet
	warnings []string // gdb's own messages since the last command that looks at them
	done     bool

	marksAsked, marks int // see settle
}

func (o *owner) run() {
	for !o.done {
		// What overtakes comes first; select alone would choose at random.
		select {
		case f := <-o.b.Urgent:
			f()
			continue
		default:
		}
		select {
		case f := <-o.b.Urgent:
			f()
		case f := <-o.b.Calls:
			f()
		case e, ok := <-o.events:
			o.take(e, ok)
		case <-o.killed():
			o.end("")
		}
	}
}

// killed is ready once Kill was called, if there is no gdb whose end will tell.
func (o *owner) killed() <-chan struct{} {
	if o.gdb != nil {
		return nil
	}
	return o.b.Life.Done()
}

// pump takes in events until reached, ctx ends or gdb does. Requests that overtake are served meanwhile.
func (o *owner) pump(ctx context.Context, reached func() bool) error {
	for !reached() {
		if o.done {
			return o.b.Ended()
		}
		select {
		case e, ok := <-o.events:
			o.take(e, ok)
		case f := <-o.b.Urgent:
			f()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// settle takes in all that gdb has said before its last answer.
func (o *owner) settle(ctx context.Context) error {
	if err := o.gdb.Mark(ctx); err != nil {
		return ended(err)
	}
	o.marksAsked++
	asked := o.marksAsked
	return o.pump(ctx, func() bool { return o.marks >= asked })
}

// end is called once, when there is no gdb any more.
func (o *owner) end(why string) {
	// gdb takes the program with it (PTRACE_O_EXITKILL). If nobody asked for that, the end of gdb is the news, and how
	// the program ended would lead astray.
	if o.core != nil {
		_ = o.core.Close() // read only
	}
	if why == "" && o.core == nil && !o.attached &&
		(o.b.State == base.Stopped || o.b.State == base.Running || o.b.State == base.Starting && o.pid != 0) {
		o.b.Publish(backend.Event{Exited: &backend.Exited{Signal: "SIGKILL"}})
	}
	o.done = true
	o.b.End(why)
}

func (o *owner) send(ctx context.Context, c gdbmi.Command) (gdbmi.Record, error) {
	r, err := o.gdb.Send(ctx, c)
	return r, ended(err)
}

// ended turns the death of gdb under a request into the type that package backend documents.
func ended(err error) error {
	if dead, ok := errors.AsType[*gdbmi.DeadError](err); ok {
		return &backend.EndedError{Why: whyDead(dead)}
	}
	return err
}

// whyDead is for people, who have given no command of MI.
func whyDead(dead *gdbmi.DeadError) string {
	why := *dead
	why.Command = ""
	return why.Error()
}

// capture is send that also returns what gdb prints meanwhile.
func (o *owner) capture(ctx context.Context, c gdbmi.Command) (gdbmi.Record, []gdbmi.Record, error) {
	r, said, err := o.gdb.SendCapture(ctx, c)
	return r, said, ended(err)
}

// value evaluates an expression that has no side effects and returns gdb's text for it.
func (o *owner) value(ctx context.Context, at backend.FrameID, expr string) (string, error) {
	r, err := o.send(ctx, inFrame("data-evaluate-expression", at).Opt(expr))
	if err != nil {
		return "", err
	}
	f := r.Fields()
	return f.String("value"), f.Err()
}

func inFrame(name string, at backend.FrameID) gdbmi.Command {
	c := gdbmi.Cmd(name)
	if at.Thread > 0 {
		c = c.Thread(at.Thread).Frame(at.Level)
	}
	return c
}

// take is event for what was read from gdb's channel, which Close may close before its last event is read.
func (o *owner) take(e gdbmi.Event, ok bool) {
	if ok {
		o.event(e)
		return
	}
	if !o.done {
		o.end("")
	}
}

// event takes in what gdb says of its own accord.
func (o *owner) event(e gdbmi.Event) {
	if e.Exit != nil {
		why := ""
		if !e.Exit.Asked {
			why = whyDead(e.Exit)
			o.b.Log.Info("gdb has ended", "why", why, "last records", e.Exit.Last)
		}
		o.end(why)
		return
	}
	if e.Mark {
		o.marks++
		return
	}
	r := e.Record
	switch r.Kind { //nolint:exhaustive // prompts are not events, and progress of downloads is of no interest
	case gdbmi.Exec:
		if r.Class == gdbmi.ClassStopped {
			o.stop(r)
		} else if o.b.State == base.Stopped {
			// A console command did it.
			o.resumed()
			o.b.Publish(backend.Event{Resumed: true})
		}
	case gdbmi.Notify:
		o.notify(r)
	case gdbmi.Console:
		o.consoleText(r.Text)
	case gdbmi.Log:
		if o.b.State == base.Starting || o.b.State == base.NotStarted {
			o.warnings = append(o.warnings, strings.TrimSpace(r.Text))
		}
	case gdbmi.Target:
		o.output("stdout", r.Text)
	case gdbmi.Text:
		o.output("stdout", r.Text+"\n")
	case gdbmi.ResultKind, gdbmi.Malformed:
		o.lateResult(r)
	}
}

func (o *owner) output(category, text string) {
	o.b.Publish(backend.Event{Output: &backend.Output{Category: category, Data: []byte(text)}})
}

func (o *owner) notify(r gdbmi.Record) {
	f := r.Fields()
	switch r.Class {
	case "thread-group-started":
		o.pid = f.Int("pid")
	case "library-loaded", "library-unloaded":
		o.modules.Stale = true
	case "thread-exited":
		delete(o.library, f.Int("id"))
	case "breakpoint-modified":
		for bp := range f.All("bkpt") {
			o.breakpointModified(bp)
		}
	case "breakpoint-deleted":
		o.breakpointDeleted(f.String("id"))
	}
	if err := f.Err(); err != nil {
		o.b.Log.Warn("gdb said what is not understood", "error", err)
	}
}

// logMark begins the console text of a log message; see breakpoints.go.
const logMark = "\x01cohort-log "

// consoleText picks the log messages out of what gdb prints; the rest repeats what records say, or is
// the answer to a console command.
func (o *owner) consoleText(s string) {
	if o.logText == "" && !strings.HasPrefix(s, logMark) {
		return
	}
	o.logText += s
	for {
		line, rest, ok := strings.Cut(o.logText, "\n")
		if !ok {
			return
		}
		o.logText = ""
		if text, ok := strings.CutPrefix(line, logMark); ok {
			o.output("console", unescapeLog(text)+"\n")
		}
		if !strings.HasPrefix(rest, logMark) {
			return
		}
		o.logText = rest
	}
}

// lateResult is a second answer to one command: gdb said ^running and then could not run.
func (o *owner) lateResult(r gdbmi.Record) {
	if r.Kind != gdbmi.ResultKind || r.Class != gdbmi.ClassError || o.b.State != base.Running {
		o.b.Log.Debug("gdb answered something that nobody waits for", "record", r.Text)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	info, err := o.send(ctx, gdbmi.Cmd("thread-info"))
	if err != nil {
		o.b.Log.Warn("gdb does not tell its threads", "error", err)
		return
	}
	f := info.Fields()
	for t := range f.Tuples("threads") {
		if t.OptString("state") == "running" {
			return
		}
	}
	text := fmt.Sprintf("The rank could not continue: %s", r.Fields().OptString("msg"))
	o.halt(ctx, backend.Stopped{Reason: backend.ReasonPause, Thread: f.OptInt("current-thread-id", 1), Text: text})
}
