package decisions

import (
	"encoding/binary"
	"math"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// Stream is what one thread is given, in order (struct cohort_stream).
type Stream struct {
	Thread uint64 // id
	Count  uint64 // values
	Data   []byte // struct cohort_value each; numbers of one kind that follow each other share one
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
	if at := s.open - 1; at >= 0 && abi.ValueKind(le.Uint32(s.Data[at:])) == v.What &&
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
		return abi.MainThread
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

// Values is how many values all threads are given.
func (d *Plan) Values() uint64 {
	var n uint64
	for i := range d.Streams {
		n += d.Streams[i].Count
	}
	return n
}
