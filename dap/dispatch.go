package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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
	// ended, if set, is the answer when the job has ended.
	ended any
	// notice, if set, is told of the request before any that comes after it is served.
	notice func(c *client, arguments json.RawMessage)
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
	d      *debuggee // the client's job when the request was admitted; nil before launch or attach
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

	// guarded by Server.mu:
	running map[*call]bool
	closing bool
}

func newDispatcher(c *client) *dispatcher {
	ready := make(chan struct{})
	close(ready)
	return &dispatcher{c: c, lastMain: ready, lastConsole: ready, running: map[*call]bool{}}
}

// accept starts serving a request; it never blocks. The channel is closed when the request has been answered.
func (d *dispatcher) accept(req request) <-chan struct{} {
	ctx, cancel := context.WithCancelCause(d.c.ctx)
	k := &call{ctx: ctx, c: d.c, req: req, asked: req.command, cancel: cancel, ended: make(chan struct{})}
	s, known := d.c.srv.requests[req.command]
	switch {
	case !known:
		d.answer(k, nil, d.c.srv.unknownCommand(req.command))
	case req.command == "cancel": // must work when too much else is outstanding
		d.serve(k, s)
	default:
		err := d.begin(k)
		if err == nil {
			d.schedule(k, s)
			return k.ended
		}
		d.answer(k, nil, err)
	}
	cancel(nil)
	close(k.ended)
	return k.ended
}

// schedule serves a request when those that it comes after have been served. For accept's goroutine.
func (d *dispatcher) schedule(k *call, s spec) {
	l := s.lane
	if s.of != nil {
		l, k.asked = s.of(k.req.arguments)
	}
	if s.notice != nil {
		s.notice(d.c, k.req.arguments)
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
}

// queue tells what a request of a lane waits for and enters it into the lane. For accept's goroutine.
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
			body, err = nil, refuse("%s failed because of a defect in Cohort (%v); the job continues. Please report "+
				"it with the log", k.req.command, r)
		}
	}()
	if err = k.admit(s); err == nil {
		body, err = s.run(k, k.req.arguments)
	}
	if err != nil && s.ended != nil && k.d != nil {
		if over, _ := k.d.ended(); over {
			return s.ended, nil
		}
	}
	return body, err
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
		raw, _ = json.Marshal(godap.ErrorResponseBody{ // cannot fail, of strings, a number and a bool
			Error: &godap.ErrorMessage{Id: id, Format: text, ShowUser: show},
		})
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
	d.c.srv.mu.Lock()
	defer d.c.srv.mu.Unlock()
	if d.closing {
		return refuse("%s was refused: this session ends", k.req.command)
	}
	if len(d.running) >= maxOutstanding {
		return refuse("%s was refused: %d requests of this client are not answered yet; wait for some of the answers "+
			"first", k.req.command, len(d.running))
	}
	d.running[k] = true
	d.wg.Add(1)
	return nil
}

func (d *dispatcher) end(k *call) {
	k.cancel(nil)
	d.c.srv.mu.Lock()
	defer d.c.srv.mu.Unlock()
	delete(d.running, k)
	close(k.ended)
	d.wg.Done()
}

// close refuses further requests, cancels those that are outstanding but for keep, and waits until they have been
// answered.
func (d *dispatcher) close(keep *call) {
	d.c.srv.mu.Lock()
	d.closing = true
	var others []*call
	for k := range d.running {
		if k != keep {
			k.cancel(errGone)
			others = append(others, k)
		}
	}
	d.c.srv.mu.Unlock()
	for _, k := range others {
		<-k.ended
	}
}

// isClosing tells whether the client has disconnected, or is gone.
func (d *dispatcher) isClosing() bool {
	d.c.srv.mu.Lock()
	defer d.c.srv.mu.Unlock()
	return d.closing
}

// cancelWhere cancels the outstanding requests that match, and tells how many those were.
func (d *dispatcher) cancelWhere(match func(*call) bool) int {
	d.c.srv.mu.Lock()
	defer d.c.srv.mu.Unlock()
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
	hint := ""
	if near := nearest(command, slices.Sorted(maps.Keys(s.requests))); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return refuse("the request %s is neither part of the Debug Adapter Protocol nor one of Cohort's%s (Cohort's are "+
		"%q and its like, see docs/dap.md)", quoteShort(command), hint, protocol.RequestRanks)
}
