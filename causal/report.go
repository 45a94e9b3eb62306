package causal

import "github.com/cohort-debugger/cohort/mpispec"

// Position is where a cut stops one rank, for people: the last event that it holds.
type Position struct {
	Rank  int    `json:"rank"`
	Event uint64 `json:"event"`
	Call  string `json:"call,omitempty"` // "MPI_Recv"; empty at position 0
	Last  uint64 `json:"last"`           // events of the rank in the whole run
}

// CutReport is what `cohort cut` prints: a cut, and whether it is consistent.
type CutReport struct {
	At         *EventID `json:"at,omitempty"` // of a causal cut
	Cut        Cut      `json:"cut"`
	Consistent bool     `json:"consistent"`
	// of At: what happened before it; never more than Cut
	VectorTime []uint64              `json:"vectorTime,omitempty"`
	Problem    *InconsistentCutError `json:"inconsistent,omitempty"` // the pair of events that makes it inconsistent
	// of an inconsistent cut: the greatest consistent one that it holds
	Below     Cut        `json:"below,omitempty"`
	Above     Cut        `json:"above,omitempty"` // and the least consistent one that holds it
	Positions []Position `json:"positions"`
	// Doubts are the first problems (at most MaxDoubts) that may make the cut wrong, DoubtCount is how many there are
	// in the whole run.
	Doubts     []Problem `json:"doubts,omitempty"`
	DoubtCount int       `json:"doubtCount,omitempty"`
}

// MaxDoubts is how many doubts a report has.
const MaxDoubts = 10

// ReportCausalCut describes the causal cut of an event. The cut is checked apart from how it was computed.
func (g *Graph) ReportCausalCut(at EventID) (*CutReport, error) {
	cut, err := g.CausalCut(at.Rank, at.Index)
	if err != nil {
		return nil, err
	}
	r, err := g.ReportCut(cut)
	if err != nil {
		return nil, err
	}
	r.At = &at
	r.VectorTime, err = g.VectorTime(at.Rank, at.Index)
	return r, err
}

// ReportCut describes any cut. The error is a *RefusedError; an inconsistent cut is described as one.
func (g *Graph) ReportCut(cut Cut) (*CutReport, error) {
	if err := g.checkSize(cut); err != nil {
		return nil, err
	}
	r := &CutReport{Cut: cut, Consistent: true}
	for rank, index := range cut {
		p := Position{Rank: rank, Event: index, Last: g.Events(rank)}
		if op := g.op(EventID{rank, index}); op != mpispec.OpNone {
			p.Call = op.Call()
		}
		r.Positions = append(r.Positions, p)
	}
	doubts := g.Doubts()
	r.Doubts, r.DoubtCount = doubts[:min(len(doubts), MaxDoubts)], len(doubts)
	if bad := g.firstLack(cut); bad != nil {
		r.Consistent, r.Problem = false, bad
		r.Below, r.Above = g.below(cut), g.close(cut)
	}
	return r, nil
}
