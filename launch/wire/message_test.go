package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
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

// An introduction that lies about its length, ends early or is not JSON is an error, and no more is read than it says.
func TestReadJSON(t *testing.T) {
	frame := func(length uint32, payload string) string {
		return string(binary.LittleEndian.AppendUint32(nil, length)) + payload
	}
	for name, c := range map[string]struct{ input, want, err string }{
		"whole":       {frame(5, `"abc"`), "abc", ""},
		"more behind": {frame(5, `"abc"d`), "abc", ""},
		"end":         {"", "", "EOF"},
		"half length": {"\x03\x00", "", "EOF"},
		"half":        {frame(5, `"ab`), "", "EOF"},
		"empty":       {frame(0, ""), "", "not JSON"},
		"too long":    {frame(maxHello+1, "abcdefghijk"), "", "may have"},
		"lie":         {frame(math.MaxUint32, "abc"), "", "may have"},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			input := strings.NewReader(c.input)
			err := readJSON(input, &got)
			if c.err == "" && (err != nil || got != c.want || input.Len() != len(c.input)-9) {
				t.Errorf("got %q, %v with %d bytes left; want %q", got, err, input.Len(), c.want)
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
		encoder := gob.NewEncoder(&stream)
		for _, m := range sent {
			if err := encoder.Encode(m); err != nil {
				t.Fatalf("write: %v", err)
			}
		}
		decoder := gob.NewDecoder(&stream)
		for i, m := range sent {
			got := new(Message)
			if err := decoder.Decode(got); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
			if diff := cmp.Diff(m, got); diff != "" {
				t.Fatalf("message %d (-sent +got):\n%s", i, diff)
			}
		}
		if err := decoder.Decode(new(Message)); !errors.Is(err, io.EOF) {
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
		return &Message{ID: number.Draw(t, "id"), Request: Control{drawControl(t)}}
	case 2:
		return &Message{ID: number.Draw(t, "id"), Request: Interrupt}
	case 3:
		return &Message{ID: number.Draw(t, "id"), Request: backend.SetBreakpointsRequest{
			Source: text.Draw(t, "source"),
			Breakpoints: []backend.SourceBreakpoint{{
				ID: 1, Line: rapid.Int().Draw(t, "line"),
				Condition: text.Draw(t, "condition"),
			}},
		}}
	case 4:
		return &Message{Event: &backend.Event{Resumed: true}}
	case 5:
		return &Message{Event: &backend.Event{Exited: &backend.Exited{Code: rapid.IntRange(0, 255).Draw(t, "code")}}}
	case 6:
		return &Message{Event: &backend.Event{Stopped: &backend.Stopped{
			Reason: backend.ReasonBreakpoint, Breakpoints: []int{0, 2},
			Frames: []backend.Frame{{
				Function: text.Draw(t, "f"), PC: number.Draw(t, "pc"),
				Args: []backend.Argument{{Name: "a", Value: text.Draw(t, "v")}},
			}},
			Control: backend.ControlState{
				Present: true, Events: number.Draw(t, "events"),
				Divergence: &backend.Divergence{RecordedSource: math.MinInt32},
			},
		}}}
	case 7:
		return &Message{Event: &backend.Event{Output: &backend.Output{
			Category: "stdout",
			Data:     rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "data"),
		}}}
	case 8:
		return &Message{ID: 1, Response: &Response{Err: &Error{
			Text: text.Draw(t, "text"), Typed: &backend.StateError{Asked: "a", State: "b"},
		}}}
	default:
		return &Message{ID: 1, Response: &Response{Body: backend.EvaluateResult{Variable: backend.Variable{Name: text.Draw(t, "n"), Ref: 3}, Text: "x"}}}
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

// FuzzMessages feeds a peer's whole stream to the reader: errors are fine, panics and messages beyond the stream are
// not.
func FuzzMessages(f *testing.F) {
	var stream bytes.Buffer
	encoder := gob.NewEncoder(&stream)
	for _, m := range []*Message{
		{ID: 1, Request: Interrupt},
		{Event: &backend.Event{Stopped: &backend.Stopped{
			Reason: backend.ReasonStep,
			Frames: []backend.Frame{{Function: "main"}},
		}}},
	} {
		if err := encoder.Encode(m); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(stream.Bytes())
	f.Fuzz(func(t *testing.T, input []byte) {
		decoder := gob.NewDecoder(bytes.NewReader(input))
		for n := 0; ; n++ {
			if err := decoder.Decode(new(Message)); err != nil {
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
		if len(input) == 0 || len(input) > maxHello {
			return
		}
		frame := bytes.NewReader(append(binary.LittleEndian.AppendUint32(nil, uint32(len(input))), input...))
		conn := &scriptedConn{Reader: frame}
		hello, err := Receive(conn, Expect{Token: "t", Version: "v", Ranks: 2})
		if err == nil && (hello.Token != "t" || hello.Version != "v" || hello.Rank < 0 || hello.Rank > 1) {
			t.Errorf("accepted %+v", hello)
		}
	})
}
