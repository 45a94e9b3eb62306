package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/queue"
)

// Handler carries out requests at the agent. Handle is called for one request at a time, in order of arrival, except
// for those that may overtake: Input has a lane of its own, and Interrupt, Control and Kill are called at once, each in
// a goroutine. Its results are those of the method of backend.Backend. Taken is told of bytes of output that have been
// taken at the other end; it must not block.
type Handler interface {
	Handle(ctx context.Context, request any) (any, error)
	Taken(bytes int)
}

// Server is the agent's end of the connection.
type Server struct {
	link    *link
	handler Handler
	workers sync.WaitGroup
	ordered *queue.Queue[job] // carried out one after the other
	inputs  *queue.Queue[job] // likewise; a program that does not read its input holds up nothing else

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc // of requests that are not answered yet
}

// mostRequests bounds those that wait at an agent; a job sends a rank one at a time, but for a few.
const mostRequests = 1 << 16

type job struct {
	ctx     context.Context
	id      uint64
	request any
}

// NewServer takes over a connection after its handshake; Serve must follow.
func NewServer(conn net.Conn) *Server {
	return &Server{
		link: newLink(conn), cancels: map[uint64]context.CancelFunc{},
		ordered: queue.New[job](mostRequests, nil), inputs: queue.New[job](mostRequests, nil),
	}
}

// Send queues an event and never blocks. The sender must see to it that no more than Window bytes of the program's
// output are sent and not Taken, as far as it can wait before it reads them.
func (s *Server) Send(event backend.Event) { s.link.send(&Message{Event: &event}) }

// Finish writes what is queued, at most for the limit, and closes the connection.
func (s *Server) Finish(limit time.Duration) {
	s.link.flush(limit)
	s.link.end(errClosed)
}

// Serve carries out requests until the connection ends, and says why it did (io.EOF: the job closed it). When it
// returns every Handle has returned.
func (s *Server) Serve(handler Handler) error {
	s.handler = handler
	s.workers.Go(func() { s.lane(s.ordered) })
	s.workers.Go(func() { s.lane(s.inputs) })
	err := s.read()
	s.link.end(err)
	s.ordered.Close()
	s.inputs.Close()
	s.workers.Wait()
	return err
}

func (s *Server) read() error {
	for {
		message, err := s.link.next()
		switch {
		case err != nil:
			return err
		case message.Cancel:
			s.cancel(message.ID)
		case message.Taken > 0:
			s.handler.Taken(message.Taken)
		case message.Request != nil:
			err = s.dispatch(message)
		default:
			err = errors.New("the job sent a message that is neither a request nor a cancellation")
		}
		if err != nil {
			return err
		}
	}
}

// cancel ends the context of a request, if it is not answered yet.
func (s *Server) cancel(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[id]; cancel != nil {
		cancel()
	}
	delete(s.cancels, id)
}

func (s *Server) dispatch(message *Message) error {
	ctx, cancel := context.WithCancel(s.link.ctx)
	s.mu.Lock()
	s.cancels[message.ID] = cancel
	s.mu.Unlock()
	j := job{ctx, message.ID, message.Request}
	if _, input := j.request.(Input); input {
		return s.inputs.Push(j)
	}
	if overtakes(j.request) {
		s.workers.Go(func() { s.carryOut(j) })
		return nil
	}
	return s.ordered.Push(j)
}

func (s *Server) lane(q *queue.Queue[job]) {
	for {
		j, ok := q.Pop(s.link.ctx)
		if !ok {
			return
		}
		s.carryOut(j)
	}
}

func (s *Server) carryOut(j job) {
	body, err := s.handler.Handle(j.ctx, j.request)
	s.cancel(j.id)
	s.link.send(&Message{ID: j.id, Response: &Response{Body: body, Err: ErrorOf(err)}})
}
