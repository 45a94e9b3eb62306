package tui

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

// message is any DAP message, decoded as far as its kind; Body stays raw because Cohort's own events are unknown to go-dap.
type message struct {
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
}

func (e *RequestError) Error() string { return e.Text }

// errClosed is what requests get once the connection is gone.
var errClosed = errors.New("the debug server has closed the connection")

// client is one DAP connection. request may be called from any goroutine; events come out in order through the sink given to newClient, which
// is called from the reader's goroutine and must not block for long.
type client struct {
	conn io.ReadWriteCloser

	writeMu sync.Mutex // orders whole messages on conn and guards seq
	seq     int

	mu      sync.Mutex // guards pending and closed
	pending map[int]chan message
	closed  error

	done chan struct{} // closed when the reader has ended
}

// newClient starts reading conn. sink gets every event, and at the end one message of type "closed".
func newClient(conn io.ReadWriteCloser, sink func(message)) *client {
	c := &client{conn: conn, pending: map[int]chan message{}, done: make(chan struct{})}
	go c.read(sink)
	return c
}

func (c *client) read(sink func(message)) {
	defer close(c.done)
	r := bufio.NewReader(c.conn)
	for {
		raw, err := dap.ReadBaseMessage(r)
		if err != nil {
			c.fail(err)
			sink(message{Type: "closed", Message: err.Error()})
			return
		}
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			sink(message{Type: "broken", Message: fmt.Sprintf("the debug server sent something that is not DAP: %v", err)})
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

func (c *client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = errClosed
	if !errors.Is(err, io.EOF) {
		c.closed = fmt.Errorf("%w: %v", errClosed, err)
	}
	for seq, ch := range c.pending {
		close(ch)
		delete(c.pending, seq)
	}
}

func (c *client) refuse(m message) {
	// A failed write means a dead connection, which the reader notices by itself.
	_ = c.write(func(seq int) any {
		return message{Seq: seq, Type: "response", Command: m.Command, RequestSeq: m.Seq, Message: "this client takes no requests"}
	})
}

func (c *client) write(make func(seq int) any) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	c.seq++
	raw, err := json.Marshal(make(c.seq))
	if err != nil {
		return err
	}
	return dap.WriteBaseMessage(c.conn, raw)
}

// request sends a request and waits for its response, whose body is decoded into result unless that is nil.
func (c *client) request(ctx context.Context, command string, args, result any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	ch := make(chan message, 1)
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
		return message{Seq: seq, Type: "request", Command: command, Arguments: raw}
	})
	if err != nil {
		c.forget(own)
		return fmt.Errorf("%s: %w", command, errClosed)
	}
	select {
	case m, ok := <-ch:
		if !ok {
			return fmt.Errorf("%s: %w", command, errClosed)
		}
		return decodeResponse(m, result)
	case <-ctx.Done():
		c.forget(own)
		return ctx.Err()
	}
}

func (c *client) forget(seq int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, seq)
}

func decodeResponse(m message, result any) error {
	if !m.Success {
		var body struct {
			Error struct {
				Format string `json:"format"`
			} `json:"error"`
		}
		text := m.Message
		if json.Unmarshal(m.Body, &body) == nil && body.Error.Format != "" {
			text = body.Error.Format
		}
		return &RequestError{Command: m.Command, Text: text}
	}
	if result == nil || len(m.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(m.Body, result); err != nil {
		return fmt.Errorf("the answer to %s cannot be read: %w", m.Command, err)
	}
	return nil
}

// close ends the connection and waits for the reader.
func (c *client) close() {
	_ = c.conn.Close() // it may be closed already
	<-c.done
}
