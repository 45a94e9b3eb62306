package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
)

// Client is the job's end of the connection to one agent. Its methods may be called from any goroutine.
type Client struct {
	link *link
	name string // "the agent of rank 2"

	mu      sync.Mutex
	calls   map[uint64]chan *Response
	nextID  uint64
	why     error         // set when calls is nil
	ended   bool          // the Ended event came
	readers chan struct{} // closed when the reader has gone

	queue  *Queue[backend.Event]
	events chan backend.Event
}

// NewClient takes over a connection after its handshake. The name says in messages who is at the other end.
func NewClient(conn net.Conn, name string) *Client {
	c := &Client{
		link: newLink(conn), name: name, calls: map[uint64]chan *Response{}, readers: make(chan struct{}),
		queue: NewQueue[backend.Event](), events: make(chan backend.Event),
	}
	go c.read()
	go c.pump()
	return c
}

// Events is closed after the Ended event, which comes even if the connection is cut. The receiver must keep reading
// until then. Calls are possible after it, as an agent outlives what it carries.
func (c *Client) Events() <-chan backend.Event { return c.events }

// Gone is closed when the connection has ended.
func (c *Client) Gone() <-chan struct{} { return c.readers }

// Close ends the connection at once. The agent at the other end kills its program.
func (c *Client) Close() { c.link.end(errClosed) }

func (c *Client) pump() {
	defer close(c.events)
	for {
		event, ok := c.queue.Pop(context.Background())
		if !ok {
			return
		}
		c.events <- event
	}
}

func (c *Client) read() {
	defer close(c.readers)
	for {
		message, err := c.link.next()
		if err != nil {
			c.finish(err)
			return
		}
		switch {
		case message.Event != nil:
			event := message.Event.Backend()
			if c.ended {
				continue // nothing comes after Ended
			}
			c.queue.Push(event)
			if event.Ended != nil {
				c.ended = true
				c.queue.Close()
			}
		case message.Response != nil:
			c.mu.Lock()
			call := c.calls[message.ID]
			delete(c.calls, message.ID)
			c.mu.Unlock()
			if call != nil { // else the caller has given up
				call <- message.Response
			}
		default:
			c.finish(&FrameError{Reason: "an agent sent a message that is neither an answer nor an event"})
			return
		}
	}
}

// finish tells everyone who waits that the connection has gone.
func (c *Client) finish(err error) {
	c.link.end(err)
	why := fmt.Sprintf("the connection to %s was cut", c.name)
	switch {
	case errors.Is(err, errClosed):
		why = fmt.Sprintf("the connection to %s was closed", c.name)
	case !errors.Is(err, io.EOF):
		why += ": " + err.Error()
	}
	if c.ended {
		why = c.name + " has ended"
	}
	c.mu.Lock()
	c.calls, c.why = nil, &backend.EndedError{Why: why}
	c.mu.Unlock()
	if !c.ended {
		c.queue.Push(backend.Event{Ended: &backend.Ended{Err: why}})
	}
	c.queue.Close()
}

// Call sends a request and waits for its answer, which may be an error of the types of package backend.
func (c *Client) Call(ctx context.Context, request *Request) (*Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer := make(chan *Response, 1)
	c.mu.Lock()
	if c.calls == nil {
		c.mu.Unlock()
		return nil, c.why
	}
	c.nextID++
	id := c.nextID
	c.calls[id] = answer
	c.link.out.Push(&Message{ID: id, Request: request}) // under the lock: ids go out in order
	c.mu.Unlock()
	select {
	case response := <-answer:
		return response, response.Err.Err()
	case <-ctx.Done():
		c.mu.Lock()
		if c.calls != nil {
			delete(c.calls, id)
		}
		c.mu.Unlock()
		c.link.out.Push(&Message{ID: id, Cancel: true})
		return nil, ctx.Err()
	case <-c.readers:
		select {
		case response := <-answer: // it came just before the end
			return response, response.Err.Err()
		default:
			return nil, c.why
		}
	}
}
