package daptest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

// patience bounds each wait. It only matters when something hangs: what can no longer come fails at once.
const patience = 3 * time.Minute

// Dumper is a connection that can tell what its server is doing, as the dump of its goroutines. That may end the
// server. It is asked when something hangs.
type Dumper interface{ Dump() string }

// Client is a DAP client. Its methods may be called from any goroutine; those that fail the test only from the test's.
type Client struct {
	tb   testing.TB
	conn io.ReadWriteCloser
	done chan struct{} // closed when the reader has ended

	sending sync.Mutex // held while a message is written
	lastSeq int        // guarded by sending

	mu      sync.Mutex // guards the fields below
	events  []Event
	changed chan struct{} // closed and replaced at each message
	waiting map[int]chan protocol.Response
	cursor  int
	ended   error // why no more messages come; nil: they do
}

// Event is an event of the server, in the order of arrival.
type Event struct {
	Index int
	Seq   int
	Name  string
	Body  json.RawMessage
}

// Decode reads the event's body.
func (e Event) Decode(into any) error { return json.Unmarshal(e.Body, into) }

func (e Event) String() string { return e.Name + " " + string(e.Body) }

// New starts a client on conn and closes it when the test ends.
func New(tb testing.TB, conn io.ReadWriteCloser) *Client {
	c := &Client{
		tb: tb, conn: conn, done: make(chan struct{}), changed: make(chan struct{}),
		waiting: map[int]chan protocol.Response{},
	}
	go c.read()
	tb.Cleanup(c.Close)
	return c
}

// Close closes the connection, without a disconnect, and waits for the reader. It may be called more than once.
func (c *Client) Close() {
	_ = c.conn.Close() // a second close, or one of a connection that the server has closed, is no failure
	<-c.done
}

// Done is closed when no more messages come: the server has closed the connection, or Close was called.
func (c *Client) Done() <-chan struct{} { return c.done }

// AwaitClosed waits until the server has closed the connection.
func (c *Client) AwaitClosed(ctx context.Context) {
	c.tb.Helper()
	select {
	case <-c.done:
	case <-ctx.Done():
		c.tb.Errorf("the server does not close the connection\n%s", c.Transcript(10))
	}
}

func (c *Client) read() {
	defer close(c.done)
	r := bufio.NewReader(c.conn)
	for {
		content, err := godap.ReadBaseMessage(r)
		if err == nil {
			err = c.take(content)
		}
		if err != nil {
			c.finish(err)
			return
		}
	}
}

// take enters a message.
func (c *Client) take(content []byte) error {
	var base struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(content, &base); err != nil {
		return fmt.Errorf("the server sent %q: %w", content, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch base.Type {
	case "response":
		var r protocol.Response
		if err := json.Unmarshal(content, &r); err != nil {
			return fmt.Errorf("the server sent %q: %w", content, err)
		}
		w, ok := c.waiting[r.RequestSeq]
		if !ok {
			return fmt.Errorf("the server answered request %d, which is not open: %s", r.RequestSeq, content)
		}
		delete(c.waiting, r.RequestSeq)
		w <- r // has room for one
	case "event":
		var e protocol.Event
		if err := json.Unmarshal(content, &e); err != nil {
			return fmt.Errorf("the server sent %q: %w", content, err)
		}
		c.events = append(c.events, Event{Index: len(c.events), Seq: e.Seq, Name: e.Event.Event, Body: e.Body})
	default:
		return fmt.Errorf("the server sent a message of type %q: %s", base.Type, content)
	}
	c.signal()
	return nil
}

func (c *Client) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, io.EOF) {
		err = errors.New("the connection has ended")
	}
	c.ended = err
	for seq, w := range c.waiting {
		close(w)
		delete(c.waiting, seq)
	}
	c.signal()
}

// signal wakes who waits. c.mu is held.
func (c *Client) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Call is a request that was sent.
type Call struct {
	c       *Client
	Seq     int
	Command string
	answer  chan protocol.Response
	gotSeq  atomic.Int64
}

// AnswerSeq is the number of the response among all that the server has sent, as Event.Seq is; 0 before it has come.
func (k *Call) AnswerSeq() int { return int(k.gotSeq.Load()) }

// Send sends a request and does not wait.
func (c *Client) Send(command string, arguments any) (*Call, error) {
	c.sending.Lock()
	defer c.sending.Unlock()
	c.lastSeq++
	call := &Call{c: c, Seq: c.lastSeq, Command: command, answer: make(chan protocol.Response, 1)}
	message := struct {
		godap.Request
		Arguments any `json:"arguments,omitempty"`
	}{
		godap.Request{ProtocolMessage: godap.ProtocolMessage{Seq: call.Seq, Type: "request"}, Command: command},
		arguments,
	}
	content, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", command, err)
	}
	c.mu.Lock()
	if c.ended != nil {
		defer c.mu.Unlock()
		return nil, fmt.Errorf("send %s: %w", command, c.ended)
	}
	c.waiting[call.Seq] = call.answer
	c.mu.Unlock()
	if err := godap.WriteBaseMessage(c.conn, content); err != nil {
		return nil, fmt.Errorf("send %s: %w", command, err)
	}
	return call, nil
}

// SendRaw writes bytes as they are. Answers to requests in it are reported as protocol errors unless ExpectAnswer was
// called for their seq.
func (c *Client) SendRaw(data []byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	if _, err := c.conn.Write(data); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// ExpectAnswer opens a request that was, or will be, sent by SendRaw. Seq 0 stands for messages that could not be read.
func (c *Client) ExpectAnswer(seq int, command string) *Call {
	call := &Call{c: c, Seq: seq, Command: command, answer: make(chan protocol.Response, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[seq] = call.answer
	return call
}

// RequestError is a response that says no.
type RequestError struct {
	Command string
	Message string // DAP's short form
	Text    string // for people
	Shown   bool   // the editor shall show it by itself
}

func (e *RequestError) Error() string { return e.Command + ": " + e.Text }

// Wait waits for the response and reads its body into body unless that is nil. The error is a *RequestError if the
// server said no.
func (k *Call) Wait(ctx context.Context, body any) error {
	select {
	case r, ok := <-k.answer:
		if !ok {
			k.c.mu.Lock()
			defer k.c.mu.Unlock()
			return fmt.Errorf("%s was not answered: %w", k.Command, k.c.ended)
		}
		k.gotSeq.Store(int64(r.Seq))
		return k.decode(r, body)
	case <-ctx.Done():
		return fmt.Errorf("%s was not answered: %w", k.Command, ctx.Err())
	}
}

func (k *Call) decode(r protocol.Response, body any) error {
	if !r.Success {
		e := &RequestError{Command: k.Command, Message: r.Message, Text: r.Message}
		var detail godap.ErrorResponseBody
		if json.Unmarshal(r.Body, &detail) == nil && detail.Error != nil {
			e.Text, e.Shown = detail.Error.Format, detail.Error.ShowUser
		}
		return e
	}
	if body == nil || len(r.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Body, body); err != nil {
		return fmt.Errorf("read the answer to %s: %w", k.Command, err)
	}
	return nil
}

// Request sends a request and waits for its response.
func (c *Client) Request(ctx context.Context, command string, arguments, body any) error {
	call, err := c.Send(command, arguments)
	if err != nil {
		return err
	}
	return call.Wait(ctx, body)
}

// Do is Request for tests: it fails the test unless the server agrees.
func (c *Client) Do(command string, arguments, body any) {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Request(ctx, command, arguments, body); err != nil {
		c.tb.Fatalf("%v\n%s%s", err, c.Transcript(20), c.dump(err))
	}
}

// Refused fails the test unless the server says no, with a text that holds each of parts.
func (c *Client) Refused(command string, arguments any, parts ...string) *RequestError {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := c.Request(ctx, command, arguments, nil)
	var refusal *RequestError
	if !errors.As(err, &refusal) {
		c.tb.Fatalf("%s %+v: want a refusal, got %v\n%s%s", command, arguments, err, c.Transcript(20), c.dump(err))
	}
	for _, part := range parts {
		if !strings.Contains(refusal.Text, part) {
			c.tb.Fatalf("%s %+v: the refusal is %q, which does not hold %q", command, arguments, refusal.Text, part)
		}
	}
	return refusal
}

// dump is what the server is doing, if an error means that it hangs.
func (c *Client) dump(err error) string {
	d, ok := c.conn.(Dumper)
	if !ok || !errors.Is(err, context.DeadlineExceeded) {
		return ""
	}
	return d.Dump()
}

// Transcript is the last n events, for messages.
func (c *Client) Transcript(n int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	from := max(len(c.events)-n, 0)
	fmt.Fprintf(&b, "the last %d of %d events:\n", len(c.events)-from, len(c.events))
	for _, e := range c.events[from:] {
		fmt.Fprintf(&b, "  %d %s\n", e.Index, e)
	}
	if c.ended != nil {
		fmt.Fprintf(&b, "  %v\n", c.ended)
	}
	return b.String()
}

// Events are all events so far.
func (c *Client) Events() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Event(nil), c.events...)
}
