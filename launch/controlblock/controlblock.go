// Package controlblock turns what a rank has written into its control block into the words of package backend.
package controlblock

import (
	"fmt"
	"math"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/pmpi/control"
	"github.com/cohort-debugger/cohort/trace"
)

// State converts a snapshot. Where the divergence is in the source is left open: that needs the rank's memory map.
func State(p control.Progress) backend.ControlState {
	s := backend.ControlState{
		Present: true, State: p.State, StopReason: p.StopReason, Events: p.Events, Current: p.Current,
		CurrentOp: int(p.CurrentOp),
		Polls:     p.Polls, Messages: p.Messages, Bytes: p.Bytes, Decisions: p.Decisions, TraceBytes: p.TraceBytes,
		Calls: map[int]uint64{}, Incomplete: int(p.Incomplete), IncompleteCall: p.IncompleteCall,
		IncompleteEvent: p.IncompleteEvent, Message: p.Message,
	}
	if p.State == abi.StateDiverged || p.StopReason == abi.StopDivergence && p.State == abi.StateStopped {
		d := p.Divergence
		s.Divergence = &backend.Divergence{
			Event: d.Event, ActualOp: trace.CallName(d.ActualOp), RecordedEvent: d.RecordedEvent,
			RecordedSource: number(d.RecordedSource), RecordedTag: number(d.RecordedTag),
			ActualSource: number(d.ActualSource), ActualTag: number(d.ActualTag), CallSite: d.CallSite,
			Unnoticed: d.Kind == abi.DivergenceCheck,
		}
		if d.RecordedOp != uint32(mpispec.OpNone) {
			s.Divergence.RecordedOp = trace.CallName(d.RecordedOp)
		}
	}
	for _, r := range p.Recent {
		s.Recent = append(s.Recent, backend.RecentCall{
			Event: r.Event, Op: trace.CallName(r.Op), Peer: number(r.Peer), Tag: number(r.Tag), Got: number(r.Got),
			CallSite: r.Site,
		})
	}
	for op, n := range &p.Calls {
		if n > 0 {
			s.Calls[op] = n
		}
	}
	return s
}

func number(v int32) int {
	if v == abi.NoRank {
		return math.MinInt32
	}
	return int(v)
}

// Read takes a snapshot of the control block in a file. It is not there once the job's directory has gone.
func Read(path string) (backend.ControlState, error) {
	block, err := control.Open(path)
	if err != nil {
		return backend.ControlState{}, err
	}
	state := State(block.Progress())
	if err := block.Close(); err != nil {
		return state, fmt.Errorf("reading a control block: %w", err)
	}
	return state, nil
}
