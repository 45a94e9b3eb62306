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

	mu      sync.Mutex // guards pending
	pending map[int]chan Message

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
		}
	}
}

// Request sends a request and waits for its response, whose body is decoded into result unless that is nil.
func (c *Client) Request(ctx context.Context, command string, args, result any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("write the arguments of the DAP request %s: %w", command, err)
	}
	ch := make(chan Message, 1)
	seq, err := c.send(Message{Type: "request", Command: command, Arguments: raw}, ch)
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, seq)
	}()
	if err != nil {
		return fmt.Errorf("%s: %w", command, ErrClosed)
	}
	select {
	case m := <-ch:
		return decodeResponse(m, result)
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
	}
	select {
	case m := <-ch: // the last that came
		return decodeResponse(m, result)
	default:
		return fmt.Errorf("%s: %w", command, ErrClosed)
	}
}

// send numbers and writes a request whose response goes to answer.
func (c *Client) send(m Message, answer chan Message) (seq int, err error) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	c.seq++
	m.Seq = c.seq
	c.mu.Lock()
	c.pending[c.seq] = answer
	c.mu.Unlock()
	raw, err := json.Marshal(m)
	if err != nil {
		return c.seq, err
	}
	return c.seq, dap.WriteBaseMessage(c.conn, raw)
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
