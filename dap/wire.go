package dap

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds on what a client may send. They are far above what editors send: the largest real messages are setBreakpoints
// and evaluate.
const (
	maxContent = 8 << 20 // bytes of one message that is read
	// bytes of one message that is skipped, with an error response; beyond that the connection is closed
	maxSkip   = 64 << 20
	maxHeader = 4 << 10 // bytes of all header lines of one message
)

// frameError says that the bytes read are not a message. If fatal, where the next message starts is not known.
type frameError struct {
	text  string
	fatal bool
}

func (e *frameError) Error() string { return e.text }

// badHeader is a fatal frameError.
func badHeader(format string, args ...any) error {
	return &frameError{fatal: true, text: fmt.Sprintf(format, args...) +
		". The connection is closed: a message starts with \"Content-Length: N\" CR LF CR LF"}
}

// readFrame reads one message's content. It returns io.EOF if the stream ends between two messages, *frameError if the
// bytes are not a message that is accepted, and other errors of the stream as they are. It never reads beyond the
// message and never allocates more than the content's length, which is bounded. The buffer of r has room for maxHeader.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if length > maxSkip {
		return nil, &frameError{fatal: true, text: fmt.Sprintf(
			"a message announced a Content-Length of %d bytes; this server reads at most %d. The connection is "+
				"closed: send smaller messages", length, maxContent)}
	}
	if length > maxContent {
		if _, err := io.CopyN(io.Discard, r, length); err != nil {
			return nil, unexpectedEOF(err)
		}
		return nil, &frameError{text: fmt.Sprintf(
			"a message of %d bytes was skipped: this server reads at most %d. Send smaller messages", length,
			maxContent)}
	}
	// The buffer grows with what arrives, so that an announced length alone costs nothing.
	var buf bytes.Buffer
	if _, err := io.CopyN(&buf, r, length); err != nil {
		return nil, unexpectedEOF(err)
	}
	return buf.Bytes(), nil
}

// readHeader reads the header lines up to and including the empty line.
func readHeader(r *bufio.Reader) (length int64, err error) {
	length = -1
	used := 0
	for {
		line, err := r.ReadSlice('\n')
		used += len(line)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || used > maxHeader:
			return 0, badHeader("a message's header is longer than %d bytes and starts with %s", maxHeader,
				quoteShort(string(line)))
		case errors.Is(err, io.EOF) && used == 0:
			return 0, io.EOF
		case err != nil:
			return 0, unexpectedEOF(err)
		}
		text, ok := strings.CutSuffix(string(line), "\r\n")
		if !ok {
			return 0, badHeader("a header line must end with CR LF, but %s does not", quoteShort(string(line)))
		}
		if text == "" {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		switch {
		case ok && strings.EqualFold(name, "Content-Length"):
			if length >= 0 {
				return 0, badHeader("a message has two Content-Length headers")
			}
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 63) // no sign, no other base
			if err != nil {
				return 0, badHeader("a message's Content-Length is not a decimal number of bytes")
			}
			length = int64(n)
		case ok && strings.EqualFold(name, "Content-Type"):
			// Some clients send the one of the Language Server Protocol; it says nothing that could matter.
		default:
			return 0, badHeader("a message starts with the header line %s, which is not part of the Debug Adapter "+
				"Protocol", quoteShort(text))
		}
	}
	if length < 0 {
		return 0, badHeader("a message has no Content-Length header")
	}
	return length, nil
}

// unexpectedEOF makes the end of the stream within a message an error of its own.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// quoteShort quotes the start of text from outside.
func quoteShort(s string) string {
	const limit = 60
	if len(s) > limit {
		return strconv.QuoteToASCII(s[:limit]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// request is one request as it came in. Arguments are decoded by its handler.
type request struct {
	seq       int
	command   string
	arguments json.RawMessage
}

// errNotRequest: the message is a response or an event, which this server has no use for.
var errNotRequest = errors.New("not a request")

// parseRequest decodes the base message. On error the request holds what could be read (its seq and command), so that
// the answer can name it.
func parseRequest(content []byte) (request, error) {
	var base struct {
		Seq       json.RawMessage `json:"seq"`
		Type      json.RawMessage `json:"type"`
		Command   json.RawMessage `json:"command"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(content, &base); err != nil {
		return request{}, fmt.Errorf("the message %s is not a JSON object: %w. "+
			`Send {"seq":N,"type":"request","command":"...","arguments":{...}}`, quoteShort(string(content)), err)
	}
	var req request
	var kind string
	// A field that is missing or of another type leaves the zero value, which is reported below.
	seqErr := json.Unmarshal(base.Seq, &req.seq)
	commandErr := json.Unmarshal(base.Command, &req.command)
	kindErr := json.Unmarshal(base.Type, &kind)
	req.arguments = base.Arguments
	switch {
	case kindErr == nil && (kind == "response" || kind == "event"):
		return req, errNotRequest
	case kindErr != nil || kind != "request":
		return req, fmt.Errorf("a message's type must be \"request\", but is %s", describeJSON(base.Type))
	case commandErr != nil || req.command == "":
		return req, fmt.Errorf("a request's command must be a non-empty string, but is %s", describeJSON(base.Command))
	case seqErr != nil || req.seq < 0: // nvim-dap up to 0.7.0 begins with 0
		return req, fmt.Errorf("the seq of the request %s must be a whole number from 0, but is %s",
			quoteShort(req.command), describeJSON(base.Seq))
	}
	return req, nil
}

func describeJSON(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	return quoteShort(string(raw))
}
