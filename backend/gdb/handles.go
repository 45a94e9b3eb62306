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
		handle, ok := handleValue(v.Value)
		if !ok {
			handle, ok = b.fortranHandle(ctx, v)
		}
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
		if len(tree.Children) == 0 {
			continue
		}
		ref, err := do(ctx, b, func(_ context.Context, o *owner) (backend.Ref, error) {
			return o.refs.add(&node{kind: decoded, frame: v.frame, decoded: tree.Children}), nil
		})
		if err == nil {
			out[i].Ref, out[i].Named, out[i].Indexed = ref, len(tree.Children), 0
		}
	}
	return out
}

// fortranHandle reads the handle in a TYPE(MPI_Datatype) of mpi_f08 and the like: an INTEGER of that name is all that they hold (MPI-3.1, 17.2.5).
func (b *Backend) fortranHandle(ctx context.Context, v shown) (uint64, bool) {
	if !strings.HasPrefix(v.Type, "Type ") || v.EvaluateName == "" {
		return 0, false
	}
	inner, err := b.Evaluate(ctx, backend.EvaluateRequest{Frame: v.frame, Expression: v.EvaluateName + "%mpi_val", Context: backend.ContextHover})
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

func (o *owner) decodedChildren(n *node, req backend.VariablesRequest) []shown {
	from, to := pageOf(req.Start, req.Count, len(n.decoded))
	var out []shown
	for _, t := range n.decoded[from:to] {
		s := shown{Variable: backend.Variable{Name: t.Name, Value: t.Value, Type: t.Type, ReadOnly: true, Named: len(t.Children)}}
		if len(t.Children) > 0 {
			s.Ref = o.refs.add(&node{kind: decoded, frame: n.frame, decoded: t.Children})
		}
		out = append(out, s)
	}
	return out
}
