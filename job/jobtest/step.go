package jobtest

import (
	"slices"

	"github.com/cohort-debugger/cohort/backend"
)

// A Step is what the program does next. It returns false if that was the last thing. Steps run under the World's lock.
type Step func(f *Fake) bool

// Line comes to a line of a source; breakpoints there and steps stop at it.
func Line(file string, line int) Step {
	return func(f *Fake) bool {
		f.file, f.at, f.inMPI = file, line, ""
		return f.here(f.bps[file], func(b backend.SourceBreakpoint) bool { return f.lineOf(b.Line) == line })
	}
}

// Enter comes to a function; function breakpoints stop at it.
func Enter(name string) Step {
	return func(f *Fake) bool {
		f.function, f.inMPI = name, ""
		return f.here(f.bps[""], func(b backend.SourceBreakpoint) bool { return b.Function == name })
	}
}

// here stops at the breakpoints that match, or because a step ends.
func (f *Fake) here(bps []backend.SourceBreakpoint, match func(backend.SourceBreakpoint) bool) bool {
	var ids []int
	for _, b := range bps {
		if !match(b) || !f.counts(b) {
			continue
		}
		if b.LogMessage != "" {
			f.emit(backend.Event{Output: &backend.Output{Category: "console", Data: []byte(b.LogMessage + "\n")}})
			continue
		}
		ids = append(ids, b.ID)
	}
	switch {
	case len(ids) > 0:
		f.stop(backend.Stopped{Reason: backend.ReasonBreakpoint, Breakpoints: ids})
	case f.stepping != backend.Continue:
		f.stop(backend.Stopped{Reason: backend.ReasonStep})
	}
	return f.run()
}

// counts takes note of a hit and tells whether it is one to stop at: the n-th and each later one for a hit condition of
// n.
func (f *Fake) counts(b backend.SourceBreakpoint) bool {
	f.hits[b.ID]++
	from := 0
	for _, c := range b.HitCondition {
		from = from*10 + int(c-'0')
	}
	return f.hits[b.ID] >= from
}

// Print writes to the program's stdout or stderr.
func Print(category, text string) Step {
	return func(f *Fake) bool {
		f.emit(backend.Event{Output: &backend.Output{Category: category, Data: []byte(text)}})
		return true
	}
}

// Signal stops the program with a signal, which kills it when it is resumed.
func Signal(name, text string, addr uint64) Step {
	return func(f *Fake) bool {
		f.stop(backend.Stopped{Reason: backend.ReasonSignal, Signal: name, SignalText: text, FaultAddr: addr})
		if f.run() {
			f.exit(0, name)
		}
		return false
	}
}

// Exit ends the program.
func Exit(code int) Step {
	return func(f *Fake) bool { f.exit(code, ""); return false }
}

// Killed ends the program by a signal that the debugger does not see first, such as SIGKILL.
func Killed(signal string) Step {
	return func(f *Fake) bool { f.exit(0, signal); return false }
}

// DebuggerDies ends the backend unasked.
func DebuggerDies(why string) Step {
	return func(f *Fake) bool {
		f.dead = true
		f.endLocked(why)
		return false
	}
}

// Block waits in an MPI function or elsewhere (mpi "") until ready is closed; nil: for ever. Interrupts stop it there.
func Block(mpi string, ready <-chan struct{}) Step {
	return func(f *Fake) bool {
		f.inMPI = mpi
		f.w.changed.Broadcast()
		defer func() { f.inMPI = "" }()
		if ready != nil {
			f.w.wg.Go(func() {
				select {
				case <-ready:
					f.w.mu.Lock()
					f.w.changed.Broadcast()
					f.w.mu.Unlock()
				case <-f.w.end:
				}
			})
		}
		return f.until(func() bool {
			select {
			case <-ready:
				return true
			default:
				return false
			}
		})
	}
}

// Do runs a function of the test, without the lock.
func Do(do func()) Step {
	return func(f *Fake) bool {
		f.w.mu.Unlock()
		do()
		f.w.mu.Lock()
		return f.run()
	}
}

// interpret is the program's goroutine.
func (f *Fake) interpret() {
	defer f.w.wg.Done()
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if !f.run() { // it is at its entry
		return
	}
	for _, step := range f.Program {
		if !f.run() || !step(f) {
			return
		}
		f.w.changed.Broadcast()
	}
	f.until(func() bool { return false })
}

// run returns when the program may continue, false if it is dead.
func (f *Fake) run() bool { return f.until(func() bool { return true }) }

// until returns when the program runs and cond holds, false if it is dead; interrupts stop it meanwhile.
func (f *Fake) until(cond func() bool) bool {
	for {
		switch {
		case f.dead:
			return false
		case f.stopped:
		case f.pausing:
			f.stop(backend.Stopped{Reason: backend.ReasonPause})
			continue
		case cond():
			return true
		}
		f.w.changed.Wait()
	}
}

func (f *Fake) lineOf(line int) int {
	if to, moved := f.Moved[line]; moved {
		return to
	}
	return line
}

func (f *Fake) verify(source string, b backend.SourceBreakpoint) backend.Breakpoint {
	out := backend.Breakpoint{ID: b.ID, Verified: true, Line: f.lineOf(b.Line), Source: source}
	if why, none := f.NoCode[b.Line]; none && source != "" {
		return backend.Breakpoint{ID: b.ID, Line: b.Line, Source: source, Message: why}
	}
	if out.Line != b.Line {
		out.Message = "It was moved to the next line with code."
	}
	return out
}

func (f *Fake) setBreakpoints(req backend.SetBreakpointsRequest) []backend.Breakpoint {
	out := make([]backend.Breakpoint, len(req.Breakpoints))
	f.bps[req.Source] = nil
	for i, b := range req.Breakpoints {
		out[i] = f.verify(req.Source, b)
		if out[i].Verified {
			f.bps[req.Source] = append(f.bps[req.Source], b)
		}
	}
	return out
}

// BreakpointIDs returns the breakpoints that the rank has of a source, ascending.
func (f *Fake) BreakpointIDs(source string) []int {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	var ids []int
	for _, b := range f.bps[source] {
		ids = append(ids, b.ID)
	}
	slices.Sort(ids)
	return ids
}
