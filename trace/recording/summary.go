package recording

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// Summary is what a recording holds, counted.
type Summary struct {
	Ranks         int               `json:"ranks"`
	Events        uint64            `json:"events"`
	EventsByClass map[string]uint64 `json:"eventsByClass,omitempty"` // if it is known; keys are Class.String
	Decisions     uint64            `json:"decisions"`               // matches, polls and sets that a replay enforces
	Wildcards     uint64            `json:"wildcards"`               // wildcard receives and probes
	Never         uint64            `json:"never"`                   // of them: never matched
	// of them: what nonblocking probes found, which racing mode records in any case
	Polled       uint64 `json:"polled"`
	FailedPolls  uint64 `json:"failedPolls"`
	Messages     uint64 `json:"messages"`
	PayloadBytes uint64 `json:"payloadBytes"`
	TraceBytes   uint64 `json:"traceBytes"` // on disk, without the graph
	GraphBytes   uint64 `json:"graphBytes"`
	// DecisionBytes is what the decisions take in the traces before they are packed: MATCH, POLL and SET records, or in
	// full mode all EVENT records.
	DecisionBytes uint64 `json:"decisionBytes"`
	// BytesPerWildcard is TraceBytes divided by Wildcards: what is on the disk, headers and all; 0 if there are none.
	// In racing mode it is 0 too: how many wildcards there were that did not race is not in the recording.
	BytesPerWildcard float64 `json:"bytesPerWildcard"`
	Incomplete       uint64  `json:"incomplete"` // calls that are not covered
	// Values is how many values that another run would not be given are in the recording: times, random bytes, what
	// one-sided calls fetched.
	Values uint64 `json:"values"`
	// Windows is how many times a rank made a window for one-sided communication.
	Windows uint64 `json:"windows,omitempty"`
}

// Summarize reads all traces of a recording.
func Summarize(rec *Recording) (*Summary, error) {
	s := &Summary{Ranks: rec.Meta.Ranks}
	var mu sync.Mutex
	err := rec.EachRank(func(rank int) error {
		if err := s.addRank(rec, rank, &mu); err != nil {
			return fmt.Errorf("summarize rank %d: %w", rank, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s.Wildcards > 0 && rec.Meta.Mode != abi.ModeRacing.String() {
		s.BytesPerWildcard = float64(s.TraceBytes) / float64(s.Wildcards)
	}
	for i := range rec.Meta.PerRank { // counted by the ranks; the graph, which is exact, takes precedence
		for name, n := range rec.Meta.PerRank[i].Calls {
			if op, ok := mpispec.ParseOp(name); ok {
				s.countCalls(op, n)
			}
		}
	}
	if !rec.HasGraph() {
		return s, nil
	}
	g, err := rec.Graph()
	if err != nil {
		return nil, err
	}
	s.EventsByClass, s.Windows = nil, 0
	for rank := range g.Ranks() {
		if err := s.addGraph(rec, g, rank); err != nil {
			return nil, fmt.Errorf("summarize rank %d: %w", rank, err)
		}
	}
	return s, nil
}

func fileSize(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err //nolint:wrapcheck // the caller says for what
	}
	return uint64(info.Size()), nil
}

func (s *Summary) addRank(rec *Recording, rank int, mu *sync.Mutex) error {
	r, err := rec.Rank(rank)
	if err != nil {
		return err
	}
	h := r.Header()
	d, err := decisions.Build(r, decisions.Options{AllowIncomplete: true})
	n := r.DecisionBytes()
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	size, err := fileSize(r.Path())
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	s.DecisionBytes += n
	s.Events += d.LastEvent
	s.Decisions += uint64(len(d.Matches) + len(d.Polls) + len(d.Sets))
	s.Wildcards += uint64(len(d.Matches))
	s.Values += d.Values()
	for i := range d.Matches {
		switch m := &d.Matches[i]; {
		case m.Never:
			s.Never++
		case m.Op.IsPoll():
			s.Polled++
		}
	}
	for i := range d.Polls {
		s.FailedPolls += d.Polls[i].Failures
	}
	s.TraceBytes += size
	s.Incomplete += uint64(h.Incomplete)
	m := &rec.Meta.PerRank[rank]
	s.Messages += m.Messages
	s.PayloadBytes += m.Bytes
	return nil
}

func (s *Summary) countCalls(op mpispec.Op, n uint64) {
	if s.EventsByClass == nil {
		s.EventsByClass = map[string]uint64{}
	}
	s.EventsByClass[op.Class().String()] += n
	if op.Function().OfType("MPI_Win", mpispec.Out) != nil {
		s.Windows += n
	}
}

func (s *Summary) addGraph(rec *Recording, g *Graph, rank int) error {
	r, err := g.Rank(rank)
	if err != nil {
		return err
	}
	for record, err := range r.All() {
		if err != nil {
			return errors.Join(err, r.Close())
		}
		if e, ok := record.(*trace.Event); ok {
			s.countCalls(e.Op, 1)
		}
	}
	if g.dir != rec.Dir {
		size, err := fileSize(r.Path())
		if err != nil {
			return errors.Join(err, r.Close())
		}
		s.GraphBytes += size
	}
	return r.Close()
}
