package wire

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/internal/queue"
)

// link is what both ends of a connection share: the outgoing queue and its writer, and the way it ends.
type link struct {
	conn    net.Conn
	decoder *gob.Decoder // of one goroutine
	out     *queue.Queue[*Message]
	written chan struct{} // closed when the writer has gone
	ctx     context.Context
	fail    context.CancelCauseFunc
	once    sync.Once
}

const (
	// Window is how many bytes of a rank's output may be on their way from its agent to whoever takes the events.
	Window = 256 << 10
	// mostQueued bounds what is queued at either end, in bytes; it is reached only by what cannot be slowed, for
	// output keeps to the window. Beyond it the connection is given up.
	mostQueued = 128 << 20
)

// weight is about how many bytes a message takes while it is queued.
func weight(m *Message) int {
	const each = 512
	switch {
	case m.Event != nil && m.Event.Output != nil:
		return each + len(m.Event.Output.Data)
	case m.Response != nil:
		memory, _ := m.Response.Body.([]byte)
		return each + len(memory)
	}
	return each
}

func newLink(conn net.Conn) *link {
	l := &link{
		conn: conn, decoder: gob.NewDecoder(conn), out: queue.New(mostQueued, weight), written: make(chan struct{}),
	}
	l.ctx, l.fail = context.WithCancelCause(context.Background())
	go l.writer()
	return l
}

func (l *link) writer() {
	defer close(l.written)
	encoder := gob.NewEncoder(l.conn)
	for {
		message, ok := l.out.Pop(l.ctx)
		if !ok {
			return
		}
		if err := encoder.Encode(message); err != nil {
			if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
				// The other end has gone. What it said before is still to be read; the reader comes to the end by
				// itself.
				l.out.Close()
				return
			}
			l.end(err)
			return
		}
	}
}

// send queues a message. A connection that has ended takes none, and says so by its end.
func (l *link) send(m *Message) {
	if err := l.out.Push(m); errors.Is(err, queue.ErrFull) {
		l.end(errors.New("the other end does not read what it is sent"))
	}
}

// end breaks the connection; the first reason stays.
func (l *link) end(err error) {
	l.once.Do(func() {
		l.fail(err)
		l.out.Close()
		l.conn.Close() //nolint:errcheck // it is being given up
	})
}

// errClosed: this side closed the connection.
var errClosed = errors.New("the connection was closed")

// flush writes what is queued, at most for the limit, and takes no more.
func (l *link) flush(limit time.Duration) {
	l.out.Close()
	l.conn.SetWriteDeadline(time.Now().Add(limit)) //nolint:errcheck // then the write that follows fails, too
	<-l.written
}

// next reads a message. The error is why the connection has ended; io.EOF: the other end has closed it.
func (l *link) next() (*Message, error) {
	message := new(Message)
	err := l.decoder.Decode(message)
	switch {
	case err == nil:
		return message, nil
	case context.Cause(l.ctx) != nil:
		return nil, context.Cause(l.ctx)
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	}
	return nil, fmt.Errorf("what came cannot be decoded: %w", err)
}
