package agent

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/sourceline"
	"github.com/cohort-debugger/cohort/launch/controlblock"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/pmpi/control"
)

// rankControl is the agent's side of its rank's control block. The block is never unmapped: the process ends soon after
// the rank does.
type rankControl struct {
	block *control.Block  // nil: the program runs without libcohort
	pid   atomic.Int64    // 0: not known yet
	gone  context.Context // ends with the program

	mu    sync.Mutex
	known map[uint64]sourceline.Location // of call sites; finding one can take a second
}

// snapshot reads the block, and finds the source line of a divergence while the program still lives.
func (s *rankControl) snapshot() backend.ControlState {
	if s == nil || s.block == nil {
		return backend.ControlState{}
	}
	state := controlblock.State(s.block.Progress())
	if d := state.Divergence; d != nil {
		at := s.locate(d.CallSite)
		d.Function, d.File, d.Line = at.Function, at.File, at.Line
		for i := range state.Recent {
			r := &state.Recent[i]
			at := s.locate(r.CallSite)
			r.Function, r.File, r.Line = at.Function, at.File, at.Line
		}
	}
	return state
}

// locate finds the line of a call while the program lives; what is not known is empty.
func (s *rankControl) locate(site uint64) sourceline.Location {
	pid := int(s.pid.Load())
	if site == 0 || pid == 0 {
		return sourceline.Location{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, known := s.known[site]
	if !known {
		if s.known == nil {
			s.known = map[uint64]sourceline.Location{}
		}
		if found, err := sourceline.InProcess(pid, site-1); err == nil {
			at = found
			s.known[site] = at
		}
	}
	return at
}

// watch sends a Control event at each change of the rank's state, until the program has gone.
func (s *rankControl) watch(send func(backend.Event)) {
	if s.block == nil {
		return
	}
	state := abi.StateNew
	for {
		next, err := s.block.WaitChange(s.gone, state)
		if err != nil {
			return
		}
		state = next
		now := s.snapshot()
		send(backend.Event{Control: &now})
	}
}

// control carries out Backend.Control.
func (s *rankControl) control(ctx context.Context, req backend.ControlRequest) (backend.ControlState, error) {
	if s == nil {
		return backend.ControlState{}, &backend.StateError{
			Asked: "reach the rank's control block",
			State: "not started",
		}
	}
	if s.block == nil {
		return backend.ControlState{}, nil
	}
	// The guard goes first: a rank that is released must find it.
	if req.GuardAt != nil {
		s.block.SetGuardAt(*req.GuardAt)
	}
	if req.ParkAt != nil {
		s.block.SetParkAt(*req.ParkAt)
	}
	if req.Release != nil {
		s.block.Release(*req.Release)
	}
	if req.Wait {
		if err := s.wait(ctx); err != nil {
			return backend.ControlState{}, err
		}
	}
	return briefly(s.snapshot()), nil
}

// briefly leaves out what is not worth sending as often as progress is asked for: of the last calls the one that the
// rank is in is left.
func briefly(state backend.ControlState) backend.ControlState {
	if state.Divergence != nil {
		return state
	}
	state.Calls = nil
	if call, within := state.InCall(); within {
		state.Recent = []backend.RecentCall{call}
	} else {
		state.Recent = nil
	}
	return state
}

// wait returns when the rank has parked at its position or goes no further, or the program has gone.
func (s *rankControl) wait(ctx context.Context) error {
	either, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.gone, cancel)()
	_, err := s.block.WaitParked(either)
	switch {
	case err == nil, s.gone.Err() != nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("waiting for the rank: %w", err)
}
