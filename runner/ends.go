package runner

import (
	"context"
	"slices"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/sourceline"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// progressEvery is how often the control blocks are read for RecordOptions.Progress. It costs the ranks nothing: they
// write them anyway.
const progressEvery = 500 * time.Millisecond

// watchProgress reports until the function that it returns is called, which returns the last report. It calls stalled
// once if the ranks complete no MPI call for StallTimeout.
func (o *RecordOptions) watchProgress(session *launch.Session, started time.Time,
	stalled func(),
) (stop func() RecordProgress) {
	if o.Progress == nil && o.StallTimeout == 0 {
		return func() RecordProgress { return RecordProgress{} }
	}
	ctx, cancel := context.WithCancel(context.Background())
	last := make(chan RecordProgress)
	go func() {
		states := make([]backend.ControlState, len(session.Ranks()))
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		progress, still := RecordProgress{}, time.Duration(0)
		for {
			select {
			case <-ticker.C:
				before := progress
				progress = readProgress(ctx, session, states)
				progress.Elapsed = time.Since(started)
				if o.Progress != nil {
					o.Progress(progress)
				}
				// A job that was suspended as a whole has not stood still meanwhile.
				still += min(progress.Elapsed-before.Elapsed, longestLook)
				if progress.Events != before.Events || notBegun(states) {
					still = 0
				}
				if o.StallTimeout > 0 && still >= o.StallTimeout {
					stalled()
				}
			case <-ctx.Done():
				last <- progress
				return
			}
		}
	}()
	return func() RecordProgress {
		cancel()
		return <-last
	}
}

// notBegun tells whether a rank has not returned from MPI_Init.
func notBegun(states []backend.ControlState) bool {
	return slices.ContainsFunc(states, func(s backend.ControlState) bool {
		return !s.Present || s.State == abi.StateNew
	})
}

// readProgress asks every rank for its counters. One that has gone keeps those of its last answer.
func readProgress(ctx context.Context, session *launch.Session, states []backend.ControlState) RecordProgress {
	var p RecordProgress
	for i, state := range controls(ctx, session) {
		if state.Present {
			states[i] = state
		}
		s := &states[i]
		p.Events += s.Events
		p.Messages += s.Messages
		p.Bytes += s.Bytes
		p.TraceBytes += s.TraceBytes
	}
	return p
}

// lastCalls finds out what the ranks that did not end well did last, and where in the program that is. The control
// blocks have the call sites, the traces the modules that these lie in.
func (r *RecordResult) lastCalls(ranks []recording.RankMeta, modules [][]*trace.Module) {
	lines := map[string]*sourceline.File{} // nil: cannot be read
	defer func() {
		for _, file := range lines {
			if file != nil {
				file.Close() //nolint:errcheck // read only
			}
		}
	}()
	for i := range ranks {
		recent := r.Job.Ranks[i].Control.Recent
		if ranks[i].End.How == recording.EndFinalized || len(recent) == 0 {
			continue
		}
		call := recent[len(recent)-1]
		last := &recording.LastCall{Event: call.Event, Call: call.Op, Within: r.Job.Ranks[i].Control.Current != 0}
		ranks[i].Last = last
		module := moduleOf(modules[i], call.CallSite-1)
		if module == nil {
			continue
		}
		file, tried := lines[module.Path]
		if !tried {
			var err error
			if file, err = sourceline.Open(module.Path); err != nil {
				file = nil // a place that is not known is no reason to fail
			}
			lines[module.Path] = file
		}
		if file != nil {
			at := file.At(call.CallSite - 1 - module.LoadBias)
			last.Function, last.File, last.Line = at.Function, at.File, at.Line
		}
	}
}

// moduleOf finds the module that an address lies in: of those that have called MPI the one that begins before it last.
func moduleOf(modules []*trace.Module, address uint64) *trace.Module {
	var found *trace.Module
	for _, m := range modules {
		if m.LoadBias <= address && (found == nil || m.LoadBias > found.LoadBias) {
			found = m
		}
	}
	return found
}
