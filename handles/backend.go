package handles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// A Backend is a rank's debugger with MPI in it: mpipp in the console, the meaning of variables that are handles, and
// the MPI calls of a line among its locals. All else it hands on.
type Backend struct {
	backend.Debugger
	decoder *Decoder
	log     *slog.Logger
	events  chan backend.Event
	names   aliases

	mu    sync.Mutex
	stop  uint64              // counts the times that the rank resumed, or was seen to have stopped
	refs  map[backend.Ref]ref // that were given out in this stop
	last  backend.Ref         // of our own
	first backend.Ref         // of our own in this stop
}

// ref is what there is to know of a reference.
type ref struct {
	node  *view.Node      // of one of our own
	frame backend.FrameID // of one that the debugger gave out
	calls []view.Node     // that come first in it: it is a frame's locals
}

// base is above every reference of a debugger.
const base backend.Ref = 1 << 40

// Around returns a rank's debugger with MPI in it. The decoder must be of the same rank. Its Events must be read.
func Around(rank backend.Debugger, decoder *Decoder, log *slog.Logger) *Backend {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Backend{Debugger: rank, decoder: decoder, log: log, events: make(chan backend.Event), last: base}
	b.forget()
	go b.forward()
	return b
}

// Events implements backend.Backend.
func (b *Backend) Events() <-chan backend.Event { return b.events }

func (b *Backend) forward() {
	defer close(b.events)
	for e := range b.Debugger.Events() {
		if e.Stopped != nil || e.Resumed || e.Exited != nil || e.Ended != nil {
			b.forget()
		}
		b.events <- e
	}
}

// forget makes every reference invalid.
func (b *Backend) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.decoder.Forget()
	b.stop++
	b.first = b.last + 1
	b.refs = map[backend.Ref]ref{}
}

func (b *Backend) now() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stop
}

// Resume implements backend.Backend.
func (b *Backend) Resume(ctx context.Context, req backend.ResumeRequest) error {
	stop := b.now()
	err := b.Debugger.Resume(ctx, req)
	if err == nil && b.now() == stop { // else it has stopped again, and that was seen
		b.forget()
	}
	return err
}

// Scopes implements backend.Backend: the MPI calls that a frame is in, or that its line holds, are among its locals.
func (b *Backend) Scopes(ctx context.Context, frame backend.FrameID) ([]backend.Scope, error) {
	stop := b.now()
	scopes, err := b.Debugger.Scopes(ctx, frame)
	if err != nil {
		return nil, err
	}
	calls := b.callsAt(ctx, frame)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != stop {
		return scopes, nil
	}
	for i := range scopes {
		s, of := &scopes[i], ref{frame: frame}
		if s.Kind == "locals" {
			of.calls = calls
			s.Named += len(calls)
		}
		b.refs[s.Ref] = of
		if s.Kind == "locals" && len(calls) > 0 && i > 0 && scopes[0].Kind == "arguments" { // the locals were empty
			scopes[0], scopes[i] = scopes[i], scopes[0]
		}
	}
	return scopes, nil
}

func (b *Backend) callsAt(ctx context.Context, id backend.FrameID) []view.Node {
	frame, err := b.FrameAt(ctx, id)
	if err != nil || frame.NoSource && frame.Module == "" {
		return nil
	}
	calls, err := b.decoder.Calls(ctx, frame)
	if err != nil {
		b.log.Debug("the MPI calls of a line are not shown", "file", frame.File, "line", frame.Line, "error", err)
	}
	return calls
}

// Variables implements backend.Backend.
func (b *Backend) Variables(ctx context.Context, req backend.VariablesRequest) (backend.VariablesResult, error) {
	b.mu.Lock()
	stop, of := b.stop, b.refs[req.Ref]
	stale := req.Ref > base && req.Ref < b.first
	b.mu.Unlock()
	switch {
	case stale:
		return backend.VariablesResult{}, fmt.Errorf(
			"the variables reference %d is from before the rank resumed; ask for the scopes again", req.Ref)
	case of.node != nil:
		vs, err := b.children(ctx, of.node, req, stop)
		return backend.VariablesResult{Variables: vs}, err
	}
	from, to := page(req.Start, req.Count, len(of.calls))
	out := b.opened(of.calls[from:to], stop)
	if req.Count > 0 {
		if req.Count -= len(out); req.Count == 0 {
			return backend.VariablesResult{Variables: out}, nil
		}
	}
	req.Start = max(req.Start-len(of.calls), 0)
	rest, err := b.Debugger.Variables(ctx, req)
	if err != nil {
		return rest, err
	}
	for i := range rest.Variables {
		b.describe(ctx, of.frame, &rest.Variables[i], stop)
	}
	return backend.VariablesResult{Variables: append(out, rest.Variables...)}, nil
}

// SetVariable implements backend.Backend.
func (b *Backend) SetVariable(ctx context.Context, req backend.SetVariableRequest) (backend.Variable, error) {
	if req.Ref > base {
		return backend.Variable{}, fmt.Errorf("%s is part of a decoded MPI object, which cannot be set", req.Name)
	}
	defer b.decoder.Forget()
	return b.Debugger.SetVariable(ctx, req)
}

// Evaluate implements backend.Backend.
func (b *Backend) Evaluate(ctx context.Context, req backend.EvaluateRequest) (backend.EvaluateResult, error) {
	stop := b.now()
	if line, ok := mpippLine(req.Expression); ok && req.Context == backend.ContextREPL {
		result, node, err := b.decoder.Run(ctx, req.Frame, line)
		if err == nil {
			b.openable(&result.Variable, node, stop)
		}
		return result, err
	}
	result, err := b.Debugger.Evaluate(ctx, req)
	if req.Context == backend.ContextREPL { // which may have changed the rank
		b.decoder.Forget()
	}
	if err != nil {
		return result, err
	}
	text := result.Value
	b.describe(ctx, req.Frame, &result.Variable, stop)
	if result.Text == text {
		result.Text = result.Value
	}
	return result, nil
}

// mpippLine reports whether a line of the console is the MPI pretty printer's, and returns what follows its name.
func mpippLine(line string) (args string, ok bool) {
	args, ok = strings.CutPrefix(strings.TrimSpace(line), "mpipp")
	if !ok || args != "" && args[0] != ' ' && args[0] != '\t' {
		return "", false
	}
	return strings.TrimSpace(args), true
}

// describe gives a variable its meaning if it is an MPI handle, and notes the frame of what is in it.
func (b *Backend) describe(ctx context.Context, frame backend.FrameID, v *backend.Variable, stop uint64) {
	if v.Ref != 0 {
		b.note(v.Ref, ref{frame: frame}, stop)
	}
	kind := b.names.handleKind(ctx, b, frame, v)
	if kind == "" {
		return
	}
	if !handleGo.MatchString(v.Type) {
		v.Type = kind
	}
	value, ok := handleValue(ctx, b, frame, v, kind)
	if !ok {
		return
	}
	node, err := b.decoder.Describe(ctx, kind, value)
	if err != nil {
		b.log.Debug("an MPI handle is not described", "type", v.Type, "error", err)
		return
	}
	if node.Value != "" {
		v.Value = node.Value
	}
	b.openable(v, node, stop)
}

// note remembers what a reference is of, or if it is 0 gives one out, unless the rank has resumed since.
func (b *Backend) note(at backend.Ref, of ref, stop uint64) backend.Ref {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != stop {
		return 0
	}
	if at == 0 {
		b.last++
		at = b.last
	}
	b.refs[at] = of
	return at
}

// openable gives a variable the children of a node, unless the rank has resumed since.
func (b *Backend) openable(v *backend.Variable, n view.Node, stop uint64) {
	if n.Len() == 0 {
		return
	}
	if at := b.note(0, ref{node: &n}, stop); at != 0 {
		v.Ref, v.Named, v.Indexed = at, n.Named, n.Indexed
	}
}

// opened shows nodes as variables.
func (b *Backend) opened(nodes []view.Node, stop uint64) []backend.Variable {
	out := make([]backend.Variable, len(nodes))
	for i, n := range nodes {
		out[i] = n.Variable
		b.openable(&out[i], n, stop)
	}
	return out
}

// mostChildren bounds a request for all children of a decoded object.
const mostChildren = 1000

// children opens a page of a node.
func (b *Backend) children(ctx context.Context, n *view.Node, req backend.VariablesRequest, stop uint64,
) ([]backend.Variable, error) {
	if n.Indexed > 0 && req.Filter == "named" || n.Named > 0 && req.Filter == "indexed" {
		return nil, nil
	}
	from, to := page(req.Start, req.Count, n.Len())
	rest := 0
	if req.Count == 0 && to-from > mostChildren {
		rest = to - from - mostChildren
		to = from + mostChildren
	}
	kids, err := b.decoder.Children(ctx, n, from, to)
	if err != nil {
		return nil, err
	}
	if rest > 0 {
		kids = append(kids, view.Leaf("…", fmt.Sprintf("%d more; ask for a range, or mpipp --from in the console",
			rest)))
	}
	if b.now() != stop {
		return nil, errors.New("cannot read variables: the rank has resumed")
	}
	return b.opened(kids, stop), nil
}

// page clips [start, start+count) to n elements; count 0 is all the rest.
func page(start, count, n int) (from, to int) {
	from = min(max(start, 0), n)
	if count > 0 && count < n-from {
		return from, from + count
	}
	return from, n
}
