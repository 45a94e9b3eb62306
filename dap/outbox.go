package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/internal/queue"
)

// mostQueued is how much may wait for a client to read it, in bytes; then the client is given up, so that one that is
// stuck cannot use up the memory of all.
const mostQueued = 64 << 20

// outbox is the one ordered outgoing queue of a connection. post may be called from any goroutine and never blocks; one
// goroutine, run, writes. It numbers the messages, so that seq is the order on the wire.
type outbox struct {
	w     io.Writer
	sent  func(content []byte) // is told of each message
	queue *queue.Queue[envelope]
	seq   int // owned by run
}

// envelope is one message without its seq.
type envelope struct {
	response *godap.Response
	event    string
	body     json.RawMessage
}

func newOutbox(w io.Writer, sent func(content []byte)) *outbox {
	return &outbox{w: w, sent: sent, queue: queue.New(mostQueued, func(e envelope) int { return len(e.body) + 256 })}
}

// post queues a message. The error says why it will not be sent; the caller has nothing to undo.
func (o *outbox) post(e envelope) error {
	switch err := o.queue.Push(e); {
	case errors.Is(err, queue.ErrFull):
		return fmt.Errorf("the client does not read: over %d bytes wait to be sent to it", o.queue.Weight())
	case err != nil:
		return errors.New("the connection to the client is closed")
	}
	return nil
}

// close lets run write what is queued and then return.
func (o *outbox) close() { o.queue.Close() }

// run writes until close was called and the queue is empty, or a write fails; it returns the error.
func (o *outbox) run() error {
	for {
		e, ok := o.queue.Pop(context.Background())
		if !ok {
			return nil
		}
		if err := o.write(e); err != nil {
			o.queue.Discard()
			return err
		}
	}
}

func (o *outbox) write(e envelope) error {
	o.seq++
	base := godap.ProtocolMessage{Seq: o.seq, Type: "event"}
	var message any = protocol.Event{Event: godap.Event{ProtocolMessage: base, Event: e.event}, Body: e.body}
	if e.response != nil {
		base.Type = "response"
		r := protocol.Response{Response: *e.response, Body: e.body}
		r.ProtocolMessage = base
		message = r
	}
	content, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	o.sent(content)
	// One write per message: a header and its content never end up in different packets.
	frame := fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(content), content)
	if _, err := o.w.Write(frame); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}
