package trace

import (
	"encoding/binary"
	"math"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// The first bytes of the short forms of order-mode records (docs/trace-format.md, Short forms).
const (
	shapeCount    = 64
	shapeContexts = 4096

	shortKnown    = byte(abi.RecordKnown)    // up to 0x7f: a shape by its place; its value follows
	shortExpected = byte(abi.RecordExpected) // up to 0xff: the shape that is expected, with a value
	valueLong     = 0x7f                     // of shortExpected: the rest of the value follows
)

// shape is an order-mode record without its value, which is the source of a MATCH, the failures of a POLL, the first
// index of a SET. Of a MATCH without a source the kind is RecordPending.
type shape struct {
	// kind, op, n of a SET or which of a MATCH (16 bits), tag minus the last one (32 bits, modulo), from the lowest
	// byte
	a uint64
	b uint64 // event delta and back, 32 bits each
}

// shapes is what both sides know of the records so far. The encoder may use any shape that the decoder knows; this one
// does as the interposer.
type shapes struct {
	all      [shapeCount]shape
	made     uint32
	context  uint32
	expected [shapeContexts]uint8 // place + 1; 0: none
	found    [4 * shapeCount]uint8
	tag      int32 // of the last MATCH with a source: loops that count their tags up have one shape
}

// see takes in the tag of a record, short or not.
func (s *shapes) see(r Record) {
	if m, ok := r.(*Match); ok && m.Source != NoSource {
		s.tag = m.Tag
	}
}

// next takes in that the shape of a place came, with a value.
func (s *shapes) next(place uint32, value uint64) {
	s.expected[s.context] = uint8(place + 1)
	s.context = s.context<<3 + place
	if s.all[place].kind() == abi.RecordSet {
		s.context += uint32(value)
	}
	s.context %= shapeContexts
}

func (h shape) kind() abi.Record { return abi.Record(h.a & 0xff) }

func (h shape) hash() uint8 { return uint8((h.a*0x9E3779B97F4A7C15 ^ h.b) * 0xBF58476D1CE4E5B9 >> 56) }

// learn gives the shape of a record at full length its place.
func (s *shapes) learn(h shape, value uint64) {
	place := s.made % shapeCount
	s.made++
	s.all[place] = h
	s.found[h.hash()] = uint8(place + 1)
	s.next(place, value)
}

// shapeOf takes a record apart; last is the event and tag the tag before it. ok is false for what has no shape: other
// kinds, and values that do not fit one.
func shapeOf(r Record, last uint64, tag int32) (h shape, value uint64, ok bool) {
	pack := func(kind abi.Record, op mpispec.Op, n uint64, tag int32, event, back uint64) bool {
		h = shape{uint64(kind) | uint64(op)<<8 | n<<16 | uint64(uint32(tag))<<32, (event - last) | back<<32}
		return op <= math.MaxUint8 && event-last <= math.MaxUint32 && back <= math.MaxUint32 && n <= math.MaxUint16
	}
	switch r := r.(type) {
	case *Match:
		switch {
		case r.Source == NoSource:
			ok = pack(abi.RecordPending, r.Op, uint64(r.Which), r.Tag, r.Event, r.Back)
		case r.Source >= 0:
			value = uint64(r.Source)
			ok = pack(abi.RecordMatch, r.Op, uint64(r.Which), r.Tag-tag, r.Event, r.Back)
		}
	case *Poll:
		value = r.Failures
		ok = pack(abi.RecordPoll, r.Op, 0, 0, r.Event, 0)
	case *Set:
		if len(r.Indices) > 0 {
			value = uint64(r.Indices[0])
		}
		ok = pack(abi.RecordSet, r.Op, uint64(len(r.Indices)), 0, r.Event, 0)
	}
	return h, value, ok
}

// record is the inverse of shapeOf, but for the indices of a SET after the first.
func (h shape) record(value, last uint64, lastTag int32) (Record, bool) {
	op, n, tag := mpispec.Op(h.a>>8&0xff), uint32(h.a>>16&0xffff), int32(uint32(h.a>>32))
	delta, back := h.b&math.MaxUint32, h.b>>32
	if delta > abi.Never-1-last {
		return nil, false
	}
	event := last + delta
	switch h.kind() {
	case abi.RecordPending:
		return &Match{Event: event, Op: op, Source: NoSource, Tag: tag, Back: back, Which: n}, value == 0 &&
			(back == 0 || back < event)
	case abi.RecordMatch:
		return &Match{Event: event, Op: op, Source: int32(value), Tag: lastTag + tag, Back: back, Which: n},
			value <= math.MaxInt32 && (back == 0 || back < event)
	case abi.RecordPoll:
		return &Poll{Event: event, Op: op, Failures: value}, true
	default:
		s := &Set{Event: event, Op: op}
		if n > 0 {
			s.Indices = append(make([]uint32, 0, n), uint32(value))
		}
		return s, value <= math.MaxUint32 && (n > 0 || value == 0)
	}
}

// shorten returns a short form of a record, or, if there is none, what it is at full length.
func (s *shapes) shorten(full []byte, r Record, last uint64) []byte {
	h, value, ok := shapeOf(r, last, s.tag)
	s.see(r)
	if !ok {
		return full
	}
	var place uint32
	var b []byte
	switch guess, known := s.expected[s.context], s.found[h.hash()]; {
	case guess != 0 && s.all[guess-1] == h:
		place = uint32(guess - 1)
		b = append(b, shortExpected|byte(min(value, valueLong)))
		if value >= valueLong {
			b = binary.AppendUvarint(b, value-valueLong)
		}
	case known != 0 && s.all[known-1] == h:
		place = uint32(known - 1)
		b = binary.AppendUvarint(append(b, shortKnown|byte(place)), value)
	default:
		s.learn(h, value)
		return full
	}
	s.next(place, value)
	if set, isSet := r.(*Set); isSet && len(set.Indices) > 0 {
		for _, i := range set.Indices[1:] {
			b = binary.AppendUvarint(b, uint64(i))
		}
	}
	return b
}

// take learns from a record that was read at full length.
func (s *shapes) take(r Record, last uint64) {
	if h, value, ok := shapeOf(r, last, s.tag); ok {
		s.learn(h, value)
	}
	s.see(r)
}

// short decodes a short form, of which the first byte has been read.
func (s *shapes) short(d *decoder, first byte, last uint64) Record {
	at := d.pos - 1
	d.what = "short form"
	place := uint32(first & (shapeCount - 1))
	var value uint64
	if first >= shortExpected {
		place = uint32(s.expected[s.context]) - 1 // of none: no place
		value = uint64(first & valueLong)
		if value == valueLong {
			more := d.Uint("value", 64, 0)
			if more > math.MaxUint64-valueLong {
				d.Fail("a value of 64 bits", "a greater one")
			}
			value += more
		}
	} else {
		value = d.Uint("value", 64, 0)
	}
	if d.err != nil {
		return nil
	}
	if place >= min(s.made, shapeCount) {
		d.failAt(at, "a shape that came before", "none")
		return nil
	}
	h := s.all[place]
	r, ok := h.record(value, last, s.tag)
	if !ok {
		d.failAt(at, "a value that suits the shape", "another")
		return nil
	}
	if set, isSet := r.(*Set); isSet {
		d.what = "SET"
		more := int(h.a>>16&0xffff) - 1
		if more > d.left() {
			d.failAt(at, "the indices of a SET", "the end of the chunk")
			return nil
		}
		for range more {
			set.Indices = append(set.Indices, uint32(d.Uint("index", 32, 0)))
		}
	}
	s.next(place, value)
	s.see(r)
	return r
}
