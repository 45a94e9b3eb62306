package dap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func frame(content string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content)
}

func TestReadFrame(t *testing.T) {
	tests := []struct {
		name, in, want string
		fatal          bool
		err            error
		says           string
	}{
		{name: "plain", in: frame(`{"seq":1}`), want: `{"seq":1}`},
		{name: "empty content", in: frame(""), want: ""},
		{name: "small letters", in: "content-length: 2\r\n\r\n{}", want: "{}"},
		{name: "no blank", in: "Content-Length:2\r\n\r\n{}", want: "{}"},
		{
			name: "with a type", in: "Content-Type: application/vscode-jsonrpc\r\nContent-Length: 2\r\n\r\n{}",
			want: "{}",
		},
		{name: "end of stream", in: "", err: io.EOF},
		{name: "end within header", in: "Content-Le", err: io.ErrUnexpectedEOF},
		{name: "end after header", in: "Content-Length: 5\r\n\r\n", err: io.ErrUnexpectedEOF},
		{name: "end within content", in: "Content-Length: 5\r\n\r\nab", err: io.ErrUnexpectedEOF},
		{name: "no length", in: "\r\n{}", fatal: true, says: "no Content-Length"},
		{name: "bare newline", in: "Content-Length: 2\n\n{}", fatal: true, says: "CR LF"},
		{name: "http", in: "POST / HTTP/1.1\r\nHost: x\r\n\r\n", fatal: true, says: `"POST / HTTP/1.1"`},
		{
			name: "other header", in: "X-Y: 1\r\nContent-Length: 2\r\n\r\n{}", fatal: true,
			says: "not part of the Debug Adapter Protocol",
		},
		{
			name: "twice", in: "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", fatal: true,
			says: "two Content-Length",
		},
		{name: "negative", in: "Content-Length: -2\r\n\r\n{}", fatal: true, says: "not a decimal number"},
		{name: "plus", in: "Content-Length: +2\r\n\r\n{}", fatal: true, says: "not a decimal number"},
		{name: "hex", in: "Content-Length: 0x2\r\n\r\n{}", fatal: true, says: "not a decimal number"},
		{name: "nothing", in: "Content-Length: \r\n\r\n{}", fatal: true, says: "not a decimal number"},
		{
			name: "overflow", in: "Content-Length: 99999999999999999999\r\n\r\n{}", fatal: true,
			says: "not a decimal number",
		},
		{name: "huge", in: "Content-Length: 99999999999\r\n\r\n{}", fatal: true, says: "at most"},
		{name: "endless header", in: strings.Repeat("a", maxHeader+10), fatal: true, says: "longer than"},
		{name: "binary", in: "\x00\xff\n", fatal: true, says: "CR LF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := bufio.NewReader(strings.NewReader(tt.in + ""))
			got, err := readFrame(r)
			var bad *frameError
			switch {
			case tt.err != nil:
				if !errors.Is(err, tt.err) {
					t.Fatalf("got %q, %v; want %v", got, err, tt.err)
				}
			case tt.says != "":
				if !errors.As(err, &bad) || bad.fatal != tt.fatal || !strings.Contains(bad.text, tt.says) {
					t.Fatalf("got %q, %v; want an error that says %q", got, err, tt.says)
				}
			default:
				if err != nil || string(got) != tt.want {
					t.Fatalf("got %q, %v; want %q", got, err, tt.want)
				}
			}
		})
	}
}

func TestReadFrameSkipsWhatIsTooLarge(t *testing.T) {
	in := io.MultiReader(
		strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", maxContent+1)),
		io.LimitReader(zeros{}, maxContent+1),
		strings.NewReader(frame(`{"next":1}`)))
	r := bufio.NewReader(in)
	_, err := readFrame(r)
	var bad *frameError
	if !errors.As(err, &bad) || bad.fatal {
		t.Fatalf("a message that is too large gives %v, want an error after which reading continues", err)
	}
	got, err := readFrame(r)
	if err != nil || string(got) != `{"next":1}` {
		t.Fatalf("the message after it gives %q, %v", got, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestReadFrameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contents := rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "contents")
		var stream bytes.Buffer
		for _, c := range contents {
			stream.WriteString(frame(string(c)))
		}
		r := bufio.NewReaderSize(iotest.OneByteReader(&stream), maxHeader)
		for _, want := range contents {
			got, err := readFrame(r)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("got %q, %v; want %q", got, err, want)
			}
		}
		if _, err := readFrame(r); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last message: %v", err)
		}
	})
}

func TestParseRequest(t *testing.T) {
	tests := []struct {
		in   string
		want request
		says string
	}{
		{in: `{"seq":3,"type":"request","command":"threads"}`, want: request{seq: 3, command: "threads"}},
		{in: `{"seq":3,"type":"request","command":"x","arguments":[1]}`, want: request{seq: 3, command: "x"}},
		{in: `{"seq":3,"type":"response","command":"x"}`, says: "not a request"},
		{in: ``, says: "not a JSON object"},
		{in: `[]`, says: "not a JSON object"},
		{in: `{"seq":`, says: "not a JSON object"},
		{
			in: `{"seq":3,"command":"x"}`, want: request{seq: 3, command: "x"},
			says: `type must be "request", but is missing`,
		},
		{in: `{"seq":3,"type":7,"command":"x"}`, want: request{seq: 3, command: "x"}, says: `but is "7"`},
		{in: `{"seq":3,"type":"request"}`, want: request{seq: 3}, says: "command must be a non-empty string"},
		{in: `{"seq":"a","type":"request","command":"x"}`, want: request{command: "x"}, says: "seq of the request"},
		{in: `{"seq":1.5,"type":"request","command":"x"}`, want: request{command: "x"}, says: "seq of the request"},
		{in: `{"type":"request","command":"x"}`, want: request{command: "x"}, says: "but is missing"},
	}
	for _, tt := range tests {
		got, err := parseRequest([]byte(tt.in))
		if (err == nil) != (tt.says == "") || (err != nil && !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: error %v, want one that says %q", tt.in, err, tt.says)
		}
		if tt.says == "" || tt.want.command != "" {
			if got.seq != tt.want.seq || got.command != tt.want.command {
				t.Errorf("%s: got %+v, want %+v", tt.in, got, tt.want)
			}
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte(frame(`{"seq":1,"type":"request","command":"initialize"}`)))
	f.Add([]byte("Content-Length: 5\r\nContent-Type: x\r\n\r\nabcde"))
	f.Add([]byte("Content-Length: 70000000\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(bytes.NewReader(in))
		for {
			content, err := readFrame(r)
			var bad *frameError
			switch {
			case err == nil:
				if len(content) > len(in) {
					t.Fatalf("%d bytes were made of %d", len(content), len(in))
				}
				_, _ = parseRequest(content)
			case errors.As(err, &bad) && !bad.fatal:
			default:
				return
			}
		}
	})
}
