package trace

import (
	"encoding/binary"

	"github.com/cohort-debugger/cohort/mpispec"
)

func appendUv(b []byte, v ...uint64) []byte {
	for _, x := range v {
		b = binary.AppendUvarint(b, x)
	}
	return b
}

func appendSv(b []byte, v ...int32) []byte {
	for _, x := range v {
		b = binary.AppendVarint(b, int64(x))
	}
	return b
}

func appendStr(b []byte, s string) []byte {
	return append(appendUv(b, uint64(len(s))), s...)
}

// appendRecord appends the bytes of a record; last is the event of the order-mode record before it. The record has been
// checked.
func appendRecord(b []byte, r Record, last uint64) []byte {
	b = append(b, byte(r.Kind()))
	switch r := r.(type) {
	case *Comm:
		b = appendUv(b, uint64(r.Index))
		b = binary.LittleEndian.AppendUint64(b, r.GlobalID)
		b = binary.LittleEndian.AppendUint64(b, r.ParentID)
		b = append(b, byte(r.CommKind))
		b = appendUv(b, uint64(len(r.Members)), uint64(r.MyRank), uint64(len(r.Remote)))
		for _, m := range r.Members {
			b = appendUv(b, uint64(m))
		}
		for _, m := range r.Remote {
			b = appendUv(b, uint64(m))
		}
	case *Module:
		b = appendUv(b, r.Index)
		b = binary.LittleEndian.AppendUint64(b, r.LoadBias)
		b = appendStr(appendStr(b, r.Path), r.BuildID)
	case *Site:
		b = appendUv(b, r.Index, r.Module, r.Offset)
	case *Note:
		b = appendUv(b, r.Event)
		b = appendStr(b, r.Call)
		b = appendUv(b, r.Site)
	case *Event:
		b = appendEvent(b, r)
	case *End:
		b = append(appendUv(b, r.FailedPolls), r.How)
	case *Match:
		b = appendUv(b, r.Event-last, uint64(r.Op))
		b = appendUv(appendSv(b, r.Source, r.Tag), r.Back)
		if r.Op == mpispec.OpStartall {
			b = appendUv(b, uint64(r.Which))
		}
	case *Run:
		b = appendRun(b, r, last)
	case *Poll:
		b = appendUv(b, r.Event-last, uint64(r.Op))
		b = appendUv(b, r.Failures)
	case *Check:
		b = binary.LittleEndian.AppendUint32(appendUv(b, r.Event), r.Hash)
	case *Set:
		b = appendUv(b, r.Event-last, uint64(r.Op))
		b = appendUv(b, uint64(len(r.Indices)))
		for _, i := range r.Indices {
			b = appendUv(b, uint64(i))
		}
	case *Thread:
		b = binary.LittleEndian.AppendUint64(appendUv(b, uint64(r.Index)), r.ID)
	case *Turn:
		b = appendUv(b, r.Steps, uint64(r.Thread))
	case *Content:
		b = appendUv(b, uint64(r.Which), r.Value)
	}
	return b
}

func appendSend(b []byte, a *SendArgs) []byte {
	b = appendUv(b, uint64(a.Comm))
	b = appendSv(b, a.Dest, a.Tag)
	return appendUv(b, a.Bytes)
}

func appendRecv(b []byte, a *RecvArgs, complete bool) []byte {
	b = appendUv(b, uint64(a.Comm))
	b = appendSv(b, a.AskedSource, a.AskedTag)
	if complete {
		b = appendSv(b, a.Source, a.Tag)
		b = appendUv(b, a.Bytes)
	}
	return b
}

func appendEvent(b []byte, e *Event) []byte {
	b = appendUv(b, uint64(e.Op), e.Site, e.FailedPolls, e.Gap, e.Duration)
	switch e.Op.Class() {
	case mpispec.ClassSend, mpispec.ClassSendInit, mpispec.ClassRecvInit:
		b = appendSend(b, &e.Send)
	case mpispec.ClassRecv, mpispec.ClassProbe:
		b = appendRecv(b, &e.Recv, true)
		if e.Op == mpispec.OpMrecv {
			b = appendBack(b, e.Index, e.Recv.Probe)
		}
	case mpispec.ClassIrecv:
		b = appendRecv(b, &e.Recv, false)
		if e.Op == mpispec.OpImrecv {
			b = appendBack(b, e.Index, e.Recv.Probe)
		}
	case mpispec.ClassSendrecv:
		b = appendRecv(appendSend(b, &e.Send), &e.Recv, true)
	case mpispec.ClassStart:
		b = appendUv(b, uint64(len(e.Inits)))
		for _, init := range e.Inits {
			b = appendUv(b, e.Index-init)
		}
	case mpispec.ClassCompletion:
		b = appendUv(b, uint64(len(e.Completed)))
		for i := range e.Completed {
			b = appendCompletion(b, e.Index, &e.Completed[i])
		}
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassComm:
		b = appendUv(b, uint64(e.Coll.Comm))
		b = appendSv(b, e.Coll.Root)
		b = appendUv(b, e.Coll.Bytes)
		if e.Op.MakesComm() {
			b = appendUv(b, uint64(e.Coll.NewComm))
		}
	case mpispec.ClassCollectiveInit:
		b = appendUv(b, uint64(e.Coll.Comm))
		b = appendSv(b, e.Coll.Root)
		b = appendUv(b, e.Coll.Bytes, uint64(e.Coll.Of))
	case mpispec.ClassRequest:
		b = appendBack(b, e.Index, e.Post)
	case mpispec.ClassOther, mpispec.ClassNone:
	}
	return b
}

// appendBack appends how far before an event another lies; 0 if there is no other.
func appendBack(b []byte, event, other uint64) []byte {
	if other == 0 {
		return appendUv(b, 0)
	}
	return appendUv(b, event-other)
}

func appendCompletion(b []byte, event uint64, c *Completion) []byte {
	b = append(appendBack(appendUv(b, uint64(c.ArrayIndex)), event, c.Post), byte(c.Class))
	if c.Class == RequestRecv {
		b = appendSv(b, c.Source, c.Tag)
		b = appendUv(b, c.Bytes)
	}
	return b
}
