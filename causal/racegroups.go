package causal

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
)

// Verdict says whether two racing messages differ in what the receiver gets.
type Verdict string

// The verdicts. Whatever it is, the two messages have different senders, and a program that looks at MPI_SOURCE sees
// that.
const (
	VerdictDiffer  Verdict = "differ"  // in length, tag or content: the race could have changed the result
	VerdictEqual   Verdict = "equal"   // in all three
	VerdictUnknown Verdict = "unknown" // the length is the same, and the trace does not have the content of both
)

// Compare says whether two messages are the same to their receiver. Contents of more than 8 bytes are compared by
// hashes of 64 bits.
func (g *Graph) Compare(a, b MessageRef) Verdict {
	s, t := g.sendOf(a), g.sendOf(b)
	switch {
	case s.bytes != t.bytes || s.ch.tag != t.ch.tag:
		return VerdictDiffer
	case s.bytes == 0:
		return VerdictEqual
	case !s.looked || !t.looked:
		return VerdictUnknown
	case s.content == t.content:
		return VerdictEqual
	}
	return VerdictDiffer
}

// RaceFilter selects races. The zero value selects all.
type RaceFilter struct {
	Receiver func(rank int) bool // nil: any
	Sender   func(rank int) bool // of one of the two messages; nil: any
	At       EventID             // the call that posted the receive, or that completed it; zero: any
	Verdict  Verdict             // empty: any
}

// RaceExample is one race: Took and Other are messages that the receive posted at Post could both have taken.
type RaceExample struct {
	Post, Decided EventID
	Probe         bool
	Took, Other   Message
	Verdict       Verdict
}

// RaceTally counts the races of a group.
type RaceTally struct {
	Receives uint64 `json:"receives"` // receives or probes that race
	Races    uint64 `json:"races"`    // pairs of messages
	Differ   uint64 `json:"differ"`   // of the races: the messages differ in length, tag or content
	Equal    uint64 `json:"equal"`
	Unknown  uint64 `json:"unknown"`
	// Most is the greatest number of messages that one of the receives could have taken. Where messages race with each
	// other in a block, it is the size of the block.
	Most      int   `json:"mostMessages"`
	Receivers []int `json:"receivers"` // ranks
	Senders   []int `json:"senders"`
}

// RaceGroup is the races at receives from one place in the program between messages sent from two places. Places are
// numbers that the caller of GroupRaces gives out.
type RaceGroup struct {
	Receive int
	Sends   [2]int // ascending
	RaceTally
	Example RaceExample // the first, of those that differ if there are any

	receivers, senders []bool // by rank
	last               EventID
	lastPlace          int
}

// Verdict of the group is the worst of its races': VerdictDiffer if any of them differs, else VerdictUnknown if of any
// it is not known.
func (r *RaceGroup) Verdict() Verdict {
	switch {
	case r.Differ > 0:
		return VerdictDiffer
	case r.Unknown > 0:
		return VerdictUnknown
	}
	return VerdictEqual
}

// PlaceFunc gives a place in the program a number, which groups are made by. It is asked once for each call site of
// each rank; known is false if the trace does not have the site.
type PlaceFunc func(site Site, known bool, op mpispec.Op) int

// GroupRaces groups the races that a filter selects by the places of their receives and sends. Groups with races that
// differ come first, then those of which that is not known; among these the ones with most races. The counts are those
// of the whole run. Memory is that of EachWildcard, and some for each group. Errors: as EachWildcard.
func (g *Graph) GroupRaces(filter RaceFilter, place PlaceFunc) ([]*RaceGroup, RaceCounts, error) {
	type key struct{ receive, a, b int }
	groups := map[key]*RaceGroup{}
	var lastKey key
	var last *RaceGroup // of most races the group is that of the one before
	places := newPlaces(g, place)
	counts, err := g.EachWildcard(func(p *RacePoint) bool {
		if len(p.Others) == 0 || !filter.receive(g, p) {
			return true
		}
		at := places.of(p.Post)
		took := places.of(g.sender(p.Took))
		for _, other := range p.Others {
			if filter.Sender != nil && !filter.Sender(int(p.Took.src)) && !filter.Sender(int(other.src)) {
				continue
			}
			verdict := g.Compare(p.Took, other)
			if filter.Verdict != "" && filter.Verdict != verdict {
				continue
			}
			sent := places.of(g.sender(other))
			k := key{at, min(took, sent), max(took, sent)}
			if last == nil || k != lastKey {
				if groups[k] == nil {
					groups[k] = &RaceGroup{
						Receive: at, Sends: [2]int{k.a, k.b}, receivers: make([]bool, len(g.ranks)),
						senders: make([]bool, len(g.ranks)),
					}
				}
				last, lastKey = groups[k], k
			}
			last.add(g, p, other, verdict)
		}
		return true
	})
	for _, r := range groups {
		for rank := range g.ranks {
			if r.receivers[rank] {
				r.Receivers = append(r.Receivers, rank)
			}
			if r.senders[rank] {
				r.Senders = append(r.Senders, rank)
			}
		}
	}
	all := slices.SortedFunc(maps.Values(groups), func(a, b *RaceGroup) int {
		return cmp.Or(cmp.Compare(a.Verdict().weight(), b.Verdict().weight()), cmp.Compare(b.Races, a.Races),
			cmp.Compare(a.Receive, b.Receive), slices.Compare(a.Sends[:], b.Sends[:]))
	})
	return all, counts, err
}

func (v Verdict) weight() int {
	return slices.Index([]Verdict{VerdictDiffer, VerdictUnknown, VerdictEqual}, v)
}

func (f *RaceFilter) receive(g *Graph, p *RacePoint) bool {
	if f.Receiver != nil && !f.Receiver(p.Post.Rank) {
		return false
	}
	return f.At.IsZero() || f.At == p.Post || f.At == g.Message(p.Took).Receive
}

func (r *RaceGroup) add(g *Graph, p *RacePoint, other MessageRef, verdict Verdict) {
	r.Races++
	better := r.Races == 1
	switch verdict {
	case VerdictDiffer:
		better = better || r.Differ == 0
		r.Differ++
	case VerdictEqual:
		r.Equal++
	case VerdictUnknown:
		better = better || r.Differ+r.Unknown == 0
		r.Unknown++
	}
	if better {
		r.Example = RaceExample{
			Post: p.Post, Decided: p.Decided, Probe: p.Probe, Took: g.Message(p.Took),
			Other: g.Message(other), Verdict: verdict,
		}
	}
	if r.last != p.Post || r.lastPlace != p.Place {
		r.last, r.lastPlace = p.Post, p.Place
		r.Receives++
		r.receivers[p.Post.Rank] = true
		r.senders[p.Took.src] = true
	}
	r.Most = max(r.Most, 1+len(p.Others))
	r.senders[other.src] = true
}

// places knows the numbers of the places of events.
type places struct {
	g       *Graph
	number  PlaceFunc
	sites   [][]int  // by rank and site: the number, or none
	unknown [256]int // by operation
}

func newPlaces(g *Graph, number PlaceFunc) *places {
	p := &places{g: g, number: number, sites: make([][]int, len(g.ranks))}
	for i := range p.unknown {
		p.unknown[i] = none
	}
	return p
}

func (p *places) of(e EventID) int {
	r := &p.g.ranks[e.Rank]
	op := p.g.op(e)
	site := r.sites[e.Index-1]
	n := &p.unknown[op]
	if site != 0 {
		if p.sites[e.Rank] == nil {
			p.sites[e.Rank] = slices.Repeat([]int{none}, len(r.declared))
		}
		n = &p.sites[e.Rank][site-1]
	}
	if *n == none {
		var declared Site
		if site != 0 {
			declared = r.declared[site-1]
		}
		*n = p.number(declared, site != 0, op)
	}
	return *n
}
