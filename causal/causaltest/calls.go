package causaltest

import (
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// begin makes a rank begin some call.
func (s *sim) begin(r *rank) {
	type weighted struct {
		call   func(*rank)
		weight int
	}
	calls := []weighted{{s.send, 2}, {s.recv, 2}, {s.sendrecv, 1}}
	if s.cfg.Requests {
		calls = append(calls, weighted{s.isend, 1}, weighted{s.irecv, 2}, weighted{s.init, 1}, weighted{s.start, 1},
			weighted{s.finishSome, 3}, weighted{s.cancel, 1})
	}
	if s.cfg.Probes {
		calls = append(calls, weighted{s.probe, 2}, weighted{s.mrecv, 1})
	}
	if s.cfg.Collectives {
		calls = append(calls, weighted{s.collective, 2})
	}
	var drawn []func(*rank)
	for _, c := range calls {
		for range c.weight {
			drawn = append(drawn, c.call)
		}
	}
	pick(s, drawn)(r)
}

const tags = 3

// sendArgs makes up a message. Its size tells it from all others, so that a wrong match shows.
func (s *sim) sendArgs(r *rank) (*commDef, trace.SendArgs) {
	comm := pick(s, r.comms)
	a := trace.SendArgs{
		Comm: comm.index, Dest: int32(s.src.Intn(len(comm.members))), Tag: int32(s.src.Intn(tags)),
		Bytes: uint64(1000 + len(s.x.Messages)),
	}
	if s.cfg.Racy {
		if s.chance(60) {
			a.Dest = 0
		}
		a.Tag = int32(s.src.Intn(2))
	}
	if s.chance(3) {
		a.Dest = trace.ProcNull
	}
	return comm, a
}

func (s *sim) recvArgs(r *rank) (*commDef, trace.RecvArgs) {
	comm := pick(s, r.comms)
	a := trace.RecvArgs{
		Comm: comm.index, AskedSource: int32(s.src.Intn(len(comm.members))),
		AskedTag: int32(s.src.Intn(tags)),
	}
	if len(r.unexpected) > 0 && s.chance(80) { // mostly what is there: a rank that waits for what never comes is stuck
		m := pick(s, r.unexpected)
		if !slices.Contains(r.comms, m.comm) {
			return comm, a // it came over a communicator that this rank is about to make
		}
		comm = m.comm
		a = trace.RecvArgs{Comm: comm.index, AskedSource: int32(comm.rankOf(m.src)), AskedTag: m.tag}
	}
	if s.chance(40) || s.cfg.Racy && s.chance(60) {
		a.AskedSource = trace.AnySource
	}
	if s.chance(40) {
		a.AskedTag = trace.AnyTag
	}
	if s.chance(3) {
		a.AskedSource = trace.ProcNull
	}
	return comm, a
}

// got fills in what a receive took.
func (p *posting) got(a *trace.RecvArgs) {
	if p.msg == nil {
		a.Source, a.Tag = trace.ProcNull, trace.AnyTag
		return
	}
	a.Source, a.Tag, a.Bytes = int32(p.comm.rankOf(p.msg.src)), p.msg.tag, p.msg.bytes
}

func (s *sim) send(r *rank) {
	comm, a := s.sendArgs(r)
	op := pick(s, []mpispec.Op{mpispec.OpSend, mpispec.OpBsend, mpispec.OpRsend})
	if s.cfg.Sync && s.chance(60) && (s.expected(r, comm, a) || s.chance(3)) {
		op = mpispec.OpSsend
	}
	m := s.inject(r, comm, a, op == mpispec.OpSsend)
	s.until(r, func() bool { return op != mpispec.OpSsend || m == nil || m.started }, func() {
		if op == mpispec.OpSsend && m != nil {
			m.truth.Done = r.next()
		}
		s.end(r, &trace.Event{Op: op, Send: a})
	})
}

// expected says whether the receiver has posted a receive for a message: to wait for others mostly ends in a deadlock.
func (s *sim) expected(r *rank, comm *commDef, a trace.SendArgs) bool {
	return a.Dest != trace.ProcNull && slices.ContainsFunc(s.ranks[comm.members[a.Dest]].posted, func(p *posting) bool {
		return p.fits(&message{src: r.world, comm: comm, tag: a.Tag})
	})
}

func (s *sim) recv(r *rank) {
	comm, a := s.recvArgs(r)
	if s.hopeless(r, comm, &a) {
		return
	}
	s.recvOf(r, comm, a)
}

func (s *sim) recvOf(r *rank, comm *commDef, a trace.RecvArgs) {
	p := s.post(r, comm, a.AskedSource, a.AskedTag)
	s.until(r, p.done, func() {
		p.got(&a)
		s.received(r, p)
		s.end(r, &trace.Event{Op: mpispec.OpRecv, Recv: a})
	})
}

// hopeless keeps most ranks from waiting for a message that may never be sent, but not all.
func (s *sim) hopeless(r *rank, comm *commDef, a *trace.RecvArgs) bool {
	p := &posting{comm: comm, source: a.AskedSource, tag: a.AskedTag}
	return a.AskedSource != trace.ProcNull && !slices.ContainsFunc(r.unexpected, p.fits) && s.chance(98)
}

func (s *sim) received(r *rank, p *posting) {
	if p.msg != nil {
		p.msg.truth.Receive = r.next()
	}
}

func (s *sim) sendrecv(r *rank) {
	comm, send := s.sendArgs(r)
	rcomm, recv := s.recvArgs(r)
	if s.hopeless(r, rcomm, &recv) {
		return
	}
	s.exchange(r, comm, send, rcomm, recv)
}

// shift is one rank's part in a ring of Sendrecv calls over a communicator, in which each needs its neighbour's.
func (s *sim) shift(r *rank, comm *commDef) {
	n := len(comm.members)
	me := comm.rankOf(r.world)
	send := trace.SendArgs{
		Comm: comm.index, Dest: int32((me + 1) % n), Tag: tags,
		Bytes: uint64(1000 + len(s.x.Messages)),
	}
	s.exchange(r, comm, send, comm, trace.RecvArgs{
		Comm: comm.index, AskedSource: int32((me + n - 1) % n),
		AskedTag: tags,
	})
}

func (s *sim) exchange(r *rank, comm *commDef, send trace.SendArgs, rcomm *commDef, recv trace.RecvArgs) {
	s.inject(r, comm, send, false)
	p := s.post(r, rcomm, recv.AskedSource, recv.AskedTag)
	s.until(r, p.done, func() {
		p.got(&recv)
		s.received(r, p)
		s.end(r, &trace.Event{
			Op: pick(s, []mpispec.Op{mpispec.OpSendrecv, mpispec.OpSendrecvReplace}), Send: send,
			Recv: recv,
		})
	})
}

func (s *sim) isend(r *rank) {
	comm, a := s.sendArgs(r)
	op := mpispec.OpIsend
	if s.cfg.Sync && s.chance(30) {
		op = mpispec.OpIssend
	}
	r.requests = append(r.requests, &request{post: r.events + 1, send: s.inject(r, comm, a, op == mpispec.OpIssend)})
	s.end(r, &trace.Event{Op: op, Send: a})
}

func (s *sim) irecv(r *rank) {
	comm, a := s.recvArgs(r)
	r.requests = append(r.requests, &request{post: r.events + 1, recv: s.post(r, comm, a.AskedSource, a.AskedTag)})
	s.end(r, &trace.Event{Op: mpispec.OpIrecv, Recv: a})
}

func (s *sim) init(r *rank) {
	p := &persistent{event: r.events + 1, op: mpispec.OpSendInit}
	p.comm, p.args = s.sendArgs(r)
	switch {
	case s.chance(50):
		comm, a := s.recvArgs(r)
		p.op, p.comm, p.args = mpispec.OpRecvInit, comm,
			trace.SendArgs{Comm: comm.index, Dest: a.AskedSource, Tag: a.AskedTag}
	case s.cfg.Sync && s.chance(40):
		p.op = mpispec.OpSsendInit
	}
	r.inits = append(r.inits, p)
	s.end(r, &trace.Event{Op: p.op, Send: p.args})
}

func (s *sim) start(r *rank) {
	e := &trace.Event{Op: mpispec.OpStartall}
	for _, p := range r.inits {
		if p.active || s.chance(30) {
			continue
		}
		p.active = true
		e.Inits = append(e.Inits, p.event)
		q := &request{post: p.event, init: p}
		if p.op == mpispec.OpRecvInit {
			q.recv = s.post(r, p.comm, p.args.Dest, p.args.Tag)
		} else {
			q.send = s.inject(r, p.comm, p.args, p.op == mpispec.OpSsendInit)
		}
		r.requests = append(r.requests, q)
	}
	if len(e.Inits) == 0 {
		return
	}
	if len(e.Inits) == 1 && s.chance(50) {
		e.Op = mpispec.OpStart
	}
	s.end(r, e)
}

func (s *sim) cancel(r *rank) {
	for _, q := range r.requests {
		if q.recv == nil || q.recv.done() || q.init != nil || s.chance(70) {
			continue
		}
		q.recv.cancelled = true
		for i, p := range r.posted {
			if p == q.recv {
				r.posted = append(r.posted[:i:i], r.posted[i+1:]...)
				break
			}
		}
		s.end(r, &trace.Event{Op: mpispec.OpCancel, Post: q.post})
		return
	}
}

func (s *sim) probe(r *rank) {
	comm, a := s.recvArgs(r)
	p := &posting{comm: comm, source: a.AskedSource, tag: a.AskedTag, event: r.next()}
	op := pick(s, []mpispec.Op{
		mpispec.OpProbe, mpispec.OpIprobe, mpispec.OpIprobe, mpispec.OpMprobe,
		mpispec.OpImprobe,
	})
	if p.source == trace.ProcNull {
		op = mpispec.OpIprobe
	}
	matched := op == mpispec.OpMprobe || op == mpispec.OpImprobe
	find := func() int {
		for i, m := range r.unexpected {
			if p.fits(m) {
				return i
			}
		}
		return -1
	}
	seen := func() {
		if i := find(); i >= 0 {
			p.msg = r.unexpected[i]
			p.msg.truth.Probes = append(p.msg.truth.Probes, r.next())
			if matched {
				p.msg.truth.Post = r.next()
				p.msg.probe = r.next().Index
				r.unexpected = append(r.unexpected[:i:i], r.unexpected[i+1:]...)
				r.held = append(r.held, p.msg)
			}
		}
		p.got(&a)
		a.Comm = comm.index
		s.end(r, &trace.Event{Op: op, Recv: a})
	}
	switch {
	case op == mpispec.OpMprobe && find() < 0, op == mpispec.OpProbe && find() < 0 && s.chance(95):
		return
	case op.IsPoll() && p.source != trace.ProcNull && find() < 0:
		r.failed++
	default:
		s.until(r, func() bool { return p.source == trace.ProcNull || find() >= 0 }, seen)
	}
}

func (s *sim) mrecv(r *rank) {
	if len(r.held) == 0 {
		return
	}
	at := s.src.Intn(len(r.held))
	m := r.held[at]
	r.held = append(r.held[:at:at], r.held[at+1:]...)
	source := int32(m.comm.rankOf(m.src))
	a := trace.RecvArgs{Comm: m.comm.index, AskedSource: source, AskedTag: m.tag, Probe: m.probe}
	m.truth.Start, m.started = r.next(), true
	if s.cfg.Requests && s.chance(50) {
		p := &posting{comm: m.comm, source: source, tag: m.tag, event: r.next(), msg: m}
		r.requests = append(r.requests, &request{post: r.events + 1, recv: p})
		s.end(r, &trace.Event{Op: mpispec.OpImrecv, Recv: a})
		return
	}
	a.Source, a.Tag, a.Bytes = source, m.tag, m.bytes
	m.truth.Receive = r.next()
	s.end(r, &trace.Event{Op: mpispec.OpMrecv, Recv: a})
}
