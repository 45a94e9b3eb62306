package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
)

// Bounds of frames, in bytes of payload.
const (
	// MaxFrame bounds a gob frame. The largest are ReadMemory answers and variables of large arrays.
	MaxFrame = 64 << 20
	// maxHello bounds the JSON frames, which come from a peer that has not shown the token yet.
	maxHello = 16 << 10
)

const frameHeader = 4

// FrameError: what came is not a frame. The connection cannot be used any more.
type FrameError struct{ Reason string }

func (e *FrameError) Error() string {
	return "the connection carries something that is not Cohort's: " + e.Reason
}

// readFrame reads one frame. The error is io.EOF only between frames.
func readFrame(r io.Reader, limit int, buffer []byte) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, &FrameError{Reason: "it ends within the length of a frame"}
		}
		return nil, err //nolint:wrapcheck // io.EOF stays io.EOF
	}
	length := binary.LittleEndian.Uint32(header[:])
	if length == 0 || uint64(length) > uint64(limit) {
		return nil, &FrameError{Reason: fmt.Sprintf("a frame says that it has %d bytes, and may have 1 to %d", length,
			limit)}
	}
	// Memory is taken as the bytes come, so that a length that lies costs nothing.
	into := bytes.NewBuffer(buffer[:0])
	if n, err := io.CopyN(into, r, int64(length)); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &FrameError{Reason: fmt.Sprintf("it ends after %d of the %d bytes of a frame", n, length)}
		}
		return nil, fmt.Errorf("reading from the connection: %w", err)
	}
	return into.Bytes(), nil
}

func writeFrame(w io.Writer, payload []byte, limit int) error {
	if len(payload) == 0 || len(payload) > limit {
		return &FrameError{Reason: fmt.Sprintf("a frame of %d bytes was to be sent; it may have 1 to %d", len(payload),
			limit)}
	}
	frame := make([]byte, frameHeader, frameHeader+len(payload))
	binary.LittleEndian.PutUint32(frame, uint32(len(payload)))
	if _, err := w.Write(append(frame, payload...)); err != nil {
		return fmt.Errorf("writing to the connection: %w", err)
	}
	return nil
}

// messageReader decodes the gob frames of one connection. gob describes a type once per stream, so reader and writer
// live as long as it.
type messageReader struct {
	source  *bufio.Reader
	frame   *bytes.Reader // a io.ByteReader, so gob reads no further than it must
	buffer  []byte
	decoder *gob.Decoder
}

func newMessageReader(r io.Reader) *messageReader {
	m := &messageReader{source: bufio.NewReaderSize(r, 64<<10), frame: bytes.NewReader(nil)}
	m.decoder = gob.NewDecoder(m.frame)
	return m
}

// next returns the next message, or io.EOF at a clean end.
func (m *messageReader) next() (*Message, error) {
	payload, err := readFrame(m.source, MaxFrame, m.buffer)
	if err != nil {
		return nil, err
	}
	if cap(payload) <= 1<<20 { // a rare large frame does not stay in memory
		m.buffer = payload
	}
	m.frame.Reset(payload)
	message := new(Message)
	if err := m.decoder.Decode(message); err != nil {
		return nil, &FrameError{Reason: "a frame of " + fmt.Sprint(len(payload)) + " bytes cannot be decoded: " +
			err.Error()}
	}
	if m.frame.Len() != 0 {
		return nil, &FrameError{Reason: fmt.Sprintf("a frame has %d bytes after its message", m.frame.Len())}
	}
	return message, nil
}

type messageWriter struct {
	target  io.Writer
	buffer  bytes.Buffer
	encoder *gob.Encoder
}

func newMessageWriter(w io.Writer) *messageWriter {
	m := &messageWriter{target: w}
	m.encoder = gob.NewEncoder(&m.buffer)
	return m
}

func (m *messageWriter) write(message *Message) error {
	m.buffer.Reset()
	if err := m.encoder.Encode(message); err != nil {
		return fmt.Errorf("encoding a message for the connection: %w", err)
	}
	err := writeFrame(m.target, m.buffer.Bytes(), MaxFrame)
	if m.buffer.Cap() > 1<<20 {
		m.buffer = bytes.Buffer{}
	}
	return err
}
