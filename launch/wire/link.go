package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// link is what both ends of a connection share: the outgoing queue and its writer, and the way it ends.
type link struct {
	conn    net.Conn
	reader  *messageReader
	out     *Queue[*Message]
	written chan struct{} // closed when the writer has gone
	ctx     context.Context
	fail    context.CancelCauseFunc
	once    sync.Once
}

// outputQueue is how many messages may wait before whoever produces output is slowed down.
const outputQueue = 256

func newLink(conn net.Conn) *link {
	l := &link{conn: conn, reader: newMessageReader(conn), out: NewQueue[*Message](), written: make(chan struct{})}
	l.ctx, l.fail = context.WithCancelCause(context.Background())
	go l.writer()
	return l
}

func (l *link) writer() {
	defer close(l.written)
	w := newMessageWriter(l.conn)
	for {
		message, ok := l.out.Pop(l.ctx)
		if !ok {
			return
		}
		if err := w.write(message); err != nil {
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

// next reads a message; at the end it gives the reason in words.
func (l *link) next() (*Message, error) {
	message, err := l.reader.next()
	if err == nil {
		return message, nil
	}
	if cause := context.Cause(l.ctx); cause != nil {
		return nil, cause
	}
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	return nil, err
}
