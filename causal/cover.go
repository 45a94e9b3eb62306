package causal

import "slices"

// What a replay must be told, and how little that can be. Netzer & Miller trace one message of each race, and show that
// the least such trace is a minimum vertex cover of the graph that has the messages for its vertices and a race for
// each edge (section 4.3 and Theorem 3, which makes that NP-hard in general). A traced message is tied to its receive
// from both ends: they tag it when it is sent, so that no other receive takes it.
//
// MPI has no such tags; what replay can do is to name the source (and tag) of a receive. That covers an edge from one
// end only: the receive that came first must be told to take its message, as Annai does (Clemencon et al., section
// 4.1); to tell the later receive which message is its own does not keep the earlier one from taking it. So of all
// covers one can be enforced: all receives that could have taken another message. No less is enough, since a receive
// that is left out can take the other message. And it is enough: let r be the first receive of
// a replay, in the order in which messages are matched, that takes another message M' than was recorded. Up to there
// the replay is the recorded run, so M' races with r, or would but for a receive posted earlier that takes it away
// (RacePoint.Hidden: one that is told its source takes it no more); and then r was told.
//
// Where all of a set of messages race with each other both numbers are one less than the size of the set (Theorem 4).
// Where several messages of one sender in a row race with one of another, the bound is smaller: Netzer & Miller trace
// that one message, replay must be told all receives in a row. That is the price of MPI, and small on disk: such
// receives have one source, and make one entry.

// TraceBound says how many receives a replay must be told of.
type TraceBound struct {
	// Traced is the receives and probes that could take another message in a replay that does not name their sources:
	// all of them must be told, and no other.
	Traced uint64 `json:"traced"`
	// Least is a lower bound of the messages that any trace must tell of, also one that can tag messages: of messages
	// that all race with each other all but one (a generalisation of the matching bound of Netzer & Miller, footnote 3,
	// whose sets have two).
	Least uint64 `json:"leastPossible"`
}

// Bound computes the bound. What EachWildcard visits is passed on to visit, if that is not nil. Errors and cost are
// those of EachWildcard.
//
// The sets of the lower bound are found in one pass, greedily: in the order of the receives, each message joins the
// open set if it races with all that are in it.
func (g *Graph) Bound(visit func(*RacePoint) bool) (TraceBound, RaceCounts, error) {
	b := coverBound{open: map[pattern]*cover{}, used: make([][]bool, len(g.ranks))}
	for r := range g.ranks {
		b.used[r] = make([]bool, len(g.ranks[r].sends))
	}
	rank := none
	counts, err := g.EachWildcard(func(p *RacePoint) bool {
		if p.Post.Rank != rank { // messages of different receivers do not race
			rank = p.Post.Rank
			b.closeAll()
		}
		b.add(p)
		return visit == nil || visit(p)
	})
	b.closeAll()
	return b.bound, counts, err
}

// cover is messages that all race with each other.
type cover struct {
	size  uint64
	races []MessageRef // messages that race with all of them
}

type coverBound struct {
	bound TraceBound
	keys  []pattern          // of open, in the order in which they came
	open  map[pattern]*cover // by what receives ask for: those that ask for other things hardly race with them
	used  [][]bool           // by sender and send: it is in a set
}

// use returns false if the message is in a set already.
func (b *coverBound) use(m MessageRef) bool {
	used := &b.used[m.src][m.send]
	first := !*used
	*used = true
	return first
}

func (b *coverBound) add(p *RacePoint) {
	if len(p.Others) > 0 || p.Hidden > 0 {
		b.bound.Traced++
	}
	c := b.open[p.asked]
	if c == nil {
		if len(p.Others) == 0 {
			return
		}
		c = &cover{}
		b.keys, b.open[p.asked] = append(b.keys, p.asked), c
	}
	switch {
	case !slices.Contains(c.races, p.Took):
		b.close(c)
		if len(p.Others) > 0 && b.use(p.Took) {
			c.size, c.races = 1, append(c.races, p.Others...)
		}
	case b.use(p.Took):
		c.size++
		c.races = slices.DeleteFunc(c.races, func(m MessageRef) bool { return !slices.Contains(p.Others, m) })
	}
}

func (b *coverBound) closeAll() {
	for _, key := range b.keys {
		b.close(b.open[key])
	}
	b.keys = b.keys[:0]
	clear(b.open)
}

// close counts a set, to which one more message may belong that was received later, or never.
func (b *coverBound) close(c *cover) {
	if c.size > 0 {
		if slices.ContainsFunc(c.races, b.use) {
			c.size++
		}
		b.bound.Least += c.size - 1
	}
	c.size, c.races = 0, c.races[:0]
}

// EachTagWildcard calls visit for all receives and probes that asked one source for any tag: their outcome depends on
// no race, because messages of one sender do not overtake each other. which is as in RacePoint.
func (g *Graph) EachTagWildcard(visit func(post EventID, which uint32)) {
	for rank := range g.ranks {
		takes := g.ranks[rank].takes
		for i := range takes {
			if t := &takes[i]; t.wild && !t.anySource && t.kind != takeVoid && t.send != none {
				visit(EventID{rank, t.post}, t.which)
			}
		}
	}
}
