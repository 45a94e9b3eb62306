package dap

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	godap "github.com/google/go-dap"
)

// maxQueued bounds the bytes that wait for a client that does not read. Beyond it the client is given up, so that one
// stuck face cannot use up the memory of all.
const maxQueued = 64 << 20

// outbox is the one ordered outgoing queue of a connection. post may be called from any goroutine and never blocks; one
// goroutine, run, writes. It numbers the messages, so that seq is the order on the wire.
type outbox struct {
	w    io.Writer
	wake chan struct{} // holds one token while there may be work
	done chan struct{} // closed when run has returned

	mu     sync.Mutex // guards the fields below; never held while writing
	queue  []envelope
	bytes  int
	seq    int
	closed bool
	err    error // why nothing more is written
}

// envelope is one message without its seq.
type envelope struct {
	response *godap.Response
	event    string
	body     json.RawMessage
}

func newOutbox(w io.Writer) *outbox {
	return &outbox{w: w, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// post queues a message. The error says why it will not be sent; the caller has nothing to undo.
func (o *outbox) post(e envelope) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if o.closed {
		return fmt.Errorf("the connection to the client is closed")
	}
	if o.bytes+len(e.body) > maxQueued {
		o.err = fmt.Errorf("the client does not read: %d bytes wait to be sent to it", o.bytes)
		o.signal()
		return o.err
	}
	o.bytes += len(e.body)
	o.queue = append(o.queue, e)
	o.signal()
	return nil
}

// close lets run write what is queued and then return.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run writes until close was called and the queue is empty, or a write fails, or the client was given up; it returns
// the error.
func (o *outbox) run() error {
	defer close(o.done)
	for {
		batch, closed, err := o.take()
		if err != nil {
			return err
		}
		for _, e := range batch {
			if err := o.write(e); err != nil {
				o.fail(err)
				return err
			}
		}
		if len(batch) > 0 {
			continue
		}
		if closed {
			return nil
		}
		<-o.wake
	}
}

func (o *outbox) take() ([]envelope, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch := o.queue
	o.queue, o.bytes = nil, 0
	return batch, o.closed, o.err
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.queue, o.bytes = nil, 0
}

func (o *outbox) write(e envelope) error {
	o.seq++
	var message any
	if e.response != nil {
		r := *e.response
		r.Seq, r.Type = o.seq, "response"
		message = struct {
			godap.Response
			Body json.RawMessage `json:"body,omitempty"`
		}{r, e.body}
	} else {
		message = struct {
			godap.Event
			Body json.RawMessage `json:"body,omitempty"`
		}{godap.Event{ProtocolMessage: godap.ProtocolMessage{Seq: o.seq, Type: "event"}, Event: e.event}, e.body}
	}
	content, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	// One write per message: a header and its content never end up in different packets.
	frame := make([]byte, 0, len(content)+32)
	frame = fmt.Appendf(frame, "Content-Length: %d\r\n\r\n", len(content))
	frame = append(frame, content...)
	if _, err := o.w.Write(frame); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}
