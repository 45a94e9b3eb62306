package gdbmi

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

type request struct {
	ctx     context.Context
	command Command
	token   uint64
	capture bool
	streams []Record // written by the owner before reply is sent
	reply   chan reply
}

type reply struct {
	record Record
	err    error
}

type reaped struct {
	state, stderr string
}

// Send gives gdb a command and waits for its first result. Many may be under way at once; gdb carries
// them out in the order in which they were sent. The error is a *[CommandError] for ^error, a *[DeadError]
// if gdb is or goes away, a *[RecordError] for a broken answer, and ctx's if that ends first: the command is then
// carried out all the same, and its result is an [Event].
func (p *Process) Send(ctx context.Context, c Command) (Record, error) {
	r, _, err := p.send(ctx, c, false)
	return r, err
}

// SendCapture is Send that also returns the stream records that came while the command was the
// oldest one under way, which is what it printed. They are events as well. What gdb prints about a stop
// that falls into that time is among them.
func (p *Process) SendCapture(ctx context.Context, c Command) (Record, []Record, error) {
	return p.send(ctx, c, true)
}

func (p *Process) send(ctx context.Context, c Command, capture bool) (Record, []Record, error) {
	if err := c.check(); err != nil {
		return Record{}, nil, err
	}
	r := &request{ctx: ctx, command: c, capture: capture, reply: make(chan reply, 1)}
	select {
	case p.requests <- r:
	case <-ctx.Done():
		return Record{}, nil, notAnswered(ctx, c)
	case <-p.ended:
		return Record{}, nil, p.dead.answering(c)
	}
	select {
	case a := <-r.reply:
		return a.record, r.streams, a.err
	case <-ctx.Done():
	}
	select {
	case p.cancels <- r:
	case <-p.ended:
	}
	select {
	case a := <-r.reply: // it came in between
		return a.record, r.streams, a.err
	default:
		return Record{}, nil, notAnswered(ctx, c)
	}
}

// Mark has an event with Mark set follow the events that came before this call. Who has taken it has taken all that gdb
// had said of its own accord when an earlier [Process.Send] returned. The error is ctx's, or a *[DeadError].
func (p *Process) Mark(ctx context.Context) error {
	select {
	case p.marks <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.ended:
		return p.dead
	}
}

func notAnswered(ctx context.Context, c Command) error {
	return fmt.Errorf("gdb has not answered %s: %w", shorten(c.String(), 200), context.Cause(ctx))
}

func (e *DeadError) answering(c Command) *DeadError {
	d := *e
	d.Command = c.String()
	return &d
}

// owner is the goroutine that owns what is under way. It never blocks on one channel alone, which is why
// no reader or writer can hold up another.
type owner struct {
	p          *Process
	transcript io.Writer
	next       uint64
	pending    []*request // in the order of sending, which is that of gdb's work
	out        []string   // to be written
	events     []Event    // to be taken
	last       []string   // for DeadError
	prompted   bool
	asked      bool // -gdb-exit was sent
	closing    bool
}

const lastKept = 8

func newOwner(p *Process, transcript io.Writer) *owner {
	return &owner{p: p, transcript: transcript, next: 1}
}

func (o *owner) run() {
	p := o.p
	defer close(p.finished)
	defer p.helpers.Wait()
	lines, dead := p.lines, p.reaped
	var impatient <-chan time.Time
	var gone *reaped
	for lines != nil || gone == nil {
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
		case r := <-p.requests:
			o.send(r)
		case r := <-p.cancels:
			o.forget(r)
		case <-p.marks:
			o.events = append(o.events, Event{Mark: true})
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
		case g := <-dead:
			gone = &g
		case <-p.closing:
			o.closing = true
		case <-impatient:
			p.log.Warn("gdb closed its output and lives on: it is killed", "pid", p.pid)
			p.kill()
		}
	}
	close(p.writes)
	o.end(*gone)
}

// end answers all that is open, and hands out the remaining events until they are taken or no longer wanted.
func (o *owner) end(gone reaped) {
	p := o.p
	p.dead = &DeadError{Asked: o.asked || o.closing, PID: p.pid, State: gone.state, Stderr: gone.stderr, Last: o.last}
	for _, r := range o.pending {
		o.finish(r, reply{err: p.dead.answering(r.command)})
	}
	o.pending = nil
	o.log("! " + gone.state)
	close(p.ended)
	defer close(p.events)
	if o.closing {
		return
	}
	for _, e := range append(o.events, Event{Exit: p.dead}) {
		select {
		case p.events <- e:
		case <-p.closing:
			return
		}
	}
}

func (o *owner) log(s string) {
	if o.transcript == nil {
		return
	}
	if _, err := io.WriteString(o.transcript, s+"\n"); err != nil {
		o.p.log.Warn("the transcript of gdb ends here", "pid", o.p.pid, "error", err)
		o.transcript = nil
	}
}

func (o *owner) send(r *request) {
	if r.ctx.Err() != nil {
		o.finish(r, reply{err: notAnswered(r.ctx, r.command)})
		return
	}
	o.asked = o.asked || r.command.name == "gdb-exit"
	r.token = o.next
	o.next++
	o.pending = append(o.pending, r)
	line := strconv.FormatUint(r.token, 10) + r.command.String()
	o.log("> " + line)
	o.out = append(o.out, line+"\n")
}

func (o *owner) forget(r *request) {
	for i, q := range o.pending {
		if q == r {
			o.pending = append(o.pending[:i], o.pending[i+1:]...)
			return
		}
	}
}

func (o *owner) finish(r *request, a reply) { r.reply <- a }

func (o *owner) line(line string) {
	o.log("< " + line)
	if !strings.HasPrefix(line, "(gdb)") {
		if len(o.last) == lastKept {
			o.last = append(o.last[:0], o.last[1:]...)
		}
		o.last = append(o.last, strings.Clone(shorten(line, 160)))
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
		for _, r := range o.pending {
			if r.token == rec.Token {
				o.forget(r)
				o.finish(r, answer(r.command, rec))
				return
			}
		}
	}
	o.events = append(o.events, Event{Record: rec})
}

func answer(c Command, rec Record) reply {
	if rec.Kind == Malformed {
		_, err := Parse(rec.Text)
		if err == nil {
			// Split takes for broken only what Parse refuses or what has text behind it.
			err = &SyntaxError{Line: rec.Text, Offset: len(rec.Text), Want: "a whole record"}
		}
		return reply{err: &RecordError{Command: c.String(), Line: rec.Text, Err: err}}
	}
	if rec.Class != ClassError {
		return reply{record: rec}
	}
	f := rec.Fields()
	msg := f.OptString("msg")
	if msg == "" {
		msg = rec.String()
	}
	return reply{record: rec, err: &CommandError{Command: c.String(), Msg: msg, Code: f.OptString("code")}}
}
