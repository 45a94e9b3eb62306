package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

func TestReadFrame(t *testing.T) {
	frame := func(length uint32, payload string) string {
		return string(binary.LittleEndian.AppendUint32(nil, length)) + payload
	}
	for name, c := range map[string]struct{ input, want, err string }{
		"whole":       {frame(3, "abc"), "abc", ""},
		"more behind": {frame(3, "abcd"), "abc", ""},
		"end":         {"", "", "EOF"},
		"half length": {"\x03\x00", "", "ends within the length"},
		"half":        {frame(3, "ab"), "", "ends after 2 of the 3 bytes"},
		"empty":       {frame(0, ""), "", "may have 1 to 10"},
		"too long":    {frame(11, "abcdefghijk"), "", "may have 1 to 10"},
		"lie":         {frame(math.MaxUint32, "abc"), "", "may have 1 to 10"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readFrame(strings.NewReader(c.input), 10, nil)
			if c.err == "" && (err != nil || string(got) != c.want) {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want one with %q", err, c.err)
			}
		})
	}
}

// Whatever is sent arrives equal, in order, over one stream of gob.
func TestMessagesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.SliceOfN(rapid.Custom(drawMessage), 1, 10).Draw(t, "messages")
		var stream bytes.Buffer
		w := newMessageWriter(&stream)
		for _, m := range sent {
			if err := w.write(m); err != nil {
				t.Fatalf("write: %v", err)
			}
		}
		r := newMessageReader(&stream)
		for i, m := range sent {
			got, err := r.next()
			if err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
			if diff := cmp.Diff(m, got); diff != "" {
				t.Fatalf("message %d (-sent +got):\n%s", i, diff)
			}
		}
		if _, err := r.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last message: %v, want EOF", err)
		}
	})
}

func drawMessage(t *rapid.T) *Message {
	text := rapid.StringN(0, 20, -1)
	number := rapid.Uint64()
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return &Message{ID: number.Draw(t, "id"), Cancel: true}
	case 1:
		return &Message{ID: number.Draw(t, "id"), Request: &Request{Control: ControlOf(drawControl(t))}}
	case 2:
		return &Message{ID: number.Draw(t, "id"), Request: &Request{Interrupt: true}}
	case 3:
		return &Message{ID: number.Draw(t, "id"), Request: &Request{SetBreakpoints: &backend.SetBreakpointsRequest{
			Source: text.Draw(t, "source"),
			Breakpoints: []backend.SourceBreakpoint{{
				ID: 1, Line: rapid.Int().Draw(t, "line"),
				Condition: text.Draw(t, "condition"),
			}},
		}}}
	case 4:
		return &Message{Event: EventOf(backend.Event{Resumed: &backend.Resumed{}})}
	case 5:
		return &Message{Event: EventOf(backend.Event{Exited: &backend.Exited{Code: rapid.IntRange(0, 255).Draw(t,
			"code")}})}
	case 6:
		return &Message{Event: EventOf(backend.Event{Stopped: &backend.Stopped{
			Reason: backend.ReasonBreakpoint, Breakpoints: []int{0, 2},
			Frames: []backend.Frame{{
				Function: text.Draw(t, "f"), PC: number.Draw(t, "pc"),
				Args: []backend.Argument{{Name: "a", Value: text.Draw(t, "v")}},
			}},
			Control: backend.ControlState{
				Present: true, Events: number.Draw(t, "events"),
				Divergence: &backend.Divergence{RecordedSource: math.MinInt32},
			},
		}})}
	case 7:
		return &Message{Event: EventOf(backend.Event{Output: &backend.Output{
			Category: "stdout",
			Data:     rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "data"),
		}})}
	case 8:
		return &Message{ID: 1, Response: &Response{Err: &Error{
			Kind: KindState, Text: text.Draw(t, "text"), A: "a",
			B: "b",
		}}}
	default:
		return &Message{ID: 1, Response: &Response{Evaluate: &backend.EvaluateResult{Variable: backend.Variable{Name: text.Draw(t, "n"), Ref: 3}, Text: "x"}}}
	}
}

func drawControl(t *rapid.T) backend.ControlRequest {
	var r backend.ControlRequest
	position := rapid.SampledFrom([]uint64{0, 1, math.MaxUint64})
	if rapid.Bool().Draw(t, "park") {
		v := position.Draw(t, "park at")
		r.ParkAt = &v
	}
	if rapid.Bool().Draw(t, "guard") {
		v := position.Draw(t, "guard at")
		r.GuardAt = &v
	}
	if rapid.Bool().Draw(t, "release") {
		v := abi.Release(rapid.Uint32Range(0, 2).Draw(t, "how"))
		r.Release = &v
	}
	r.Wait = rapid.Bool().Draw(t, "wait")
	return r
}

// Position 0 is a position: it must not get lost, as gob would do with a pointer to it.
func TestControlRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawControl(t)
		var stream bytes.Buffer
		if err := newMessageWriter(&stream).write(&Message{Request: &Request{Control: ControlOf(r)}}); err != nil {
			t.Fatal(err)
		}
		m, err := newMessageReader(&stream).next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, m.Request.Control.Request()); diff != "" {
			t.Fatalf("(-sent +got):\n%s", diff)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 'a', 'b', 'c'}, 10)
	f.Add([]byte{255, 255, 255, 255}, 1<<20)
	f.Fuzz(func(t *testing.T, input []byte, limit int) {
		if limit < 1 || limit > 1<<20 {
			return
		}
		got, err := readFrame(bytes.NewReader(input), limit, nil)
		if err == nil && (len(got) == 0 || len(got) > limit ||
			!bytes.Equal(got, input[frameHeader:frameHeader+len(got)])) {
			t.Errorf("frame %q of %q", got, input)
		}
	})
}

// FuzzMessages feeds a peer's whole stream to the reader: errors are fine, panics and messages beyond the stream are
// not.
func FuzzMessages(f *testing.F) {
	var stream bytes.Buffer
	w := newMessageWriter(&stream)
	for _, m := range []*Message{
		{ID: 1, Request: &Request{Interrupt: true}},
		{Event: EventOf(backend.Event{Stopped: &backend.Stopped{
			Reason: backend.ReasonStep,
			Frames: []backend.Frame{{Function: "main"}},
		}})},
	} {
		if err := w.write(m); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(stream.Bytes())
	f.Fuzz(func(t *testing.T, input []byte) {
		r := newMessageReader(bytes.NewReader(input))
		for n := 0; ; n++ {
			if _, err := r.next(); err != nil {
				return
			}
			if n > len(input) {
				t.Fatal("more messages than bytes")
			}
		}
	})
}

func FuzzHello(f *testing.F) {
	f.Add([]byte(`{"cohort":"agent","version":"v","token":"t","rank":1,"size":2}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		var frame bytes.Buffer
		if len(input) == 0 || len(input) > maxHello {
			return
		}
		if err := writeFrame(&frame, input, maxHello); err != nil {
			t.Fatal(err)
		}
		conn := &scriptedConn{Reader: &frame}
		hello, err := Receive(conn, Expect{Token: "t", Version: "v", Ranks: 2})
		if err == nil && (hello.Token != "t" || hello.Version != "v" || hello.Rank < 0 || hello.Rank > 1) {
			t.Errorf("accepted %+v", hello)
		}
	})
}
