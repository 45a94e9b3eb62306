package causaltest

import (
	"slices"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

type commDef struct {
	index   uint32
	id      uint64
	members []int
}

func (c *commDef) rankOf(world int) int {
	for i, m := range c.members {
		if m == world {
			return i
		}
	}
	return -1
}

type message struct {
	src, dst int // world
	comm     *commDef
	tag      int32
	bytes    uint64
	started  bool   // a receive has begun to take it
	probe    uint64 // the event of the matched probe that took it
	truth    *Message
}

// posting is a receive that was posted.
type posting struct {
	comm        *commDef
	source, tag int32 // as asked
	event       causal.EventID
	place       int // among the receives that the call posted
	msg         *message
	cancelled   bool
	told        bool // the trace says that it was cancelled
}

func (p *posting) wild() bool { return trace.IsWildcard(p.source, p.tag) }

func (p *posting) done() bool { return p.msg != nil || p.cancelled || p.source == trace.ProcNull }

func (p *posting) fits(m *message) bool {
	return p.comm == m.comm && (p.source == trace.AnySource || p.source == int32(p.comm.rankOf(m.src))) &&
		(p.tag == trace.AnyTag || p.tag == m.tag)
}

// request is nonblocking work of one rank: exactly one of send, recv and coll, or none of them for a send to
// MPI_PROC_NULL.
type request struct {
	post uint64
	send *message
	recv *posting
	coll *plan
	init *persistent
}

type persistent struct {
	event  uint64
	op     mpispec.Op
	args   trace.SendArgs
	comm   *commDef
	active bool
}

type link struct {
	src, dst int
	comm     *commDef
}

type rank struct {
	world      int
	events     uint64
	failed     uint64
	blocked    func() bool // tries to end the call that has begun
	comms      []*commDef
	requests   []*request
	inits      []*persistent
	posted     []*posting
	unexpected []*message
	held       []*message // taken by a matched probe
	plan       int        // place in the plans
	lastPost   causal.EventID
	posts      int // receives that it posted, less one
}

func (r *rank) next() causal.EventID { return causal.EventID{Rank: r.world, Index: r.events + 1} }

type sim struct {
	src      Source
	cfg      Config
	ranks    []*rank
	links    []link // that carry messages, each in order
	travel   map[link][]*message
	plans    []*plan
	comms    []*commDef
	finalize *Collective
	closing  bool // nothing new is begun
	x        *Execution
}

func newSim(src Source, cfg Config) *sim {
	world := &commDef{id: trace.WorldID}
	s := &sim{
		src: src, cfg: cfg, travel: map[link][]*message{}, comms: []*commDef{world},
		finalize: &Collective{Op: mpispec.OpFinalize, Root: -1, Blocking: true},
		x:        &Execution{Records: make([][]trace.Record, cfg.Ranks)},
	}
	for i := range cfg.Ranks {
		world.members = append(world.members, i)
		s.ranks = append(s.ranks, &rank{world: i})
		s.finalize.Members = append(s.finalize.Members, causal.Member{Rank: i})
	}
	for _, r := range s.ranks {
		s.declare(r, world)
	}
	return s
}

func (s *sim) chance(percent int) bool { return s.src.Intn(100) < percent }

// pick returns one of all, which is not empty.
func pick[T any](s *sim, all []T) T { return all[s.src.Intn(len(all))] }

func (s *sim) record(r *rank, rec trace.Record) {
	s.x.Records[r.world] = append(s.x.Records[r.world], rec)
}

func (s *sim) declare(r *rank, c *commDef) {
	rec := &trace.Comm{Index: c.index, GlobalID: c.id, CommKind: abi.CommIntra, MyRank: uint32(c.rankOf(r.world))}
	for _, m := range c.members {
		rec.Members = append(rec.Members, uint32(m))
	}
	s.record(r, rec)
	r.comms = append(r.comms, c)
}

// end notes that the call that has begun returned.
func (s *sim) end(r *rank, e *trace.Event) {
	r.events++
	e.Index = r.events
	e.Gap, e.Duration = uint64(s.src.Intn(100)), uint64(s.src.Intn(100))
	if e.Op.IsPoll() {
		e.FailedPolls, r.failed = r.failed, 0
	}
	s.record(r, e)
	s.x.Order = append(s.x.Order, causal.EventID{Rank: r.world, Index: r.events})
	r.blocked = nil
}

// until lets a rank wait in a call.
func (s *sim) until(r *rank, ready func() bool, then func()) {
	try := func() bool {
		if !ready() {
			return false
		}
		then()
		return true
	}
	if !try() {
		r.blocked = try
	}
}

// proceed ends calls that can end; which, and how many, is a matter of chance.
func (s *sim) proceed() {
	for _, r := range s.ranks {
		if r.blocked != nil && s.chance(70) {
			r.blocked()
		}
	}
}

// deliver lets the first message of some link arrive.
func (s *sim) deliver() {
	if len(s.links) == 0 {
		return
	}
	at := s.src.Intn(len(s.links))
	l := s.links[at]
	m := s.travel[l][0]
	if s.travel[l] = s.travel[l][1:]; len(s.travel[l]) == 0 {
		s.links = append(s.links[:at], s.links[at+1:]...)
	}
	dst := s.ranks[m.dst]
	for i, p := range dst.posted {
		if p.fits(m) {
			dst.posted = append(dst.posted[:i:i], dst.posted[i+1:]...)
			p.meet(m)
			return
		}
	}
	dst.unexpected = append(dst.unexpected, m)
}

func (p *posting) meet(m *message) {
	p.msg = m
	m.started = true
	m.truth.Post, m.truth.Start, m.truth.Place = p.event, p.event, p.place
}

// post is a receive that begins.
func (s *sim) post(r *rank, comm *commDef, source, tag int32) *posting {
	p := &posting{comm: comm, source: source, tag: tag, event: r.next()}
	if r.lastPost == p.event {
		r.posts++
		p.place = r.posts
	} else {
		r.lastPost, r.posts = p.event, 0
	}
	if source == trace.ProcNull {
		return p
	}
	for i, m := range r.unexpected {
		if p.fits(m) {
			r.unexpected = append(r.unexpected[:i:i], r.unexpected[i+1:]...)
			p.meet(m)
			return p
		}
	}
	r.posted = append(r.posted, p)
	return p
}

// inject puts a message on its way; nil for MPI_PROC_NULL.
func (s *sim) inject(r *rank, comm *commDef, a trace.SendArgs, sync bool) *message {
	if a.Dest == trace.ProcNull {
		return nil
	}
	m := &message{
		src: r.world, dst: comm.members[a.Dest], comm: comm, tag: a.Tag, bytes: a.Bytes,
		truth: &Message{Send: r.next(), Sync: sync, To: comm.members[a.Dest], Bytes: a.Bytes},
	}
	s.x.Messages = append(s.x.Messages, m.truth)
	l := link{m.src, m.dst, comm}
	if len(s.travel[l]) == 0 {
		s.links = append(s.links, l)
	}
	s.travel[l] = append(s.travel[l], m)
	return m
}

// windDown lets everything arrive, completes what can be completed, and ends the ranks that are not stuck.
func (s *sim) windDown() {
	s.closing = true
	for len(s.links) > 0 {
		s.deliver()
	}
	for idle, before := 0, 0; idle < 10; idle, before = idle+1, len(s.x.Order) {
		if len(s.x.Order) > before {
			idle = 0
		}
		for _, r := range s.ranks {
			for r.blocked == nil && s.completeOne(r) {
			}
			if r.blocked == nil {
				s.collective(r)
			}
			if r.blocked == nil && len(r.unexpected) > 0 && s.chance(80) {
				s.drain(r)
			}
			if r.blocked != nil {
				r.blocked()
			}
		}
		for len(s.links) > 0 { // of the collectives that were left
			s.deliver()
		}
	}
	for _, r := range s.ranks {
		if r.blocked != nil {
			continue
		}
		at := r.next()
		m := &s.finalize.Members[r.world]
		m.Entry, m.Exit = at, at
		s.end(r, &trace.Event{Op: mpispec.OpFinalize})
		s.record(r, &trace.End{FailedPolls: r.failed, How: 1})
	}
}

// drain receives a message that has arrived.
func (s *sim) drain(r *rank) {
	m := r.unexpected[0]
	if slices.Contains(r.comms, m.comm) {
		s.recvOf(r, m.comm, trace.RecvArgs{
			Comm: m.comm.index, AskedSource: int32(m.comm.rankOf(m.src)),
			AskedTag: m.tag,
		})
	}
}

// completeOne waits for some request that is ready.
func (s *sim) completeOne(r *rank) bool {
	for _, q := range r.requests {
		if s.ready(q) {
			s.complete(r, mpispec.OpWait, []*request{q}, []*request{q})
			return true
		}
	}
	return false
}

func (s *sim) finish() *Execution {
	for _, p := range s.plans {
		if p.op == mpispec.OpSendrecv {
			continue
		}
		s.x.Collectives = append(s.x.Collectives, p.truth)
	}
	s.x.Collectives = append(s.x.Collectives, s.finalize)
	for _, r := range s.ranks {
		for _, q := range r.requests {
			if q.recv != nil && q.recv.wild() && q.recv.msg != nil && q.recv.msg.truth.Receive.IsZero() {
				s.x.Unknown++
			}
			if q.recv != nil && q.recv.cancelled && !q.recv.told {
				s.x.Unknown++
			}
		}
		if r.blocked != nil {
			s.cutShort(r)
		}
	}
	return s.x
}

// cutShort takes back what the truth says about the call in which a rank is stuck: its trace does not have it.
func (s *sim) cutShort(r *rank) {
	stuck := r.next()
	forget := func(e *causal.EventID) {
		if *e == stuck {
			*e = causal.EventID{}
		}
	}
	kept := s.x.Messages[:0]
	for _, m := range s.x.Messages {
		forget(&m.Post)
		forget(&m.Start)
		if m.Send != stuck {
			kept = append(kept, m)
		} else {
			s.x.Begun = append(s.x.Begun, m)
		}
	}
	s.x.Messages = kept
	for _, c := range s.x.Collectives {
		for i := range c.Members {
			forget(&c.Members[i].Entry)
		}
	}
}
