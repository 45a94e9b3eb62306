package wire

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/queue"
)

// Handler carries out requests at the agent. Handle is called for one request at a time, in order of arrival, except
// for those that may overtake: Input has a lane of its own, and Interrupt, Control and Kill are called at once, each in
// a goroutine. The response is never nil. Taken is told of bytes of output that have been taken at the other end; it
// must not block.
type Handler interface {
	Handle(ctx context.Context, request *Request) *Response
	Taken(bytes int)
}

// Server is the agent's end of the connection.
type Server struct {
	link *link
}

// NewServer takes over a connection after its handshake; Serve must follow.
func NewServer(conn net.Conn) *Server { return &Server{link: newLink(conn)} }

// Send queues an event and never blocks. The sender must see to it that no more than Window bytes of the program's
// output are sent and not Taken, as far as it can wait before it reads them.
func (s *Server) Send(event backend.Event) { s.link.send(&Message{Event: EventOf(event)}) }

// Done is closed when the connection has ended.
func (s *Server) Done() <-chan struct{} { return s.link.ctx.Done() }

// Finish writes what is queued, at most for the limit, and closes the connection.
func (s *Server) Finish(limit time.Duration) {
	s.link.flush(limit)
	s.link.end(errClosed)
}

// serving is the state of one Serve.
type serving struct {
	*Server
	handler Handler
	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc
	workers sync.WaitGroup
	ordered *queue.Queue[job] // carried out one after the other
	inputs  *queue.Queue[job] // likewise, beside the others: a program that does not read its input holds up nothing else
}

// mostRequests bounds those that wait at an agent; a job sends a rank one at a time, but for a few.
const mostRequests = 1 << 16

type job struct {
	ctx     context.Context
	message *Message
}

// Serve carries out requests until the connection ends, and says why it did (io.EOF: the job closed it). When it
// returns every Handle has returned.
func (s *Server) Serve(handler Handler) error {
	v := &serving{
		Server: s, handler: handler, cancels: map[uint64]context.CancelFunc{},
		ordered: queue.New[job](mostRequests, nil), inputs: queue.New[job](mostRequests, nil),
	}
	v.workers.Go(func() { v.lane(v.ordered) })
	v.workers.Go(func() { v.lane(v.inputs) })
	err := v.read()
	s.link.end(err)
	v.ordered.Close()
	v.inputs.Close()
	v.workers.Wait()
	return err
}

func (v *serving) read() error {
	for {
		message, err := v.link.next()
		if err != nil {
			return err
		}
		switch {
		case message.Cancel:
			v.mu.Lock()
			if cancel := v.cancels[message.ID]; cancel != nil {
				cancel()
			}
			v.mu.Unlock()
		case message.Taken > 0:
			v.handler.Taken(message.Taken)
		case message.Request != nil:
			if err := v.dispatch(message); err != nil {
				return err
			}
		default:
			return &FrameError{Reason: "the job sent a message that is neither a request nor a cancellation"}
		}
	}
}

func (v *serving) dispatch(message *Message) error {
	ctx, cancel := context.WithCancel(v.link.ctx)
	v.mu.Lock()
	v.cancels[message.ID] = cancel
	v.mu.Unlock()
	j := job{ctx: ctx, message: message}
	switch {
	case message.Request.Input != nil:
		return v.inputs.Push(j)
	case message.Request.Overtakes():
		v.workers.Go(func() { v.carryOut(j) })
	default:
		return v.ordered.Push(j)
	}
	return nil
}

func (v *serving) lane(q *queue.Queue[job]) {
	for {
		j, ok := q.Pop(v.link.ctx)
		if !ok {
			return
		}
		v.carryOut(j)
	}
}

func (v *serving) carryOut(j job) {
	response := v.handler.Handle(j.ctx, j.message.Request)
	v.mu.Lock()
	cancel := v.cancels[j.message.ID]
	delete(v.cancels, j.message.ID)
	v.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	v.link.send(&Message{ID: j.message.ID, Response: response})
}
