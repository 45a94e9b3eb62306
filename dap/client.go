package dap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/job"
)

// flushTime bounds how long a connection that ends waits for a client that reads slowly or not at all.
const flushTime = 5 * time.Second

// tokenTime is how long a connection may take to show the token: whoever cannot must not keep one of the places.
const tokenTime = 20 * time.Second

// client is one connection from its first byte to its last.
type client struct {
	srv       *Server
	name      string // for the log
	log       *slog.Logger
	conn      io.ReadWriteCloser
	needToken bool
	out       *outbox
	dispatch  *dispatcher
	ctx       context.Context // ends with the connection
	cancel    context.CancelCauseFunc

	// gate is held by a request that makes ranks run, from before they do until its answer is queued, and by the stream
	// of events while it sends one: so no stopped event overtakes that answer.
	gate sync.Mutex

	view *view
	// caps are written by initialize, launch and attach, before phase says so, and never again.
	caps clientCaps

	authorized atomic.Bool // the token has been shown, or none is needed

	pump sync.WaitGroup
	sub  *job.Subscription // what pump reads
	told chan struct{}     // closed when the client has been told all of the job

	// guarded by Server.mu:
	phase       phase
	job         *debuggee // nil until launch or attach has succeeded
	owner       bool      // this client launched it
	leaving     *bool     // terminateDebuggee of a disconnect that was asked for; nil: not asked
	steered     *steeredWait
	progressBar int // number of the last one
}

// clientCaps is what initialize told about the client.
type clientCaps struct {
	progress      bool
	variableType  bool
	paging        bool
	memory        bool
	invalidated   bool
	memoryEvents  bool
	linesFrom0    bool
	columnsFrom0  bool
	pathsAreURIs  bool
	showLibraries bool
	cohort        bool // it has asked for Cohort's own events, and knows that threads are ranks
}

func newClient(ctx context.Context, srv *Server, conn io.ReadWriteCloser, name string, needToken bool) *client {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &client{
		srv: srv, name: name, log: srv.o.Log.With("client", name), conn: conn, needToken: needToken,
		ctx: ctx, cancel: cancel, view: newView(&srv.mu), told: make(chan struct{}),
	}
	c.out = newOutbox(conn, func(content []byte) { c.logTraffic("sent", content) })
	c.dispatch = newDispatcher(c)
	return c
}

// serve runs the connection to its end and leaves nothing of it behind. The error tells why the connection ended if no
// disconnect was asked for.
func (c *client) serve() error {
	defer c.cancel(errGone)
	writerDone := make(chan error, 1)
	go func() {
		err := c.out.run()
		if err != nil {
			c.cancel(fmt.Errorf("%w: %w", errGone, err)) // a client that cannot be told anything is gone
		}
		writerDone <- err
	}()
	readerDone := make(chan error, 1)
	go func() {
		err := c.read()
		c.cancel(errGone)
		readerDone <- err
	}()

	if c.needToken {
		defer time.AfterFunc(tokenTime, func() {
			if !c.authorized.Load() {
				c.log.Warn("dap: no token in time")
				c.say("important", fmt.Sprintf("The connection is closed: no token was shown within %v.\n", tokenTime))
				c.cancel(errWrongToken)
			}
		}).Stop()
	}
	<-c.ctx.Done()
	cause := context.Cause(c.ctx)
	c.dispatch.close(nil)
	c.dispatch.wg.Wait()
	c.leave()
	c.pump.Wait()
	// the server stops: the client is there, and did not ask for that
	if d := c.debuggee(); d != nil && !errors.Is(cause, errGone) {
		c.event("terminated", godap.TerminatedEventBody{})
	}
	c.out.close()
	writeErr := waitFor(writerDone, flushTime)
	closeErr := c.conn.Close()
	// A reader that waits on a terminal or pipe that cannot be interrupted ends with the process; all others have ended
	// now that the connection is closed.
	readErr := waitFor(readerDone, flushTime)
	if errors.Is(cause, errDisconnected) {
		return nil
	}
	if !errors.Is(cause, errGone) {
		readErr = nil // the server stopped
	}
	return errors.Join(readErr, writeErr, ignoreClosed(closeErr))
}

// errDisconnected ends a connection whose client has asked for that.
var errDisconnected = fmt.Errorf("%w: the client disconnected", errGone)

// waitFor returns what comes from done, or nil when the time is over.
func waitFor(done <-chan error, limit time.Duration) error {
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return nil
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// read takes in messages until the stream or the connection ends.
func (c *client) read() error {
	r := bufio.NewReaderSize(c.conn, maxHeader)
	for {
		content, err := readFrame(r)
		var bad *frameError
		switch {
		case errors.As(err, &bad):
			c.protestFrame(bad)
			if bad.fatal {
				return err
			}
			continue
		case errors.Is(err, io.EOF) || c.ctx.Err() != nil:
			return nil //nolint:nilerr // the stream has ended between messages, or because this connection does
		case err != nil:
			return fmt.Errorf("read from the client: %w", err)
		}
		c.logTraffic("received", content)
		req, err := parseRequest(content)
		switch {
		case errors.Is(err, errNotRequest):
			c.log.Debug("dap: ignored a message that is no request", "message", quoteShort(string(content)))
			continue
		case err != nil:
			c.dispatch.answer(&call{ctx: c.ctx, c: c, req: req}, nil, refuse("%v", err))
			continue // the frame was whole, so the next one can be read
		}
		ended := c.dispatch.accept(req)
		if req.command == "disconnect" {
			<-ended // so that no Read waits on a standard input that nothing can close
		}
		if c.ctx.Err() != nil {
			return nil //nolint:nilerr // the connection ends, which is no failure to read
		}
	}
}

// protestFrame answers bytes that are no message. There is no request to answer, hence request_seq 0; the user is told
// too.
func (c *client) protestFrame(bad *frameError) {
	c.log.Warn("dap: bad frame", "why", bad.text)
	c.dispatch.answer(&call{ctx: c.ctx, c: c}, nil, refuse("%s", bad.text))
	c.say("important", sentence(bad.text)+"\n")
}

// post queues a message for the client; one that is gone is told nothing.
func (c *client) post(e envelope) {
	if err := c.out.post(e); err != nil {
		c.log.Debug("dap: not sent", "why", err)
		c.cancel(fmt.Errorf("%w: %w", errGone, err))
	}
}

// giveUp ends the connection to a client that does not read.
func (c *client) giveUp(why string) {
	c.log.Warn("dap: the client is disconnected", "why", why)
	c.cancel(fmt.Errorf("%w: the client is disconnected: %s", errGone, why))
}

// event queues an event.
func (c *client) event(name string, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		c.log.Error("dap: an event cannot be encoded", "event", name, "error", err)
		return
	}
	c.post(envelope{event: name, body: raw})
}

// cohortEvent queues one of Cohort's own events, for a client that has asked for them: others may take an event that
// they do not know for an error.
func (c *client) cohortEvent(name string, body any) {
	if c.caps.cohort {
		c.event(name, body)
	}
}

// say shows text to the user. Categories are DAP's: console, important, stdout, stderr.
func (c *client) say(category, text string) {
	c.event("output", godap.OutputEventBody{Category: category, Output: text})
}

// admit refuses what comes too early or too late.
func (k *call) admit(s spec) error {
	mu := &k.c.srv.mu
	mu.Lock()
	defer mu.Unlock()
	phase := k.c.phase
	k.d = k.c.job
	switch d := k.d; {
	case phase < s.need && phase == phaseConnected:
		return refuse("%s was sent before initialize: send initialize first", k.asked)
	case phase < s.need && phase == phaseInitialized:
		return refuse("%s needs a job, and this session has none yet: send launch, or attach to the job of "+
			"another client of this server", k.asked)
	case phase < s.need:
		return refuse("%s needs ranks that have been started: send configurationDone first", k.asked)
	case d == nil:
	case s.need >= phaseJob && !s.afterEnd && d.isOver:
		return &requestError{
			text: fmt.Sprintf("%s cannot be carried out: the job has ended (%s). Disconnect, and launch again", k.asked,
				d.overWhy),
			quiet: s.lane == laneRead, // an editor reads on for a moment
		}
	case s.needsProcess && d.Cores:
		return onCores(k.asked)
	case s.need >= phaseConfigured && !s.afterEnd && !d.launched:
		return refuse("%s needs ranks that have been started: wait until the client that launched the job has sent "+
			"configurationDone", k.asked)
	}
	return nil
}

func onCores(command string) error {
	return refuse("%s cannot be carried out on core files: their processes have ended, and nothing of them can "+
		"run or be changed", command)
}

// debuggee is the job of this session; nil before launch or attach.
func (c *client) debuggee() *debuggee {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	return c.job
}

// leave takes this client out of its job, and ends the job if it was this client's or nobody else's.
func (c *client) leave() {
	c.srv.mu.Lock()
	d, terminate := c.job, c.owner
	if c.leaving != nil {
		terminate = *c.leaving
	}
	c.srv.mu.Unlock()
	if d != nil {
		d.remove(c, terminate)
	}
}
