package jobtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// A Method names a method of backend.Backend.
type Method string

// The methods.
const (
	Launch         Method = "Launch"
	SetBreakpoints Method = "SetBreakpoints"
	Resume         Method = "Resume"
	Interrupt      Method = "Interrupt"
	Threads        Method = "Threads"
	StackTrace     Method = "StackTrace"
	Scopes         Method = "Scopes"
	Variables      Method = "Variables"
	SetVariable    Method = "SetVariable"
	Evaluate       Method = "Evaluate"
	ReadMemory     Method = "ReadMemory"
	WriteMemory    Method = "WriteMemory"
	Control        Method = "Control"
	Input          Method = "Input"
	Kill           Method = "Kill"
)

// A Call is one request that reached a Fake, in the order of arrival.
type Call struct {
	Method  Method
	Request any // its argument, if it has one
}

// Fake is a backend.Backend whose program is a script. Its fields may be set before Launch.
type Fake struct {
	Rank int
	// Program is what it does once it is resumed from its entry; at the end it waits until it is interrupted or killed.
	Program []Step
	// NoControl: the rank has no control block.
	NoControl bool
	// EntryEvent: the stop at entry is sent as an event too, before Launch returns.
	EntryEvent bool
	// DeafToInterrupt: Interrupt is accepted and nothing follows, as when a process hangs in the kernel.
	DeafToInterrupt bool
	// NoCode maps lines without code to the message that a breakpoint there gets; Moved maps lines to the line at which
	// a breakpoint ends up.
	NoCode map[int]string
	Moved  map[int]int
	// Values are what expressions evaluate to; anything else is an error. OnEvaluate, if set, is asked instead.
	Values     map[string]string
	OnEvaluate func(backend.EvaluateRequest) (backend.EvaluateResult, error)
	// Answers to reads, if set; otherwise they are made up from the program's place and Values.
	OnThreads     func() ([]backend.Thread, error)
	OnStackTrace  func(backend.StackTraceRequest) (backend.StackTraceResult, error)
	OnScopes      func(backend.FrameID) ([]backend.Scope, error)
	OnVariables   func(backend.VariablesRequest) (backend.VariablesResult, error)
	OnSetVariable func(backend.SetVariableRequest) (backend.Variable, error)
	OnReadMemory  func(addr uint64, n int) ([]byte, error)
	OnWriteMemory func(backend.WriteMemoryRequest) error

	w     *World
	hooks map[Method]func(context.Context) error

	calls    []Call
	line     []int // tickets of serial requests in order of arrival; the first is being carried out
	tickets  int
	launched bool
	dead     bool // the program has ended
	ended    bool // the backend has ended
	endedWhy string
	done     chan struct{} // closed when ended
	stopped  bool
	stepping backend.ResumeKind
	pausing  bool // Interrupt was asked
	file     string
	at       int
	function string
	inMPI    string // the MPI function that the program is in
	ctl      controlBlock
	bps      map[string][]backend.SourceBreakpoint
	hits     map[int]int
	input    []byte
	inputEOF bool

	queue  []backend.Event
	events chan backend.Event
}

var _ backend.Backend = (*Fake)(nil)

func newFake(w *World, rank int) *Fake {
	f := &Fake{
		Rank: rank, w: w, hooks: map[Method]func(context.Context) error{}, done: make(chan struct{}),
		file: "/src/main.c", at: 1, function: "main",
		bps: map[string][]backend.SourceBreakpoint{}, hits: map[int]int{}, events: make(chan backend.Event),
		ctl: controlBlock{parkAt: abi.Never, guardAt: abi.Never},
	}
	w.wg.Add(1)
	go f.pump()
	return f
}

// pump delivers the queue, which has no bound, to whoever reads Events.
func (f *Fake) pump() {
	defer f.w.wg.Done()
	defer close(f.events)
	for {
		f.w.mu.Lock()
		for len(f.queue) == 0 {
			f.w.changed.Wait()
		}
		e := f.queue[0]
		f.queue = f.queue[1:]
		f.w.mu.Unlock()
		select {
		case f.events <- e:
		case <-f.w.end:
			return
		}
		if e.Ended != nil {
			return
		}
	}
}

// Events is the stream; see backend.Backend.
func (f *Fake) Events() <-chan backend.Event { return f.events }

func (f *Fake) emit(e backend.Event) {
	f.queue = append(f.queue, e)
	f.w.changed.Broadcast()
}

// Emit sends any event, such as a breakpoint that was verified late.
func (f *Fake) Emit(e backend.Event) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.emit(e)
}

// Print sends output of the program.
func (f *Fake) Print(category, text string) {
	f.Emit(backend.Event{Output: &backend.Output{Category: category, Data: []byte(text)}})
}

// Stop stops a running program now, for the given reason.
func (f *Fake) Stop(s backend.Stopped) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.launched && !f.dead && !f.stopped {
		f.stop(s)
	}
}

// Exit ends the program, as if it had called exit, or with a signal as if that had killed it.
func (f *Fake) Exit(code int, signal string) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.exit(code, signal)
}

// End ends the backend unasked, as when gdb crashes or the connection is cut. The program's end is not seen.
func (f *Fake) End(why string) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.dead = true
	f.endLocked(why)
}

// Ended tells whether the backend has ended.
func (f *Fake) Ended() bool {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return f.ended
}

// Calls returns the requests so far.
func (f *Fake) Calls() []Call {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return slices.Clone(f.calls)
}

// Called counts the requests of one method so far.
func (f *Fake) Called(m Method) int {
	n := 0
	for _, c := range f.Calls() {
		if c.Method == m {
			n++
		}
	}
	return n
}

// WaitCalled returns when a method has been called n times in all.
func (f *Fake) WaitCalled(ctx context.Context, m Method, n int) error {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	err := f.w.wait(ctx, func() bool {
		got := 0
		for _, c := range f.calls {
			if c.Method == m {
				got++
			}
		}
		return got >= n
	})
	if err != nil {
		return fmt.Errorf("rank %d: waiting for call %d of %s: %w", f.Rank, n, m, err)
	}
	return nil
}

// WaitIn returns when the program is in the named MPI function.
func (f *Fake) WaitIn(ctx context.Context, function string) error {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if err := f.w.wait(ctx, func() bool { return f.inMPI == function }); err != nil {
		return fmt.Errorf("rank %d: waiting for it to be in %s: %w", f.Rank, function, err)
	}
	return nil
}

// InputBytes returns what Input was given.
func (f *Fake) InputBytes() (data []byte, eof bool) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return slices.Clone(f.input), f.inputEOF
}

// stop stops the program and says so. Locked.
func (f *Fake) stop(s backend.Stopped) {
	f.stopped = true
	f.pausing = false
	if s.Thread == 0 {
		s.Thread = 1
	}
	if s.Frames == nil {
		s.Frames = f.frames(s.Reason == backend.ReasonStopPoint)
	}
	if s.Threads == nil {
		s.Threads = []backend.Thread{{ID: 1, Name: "main"}}
	}
	s.Control = f.snapshot()
	f.emit(backend.Event{Stopped: &s})
}

func (f *Fake) exit(code int, signal string) {
	if f.dead {
		return
	}
	f.dead = true
	if f.launched {
		if last := f.snapshot(); last.Present {
			f.emit(backend.Event{Control: &last})
		}
		f.emit(backend.Event{Exited: &backend.Exited{Code: code, Signal: signal}})
	}
	f.w.changed.Broadcast()
}

func (f *Fake) endLocked(why string) {
	if f.ended {
		return
	}
	f.ended = true
	f.endedWhy = why
	close(f.done)
	f.emit(backend.Event{Ended: &backend.Ended{Err: why}})
}

// frames is the stack: the interposer's frames, if the program is in them, and one function of the program's. Locked.
func (f *Fake) frames(stopPoint bool) []backend.Frame {
	var out []backend.Frame
	push := func(fr backend.Frame) {
		fr.ID = backend.FrameID{Thread: 1, Level: len(out)}
		fr.PC = 0x1000 + uint64(len(out))
		out = append(out, fr)
	}
	if stopPoint {
		push(backend.Frame{Function: "cohort_stop_here", Internal: true})
		push(backend.Frame{Function: "cohort_end_event", Internal: true})
	}
	if f.inMPI != "" {
		push(backend.Frame{Function: f.inMPI, Internal: true})
	}
	push(backend.Frame{Function: f.function, File: f.file, Line: f.at})
	if f.function != "main" {
		push(backend.Frame{Function: "main", File: f.file, Line: 1})
	}
	return out
}
