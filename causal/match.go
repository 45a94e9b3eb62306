package causal

import "github.com/cohort-debugger/cohort/mpispec"

// queue is the messages of one channel, in the order in which they were sent: indices in the sender's sends.
type queue struct {
	sends []int
	taken int
}

// match gives each receive and probe its send: the k-th send on a channel is taken by the k-th receive posted on it
// (docs/trace-format.md, "Matching").
func (b *Builder) match() {
	channels := map[channel]*queue{}
	for _, in := range b.ranks {
		for i := range in.sends {
			s := &in.sends[i]
			if s.void {
				continue
			}
			q := channels[s.ch]
			if q == nil {
				q = &queue{}
				channels[s.ch] = q
			}
			q.sends = append(q.sends, i)
		}
	}
	for _, in := range b.ranks {
		for i := range in.takes {
			if t := &in.takes[i]; t.kind != takeVoid {
				b.take(in.rank, i, t, channels[t.ch])
			}
		}
	}
	for _, in := range b.ranks {
		for i := range in.sends {
			if s := &in.sends[i]; s.take == none && !s.void {
				b.doubtf(ProblemSend, in.rank, s.event, "to rank %d with tag %d on communicator %#x", s.ch.dst,
					s.ch.tag, s.ch.comm)
			}
		}
	}
}

// take gives take i of a rank the next message of its channel, which is nil if nothing was sent on it.
func (b *Builder) take(rank, i int, t *takeRec, q *queue) {
	const unknown = ", and the trace does not say what became of it; if it took a message, later ones of that " +
		"channel are matched one too early"
	if !t.known {
		b.doubtf(ProblemUnknown, rank, t.post, "posted with a wildcard"+unknown)
		return
	}
	if t.cancelled && t.done == 0 && !t.freed {
		b.doubtf(ProblemUnknown, rank, t.post, "its cancellation was asked for"+unknown)
		return
	}
	var s *sendRec
	if q != nil && q.taken < len(q.sends) {
		t.send = q.sends[q.taken]
		s = &b.ranks[t.ch.src].sends[t.send]
		if t.kind != takeProbe {
			q.taken++
			s.take = i
		}
	}
	lost := func(kind ProblemKind, at uint64) {
		b.doubtf(kind, rank, at, "from rank %d with tag %d on communicator %#x", t.ch.src, t.ch.tag, t.ch.comm)
	}
	at := max(t.post, t.done)
	switch {
	case t.kind != takeProbe && t.done == 0 && !t.freed:
		lost(ProblemPending, t.post)
	case s == nil && t.kind == takeProbe:
		lost(ProblemProbe, t.post)
	case s == nil:
		lost(ProblemReceive, at)
	case t.kind != takeProbe && t.done != 0 && t.bytes != s.bytes:
		b.doubtf(ProblemSize, rank, at, "%d bytes, but %s sent %d", t.bytes, EventID{int(t.ch.src), s.event}, s.bytes)
	}
}

// graph turns what was matched into dependences, by event.
func (b *Builder) graph(opt Options) *Graph {
	// With at least as many events between as there are ranks, stored vectors take no more than eight bytes per event.
	g := &Graph{
		ranks: make([]rankEvents, len(b.ranks)), instances: b.instances(), problems: b.problem,
		stored: make([][]uint64, len(b.ranks)), every: uint64(max(64, len(b.ranks))), syncBytes: opt.SyncBytes,
	}
	if opt.Every > 0 {
		g.every = uint64(opt.Every)
	}
	edges := make([][]edge, len(b.ranks))
	add := func(rank int, at uint64, d dep) { edges[rank] = append(edges[rank], edge{at, d}) }
	for _, in := range b.ranks {
		for i := range in.takes {
			t := &in.takes[i]
			if t.send == none {
				continue
			}
			src := int(t.ch.src)
			s := &b.ranks[src].sends[t.send]
			switch {
			case t.kind == takeReceive && t.done != 0:
				add(in.rank, t.done, packDep(depMessage, src, s.event))
			case t.kind == takeProbe || t.kind == takeMatched:
				add(in.rank, t.post, packDep(depProbe, src, s.event))
			}
			if kind, waits := s.sync(opt.SyncBytes); waits && t.kind != takeProbe && t.start != 0 && s.done != 0 {
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
	for rank, in := range b.ranks {
		g.ranks[rank] = newRankEvents(in.rankLog, edges[rank])
		edges[rank] = nil
	}
	return g
}

// sync says whether a send ends only when its receive has been posted; one of syncBytes (0: none) may.
func (s *sendRec) sync(syncBytes uint64) (depKind, bool) {
	switch s.op.Function().Mode {
	case mpispec.ModeSynchronous:
		return depSync, true
	case mpispec.ModeBuffered:
		return 0, false
	case mpispec.ModeStandard, mpispec.ModeReady:
	}
	return depLarge, syncBytes > 0 && s.bytes >= syncBytes
}
