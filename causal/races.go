package causal

import (
	"fmt"
	"math"
	"slices"
)

// RacePoint is one receive or probe with a wildcard source, with the messages that it could have taken instead of the
// one it took.
type RacePoint struct {
	Post    EventID // the call that posted the receive, or the probe
	Place   int     // among the receives that this call posted, from 0: a Startall posts several
	Which   uint32  // place in the array of a Startall
	Decided EventID // when its outcome was settled, see above
	Probe   bool    // it took nothing, but saw Took
	AnyTag  bool    // it asked for any tag
	Took    MessageRef
	Others  []MessageRef // by sender; the slice is good during the call only
	// Hidden are messages that could not have been taken only because a receive posted earlier would have taken them. A
	// replay that narrows that receive to its recorded source must narrow this one too.
	Hidden int

	asked pattern
}

// RaceCounts counts the races of a run.
type RaceCounts struct {
	Messages       uint64 `json:"messages"`       // sent
	RacingMessages uint64 `json:"racingMessages"` // that take part in a race
	// receives and probes with a wildcard source that took or saw a message
	Wildcards uint64 `json:"wildcards"`
	Racing    uint64 `json:"racing"` // of these: could have taken another
	Races     uint64 `json:"races"`  // pairs of messages of which one receive could have taken either
}

const maxRaceEvents = math.MaxUint32 / 2

// EachWildcard calls visit for all receives and probes with a wildcard source that took or saw a message, by rank and
// in the order of their posts, with the messages that race with theirs (none, for most receives of most programs),
// until visit returns false. It returns the counts of what was visited.
//
// It takes O(events x ranks that receive with wildcards + wildcard receives x senders) time, in memory of some bytes
// per event. The error is of a rank with too many events.
func (g *Graph) EachWildcard(visit func(*RacePoint) bool) (RaceCounts, error) {
	var counts RaceCounts
	var ranks []int
	for r := range g.ranks {
		if n := g.ranks[r].last(); n > maxRaceEvents {
			return counts, fmt.Errorf("rank %d has %d events: races are computed for up to %d events of a rank", r, n,
				maxRaceEvents)
		}
		for i := range g.ranks[r].sends {
			if !g.ranks[r].sends[i].void {
				counts.Messages++
			}
		}
		if slices.ContainsFunc(g.ranks[r].takes, func(t takeRec) bool { return t.chose() }) {
			ranks = append(ranks, r)
		}
	}
	if len(ranks) == 0 {
		return counts, nil
	}
	inbound := g.inbound()
	g.knowledge(ranks, func(rank int, knows func(src int, event uint64) uint32) bool {
		return newRaceScan(g, rank, inbound, knows).run(&counts, visit)
	})
	return counts, nil
}

// CountRaces counts the races of the run.
func (g *Graph) CountRaces() (RaceCounts, error) {
	return g.EachWildcard(func(*RacePoint) bool { return true })
}
