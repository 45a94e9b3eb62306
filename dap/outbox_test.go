package dap

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"testing"

	godap "github.com/google/go-dap"
)

func TestOutboxKeepsOrderAndNumbers(t *testing.T) {
	r, w := io.Pipe()
	o := newOutbox(w, func([]byte) {})
	go func() {
		_ = o.run()
		_ = w.Close()
	}()
	const n = 100
	for i := range n {
		if err := o.post(envelope{event: "e", body: json.RawMessage(mustJSON(t, i))}); err != nil {
			t.Fatal(err)
		}
	}
	o.close()
	in := bufio.NewReader(r)
	for i := range n {
		content, err := godap.ReadBaseMessage(in)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Seq  int
			Body int
		}
		if err := json.Unmarshal(content, &got); err != nil || got.Seq != i+1 || got.Body != i {
			t.Fatalf("message %d is %s (%v)", i, content, err)
		}
	}
	if _, err := godap.ReadBaseMessage(in); !errors.Is(err, io.EOF) {
		t.Fatalf("after the last message: %v", err)
	}
	if err := o.post(envelope{event: "late"}); err == nil {
		t.Error("a message after close was taken")
	}
}

// A client that does not read is given up, rather than all memory.
func TestOutboxGivesUp(t *testing.T) {
	r, w := io.Pipe()
	o := newOutbox(w, func([]byte) {})
	done := make(chan error, 1)
	go func() { done <- o.run() }()
	body := make([]byte, 1<<20)
	var err error
	posted := 0
	for posted < 4*mostQueued>>20 && err == nil {
		err = o.post(envelope{event: "e", body: body})
		posted++
	}
	if err == nil {
		t.Fatalf("%d MiB were queued", posted)
	}
	_ = r.Close() // as the connection's end does
	if err := <-done; err == nil {
		t.Error("run ended without an error")
	}
}

func TestOutboxStopsAtWriteError(t *testing.T) {
	r, w := io.Pipe()
	_ = r.CloseWithError(io.ErrClosedPipe)
	o := newOutbox(w, func([]byte) {})
	if err := o.post(envelope{event: "e"}); err != nil {
		t.Fatal(err)
	}
	if err := o.run(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("run: %v", err)
	}
	if err := o.post(envelope{event: "e"}); err == nil {
		t.Error("a message was taken after the write had failed")
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
