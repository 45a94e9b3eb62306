package gdbmi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/internal/logfile"
)

type request struct {
	ctx     context.Context
	command Command
	token   uint64
	capture bool
	streams []Record    // captured by the owner, until it answers
	answer  chan answer // receives at most once
}

type answer struct {
	record Record
	err    error
}

// Send gives gdb a command and waits for its first result. Many may be under way at once; gdb carries
// them out in the order in which they were sent. The error is a *[CommandError] for ^error, a *[DeadError]
// if gdb is or goes away, and ctx's if that ends first: the command is then carried out all the same, and its
// result is an [Event].
func (p *Process) Send(ctx context.Context, c Command) (Record, error) {
	r, _, err := p.send(&request{ctx: ctx, command: c})
	return r, err
}

// SendCapture is Send that also returns the stream records that came while the command was the
// oldest one under way, which is what it printed. They are events as well. What gdb prints about a stop
// that falls into that time is among them.
func (p *Process) SendCapture(ctx context.Context, c Command) (Record, []Record, error) {
	return p.send(&request{ctx: ctx, command: c, capture: true})
}

func (p *Process) send(r *request) (Record, []Record, error) {
	if err := r.command.check(); err != nil {
		return Record{}, nil, err
	}
	r.answer = make(chan answer, 1)
	err := p.tell(r.ctx, func(o *owner) { o.send(r) })
	if err == nil {
		select {
		case a := <-r.answer:
			return a.record, r.streams, a.err
		case <-r.ctx.Done():
			err = context.Cause(r.ctx)
		}
		_ = p.tell(context.Background(), func(o *owner) { o.forget(r) }) // or it has ended, and answered
		select {
		case a := <-r.answer: // it came in between
			return a.record, r.streams, a.err
		default:
		}
	}
	return Record{}, nil, unanswered(r.command, err)
}

// Mark has an event with Mark set follow the events that came before this call. Who has taken it has taken all that gdb
// had said of its own accord when an earlier [Process.Send] returned. The error is ctx's, or a *[DeadError].
func (p *Process) Mark(ctx context.Context) error {
	return p.tell(ctx, func(o *owner) { o.events = append(o.events, Event{Mark: true}) })
}

// tell has the owner do something. The error is ctx's, or a *[DeadError].
func (p *Process) tell(ctx context.Context, do func(*owner)) error {
	select {
	case p.told <- do:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.ended:
		return p.dead
	}
}

func unanswered(c Command, why error) error {
	if dead, ok := errors.AsType[*DeadError](why); ok {
		d := *dead
		d.Command = c.String()
		return &d
	}
	return fmt.Errorf("gdb has not answered %s: %w", shorten(c.String()), why)
}

// owner is the goroutine that owns what is under way. It never blocks on one channel alone, which is why
// no reader or writer can hold up another.
type owner struct {
	p          *Process
	transcript io.Writer
	token      uint64     // the last
	pending    []*request // in the order of sending, which is that of gdb's work
	out        []string   // to be written
	events     []Event    // to be taken
	last       []string   // for DeadError
	prompted   bool
	asked      bool // to end
}

const lastKept = 8

func (o *owner) run() {
	p := o.p
	defer close(p.finished)
	defer p.helpers.Wait()
	lines, dead := p.lines, p.reaped
	var impatient <-chan time.Time
	for lines != nil || dead != nil {
		var eventC chan Event
		var event Event
		if len(o.events) > 0 {
			eventC, event = p.events, o.events[0]
		}
		var writeC chan string
		var write string
		if len(o.out) > 0 {
			writeC, write = p.writes, o.out[0]
		}
		select {
		case do := <-p.told:
			do(o)
		case line, ok := <-lines:
			if !ok {
				lines = nil
				impatient = time.After(p.patience)
				continue
			}
			o.line(line)
		case eventC <- event:
			o.events[0] = Event{} // do not keep a long record for the sake of the array
			o.events = o.events[1:]
		case writeC <- write:
			o.out = o.out[1:]
		case p.dead = <-dead:
			dead = nil
		case <-impatient:
			p.log.Warn("gdb closed its output and lives on: it is killed", "pid", p.pid)
			p.kill()
		}
	}
	close(p.writes)
	o.end()
}

// end answers all that is open, and hands out the remaining events until they are taken or no longer wanted.
func (o *owner) end() {
	p := o.p
	p.dead.Asked, p.dead.PID, p.dead.Last = o.asked, p.pid, o.last
	for _, r := range o.pending {
		r.answer <- answer{err: unanswered(r.command, p.dead)}
	}
	o.log("! " + p.dead.State)
	close(p.ended)
	defer close(p.events)
	for _, e := range append(o.events, Event{Exit: p.dead}) {
		select {
		case p.events <- e:
		case <-p.closing:
			return
		}
	}
}

func (o *owner) log(s string) {
	if o.p.log.Enabled(context.Background(), slog.LevelDebug) {
		o.p.log.Debug("gdb", "mi", logfile.Message(withoutValue(s)))
	}
	if o.transcript == nil {
		return
	}
	if _, err := io.WriteString(o.transcript, s+"\n"); err != nil {
		o.p.log.Warn("the transcript of gdb ends here", "pid", o.p.pid, "error", err)
		o.transcript = nil
	}
}

// withoutValue leaves the value out of a command that sets a variable of the program's environment.
func withoutValue(line string) string {
	const set = "set environment "
	if before, rest, ok := strings.Cut(line, set); ok {
		name, _, _ := strings.Cut(rest, "=")
		return before + set + name + "=(hidden)"
	}
	return line
}

func (o *owner) send(r *request) {
	if r.ctx.Err() != nil {
		r.answer <- answer{err: unanswered(r.command, context.Cause(r.ctx))}
		return
	}
	o.token++
	r.token = o.token
	o.pending = append(o.pending, r)
	line := strconv.FormatUint(r.token, 10) + r.command.String()
	o.log("> " + line)
	o.out = append(o.out, line+"\n")
}

func (o *owner) forget(r *request) {
	o.pending = slices.DeleteFunc(o.pending, func(q *request) bool { return q == r })
}

func (o *owner) line(line string) {
	o.log("< " + line)
	if !strings.HasPrefix(line, "(gdb)") {
		if len(o.last) == lastKept {
			o.last = append(o.last[:0], o.last[1:]...)
		}
		o.last = append(o.last, strings.Clone(shorten(line)))
	}
	for _, rec := range Split(line) {
		o.record(rec)
	}
}

func (o *owner) record(rec Record) {
	if rec.Kind == Prompt {
		if !o.prompted {
			o.prompted = true
			close(o.p.ready)
		}
		return
	}
	if rec.IsStream() && len(o.pending) > 0 && o.pending[0].capture {
		o.pending[0].streams = append(o.pending[0].streams, rec)
	}
	if rec.Kind == ResultKind || rec.Kind == Malformed {
		i := slices.IndexFunc(o.pending, func(r *request) bool { return r.token == rec.Token })
		if i >= 0 {
			r := o.pending[i]
			o.forget(r)
			r.answer <- answer{rec, failure(r.command, rec)}
			return
		}
	}
	o.events = append(o.events, Event{Record: rec})
}

// failure is the error that the answer to a command is.
func failure(c Command, rec Record) error {
	if rec.Kind == Malformed {
		_, err := Parse(rec.Text)
		return fmt.Errorf("gdb's answer to %s is broken, %q: %w", shorten(c.String()), shorten(rec.Text), err)
	}
	if rec.Class != ClassError {
		return nil
	}
	msg := rec.Fields().OptString("msg")
	if msg == "" {
		msg = rec.Text
	}
	return &CommandError{Command: c.String(), Msg: msg}
}
