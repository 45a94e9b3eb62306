package causaltest

import (
	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// planned is a collective that will take place. All ranks make their collectives in the order of the plans, so they
// cannot block each other for good.
type planned struct {
	comm  *commDef
	op    mpispec.Op
	truth *Collective
	root  int32
	made  []*commDef // by member: what a Comm_split makes
}

// plan is one member's view of it.
type plan struct {
	*planned
	member int
}

func (p *planned) mayExit(i int) bool {
	for j := range p.truth.Members {
		if p.truth.Follows(i, j) && p.truth.Members[j].Entry.IsZero() {
			return false
		}
	}
	return true
}

func collectiveOps() []mpispec.Op {
	return []mpispec.Op{
		mpispec.OpBarrier, mpispec.OpBcast, mpispec.OpGather, mpispec.OpScatter, mpispec.OpAllgather,
		mpispec.OpAlltoall,
		mpispec.OpReduce,
		mpispec.OpAllreduce, mpispec.OpScan, mpispec.OpExscan, mpispec.OpCommSplit, mpispec.OpCommSplit,
	}
}

func (s *sim) newPlan(r *rank) {
	p := &planned{
		comm: pick(s, r.comms), op: pick(s, collectiveOps()), root: trace.NoRoot,
		truth: &Collective{Root: -1, Blocking: true},
	}
	if s.cfg.Requests && s.chance(30) {
		p.op, p.truth.Blocking = pick(s, []mpispec.Op{
			mpispec.OpIbarrier, mpispec.OpIbcast, mpispec.OpIreduce,
			mpispec.OpIallreduce,
		}), false
	}
	if p.op == mpispec.OpCommSplit && len(s.comms) > 5 {
		p.op = mpispec.OpBarrier
	}
	if s.chance(20) {
		p.op = mpispec.OpSendrecv // no collective, but as easily stuck
	}
	switch p.op {
	case mpispec.OpBcast, mpispec.OpGather, mpispec.OpScatter, mpispec.OpReduce, mpispec.OpIbcast, mpispec.OpIreduce:
		p.root = int32(s.src.Intn(len(p.comm.members)))
		p.truth.Root = p.comm.members[p.root]
	case mpispec.OpCommSplit:
		s.split(p)
	default:
	}
	p.truth.Op = p.op
	for _, m := range p.comm.members {
		p.truth.Members = append(p.truth.Members, causal.Member{Rank: m})
	}
	s.plans = append(s.plans, &plan{planned: p})
}

func (s *sim) split(p *planned) {
	colours := []*commDef{nil, {}, {}} // nil: MPI_UNDEFINED
	for _, m := range p.comm.members {
		c := pick(s, colours)
		p.made = append(p.made, c)
		if c != nil {
			if c.members == nil {
				c.index = uint32(len(s.comms))
				c.id = 1<<63 | uint64(c.index)
				s.comms = append(s.comms, c)
			}
			c.members = append(c.members, m)
		}
	}
}

// collective makes a rank join the next collective that it has part in.
func (s *sim) collective(r *rank) {
	for ; ; r.plan++ {
		if r.plan == len(s.plans) {
			if s.closing || len(s.plans) > s.cfg.Steps/8 { // enough
				return
			}
			s.newPlan(r)
		}
		p := s.plans[r.plan].planned
		if me := p.comm.rankOf(r.world); me >= 0 {
			r.plan++
			s.join(r, &plan{p, me})
			return
		}
	}
}

func (s *sim) join(r *rank, p *plan) {
	if p.op == mpispec.OpSendrecv {
		s.shift(r, p.comm)
		return
	}
	m := &p.truth.Members[p.member]
	m.Entry = r.next()
	e := &trace.Event{Op: p.op, Coll: trace.CollArgs{Comm: p.comm.index, Root: p.root, Bytes: 8}}
	if !p.truth.Blocking {
		r.requests = append(r.requests, &request{post: r.events + 1, coll: p})
		s.end(r, e)
		return
	}
	s.until(r, func() bool { return p.mayExit(p.member) }, func() {
		m.Exit = r.next()
		if len(p.made) > 0 && p.made[p.member] != nil {
			c := p.made[p.member]
			s.declare(r, c)
			e.Coll.NewComm = c.index + 1
		}
		s.end(r, e)
	})
}
