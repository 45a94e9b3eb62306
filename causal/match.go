package causal

import "github.com/cohort-debugger/cohort/mpispec"

// queue is the messages of one channel, in the order in which they were sent: indices in the sender's sends.
type queue struct {
	sends []int
	taken int
}

// matcher gives each receive and probe its send: the k-th send on a channel is taken by the k-th receive posted on it
// (docs/trace-format.md, "Matching").
type matcher struct {
	b        *Builder
	opt      Options
	channels map[channel]*queue
}

func (m *matcher) match() {
	for _, in := range m.b.ranks {
		for i := range in.sends {
			s := &in.sends[i]
			if s.void {
				continue
			}
			q := m.channels[s.ch]
			if q == nil {
				q = &queue{}
				m.channels[s.ch] = q
			}
			q.sends = append(q.sends, i)
		}
	}
	for _, in := range m.b.ranks {
		for i := range in.takes {
			m.take(in, i)
		}
	}
	for _, in := range m.b.ranks {
		for i := range in.sends {
			if s := &in.sends[i]; s.take == none && !s.void {
				m.b.doubtf(ProblemSend, in.rank, s.event, "to rank %d with tag %d on communicator %#x", s.ch.dst,
					s.ch.tag, s.ch.comm)
			}
		}
	}
}

func (m *matcher) take(in *ingest, i int) {
	t := &in.takes[i]
	if t.kind == takeVoid {
		return
	}
	if !t.known {
		m.b.doubtf(ProblemUnknown, in.rank, t.post,
			"posted with a wildcard, and the trace does not say what became of it; if it took a message, later ones "+
				"of that channel "+
				"are matched one too early")
		return
	}
	if t.cancelled && t.done == 0 && !t.freed {
		m.b.doubtf(ProblemUnknown, in.rank, t.post,
			"its cancellation was asked for, and the trace does not say what became of it; if it took a message, "+
				"later ones of that channel are matched one too early")
		return
	}
	var s *sendRec
	q := m.channels[t.ch]
	if q != nil && q.taken < len(q.sends) {
		t.send = q.sends[q.taken]
		s = &m.b.ranks[t.ch.src].sends[t.send]
	}
	if t.kind != takeProbe && s != nil {
		q.taken++
		s.take = i
	}
	at := max(t.post, t.done)
	switch {
	case t.kind != takeProbe && t.done == 0 && !t.freed:
		m.b.doubtf(ProblemPending, in.rank, t.post, "from rank %d with tag %d on communicator %#x", t.ch.src, t.ch.tag,
			t.ch.comm)
	case s == nil && t.kind == takeProbe:
		m.b.doubtf(ProblemProbe, in.rank, t.post, "from rank %d with tag %d on communicator %#x", t.ch.src, t.ch.tag,
			t.ch.comm)
	case s == nil:
		m.b.doubtf(ProblemReceive, in.rank, at, "from rank %d with tag %d on communicator %#x", t.ch.src, t.ch.tag,
			t.ch.comm)
	case t.kind != takeProbe && t.done != 0 && t.bytes != s.bytes:
		m.b.doubtf(ProblemSize, in.rank, at, "%d bytes, but %s sent %d", t.bytes, EventID{int(t.ch.src), s.event},
			s.bytes)
	}
}

// graph turns what was matched into dependences, by event.
func (m *matcher) graph() *Graph {
	g := newGraph(m.b, m.opt)
	edges := make([][]edge, len(m.b.ranks))
	add := func(rank int, at uint64, d dep) { edges[rank] = append(edges[rank], edge{at, d}) }
	for _, in := range m.b.ranks {
		for i := range in.takes {
			t := &in.takes[i]
			if t.send == none {
				continue
			}
			src := int(t.ch.src)
			s := &m.b.ranks[src].sends[t.send]
			switch {
			case t.kind == takeReceive && t.done != 0:
				add(in.rank, t.done, packDep(depMessage, src, s.event))
			case t.kind == takeProbe || t.kind == takeMatched:
				add(in.rank, t.post, packDep(depProbe, src, s.event))
			}
			if kind, waits := m.sync(s); waits && t.kind != takeProbe && t.start != 0 && s.done != 0 {
				add(src, s.done, packDep(kind, in.rank, t.start))
			}
		}
	}
	for id, in := range g.instances {
		for j := range in.parts {
			if p := &in.parts[j]; p.exit != 0 {
				add(in.comm.world[j], p.exit, packDep(depCollective, 0, uint64(id)))
			}
		}
	}
	for rank, in := range m.b.ranks {
		g.ranks[rank] = newRankEvents(in.ops, edges[rank])
		g.ranks[rank].sites, g.ranks[rank].declared = in.sites, in.declared
		edges[rank] = nil
	}
	return g
}

// sync says whether a send ends only when its receive has been posted.
func (m *matcher) sync(s *sendRec) (depKind, bool) {
	switch s.op.Function().Mode {
	case mpispec.ModeSynchronous:
		return depSync, true
	case mpispec.ModeBuffered:
		return 0, false
	case mpispec.ModeStandard, mpispec.ModeReady:
	}
	return depLarge, m.opt.SyncBytes > 0 && s.bytes >= m.opt.SyncBytes
}
