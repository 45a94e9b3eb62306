package session

import (
	"fmt"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/recording"
	"github.com/cohort-debugger/cohort/trace/rewrite"
)

// MinimizeReport is what `cohort trace minimize` prints.
type MinimizeReport struct {
	From string `json:"from"`
	To   string `json:"to"`
	Mode string `json:"mode"` // of From
	// Decisions of wildcard receives and probes: those of From, and those that To keeps. Never is how many of these
	// never took a message: they are kept, as a replay does not post them.
	Wildcards uint64            `json:"wildcards"`
	Kept      uint64            `json:"kept"`
	Never     uint64            `json:"never"`
	Messages  uint64            `json:"messages"`
	Bound     causal.TraceBound `json:"bound"`
	Optimal   bool              `json:"optimal"` // no trace can tell of fewer messages
	BytesFrom int64             `json:"bytesFrom"`
	BytesTo   int64             `json:"bytesTo"`
}

// Minimize writes to dir the recording with only those decisions of wildcard receives that a replay needs. Graph is its
// event graph.
func Minimize(rec *recording.Recording, graph *causal.Graph, dir string, opt recording.CreateOptions,
) (*recording.Recording, *MinimizeReport, error) {
	if doubts := graph.Doubts(); len(doubts) > 0 {
		return nil, nil, refuse("the event graph of %s leaves in doubt which messages some receives took (%s), so "+
			"it is not known which decisions a replay can do without; there are %d such doubts", rec.Dir, doubts[0],
			len(doubts))
	}
	free := make([]map[trace.Posting]bool, graph.Ranks())
	for r := range free {
		free[r] = map[trace.Posting]bool{}
	}
	bound, counts, err := graph.Bound(func(p *causal.RacePoint) bool {
		if len(p.Others) == 0 && p.Hidden == 0 {
			free[p.Post.Rank][trace.Posting{Event: p.Post.Index, Which: p.Which}] = true
		}
		return true
	})
	if err != nil {
		return nil, nil, fmt.Errorf("minimize %s: %w", rec.Dir, err)
	}
	graph.EachTagWildcard(func(post causal.EventID, which uint32) {
		free[post.Rank][trace.Posting{Event: post.Index, Which: which}] = true
	})
	out, sum, err := rewrite.Reduce(rec, dir, opt, func(rank int, r trace.Posting) bool { return free[rank][r] })
	if err != nil {
		return nil, nil, err
	}
	return out, &MinimizeReport{
		From: rec.Dir, To: out.Dir, Mode: rec.Meta.Mode, Wildcards: sum.Wildcards, Kept: sum.Kept, Never: sum.Never,
		Messages: counts.Messages,
		Bound:    bound, Optimal: sum.Kept-sum.Never == bound.Least, BytesFrom: rec.TraceSize(),
	}, nil
}
