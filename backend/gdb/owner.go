package gdb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/corefile"
	"github.com/cohort-debugger/cohort/internal/modules"
)

type state int

const (
	idle     state = iota // not launched
	starting              // running towards the entry
	stopped
	running
	exited
)

func (s state) String() string {
	return [...]string{"not started", "starting", "stopped", "running", "gone: its program has ended"}[s]
}

// patience bounds what the owner asks gdb on its own account, such as the stack at a stop. It is an
// end, not an expectation: reading the symbols of a large program can take long.
const patience = 2 * time.Minute

// owner is the goroutine that owns the rank.
type owner struct {
	b      *Backend
	gdb    *gdbmi.Process
	events <-chan gdbmi.Event

	state   state
	pid     int
	program string
	version string
	core    *corefile.File // not nil: the rank is a core file
	python  bool

	entry     int // gdb's number of the breakpoint at the entry; 0 none
	stopPoint int // of the one on cohort_stop_here
	bps       breakpoints

	plan        *plan // what the present run is for
	pauseWanted bool  // Interrupt was called since the last stop was published
	// SIGINTs or SIGSTOPs that were sent and have not been seen. gdb absorbs one that comes as the rank stops for another
	// reason, so that one may never be.
	interrupting int
	interrupted  bool // one was sent since the rank was resumed

	modules modules.Map
	library map[int]bool // threads that are known to belong, or not to belong, to the MPI library
	refs    refs

	regNames []string
	logText  string   // a log message whose end has not come yet
	warnings []string // gdb's own messages since the last command that looks at them
	done     bool

	marksAsked, marks int // see settle
}

func newOwner(b *Backend) *owner {
	return &owner{b: b, bps: newBreakpoints(), library: map[int]bool{}, refs: newRefs()}
}

func (o *owner) run() {
	for !o.done {
		// What overtakes comes first; select alone would choose at random.
		select {
		case f := <-o.b.urgent:
			f(o)
			continue
		default:
		}
		select {
		case f := <-o.b.urgent:
			f(o)
		case f := <-o.b.calls:
			f(o)
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
	return o.b.life.Done()
}

// pump takes in events until reached, ctx ends or gdb does. Requests that overtake are served meanwhile.
func (o *owner) pump(ctx context.Context, reached func() bool) error {
	for !reached() {
		if o.done {
			return &backend.EndedError{Why: o.b.why}
		}
		select {
		case e, ok := <-o.events:
			o.take(e, ok)
		case f := <-o.b.urgent:
			f(o)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// settle takes in all that gdb has said before its last answer.
func (o *owner) settle(ctx context.Context) error {
	if err := o.gdb.Mark(ctx); err != nil {
		return err
	}
	o.marksAsked++
	asked := o.marksAsked
	return o.pump(ctx, func() bool { return o.marks >= asked })
}

func (o *owner) publish(e backend.Event) { o.b.Publish(e) }

// end is called once, when there is no gdb any more.
func (o *owner) end(why string) {
	// gdb takes the program with it (PTRACE_O_EXITKILL). If nobody asked for that, the end of gdb is the news, and how
	// the program ended would lead astray.
	if o.core != nil {
		_ = o.core.Close() // read only
	}
	if why == "" && o.core == nil && (o.state == stopped || o.state == running || o.state == starting && o.pid != 0) {
		o.publish(backend.Event{Exited: &backend.Exited{Signal: "SIGKILL"}})
	}
	o.state = exited
	o.done = true
	o.b.why = why
	if why == "" {
		o.b.why = "it was asked to"
	}
	close(o.b.ended)
	o.publish(backend.Event{Ended: &backend.Ended{Err: why}})
}

// needProcess is needStopped for what a core file cannot do.
func (o *owner) needProcess(asked string) error {
	if o.core != nil {
		return &backend.StateError{Asked: asked, State: isCore}
	}
	return o.needStopped(asked)
}

func (o *owner) needStopped(asked string) error {
	if o.state != stopped {
		return &backend.StateError{Asked: asked, State: o.state.String()}
	}
	return nil
}

func (o *owner) send(ctx context.Context, c gdbmi.Command) (gdbmi.Record, error) {
	return o.gdb.Send(ctx, c)
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

// console has gdb carry out a line of its command language and returns what it prints.
func (o *owner) console(ctx context.Context, line string) (string, error) {
	_, streams, err := o.gdb.SendCapture(ctx, gdbmi.CLI(line))
	var b strings.Builder
	for _, s := range streams {
		if s.Kind == gdbmi.Console || s.Kind == gdbmi.Target || s.Kind == gdbmi.Log {
			b.WriteString(s.Text)
		}
	}
	return b.String(), err
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
			why = e.Exit.Error()
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
		} else if o.state == stopped {
			// A console command did it.
			o.resumed()
			o.publish(backend.Event{Resumed: true})
		}
	case gdbmi.Notify:
		o.notify(r)
	case gdbmi.Console:
		o.consoleText(r.Text)
	case gdbmi.Log:
		if o.state == starting || o.state == idle {
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
	o.publish(backend.Event{Output: &backend.Output{Category: category, Data: []byte(text)}})
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
		o.b.log.Warn("gdb said what is not understood", "error", err)
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
	if r.Kind != gdbmi.ResultKind || r.Class != gdbmi.ClassError || o.state != running {
		o.b.log.Debug("gdb answered something that nobody waits for", "record", r.Text)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	info, err := o.send(ctx, gdbmi.Cmd("thread-info"))
	if err != nil {
		o.b.log.Warn("gdb does not tell its threads", "error", err)
		return
	}
	f := info.Fields()
	for t := range f.Tuples("threads") {
		if t.OptString("state") == "running" {
			return
		}
	}
	text := fmt.Sprintf("The rank could not go on: %s", r.Fields().OptString("msg"))
	o.halt(ctx, backend.Stopped{Reason: backend.ReasonPause, Thread: f.OptInt("current-thread-id", 1), Text: text})
}
