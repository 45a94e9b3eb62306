// Package client is a DAP connection as front ends use it: the terminal interface, scripts and tests. It knows Cohort's
// own events and requests only as names with raw bodies; package dap/protocol types them. It imports nothing of ours.
package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/go-dap"
)

// Message is any DAP message, decoded as far as its kind; Body stays raw because Cohort's own events are unknown to
// go-dap.
type Message struct {
	Seq        int             `json:"seq"`
	Type       string          `json:"type"`
	Command    string          `json:"command,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Event      string          `json:"event,omitempty"`
	RequestSeq int             `json:"request_seq,omitempty"`
	Success    bool            `json:"success,omitempty"`
	Message    string          `json:"message,omitempty"`
	Body       json.RawMessage `json:"body,omitempty"`
}

// RequestError is the server's refusal of a request.
type RequestError struct {
	Command string
	Text    string // whole sentence from the server
	ID      int    // protocol.ErrorFailed, ErrorRefused; 0: the server gave none
}

func (e *RequestError) Error() string { return e.Text }

// ErrClosed is what requests get once the connection is gone.
var ErrClosed = errors.New("the debug server has closed the connection")

// Client is one DAP connection. Request may be called from any goroutine; events come out in order through the sink
// given to New, which is called from the reader's goroutine and must not block for long.
type Client struct {
	conn io.ReadWriteCloser

	writeMu sync.Mutex // orders whole messages on conn and guards seq
	seq     int

	mu      sync.Mutex // guards pending and closed
	pending map[int]chan Message
	closed  error

	done chan struct{} // closed when the reader has ended
}

// New starts reading conn. sink gets every event, and at the end one message of type "closed".
func New(conn io.ReadWriteCloser, sink func(Message)) *Client {
	c := &Client{conn: conn, pending: map[int]chan Message{}, done: make(chan struct{})}
	go c.read(sink)
	return c
}

func (c *Client) read(sink func(Message)) {
	defer close(c.done)
	r := bufio.NewReader(c.conn)
	for {
		raw, err := dap.ReadBaseMessage(r)
		if err != nil {
			c.fail(err)
			sink(Message{Type: "closed", Message: err.Error()})
			return
		}
		var m Message
		if err := json.Unmarshal(raw, &m); err != nil {
			sink(Message{Type: "broken", Message: fmt.Sprintf("the debug server sent something that is not DAP: %v",
				err)})
			continue
		}
		switch m.Type {
		case "event":
			sink(m)
		case "response":
			c.mu.Lock()
			ch := c.pending[m.RequestSeq]
			delete(c.pending, m.RequestSeq)
			c.mu.Unlock()
			if ch != nil {
				ch <- m // buffered: never blocks
			}
		case "request": // reverse requests: we offered none
			c.refuse(m)
		}
	}
}

func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = ErrClosed
	if !errors.Is(err, io.EOF) {
		c.closed = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	for seq, ch := range c.pending {
		close(ch)
		delete(c.pending, seq)
	}
}

func (c *Client) refuse(m Message) {
	// A failed write means a dead connection, which the reader notices by itself.
	_ = c.write(func(seq int) any {
		return Message{
			Seq: seq, Type: "response", Command: m.Command, RequestSeq: m.Seq,
			Message: "this client takes no requests",
		}
	})
}

func (c *Client) write(message func(seq int) any) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	c.seq++
	raw, err := json.Marshal(message(c.seq))
	if err != nil {
		return fmt.Errorf("write a DAP message: %w", err)
	}
	if err := dap.WriteBaseMessage(c.conn, raw); err != nil {
		return fmt.Errorf("write a DAP message: %w", err)
	}
	return nil
}

// Request sends a request and waits for its response, whose body is decoded into result unless that is nil.
func (c *Client) Request(ctx context.Context, command string, args, result any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("write the arguments of the DAP request %s: %w", command, err)
	}
	ch := make(chan Message, 1)
	var own int
	err = c.write(func(seq int) any {
		own = seq
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed == nil {
			c.pending[seq] = ch
		} else {
			close(ch)
		}
		return Message{Seq: seq, Type: "request", Command: command, Arguments: raw}
	})
	if err != nil {
		c.forget(own)
		return fmt.Errorf("%s: %w", command, ErrClosed)
	}
	select {
	case m, ok := <-ch:
		if !ok {
			return fmt.Errorf("%s: %w", command, ErrClosed)
		}
		return decodeResponse(m, result)
	case <-ctx.Done():
		c.forget(own)
		return ctx.Err()
	}
}

func (c *Client) forget(seq int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, seq)
}

func decodeResponse(m Message, result any) error {
	if !m.Success {
		var body struct {
			Error struct {
				ID     int    `json:"id"`
				Format string `json:"format"`
			} `json:"error"`
		}
		text := m.Message
		// a body of another kind leaves the message
		if json.Unmarshal(m.Body, &body) == nil && body.Error.Format != "" {
			text = body.Error.Format
		}
		return &RequestError{Command: m.Command, Text: text, ID: body.Error.ID}
	}
	if result == nil || len(m.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(m.Body, result); err != nil {
		return fmt.Errorf("the answer to %s cannot be read: %w", m.Command, err)
	}
	return nil
}

// Close ends the connection and waits for the reader.
func (c *Client) Close() {
	_ = c.conn.Close() // it may be closed already
	<-c.done
}
