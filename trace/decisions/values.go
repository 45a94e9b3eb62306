package decisions

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cohort-debugger/cohort/trace"
)

// Sizes of the mirrors of struct cohort_stream and struct cohort_turn, and of the header of struct cohort_value.
const (
	streamSize      = 32
	turnSize        = 16
	valueHeaderSize = 8
)

// Stream is what one thread is given, in order (struct cohort_stream).
type Stream struct {
	Thread uint64 // id
	Count  uint64 // values
	Data   []byte // struct cohort_value each; numbers of one kind that follow each other share one
}

// Turn says which thread makes the MPI calls after Steps of them (struct cohort_turn).
type Turn struct {
	Steps  uint64
	Thread uint64 // id
}

// openStream is one that is being built.
type openStream struct {
	Stream
	open int // where the last entry begins if a number may join it, plus 1; else 0
}

func (s *openStream) add(v *trace.Value) {
	le := binary.LittleEndian
	s.Count++
	if v.What.IsBytes() {
		s.Data = le.AppendUint32(s.Data, uint32(v.What))
		s.Data = le.AppendUint32(s.Data, uint32(len(v.Bytes)))
		s.Data = append(s.Data, v.Bytes...)
		for len(s.Data)%8 != 0 {
			s.Data = append(s.Data, 0)
		}
		s.open = 0
		return
	}
	if at := s.open - 1; at >= 0 && trace.ValueKind(le.Uint32(s.Data[at:])) == v.What &&
		le.Uint32(s.Data[at+4:]) < math.MaxUint32-8 {
		le.PutUint32(s.Data[at+4:], le.Uint32(s.Data[at+4:])+8)
	} else {
		s.open = len(s.Data) + 1
		s.Data = le.AppendUint32(s.Data, uint32(v.What))
		s.Data = le.AppendUint32(s.Data, 8)
	}
	s.Data = le.AppendUint64(s.Data, v.Number)
}

// valueBuilder gathers the streams and turns of a trace.
type valueBuilder struct {
	threads map[uint32]uint64
	streams map[uint32]*openStream
	order   []*openStream
	turns   []Turn
}

func (b *valueBuilder) id(index uint32) uint64 {
	if index == 0 {
		return trace.MainThread
	}
	return b.threads[index] // declared: the reader has seen to that
}

func (b *valueBuilder) add(r trace.Record) {
	if b.threads == nil {
		b.threads, b.streams = map[uint32]uint64{}, map[uint32]*openStream{}
	}
	switch r := r.(type) {
	case *trace.Thread:
		b.threads[r.Index] = r.ID
	case *trace.Turn:
		b.turns = append(b.turns, Turn{Steps: r.Steps, Thread: b.id(r.Thread)})
	case *trace.Value:
		s := b.streams[r.Thread]
		if s == nil {
			s = &openStream{Stream: Stream{Thread: b.id(r.Thread)}}
			b.streams[r.Thread] = s
			b.order = append(b.order, s)
		}
		s.add(r)
	}
}

func (b *valueBuilder) finish(out *Plan) {
	for _, s := range b.order {
		out.Streams = append(out.Streams, s.Stream)
	}
	out.Turns = b.turns
}

// encodeValues appends the streams and turns to a decisions file, and puts their places into its header.
func (d *Plan) encodeValues(b []byte, at int) []byte {
	le := binary.LittleEndian
	data := len(b)
	for i := range d.Streams {
		b = append(b, d.Streams[i].Data...)
	}
	streams := len(b)
	for i := range d.Streams {
		s := &d.Streams[i]
		b = le.AppendUint64(b, s.Thread)
		b = le.AppendUint64(b, s.Count)
		b = le.AppendUint64(b, uint64(data))
		b = le.AppendUint64(b, uint64(len(s.Data)))
		data += len(s.Data)
	}
	turns := len(b)
	for _, t := range d.Turns {
		b = le.AppendUint64(b, t.Steps)
		b = le.AppendUint64(b, t.Thread)
	}
	le.PutUint64(b[at:], uint64(len(d.Streams)))
	le.PutUint64(b[at+8:], uint64(streams))
	le.PutUint64(b[at+16:], uint64(len(d.Turns)))
	le.PutUint64(b[at+24:], uint64(turns))
	return b
}

// decodeValues is the inverse of encodeValues. It returns what is wrong, or nil.
func (d *Plan) decodeValues(b []byte, at int) error {
	le := binary.LittleEndian
	n, from := le.Uint64(b[at:]), le.Uint64(b[at+8:])
	if from > uint64(len(b)) || n > (uint64(len(b))-from)/streamSize {
		return fmt.Errorf("%d streams of values at %d do not lie inside the file", n, from)
	}
	for i := range n {
		e := b[from+i*streamSize:]
		start, length := le.Uint64(e[16:]), le.Uint64(e[24:])
		if start > uint64(len(b)) || length > uint64(len(b))-start {
			return fmt.Errorf("stream %d of values does not lie inside the file", i)
		}
		s := Stream{Thread: le.Uint64(e), Count: le.Uint64(e[8:])}
		if length > 0 {
			s.Data = append(s.Data, b[start:start+length]...)
		}
		d.Streams = append(d.Streams, s)
	}
	n, from = le.Uint64(b[at+16:]), le.Uint64(b[at+24:])
	if from > uint64(len(b)) || n > (uint64(len(b))-from)/turnSize {
		return fmt.Errorf("%d turns at %d do not lie inside the file", n, from)
	}
	for i := range n {
		e := b[from+i*turnSize:]
		d.Turns = append(d.Turns, Turn{Steps: le.Uint64(e), Thread: le.Uint64(e[8:])})
	}
	return nil
}

// Values is how many values all threads are given.
func (d *Plan) Values() uint64 {
	var n uint64
	for i := range d.Streams {
		n += d.Streams[i].Count
	}
	return n
}
