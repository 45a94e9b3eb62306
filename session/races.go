package session

import (
	"fmt"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// RaceReport is what `cohort races` prints.
type RaceReport struct {
	Recording string            `json:"recording"`
	Ranks     int               `json:"ranks"`
	Mode      string            `json:"mode"`   // in which it was recorded
	Counts    causal.RaceCounts `json:"counts"` // of the whole run
	Groups    []RaceGroup       `json:"groups"` // those that were selected, the ones that matter most first
	Notes     []string          `json:"notes,omitempty"`
	// the first, of DoubtCount: what may make races wrong, as the trace does not settle it
	Doubts []causal.Problem `json:"doubts,omitempty"`
	DoubtN int              `json:"doubtCount,omitempty"`
}

// RaceGroup is the races at one place in the program, between messages sent from two.
type RaceGroup struct {
	Number  int            `json:"number"` // from 1
	Verdict causal.Verdict `json:"verdict"`
	Receive Place          `json:"receive"`
	Sends   []Place        `json:"sends"` // one, if both messages are sent from one place
	causal.RaceTally
	Example Race `json:"example"`
}

// Race is one race: the receive posted at Post could have taken either message.
type Race struct {
	Verdict causal.Verdict `json:"verdict"`
	Probe   bool           `json:"probe,omitempty"`
	Post    causal.EventID `json:"post"`
	Receive Place          `json:"receive"`
	Decided causal.EventID `json:"decided"` // when it was settled which message it took
	Took    RaceMessage    `json:"took"`
	Other   RaceMessage    `json:"other"` // what it could have taken instead
	// Known is the last event of the receiving rank that happened before the other message was sent: the receive had
	// not been decided there. 0: none.
	Known uint64 `json:"known"`
}

// RaceMessage is one of the messages of a race.
type RaceMessage struct {
	Send  causal.EventID `json:"send"`
	Sent  Place          `json:"sent"`
	Tag   int32          `json:"tag"`
	Bytes uint64         `json:"bytes"`
	// the call that completed its receive; absent if it was never received
	Receive *causal.EventID `json:"receive,omitempty"`
	By      *Place          `json:"receivedBy,omitempty"`
}

// Races reports the races of a recording of which graph is the event graph. Program is where the recorded program is
// now, if it was moved.
func Races(rec *recording.Recording, graph *causal.Graph, filter causal.RaceFilter, program string,
) (*RaceReport, error) {
	p := newPlaces(rec, program)
	defer p.close()
	groups, counts, err := graph.GroupRaces(filter, p.number)
	if err != nil {
		return nil, fmt.Errorf("look for races in %s: %w", rec.Dir, err)
	}
	r := &RaceReport{
		Recording: rec.Dir, Ranks: graph.Ranks(), Mode: rec.Meta.Mode, Counts: counts,
		Groups: []RaceGroup{},
	}
	for i, g := range groups {
		group := RaceGroup{
			Number: i + 1, Verdict: g.Verdict(), Receive: p.all[g.Receive], Sends: []Place{p.all[g.Sends[0]]},
			RaceTally: g.RaceTally,
			Example:   p.race(graph, &g.Example),
		}
		if g.Sends[0] != g.Sends[1] {
			group.Sends = append(group.Sends, p.all[g.Sends[1]])
		}
		r.Groups = append(r.Groups, group)
	}
	r.Notes = p.notes
	doubts := graph.Doubts()
	r.Doubts, r.DoubtN = doubts[:min(len(doubts), causal.MaxDoubts)], len(doubts)
	return r, nil
}

func (p *places) race(graph *causal.Graph, e *causal.RaceExample) Race {
	r := Race{
		Verdict: e.Verdict, Probe: e.Probe, Post: e.Post, Receive: p.at(graph, e.Post), Decided: e.Decided,
		Took: p.message(graph, e.Took), Other: p.message(graph, e.Other),
	}
	if before := e.Other.Send; before.Rank == e.Post.Rank {
		r.Known = before.Index - 1
	} else if v, err := graph.VectorTime(before.Rank, before.Index-1); err == nil {
		// the graph has the event: it is its own
		r.Known = v[e.Post.Rank]
	}
	return r
}

func (p *places) message(graph *causal.Graph, m causal.Message) RaceMessage {
	out := RaceMessage{Send: m.Send, Sent: p.at(graph, m.Send), Tag: m.Tag, Bytes: m.Bytes}
	if !m.Receive.IsZero() {
		by := p.at(graph, m.Receive)
		out.Receive, out.By = &m.Receive, &by
	}
	return out
}

func (p *places) at(graph *causal.Graph, e causal.EventID) Place {
	op, err := graph.Op(e)
	if err != nil {
		return Place{}
	}
	site, known := graph.SiteOf(e)
	return p.all[p.number(site, known, op)]
}
