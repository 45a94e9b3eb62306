package trace

import (
	"bytes"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

type fataler interface{ Fatal(args ...any) }

// buffer is a file in memory.
type buffer struct{ b []byte }

func (f *buffer) WriteAt(p []byte, at int64) (int, error) {
	if end := int(at) + len(p); end > len(f.b) {
		f.b = append(f.b, make([]byte, end-len(f.b))...)
	}
	return copy(f.b[at:], p), nil
}

func (f *buffer) reader(t fataler) *Reader {
	r, err := NewReader(bytes.NewReader(f.b), int64(len(f.b)), "memory")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func genHeader(mode abi.Mode) *rapid.Generator[Header] {
	return rapid.Custom(func(t *rapid.T) Header {
		size := rapid.Uint32Range(1, 9).Draw(t, "size")
		return Header{
			Undecided: genUndecided(t, mode),
			Version:   abi.TraceVersion, Mode: mode, Flags: abi.Flag(rapid.Uint32().Draw(t, "flags")), WorldSize: size,
			Rank: rapid.Uint32Range(0, size-1).Draw(t, "rank"), MPI: abi.MPI(rapid.Uint32Range(0, 2).Draw(t, "mpi")),
			StartNS: rapid.Uint64().Draw(t, "start"), Polls: rapid.Uint64().Draw(t, "polls"),
			Incomplete:      rapid.Uint32().Draw(t, "incomplete"),
			Ended:           abi.Ended(rapid.Uint32Range(0, uint32(abi.EndedRepaired)).Draw(t, "ended")),
			IncompleteCall:  rapid.StringMatching(`[A-Za-z_ "\\=]{0,47}`).Draw(t, "call"),
			IncompleteEvent: rapid.Uint64().Draw(t, "incomplete event"),
			Unrecorded:      ValueKinds(rapid.Uint32().Draw(t, "unrecorded")),
			CurrentOp: rapid.SampledFrom(append(mpispec.Standard().Operations(), mpispec.OpNone)).Draw(t,
				"current"),
		}
	})
}

func genUndecided(t *rapid.T, mode abi.Mode) abi.Undecided {
	if mode != abi.ModeRacing {
		return abi.Undecided{Overtaken: rapid.Uint32().Draw(t, "overtaken")}
	}
	u := abi.Undecided{Whole: rapid.Uint64().Draw(t, "whole"), Overtaken: rapid.Uint32().Draw(t, "overtaken")}
	for i := range rapid.IntRange(0, abi.PendingMax).Draw(t, "undecided") {
		op := rapid.SampledFrom(mpispec.Standard().Operations()).Draw(t, "op")
		p := abi.Pending{
			Event: rapid.Uint64Range(1, 1<<60).Draw(t, "event"), Count: rapid.Uint32Range(1, 5).Draw(t, "count"),
			Stride: rapid.Uint32Range(1, 1<<20).Draw(t, "stride"), Source: rapid.Int32().Draw(t, "source"),
			Tag: rapid.Int32().Draw(t, "tag"),
			Op:  uint32(op),
		}
		if op == mpispec.OpStartall {
			p.Which = rapid.Uint32().Draw(t, "which")
		}
		u.Pending[i] = p
	}
	return u
}

// genRecords draws a sequence that obeys the rules of the format, with all fields anywhere in their ranges.
func genRecords(mode abi.Mode, most int) *rapid.Generator[[]Record] {
	return rapid.Custom(func(t *rapid.T) []Record {
		g := recordGen{t: t, mode: mode}
		for range rapid.IntRange(0, most).Draw(t, "records") {
			g.step()
		}
		if rapid.Bool().Draw(t, "ended") {
			g.all = append(g.all, &End{FailedPolls: rapid.Uint64().Draw(t, "polls"), How: rapid.Uint8().Draw(t, "how")})
		}
		return g.all
	})
}

type recordGen struct {
	t       *rapid.T
	mode    abi.Mode
	all     []Record
	comms   []uint32
	modules []uint64
	sites   []uint64
	events  uint64
	last    uint64
	checked uint64
	threads []uint32
	steps   uint64
	time    float64
}

func (g *recordGen) u32s(label string, most int) []uint32 {
	all := rapid.SliceOfN(rapid.Uint32(), 0, most).Draw(g.t, label)
	if len(all) == 0 {
		return nil
	}
	return all
}

func (g *recordGen) step() {
	t := g.t
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0:
		c := &Comm{
			Index: uint32(len(g.comms)) * 3, GlobalID: rapid.Uint64().Draw(t, "id"),
			ParentID: rapid.Uint64().Draw(t, "parent"),
			CommKind: abi.CommKind(rapid.IntRange(1, 6).Draw(t, "kind")),
			Members:  rapid.SliceOfN(rapid.Uint32(), 1, 5).Draw(t, "members"), Remote: g.u32s("remote", 4),
		}
		c.MyRank = uint32(rapid.IntRange(0, len(c.Members)-1).Draw(t, "my rank"))
		g.comms = append(g.comms, c.Index)
		g.all = append(g.all, c)
	case 1:
		m := &Module{
			Index: uint64(len(g.modules)), LoadBias: rapid.Uint64().Draw(t, "bias"),
			Path:    rapid.String().Draw(t, "path"),
			BuildID: string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "build id")),
		}
		g.modules = append(g.modules, m.Index)
		g.all = append(g.all, m)
	case 2:
		if len(g.modules) > 0 {
			s := &Site{
				Index: uint64(len(g.sites) + 1), Module: rapid.SampledFrom(g.modules).Draw(t, "module"),
				Offset: rapid.Uint64().Draw(t, "at"),
			}
			g.sites = append(g.sites, s.Index)
			g.all = append(g.all, s)
		}
	case 3:
		g.all = append(g.all, &Note{
			Event: rapid.Uint64().Draw(t, "event"), Call: rapid.String().Draw(t, "call"),
			Site: g.site(),
		})
	case 5:
		g.checked += rapid.Uint64Range(1, 1<<40).Draw(t, "checked")
		g.all = append(g.all, &Check{Event: g.checked, Hash: rapid.Uint32().Draw(t, "hash")})
	case 4:
		g.value()
	default:
		switch {
		case g.mode != abi.ModeFull:
			g.order()
		case g.events > 1 && g.last < g.events && rapid.IntRange(0, 9).Draw(t, "freed") == 0:
			// what a receive took whose request was freed
			g.last = rapid.Uint64Range(max(g.last, 2), g.events).Draw(t, "event")
			g.all = append(g.all, &Match{
				Event: g.last, Op: mpispec.OpIrecv, Source: rapid.Int32().Draw(t, "source"), Tag: rapid.Int32().Draw(t,
					"tag"),
				Back: rapid.Uint64Range(1, g.last-1).Draw(t, "back"),
			})
		default:
			before := g.events
			g.event()
			if g.events > before && rapid.IntRange(0, 3).Draw(t, "content") == 0 {
				g.all = append(g.all, &Content{
					Which: rapid.Uint32Range(0, 1<<20).Draw(t, "which"),
					Value: rapid.Uint64().Draw(t, "value"),
				})
			}
		}
	}
}

func (g *recordGen) site() uint64 {
	return rapid.SampledFrom(append([]uint64{0}, g.sites...)).Draw(g.t, "site")
}

func (g *recordGen) order() {
	t := g.t
	g.last += rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(0, 1<<40)).Draw(t, "delta")
	if g.last == 0 {
		g.last = 1
	}
	op := rapid.SampledFrom(mpispec.Standard().Operations()).Draw(t, "op")
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if kind == 3 && g.mode == abi.ModeRacing && g.last > 2 && op != mpispec.OpStartall {
		r := &Run{Event: g.last, Op: op, Source: rapid.Int32().Draw(t, "source"), Tag: rapid.Int32().Draw(t, "tag")}
		r.Back = rapid.Uint64Range(2, g.last-1).Draw(t, "back")
		r.Stride = uint32(rapid.Uint64Range(1, min(r.Back, 1<<31)).Draw(t, "stride"))
		if most := r.Back/uint64(r.Stride) + 1; most > 1 {
			r.Count = uint32(rapid.Uint64Range(2, min(most, 1<<31)).Draw(t, "count"))
			g.all = append(g.all, r)
			return
		}
	}
	switch kind {
	case 0:
		m := &Match{Event: g.last, Op: op, Source: rapid.Int32().Draw(t, "source"), Tag: rapid.Int32().Draw(t, "tag")}
		m.Back = rapid.Uint64Range(0, g.last-1).Draw(t, "back")
		if op == mpispec.OpStartall {
			m.Which = rapid.Uint32().Draw(t, "which")
		}
		if rapid.Bool().Draw(t, "no source") {
			m.Source = NoSource
		}
		g.all = append(g.all, m)
	case 1:
		g.all = append(g.all, &Poll{Event: g.last, Op: op, Failures: rapid.Uint64().Draw(t, "failures")})
	default:
		g.all = append(g.all, &Set{Event: g.last, Op: op, Indices: g.u32s("indices", 6)})
	}
}

func (g *recordGen) send() SendArgs {
	t := g.t
	return SendArgs{
		Comm: rapid.SampledFrom(g.comms).Draw(t, "comm"), Dest: rapid.Int32().Draw(t, "dest"),
		Tag:   rapid.Int32().Draw(t, "tag"),
		Bytes: rapid.Uint64().Draw(t, "bytes"),
	}
}

func (g *recordGen) recv(complete bool) RecvArgs {
	t := g.t
	a := RecvArgs{
		Comm: rapid.SampledFrom(g.comms).Draw(t, "comm"), AskedSource: rapid.Int32().Draw(t, "source"),
		AskedTag: rapid.Int32().Draw(t, "tag"),
	}
	if complete {
		a.Source, a.Tag, a.Bytes = rapid.Int32().Draw(t, "got"), rapid.Int32().Draw(t, "got tag"),
			rapid.Uint64().Draw(t, "bytes")
	}
	return a
}

// earlier is an event before the one that is being made, or none.
func (g *recordGen) earlier(label string) uint64 {
	return rapid.Uint64Range(0, g.events).Draw(g.t, label)
}

func (g *recordGen) event() {
	t := g.t
	op := rapid.SampledFrom(mpispec.Standard().Operations()).Draw(t, "op")
	class := op.Class()
	if len(g.comms) == 0 && class != mpispec.ClassStart && class != mpispec.ClassCompletion &&
		class != mpispec.ClassRequest &&
		class != mpispec.ClassOther {
		return
	}
	e := &Event{
		Index: g.events + 1, Op: op, Site: g.site(), Gap: rapid.Uint64().Draw(t, "gap"),
		Duration: rapid.Uint64().Draw(t, "dur"),
	}
	if op.IsPoll() {
		e.FailedPolls = rapid.Uint64().Draw(t, "failed")
	}
	switch class {
	case mpispec.ClassSend, mpispec.ClassSendInit, mpispec.ClassRecvInit:
		e.Send = g.send()
	case mpispec.ClassRecv, mpispec.ClassProbe:
		e.Recv = g.recv(true)
		if op == mpispec.OpMrecv {
			e.Recv.Probe = g.earlier("probe")
		}
	case mpispec.ClassIrecv:
		e.Recv = g.recv(false)
		if op == mpispec.OpImrecv {
			e.Recv.Probe = g.earlier("probe")
		}
	case mpispec.ClassSendrecv:
		e.Send, e.Recv = g.send(), g.recv(true)
	case mpispec.ClassStart:
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			if g.events > 0 {
				e.Inits = append(e.Inits, rapid.Uint64Range(1, g.events).Draw(t, "init"))
			}
		}
	case mpispec.ClassCompletion:
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			c := Completion{
				ArrayIndex: rapid.Uint32().Draw(t, "index"), Post: rapid.Uint64Range(0, g.events).Draw(t, "post"),
				Class: RequestClass(rapid.IntRange(1, 4).Draw(t, "class")),
			}
			if c.Class == RequestRecv {
				c.Source, c.Tag, c.Bytes = rapid.Int32().Draw(t, "source"), rapid.Int32().Draw(t, "tag"),
					rapid.Uint64().Draw(t, "bytes")
			}
			e.Completed = append(e.Completed, c)
		}
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassComm:
		e.Coll = CollArgs{
			Comm: rapid.SampledFrom(g.comms).Draw(t, "comm"), Root: rapid.Int32().Draw(t, "root"),
			Bytes: rapid.Uint64().Draw(t, "bytes"),
		}
		if op.MakesComm() && rapid.Bool().Draw(t, "new") {
			e.Coll.NewComm = rapid.SampledFrom(g.comms).Draw(t, "new comm") + 1
		}
	case mpispec.ClassCollectiveInit:
		e.Coll = CollArgs{
			Comm: rapid.SampledFrom(g.comms).Draw(t, "comm"), Root: rapid.Int32().Draw(t, "root"),
			Bytes: rapid.Uint64().Draw(t, "bytes"),
			Of: rapid.SampledFrom([]mpispec.Op{
				mpispec.OpBcast, mpispec.OpAllreduce,
				mpispec.OpNeighborAlltoallw,
			}).Draw(t, "of"),
		}
	case mpispec.ClassRequest:
		e.Post = g.earlier("post")
	}
	g.events++
	g.all = append(g.all, e)
}

// write makes a file of records; closed says how it ends.
func write(t fataler, h Header, records []Record, closed bool) *buffer {
	f := &buffer{}
	w := NewWriter(f, h)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	end := w.Cut
	if closed {
		end = w.Finish
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	return f
}

// readAll returns the records up to the end or the first fault.
func readAll(r *Reader) ([]Record, error) {
	var all []Record
	for {
		rec, err := r.Next()
		if err == io.EOF { //nolint:errorlint // Next returns exactly io.EOF
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, rec)
	}
}

func bothModes(t *testing.T, f func(t *rapid.T, mode abi.Mode)) {
	t.Helper()
	for _, mode := range []abi.Mode{abi.ModeOrder, abi.ModeRacing, abi.ModeFull} {
		t.Run(mode.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { f(t, mode) })
		})
	}
}
