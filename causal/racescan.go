package causal

import (
	"slices"

	"github.com/cohort-debugger/cohort/trace"
)

// inbound is all messages by receiver, and of one receiver by sender, each in the order sent.
type inbound struct {
	of    [][]MessageRef // by receiver
	place [][]int32      // by sender and send: its place in `of`
}

func (g *Graph) inbound() *inbound {
	in := &inbound{of: make([][]MessageRef, len(g.ranks)), place: make([][]int32, len(g.ranks))}
	count := make([]int, len(g.ranks))
	each := func(f func(src, i int, s *sendRec)) {
		for src := range g.ranks {
			sends := g.ranks[src].sends
			for i := range sends {
				if !sends[i].void {
					f(src, i, &sends[i])
				}
			}
		}
	}
	each(func(_, _ int, s *sendRec) { count[s.ch.dst]++ })
	for r := range g.ranks {
		in.of[r] = make([]MessageRef, 0, count[r])
		in.place[r] = make([]int32, len(g.ranks[r].sends))
	}
	each(func(src, i int, s *sendRec) {
		in.place[src][i] = int32(len(in.of[s.ch.dst]))
		in.of[s.ch.dst] = append(in.of[s.ch.dst], MessageRef{int32(src), int32(i)})
	})
	return in
}

// line is the messages of one sender to the receiver, with one communicator, and one tag or all, that no receive has
// taken so far: in the order sent.
type line struct {
	src   int32
	head  int32  // the first, or none
	knows uint32 // what the entry of its send knows of the rank
	id    int32
}

// lines is those of all senders. They are in one piece of memory: each receive goes through all.
type lines struct{ all []line }

// raceScan goes through the takes of one rank in the order of their posts, and knows at each which messages of every
// sender come next.
type raceScan struct {
	g        *Graph
	rank     int
	takes    []takeRec
	decided  []uint64
	in       *inbound
	messages []MessageRef
	knows    []uint32 // by message: what its send's entry knows of the rank
	lines    map[pattern]*lines
	// Links between the messages of a line, both for the line of one tag [0] and that of all tags [1].
	next, prev [2][]int32
	line       [2][]int32 // by message: the id of its line
	set        []*lines   // by line: where it is
	at         []int32    // and its place there

	early map[pattern][]int32 // wildcard receives with one tag that may be undecided, in the order of their posts
	point RacePoint
	raced []bool // by message
}

func newRaceScan(g *Graph, rank int, in *inbound, knows func(src int, event uint64) uint32) *raceScan {
	m := &g.ranks[rank]
	s := &raceScan{
		g: g, rank: rank, takes: m.takes, decided: m.decided(), in: in, messages: in.of[rank],
		lines: map[pattern]*lines{}, early: map[pattern][]int32{},
	}
	n := len(s.messages)
	s.knows, s.raced = make([]uint32, n), make([]bool, n)
	for all := range 2 {
		s.next[all], s.prev[all], s.line[all] = make([]int32, n), make([]int32, n), make([]int32, n)
	}
	type end struct{ id, last int32 }
	open := map[pattern]end{} // of the sender at hand
	for i, msg := range s.messages {
		if i > 0 && s.messages[i-1].src != msg.src {
			clear(open)
		}
		send := s.send(int32(i))
		s.knows[i] = knows(int(msg.src), send.event)
		for all, p := range [2]pattern{{send.ch.comm, send.ch.tag}, {send.ch.comm, trace.AnyTag}} {
			s.next[all][i], s.prev[all][i] = none, none
			l, ok := open[p]
			if !ok {
				set := s.lines[p]
				if set == nil {
					set = &lines{}
					s.lines[p] = set
				}
				l.id = int32(len(s.set))
				s.set, s.at = append(s.set, set), append(s.at, int32(len(set.all)))
				set.all = append(set.all, line{src: msg.src, head: int32(i), knows: s.knows[i], id: l.id})
			} else {
				s.prev[all][i], s.next[all][l.last] = l.last, int32(i)
			}
			open[p], s.line[all][i] = end{l.id, int32(i)}, l.id
		}
	}
	return s
}

func (s *raceScan) send(i int32) *sendRec {
	m := s.messages[i]
	return &s.g.ranks[m.src].sends[m.send]
}

// message returns the place of the message that a take took or saw.
func (s *raceScan) message(t *takeRec) int32 { return s.in.place[t.ch.src][t.send] }

// take removes a message.
func (s *raceScan) take(i int32) {
	for all := range 2 {
		next, prev := s.next[all][i], s.prev[all][i]
		if prev != none {
			s.next[all][prev] = next
		} else {
			id := s.line[all][i]
			l := &s.set[id].all[s.at[id]]
			if l.head = next; next != none {
				l.knows = s.knows[next]
			}
		}
		if next != none {
			s.prev[all][next] = prev
		}
	}
}

func (s *raceScan) run(counts *RaceCounts, visit func(*RacePoint) bool) bool {
	for i := range s.takes {
		t := &s.takes[i]
		if t.kind == takeVoid {
			continue
		}
		if t.chose() {
			s.fill(i, t)
			counts.Wildcards++
			if n := len(s.point.Others); n > 0 {
				counts.Racing++
				counts.Races += uint64(n)
			}
			if !visit(&s.point) {
				return false
			}
		}
		if t.anySource && !t.anyTag() && t.kind == takeReceive && t.done != t.post {
			p := pattern{t.view.comm.id, t.askedTag}
			s.early[p] = append(s.early[p], int32(i))
		}
		if t.kind != takeProbe && t.send != none {
			s.take(s.message(t))
		}
	}
	for _, raced := range s.raced {
		if raced {
			counts.RacingMessages++
		}
	}
	return true
}

// fill fills in the point for a take.
func (s *raceScan) fill(i int, t *takeRec) {
	if s.decided[i] == 0 { // its request was freed, and nothing told
		s.decided[i] = s.g.Events(s.rank)
	}
	took := s.message(t)
	first := i
	for first > 0 && s.takes[first-1].post == t.post {
		first--
	}
	s.point = RacePoint{
		Post: EventID{s.rank, t.post}, Place: i - first, Which: t.which, asked: pattern{t.view.comm.id, t.askedTag},
		Decided: EventID{s.rank, s.decided[i]}, Probe: t.kind == takeProbe, AnyTag: t.anyTag(),
		Took: s.messages[took], Others: s.point.Others[:0],
	}
	p := pattern{t.view.comm.id, t.askedTag}
	set, ended, limit := s.lines[p], false, uint32(2*s.decided[i])
	for at := range set.all {
		l := &set.all[at]
		switch {
		case l.head == none:
			ended = true
		case l.src == int32(t.ch.src) || l.knows > limit:
		case t.anyTag() && s.claimed(i, l.head):
			s.point.Hidden++
		default:
			s.raced[l.head] = true
			s.point.Others = append(s.point.Others, s.messages[l.head])
		}
	}
	if len(s.point.Others) > 0 {
		s.raced[took] = true
	}
	if ended {
		set.all = slices.DeleteFunc(set.all, func(l line) bool { return l.head == none })
		for at, l := range set.all {
			s.at[l.id] = int32(at)
		}
	}
}

// claimed says whether a receive posted before take i, which asks for any tag, would take a message away from it: one
// for the message's tag, of which the own message is sent only after take i was decided. Of two receives that ask for
// the same, the later one's message decides the earlier one, so only receives for one tag can be in that case.
func (s *raceScan) claimed(i int, message int32) bool {
	if len(s.early) == 0 {
		return false
	}
	t, ch := &s.takes[i], s.send(message).ch
	p := pattern{ch.comm, ch.tag}
	early := s.early[p]
	if len(early) > 0 && s.decided[early[0]] != 0 && s.decided[early[0]] < t.post {
		for early = early[1:]; len(early) > 0 && s.decided[early[0]] != 0 &&
			s.decided[early[0]] < t.post; early = early[1:] {
		}
		s.early[p] = early
	}
	limit := uint32(2 * s.decided[i])
	for _, j := range early {
		if e := &s.takes[j]; s.decided[j] > s.decided[i] && e.send != none && s.knows[s.message(e)] > limit {
			return true
		}
	}
	return false
}
