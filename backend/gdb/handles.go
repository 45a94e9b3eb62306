package gdb

import (
	"context"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
)

// describe gives variables of MPI handle types their meaning, outside the owner's goroutine because
// the describer asks this backend for memory.
func (b *Backend) describe(ctx context.Context, vs []shown) []backend.Variable {
	out := make([]backend.Variable, len(vs))
	describer, _ := b.decoder.(backend.HandleDescriber)
	for i, v := range vs {
		out[i] = v.Variable
		if !v.handle || describer == nil {
			continue
		}
		handle, ok := b.handleOf(ctx, v)
		if !ok {
			continue
		}
		tree, err := describer.DescribeHandle(ctx, v.Type, handle)
		if err != nil {
			b.log.Debug("an MPI handle is not described", "type", v.Type, "error", err)
			continue
		}
		if tree.Value != "" {
			out[i].Value = tree.Value
		}
		if tree.Len == 0 {
			continue
		}
		if err := b.openable(ctx, &out[i], tree, v.generation); err != nil {
			b.log.Debug("an MPI handle cannot be opened", "type", v.Type, "error", err)
		}
	}
	return out
}

// openable gives a variable the children of a tree, unless the rank has gone on since.
func (b *Backend) openable(ctx context.Context, v *backend.Variable, tree backend.HandleTree, generation uint64) error {
	ref, err := do(ctx, b, func(_ context.Context, o *owner) (backend.Ref, error) {
		if o.refs.generation != generation {
			return 0, nil
		}
		return o.refs.add(&node{kind: decoded, tree: tree}), nil
	})
	if err != nil || ref == 0 {
		return err
	}
	v.Ref, v.Named, v.Indexed = ref, tree.Len, 0
	if tree.Indexed {
		v.Named, v.Indexed = 0, tree.Len
	}
	return nil
}

// handleOf is what a HandleDescriber is given of a variable: the handle, or the place of a status, which is no handle.
func (b *Backend) handleOf(ctx context.Context, v shown) (uint64, bool) {
	if isStatus(v.Type) {
		if v.Address != 0 || v.EvaluateName == "" {
			return v.Address, v.Address != 0
		}
		at, err := do(ctx, b, func(ctx context.Context, o *owner) (string, error) {
			return o.value(ctx, v.frame, "&("+v.EvaluateName+")")
		})
		if err != nil {
			return 0, false
		}
		return leadingAddress(at)
	}
	if handle, ok := handleValue(v.Value); ok {
		return handle, true
	}
	return b.fortranHandle(ctx, v)
}

func isStatus(typ string) bool { return strings.HasSuffix(strings.ToLower(typ), "mpi_status") }

// fortranHandle reads the handle in a TYPE(MPI_Datatype) of mpi_f08 and the like: an INTEGER of that name is all that
// they hold (MPI-3.1, 17.2.5).
func (b *Backend) fortranHandle(ctx context.Context, v shown) (uint64, bool) {
	if !strings.HasPrefix(v.Type, "Type ") || v.EvaluateName == "" {
		return 0, false
	}
	inner, err := b.Evaluate(ctx, backend.EvaluateRequest{
		Frame: v.frame, Expression: v.EvaluateName + "%mpi_val",
		Context: backend.ContextHover,
	})
	if err != nil {
		return 0, false
	}
	return handleValue(inner.Value)
}

// handleValue reads gdb's text of a handle: MPICH's are integers, Open MPI's pointers.
func handleValue(text string) (uint64, bool) {
	if a, ok := leadingAddress(text); ok {
		return a, true
	}
	first, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(first, 10, 64)
	return uint64(uint32(n)), err == nil
}

// mpipp runs a line of the MPI pretty printer, in the caller's goroutine because the decoder asks this backend for
// memory and values.
func (b *Backend) mpipp(ctx context.Context, frame backend.FrameID, line string) (backend.EvaluateResult, error) {
	console, ok := b.decoder.(backend.HandleConsole)
	if !ok {
		return b.decoder.Command(ctx, frame, line)
	}
	generation, err := b.generation(ctx)
	if err != nil {
		return backend.EvaluateResult{}, err
	}
	result, tree, err := console.Run(ctx, frame, line)
	if err == nil && tree.Len > 0 {
		err = b.openable(ctx, &result.Variable, tree, generation)
	}
	return result, err
}

func (b *Backend) generation(ctx context.Context) (uint64, error) {
	return do(ctx, b, func(_ context.Context, o *owner) (uint64, error) { return o.refs.generation, nil })
}

// scopes are what the owner has to tell of a frame.
type scopesOf struct {
	scopes     []backend.Scope
	frame      backend.Frame
	generation uint64
}

// withCalls puts the MPI calls that a frame is in, or that its line holds, among its locals.
func (b *Backend) withCalls(ctx context.Context, s scopesOf) ([]backend.Scope, error) {
	describer, ok := b.decoder.(backend.CallDescriber)
	if !ok || s.frame.NoSource && s.frame.Module == "" {
		return s.scopes, nil
	}
	calls, err := describer.DescribeCalls(ctx, s.frame)
	if err != nil {
		b.log.Debug("the MPI calls of a line are not shown", "file", s.frame.File, "line", s.frame.Line, "error", err)
	}
	if len(calls) == 0 {
		return s.scopes, nil
	}
	return do(ctx, b, func(_ context.Context, o *owner) ([]backend.Scope, error) {
		for i := range s.scopes {
			n := o.refs.nodes[s.scopes[i].Ref]
			if n == nil || n.kind != locals {
				continue
			}
			n.calls = calls
			s.scopes[i].Named += len(calls)
			if i > 0 && s.scopes[0].Kind == "arguments" { // the locals were empty
				s.scopes[0], s.scopes[i] = s.scopes[i], s.scopes[0]
			}
			break
		}
		return s.scopes, nil
	})
}

// opened shows decoded trees as variables.
func (o *owner) opened(trees []backend.HandleTree) []shown {
	out := make([]shown, 0, len(trees))
	for _, t := range trees {
		s := shown{Variable: backend.Variable{
			Name: t.Name, Value: t.Value, Type: t.Type, Address: t.Address,
			ReadOnly: true,
		}}
		if t.Len > 0 {
			s.Ref = o.refs.add(&node{kind: decoded, tree: t})
			s.Named = t.Len
			if t.Indexed {
				s.Named, s.Indexed = 0, t.Len
			}
		}
		out = append(out, s)
	}
	return out
}

// mostDecoded bounds a request for all children of a decoded object.
const mostDecoded = 1000

// decodedChildren opens a page of a tree, outside the owner's goroutine.
func (b *Backend) decodedChildren(ctx context.Context, n *node, req backend.VariablesRequest,
	generation uint64,
) ([]shown, error) {
	if n.tree.Indexed && req.Filter == "named" || !n.tree.Indexed && req.Filter == "indexed" {
		return nil, nil
	}
	from, to := pageOf(req.Start, req.Count, n.tree.Len)
	rest := 0
	if req.Count == 0 && to-from > mostDecoded {
		rest = to - from - mostDecoded
		to = from + mostDecoded
	}
	kids, err := n.tree.Open(ctx, from, to)
	if err != nil {
		return nil, err
	}
	if rest > 0 {
		kids = append(kids, backend.HandleTree{Name: "…", Value: strconv.Itoa(rest) +
			" more; ask for a range, or mpipp --from in the console"})
	}
	return do(ctx, b, func(_ context.Context, o *owner) ([]shown, error) {
		if o.refs.generation != generation {
			return nil, &backend.StateError{
				Asked: "read variables",
				State: "no more where it was: it has gone on meanwhile",
			}
		}
		return o.opened(kids), nil
	})
}

// Living tells that there is a process, on the host of this gdb; of a core file there is none.
func (b *Backend) Living() bool {
	alive, err := do(b.life, b, func(_ context.Context, o *owner) (bool, error) {
		return o.core == nil && o.pid != 0, nil
	})
	return err == nil && alive
}
