package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// maxOutstanding bounds the requests of one client that are not answered yet.
const maxOutstanding = 1024

// lane says what a request waits for.
type lane int

const (
	// one after the other, in the order in which they came: what changes ranks, breakpoints or the session
	laneMain    lane = iota
	laneConsole      // likewise; does not hold up pause
	// after what laneMain was asked before, but not after the console: an evaluation that hangs can be interrupted
	lanePause
	laneRead // at the same time as any other, after what laneMain was asked before
	laneNow  // at once
)

// phase is how far a session has come.
type phase int

const (
	phaseConnected   phase = iota
	phaseInitialized       // initialize has been answered
	phaseJob               // launch or attach has been answered
	phaseConfigured        // configurationDone has been answered
)

// spec is how one command is served.
type spec struct {
	lane lane
	need phase
	// needsProcess: refused if the ranks are core files.
	needsProcess bool
	// afterEnd: also answered when the job has ended.
	afterEnd bool
	// of, if set, chooses the lane by the arguments, and names in messages what is asked for.
	of  func(arguments json.RawMessage) (l lane, asked string)
	run func(call *call, arguments json.RawMessage) (any, error)
}

// on makes a spec of a handler with typed arguments.
func on[A any](s spec, handler func(*call, A) (any, error)) spec {
	s.run = func(call *call, raw json.RawMessage) (any, error) {
		var arguments A
		if err := decodeArguments(call.req.command, raw, &arguments); err != nil {
			return nil, err
		}
		return handler(call, arguments)
	}
	return s
}

// call is one request that is being served.
type call struct {
	ctx    context.Context // ends when the request is cancelled or the connection ends
	c      *client
	req    request
	asked  string // the request's command, or that of the console
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when it has been answered and nothing of it is left
	after  []func()
}

// onAnswered runs f right after the answer has been queued. For handlers, before they return.
func (k *call) onAnswered(f func()) { k.after = append(k.after, f) }

// dispatcher serves the requests of one client. accept is for the one goroutine that reads; everything else happens in
// a goroutine per request.
type dispatcher struct {
	c           *client
	lastMain    <-chan struct{} // owned by accept
	lastConsole <-chan struct{}
	wg          sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	running map[*call]struct{}
	closing bool
}

func newDispatcher(c *client) *dispatcher {
	ready := make(chan struct{})
	close(ready)
	return &dispatcher{c: c, lastMain: ready, lastConsole: ready, running: map[*call]struct{}{}}
}

// accept starts serving a request; it never blocks. The channel is closed when the request has been answered.
func (d *dispatcher) accept(req request) <-chan struct{} {
	ctx, cancel := context.WithCancelCause(d.c.ctx)
	k := &call{ctx: ctx, c: d.c, req: req, asked: req.command, cancel: cancel, ended: make(chan struct{})}
	s, ok := d.c.srv.requests[req.command]
	if !ok {
		d.answer(k, nil, d.c.srv.unknownCommand(req.command))
		cancel(nil)
		close(k.ended)
		return k.ended
	}
	if req.command == "cancel" { // must work when too much else is outstanding
		d.serve(k, s)
		cancel(nil)
		close(k.ended)
		return k.ended
	}
	if err := d.begin(k); err != nil {
		d.answer(k, nil, err)
		cancel(nil)
		close(k.ended)
		return k.ended
	}
	l := s.lane
	if s.of != nil {
		l, k.asked = s.of(req.arguments)
	}
	waitFor, done := d.queue(l)
	go func() {
		defer d.end(k)
		defer close(done)
		if d.wait(k, waitFor) {
			d.serve(k, s)
		}
		// Whoever comes after this one in its lane comes after those before it too, also if this one was cancelled.
		for _, w := range waitFor {
			<-w
		}
	}()
	return k.ended
}

// queue tells what a request of a lane waits for and enters it into the lane. owned by accept's goroutine.
func (d *dispatcher) queue(l lane) (waitFor []<-chan struct{}, done chan struct{}) {
	done = make(chan struct{})
	switch l {
	case laneMain:
		waitFor = []<-chan struct{}{d.lastMain, d.lastConsole}
		d.lastMain = done
	case lanePause:
		waitFor = []<-chan struct{}{d.lastMain}
		d.lastMain = done
	case laneConsole:
		waitFor = []<-chan struct{}{d.lastMain, d.lastConsole}
		d.lastConsole = done
	case laneRead:
		waitFor = []<-chan struct{}{d.lastMain}
	case laneNow:
	}
	return waitFor, done
}

// wait waits for the lane; false if the request was cancelled meanwhile, which is answered here.
func (d *dispatcher) wait(k *call, waitFor []<-chan struct{}) bool {
	for _, w := range waitFor {
		select {
		case <-w:
		case <-k.ctx.Done():
			d.answer(k, nil, context.Cause(k.ctx))
			return false
		}
	}
	return true
}

// serve runs the handler and answers.
func (d *dispatcher) serve(k *call, s spec) {
	body, err := d.run(k, s)
	d.answer(k, body, err)
}

func (d *dispatcher) run(k *call, s spec) (body any, err error) {
	// The last line of defence: a mistake in a handler costs its request an answer with an error, and not the user the
	// job.
	defer func() {
		if r := recover(); r != nil {
			d.c.log.Error("dap: a request's handler panicked", "command", k.req.command, "panic", r, "stack",
				string(debug.Stack()))
			body, err = nil, refuse("%s failed because of a defect in Cohort (%v); the job continues. Please report it "+
				"with the log", k.req.command, r)
		}
	}()
	if err := k.c.checkPhase(k.asked, s); err != nil {
		return nil, err
	}
	return s.run(k, k.req.arguments)
}

// answer is the one place that sends responses.
func (d *dispatcher) answer(k *call, body any, err error) {
	var raw json.RawMessage
	if err == nil && body != nil {
		var encodeErr error
		if raw, encodeErr = json.Marshal(body); encodeErr != nil {
			err = refuse("the answer to %s cannot be encoded: %v", k.req.command, encodeErr)
		}
	}
	response := &godap.Response{RequestSeq: k.req.seq, Command: k.req.command, Success: err == nil}
	if err != nil {
		text, short, show := describeError(k.ctx, k.req.command, k.asked, err)
		if k.req.command == "evaluate" || strings.HasPrefix(k.req.command, "cohort/") {
			// whoever asks shows it: the console, the watch, or (a hover) nobody; who knows of Cohort's requests, too
			show = false
		}
		id := errorID(err)
		response.Message = short
		raw, err = json.Marshal(godap.ErrorResponseBody{Error: &godap.ErrorMessage{
			Id: id, Format: text,
			ShowUser: show,
		}})
		if err != nil { // cannot be, of strings, a number and a bool; the message says it all the same
			d.c.log.Error("dap: an error cannot be encoded", "error", err)
		}
		d.c.log.Debug("dap: request refused", "command", k.req.command, "seq", k.req.seq, "why", text)
	}
	d.c.post(envelope{response: response, body: raw})
	for _, f := range slices.Backward(k.after) {
		f()
	}
	k.after = nil
}

// begin enters a request among the outstanding ones, unless there are too many or the connection ends.
func (d *dispatcher) begin(k *call) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return refuse("%s was refused: this session ends", k.req.command)
	}
	if len(d.running) >= maxOutstanding {
		return refuse("%s was refused: %d requests of this client are not answered yet; wait for some of the answers "+
			"first",
			k.req.command, len(d.running))
	}
	d.running[k] = struct{}{}
	d.wg.Add(1)
	return nil
}

func (d *dispatcher) end(k *call) {
	k.cancel(nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, k)
	close(k.ended)
	d.wg.Done()
}

// close refuses further requests, cancels those that are outstanding but for keep, and waits until they have been
// answered.
func (d *dispatcher) close(keep *call) {
	d.mu.Lock()
	d.closing = true
	var others []*call
	for k := range d.running {
		if k != keep {
			k.cancel(errGone)
			others = append(others, k)
		}
	}
	d.mu.Unlock()
	for _, k := range others {
		<-k.ended
	}
}

// cancelWhere cancels the outstanding requests that match, and tells how many those were.
func (d *dispatcher) cancelWhere(match func(*call) bool) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for k := range d.running {
		if match(k) {
			k.cancel(errCancelled)
			n++
		}
	}
	return n
}

// unknownCommand says so, and what the user may have meant.
func (s *Server) unknownCommand(command string) error {
	if dapCommands[command] {
		return refuse("Cohort does not support the request %s; what it does support is in the capabilities that "+
			"initialize returns", quoteShort(command))
	}
	known := make([]string, 0, len(s.requests))
	for name := range s.requests {
		known = append(known, name)
	}
	hint := ""
	if near := nearest(command, known); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return refuse("the request %s is neither part of the Debug Adapter Protocol nor one of Cohort's%s (Cohort's are "+
		"%q and its like, see docs/dap.md)",
		quoteShort(command), hint, protocol.RequestRanks)
}
