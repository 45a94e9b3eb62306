package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/queue"
)

// Client is the job's end of the connection to one agent. Its methods may be called from any goroutine.
type Client struct {
	link *link
	name string // "the agent of rank 2"

	mu     sync.Mutex
	calls  map[uint64]chan *Response
	nextID uint64
	why    error         // set when calls is nil
	ended  bool          // the Ended event came
	gone   chan struct{} // closed when the reader and the link's writer have gone

	tap    func(backend.Event) bool
	queue  *queue.Queue[backend.Event]
	events func() <-chan backend.Event
	unread context.Context // ends with Drop
	drop   context.CancelFunc

	takenMu sync.Mutex // guards the fields below
	taken   int        // bytes of output that were taken and of which the agent has not been told
	held    bool       // it shall not be told
}

// NewClient takes over a connection after its handshake. The name says in messages who is at the other end. tap sees
// each event as it comes, in order, and last of all the Ended event, which comes even if the connection is cut; it must
// not block. Events delivers those of which it returns true.
func NewClient(conn net.Conn, name string, tap func(backend.Event) bool) *Client {
	c := &Client{
		link: newLink(conn), name: name, calls: map[uint64]chan *Response{}, gone: make(chan struct{}), tap: tap,
		queue: queue.New(mostQueued, backend.Event.Weight),
	}
	c.unread, c.drop = context.WithCancel(context.Background())
	c.events = sync.OnceValue(func() <-chan backend.Event {
		events := make(chan backend.Event)
		go c.pump(events)
		return events
	})
	go c.read()
	return c
}

// Events is closed after the Ended event, which comes even if the connection is cut, or after Drop. Whoever has begun
// to read must keep reading until then. Calls are possible after it, as an agent outlives what it carries.
func (c *Client) Events() <-chan backend.Event { return c.events() }

// Drop gives up events that nobody has read, and returns when Events is closed.
func (c *Client) Drop() {
	c.drop()
	for range c.Events() { // the end is all that is wanted
	}
}

// Gone is closed when the connection has ended, and the client's goroutines have but for that of Events.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Close ends the connection at once. The agent at the other end kills its program.
func (c *Client) Close() { c.link.end(errClosed) }

func (c *Client) pump(events chan<- backend.Event) {
	defer close(events)
	for {
		event, ok := c.queue.Pop(c.unread)
		if !ok {
			return
		}
		select {
		case events <- event:
		case <-c.unread.Done():
			return
		}
		if event.Output != nil {
			c.Took(len(event.Output.Data))
		}
	}
}

// Took notes that output was taken, and lets the agent send as much again. It is for output that tap has kept.
func (c *Client) Took(bytes int) {
	c.takenMu.Lock()
	defer c.takenMu.Unlock()
	c.taken += bytes
	c.tellTaken()
}

// HoldOutput stops the program's output after at most Window bytes more, until it is called with false. It does not
// block, and nothing else is held up by it.
func (c *Client) HoldOutput(hold bool) {
	c.takenMu.Lock()
	defer c.takenMu.Unlock()
	c.held = hold
	c.tellTaken()
}

// tellTaken opens the agent's window, not for every line. c.takenMu is held.
func (c *Client) tellTaken() {
	if !c.held && c.taken >= Window/4 {
		c.link.send(&Message{Taken: c.taken})
		c.taken = 0
	}
}

func (c *Client) read() {
	defer close(c.gone)
	defer func() { <-c.link.written }() // soon: finish has ended the link
	for {
		message, err := c.link.next()
		if err != nil {
			c.finish(err)
			return
		}
		switch {
		case message.Event != nil:
			if !c.ended { // nothing comes after Ended
				c.deliver(*message.Event)
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
			c.finish(errors.New("an agent sent a message that is neither an answer nor an event"))
			return
		}
	}
}

// deliver passes an event on. If nobody reads them the stream ends early; what tap needs, it has.
func (c *Client) deliver(event backend.Event) {
	if c.tap(event) {
		if err := c.queue.Push(event); errors.Is(err, queue.ErrFull) {
			c.link.end(errors.New("the rank's events are not read"))
		}
	}
	if event.Ended != nil {
		c.ended = true
		c.queue.Close()
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
		c.deliver(backend.Event{Ended: &backend.Ended{Err: why}})
	}
}

// Call sends a request and waits for its answer, which may be an error of the types of package backend.
func (c *Client) Call(ctx context.Context, request any) (any, error) {
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
	c.link.send(&Message{ID: id, Request: request}) // under the lock: ids go out in order
	c.mu.Unlock()
	var response *Response
	select {
	case response = <-answer:
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		c.link.send(&Message{ID: id, Cancel: true})
		return nil, ctx.Err()
	case <-c.gone:
		select {
		case response = <-answer: // it came just before the end
		default:
			return nil, c.why
		}
	}
	if response.Err != nil {
		return nil, response.Err
	}
	return response.Body, nil
}

// As turns the answer of a Call into what it must be.
func As[T any](body any, err error) (T, error) {
	answer, ok := body.(T)
	if err == nil && !ok {
		err = fmt.Errorf("the agent answered with a %T, not a %T", body, answer)
	}
	return answer, err
}
