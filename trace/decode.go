package trace

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// decoder reads fields from one chunk's payload. The first fault sticks; what is read after it is zero.
type decoder struct {
	path string
	buf  []byte
	pos  int
	base int64  // file offset of buf[0]
	what string // record that is being read
	err  error
}

func (d *decoder) fail(kind error, at int, want, got string) {
	if d.err == nil {
		d.err = &FormatError{Path: d.path, Offset: d.base + int64(at), What: d.what, Want: want, Got: got, Kind: kind}
	}
}

func (d *decoder) left() int { return len(d.buf) - d.pos }

// need reports whether n more bytes are there, and fails if not. The end of the payload inside a record is malformed,
// not truncated: a record is never split, and `committed` only ever covers whole ones.
func (d *decoder) need(n int, field string) bool {
	if d.err != nil {
		return false
	}
	if d.left() < n {
		d.fail(ErrMalformed, d.pos, field, "the end of the chunk")
		return false
	}
	return true
}

func (d *decoder) u8(field string) uint8 {
	if !d.need(1, field) {
		return 0
	}
	v := d.buf[d.pos]
	d.pos++
	return v
}

func (d *decoder) u32(field string) uint32 {
	if !d.need(4, field) {
		return 0
	}
	v := binary.LittleEndian.Uint32(d.buf[d.pos:])
	d.pos += 4
	return v
}

func (d *decoder) u64(field string) uint64 {
	if !d.need(8, field) {
		return 0
	}
	v := binary.LittleEndian.Uint64(d.buf[d.pos:])
	d.pos += 8
	return v
}

func (d *decoder) uv(field string) uint64 {
	if !d.need(1, field) {
		return 0
	}
	v, n := binary.Uvarint(d.buf[d.pos:])
	if n <= 0 {
		d.fail(ErrMalformed, d.pos, field+" as a varint", "one that does not end or exceeds 64 bits")
		return 0
	}
	d.pos += n
	return v
}

func (d *decoder) uv32(field string) uint32 {
	at := d.pos
	v := d.uv(field)
	if v > math.MaxUint32 {
		d.fail(ErrMalformed, at, field+" below 2^32", fmt.Sprint(v))
		return 0
	}
	return uint32(v)
}

func (d *decoder) sv(field string) int32 {
	at := d.pos
	if !d.need(1, field) {
		return 0
	}
	v, n := binary.Varint(d.buf[d.pos:])
	if n <= 0 {
		d.fail(ErrMalformed, d.pos, field+" as a varint", "one that does not end or exceeds 64 bits")
		return 0
	}
	d.pos += n
	if v < math.MinInt32 || v > math.MaxInt32 {
		d.fail(ErrMalformed, at, field+" in 32 bits", fmt.Sprint(v))
		return 0
	}
	return int32(v)
}

// count reads a number of items, each of which takes at least size bytes: so a count that lies allocates nothing.
func (d *decoder) count(field string, size int) int {
	at := d.pos
	v := d.uv(field)
	if v > uint64(d.left()/size) {
		d.fail(ErrMalformed, at, fmt.Sprintf("%s that fits the %d bytes that follow", field, d.left()), fmt.Sprint(v))
		return 0
	}
	return int(v)
}

func (d *decoder) str(field string) string {
	n := d.count("length of "+field, 1)
	if !d.need(n, field) {
		return ""
	}
	v := string(d.buf[d.pos : d.pos+n])
	d.pos += n
	return v
}

func (d *decoder) op() mpispec.Op {
	at := d.pos
	op := mpispec.Op(d.uv32("operation"))
	if d.err == nil && !op.Known() {
		d.fail(ErrMalformed, at, "a known operation", fmt.Sprint(uint32(op)))
	}
	return op
}

// back reads the distance to an earlier event. 0 says that there is none, and yields 0.
func (d *decoder) back(event uint64, field string) uint64 {
	at := d.pos
	v := d.uv(field)
	switch {
	case d.err != nil:
		return 0
	case v == 0:
		return 0
	case v >= event:
		d.fail(ErrMalformed, at, fmt.Sprintf("%s from event %d to an earlier one", field, event), fmt.Sprint(v))
		return 0
	}
	return event - v
}

func (d *decoder) ranks(n int, field string) []uint32 {
	if n == 0 {
		return nil
	}
	all := make([]uint32, n)
	for i := range all {
		all[i] = d.uv32(field)
	}
	return all
}

func (d *decoder) comm() *Comm {
	c := &Comm{
		Index: d.uv32("index"), GlobalID: d.u64("global id"), ParentID: d.u64("parent id"),
		CommKind: abi.CommKind(d.u8("kind")),
	}
	size := d.count("size", 1)
	c.MyRank = d.uv32("my rank")
	remote := d.count("remote size", 1)
	if d.err == nil && size+remote > d.left() {
		d.fail(ErrMalformed, d.pos, fmt.Sprintf("%d world ranks", size+remote), fmt.Sprintf("%d bytes", d.left()))
		return c
	}
	c.Members = d.ranks(size, "world rank")
	c.Remote = d.ranks(remote, "remote world rank")
	return c
}

func (d *decoder) recvArgs(complete bool) RecvArgs {
	a := RecvArgs{Comm: d.uv32("comm"), AskedSource: d.sv("asked source"), AskedTag: d.sv("asked tag")}
	if complete {
		a.Source, a.Tag, a.Bytes = d.sv("source"), d.sv("tag"), d.uv("bytes")
	}
	return a
}

func (d *decoder) sendArgs() SendArgs {
	return SendArgs{Comm: d.uv32("comm"), Dest: d.sv("dest"), Tag: d.sv("tag"), Bytes: d.uv("bytes")}
}

func (d *decoder) event(index uint64) *Event {
	e := &Event{Index: index, Op: d.op()}
	e.Site, e.FailedPolls, e.Gap, e.Duration = d.uv("site"), d.uv("failed polls"), d.uv("gap"), d.uv("duration")
	if d.err != nil {
		return e
	}
	if e.FailedPolls != 0 && !e.Op.IsPoll() {
		d.fail(ErrMalformed, d.pos, "no failed polls before a "+e.Op.String(), fmt.Sprint(e.FailedPolls))
	}
	switch e.Op.Class() {
	case mpispec.ClassSend, mpispec.ClassSendInit, mpispec.ClassRecvInit:
		e.Send = d.sendArgs()
	case mpispec.ClassRecv, mpispec.ClassProbe:
		e.Recv = d.recvArgs(true)
		if e.Op == mpispec.OpMrecv {
			e.Recv.Probe = d.back(index, "back to the matched probe")
		}
	case mpispec.ClassIrecv:
		e.Recv = d.recvArgs(false)
		if e.Op == mpispec.OpImrecv {
			e.Recv.Probe = d.back(index, "back to the matched probe")
		}
	case mpispec.ClassSendrecv:
		e.Send = d.sendArgs()
		e.Recv = d.recvArgs(true)
	case mpispec.ClassStart:
		if n := d.count("number of requests", 1); n > 0 {
			e.Inits = make([]uint64, n)
		}
		for i := range e.Inits {
			e.Inits[i] = d.back(index, "back to the _init")
		}
	case mpispec.ClassCompletion:
		e.Completed = d.completions(index)
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassComm:
		e.Coll = CollArgs{Comm: d.uv32("comm"), Root: d.sv("root"), Bytes: d.uv("bytes")}
		if e.Op.MakesComm() {
			e.Coll.NewComm = d.uv32("new comm")
		}
	case mpispec.ClassCollectiveInit:
		e.Coll = CollArgs{Comm: d.uv32("comm"), Root: d.sv("root"), Bytes: d.uv("bytes")}
		at := d.pos
		e.Coll.Of = d.op()
		if d.err == nil && e.Coll.Of.Class() != mpispec.ClassCollective {
			d.fail(ErrMalformed, at, "a blocking collective", e.Coll.Of.String())
		}
	case mpispec.ClassRequest:
		e.Post = d.back(index, "back to the post")
	case mpispec.ClassOther, mpispec.ClassNone:
	}
	return e
}

func (d *decoder) completions(index uint64) []Completion {
	n := d.count("number of requests", 3)
	if n == 0 {
		return nil
	}
	all := make([]Completion, n)
	for i := range all {
		c := &all[i]
		c.ArrayIndex, c.Post = d.uv32("array index"), d.back(index, "back to the post")
		at := d.pos
		c.Class = RequestClass(d.u8("class of request"))
		if d.err == nil && (c.Class < RequestSend || c.Class > RequestOther) {
			d.fail(ErrMalformed, at, "a class of request from 1 to 4", fmt.Sprint(uint8(c.Class)))
		}
		if c.Class == RequestRecv {
			c.Source, c.Tag, c.Bytes = d.sv("source"), d.sv("tag"), d.uv("bytes")
		}
		if d.err != nil {
			return nil
		}
	}
	return all
}

// delta reads an event delta and returns the event's number.
func (d *decoder) delta(last uint64) uint64 {
	at := d.pos
	v := d.uv("event delta")
	if v > abi.Never-1-last {
		d.fail(ErrMalformed, at, "an event delta that fits", fmt.Sprint(v))
		return last
	}
	return last + v
}

func (d *decoder) match(last uint64) *Match {
	m := &Match{Event: d.delta(last), Op: d.op(), Source: d.sv("source"), Tag: d.sv("tag")}
	at := d.pos
	m.Back = d.uv("back")
	if m.Back != 0 && m.Back >= m.Event {
		d.fail(ErrMalformed, at, fmt.Sprintf("back from event %d to an earlier one", m.Event), fmt.Sprint(m.Back))
	}
	if m.Op == mpispec.OpStartall {
		m.Which = d.uv32("which")
	}
	return m
}

func (d *decoder) set(last uint64) *Set {
	s := &Set{Event: d.delta(last), Op: d.op()}
	n := d.count("number of indices", 1)
	if n > 0 {
		s.Indices = d.ranks(n, "index")
	}
	return s
}
