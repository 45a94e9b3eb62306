package dap

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
)

// Bounds of one answer.
const (
	maxUnpaged = 1000    // children given at once to a client that cannot page
	maxMemory  = 4 << 20 // bytes of one readMemory
)

func scopes(k *call, a godap.ScopesArguments) (any, error) {
	c := k.c
	frame, err := c.view.frame(a.FrameId)
	if err != nil {
		return nil, err
	}
	list, err := onRank(k, frame.rank, func(b backend.Backend) ([]backend.Scope, error) {
		return b.Scopes(k.ctx, frame.frame)
	})
	if err != nil {
		return nil, err
	}
	body := godap.ScopesResponseBody{Scopes: make([]godap.Scope, 0, len(list))}
	for _, s := range list {
		body.Scopes = append(body.Scopes, godap.Scope{
			Name: s.Name, PresentationHint: s.Kind,
			VariablesReference: c.view.reference(frame.moment, frame.frame, s.Ref),
			NamedVariables:     s.Named, IndexedVariables: s.Indexed, Expensive: s.Expensive,
		})
	}
	return body, nil
}

func variables(k *call, a godap.VariablesArguments) (any, error) {
	c := k.c
	parent, err := c.view.referenced(a.VariablesReference)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Filter != "" && a.Filter != "indexed" && a.Filter != "named":
		return nil, refuse("variables does not know the filter %s: use \"indexed\", \"named\" or none",
			quoteShort(a.Filter))
	case a.Start < 0 || a.Count < 0:
		return nil, refuse("variables cannot give %d variables from number %d: both numbers must be 0 or more", a.Count,
			a.Start)
	}
	req := backend.VariablesRequest{
		Ref: parent.ref, Filter: a.Filter, Start: a.Start, Count: a.Count,
		Hex: a.Format != nil && a.Format.Hex, Addresses: c.caps.memory,
	}
	bounded := req.Count == 0 && !c.caps.paging
	if bounded {
		req.Count = maxUnpaged + 1
	}
	result, err := onRank(k, parent.rank, func(b backend.Backend) (backend.VariablesResult, error) {
		return b.Variables(k.ctx, req)
	})
	if err != nil {
		return nil, err
	}
	list := result.Variables
	more := bounded && len(list) > maxUnpaged
	if more {
		list = list[:maxUnpaged]
	}
	body := godap.VariablesResponseBody{Variables: make([]godap.Variable, 0, len(list)+1)}
	for _, v := range list {
		body.Variables = append(body.Variables, c.variable(parent, v))
	}
	if more {
		body.Variables = append(body.Variables, godap.Variable{
			Name: "...", Value: fmt.Sprintf("more than the %d shown: evaluate an element by its index", maxUnpaged),
			PresentationHint: &godap.VariablePresentationHint{Kind: "virtual", Attributes: []string{"readOnly"}},
		})
	}
	return body, nil
}

// variable is a variable of a frame as DAP has it.
func (c *client) variable(at handle, v backend.Variable) godap.Variable {
	out := godap.Variable{
		Name: v.Name, Value: v.Value, EvaluateName: v.EvaluateName,
		VariablesReference: c.view.reference(
			at.moment,
			at.frame,
			v.Ref,
		), NamedVariables: v.Named, IndexedVariables: v.Indexed,
		MemoryReference: c.memoryReference(at.rank, v),
	}
	if c.caps.variableType {
		out.Type = v.Type
	}
	if v.ReadOnly {
		out.PresentationHint = &godap.VariablePresentationHint{Attributes: []string{"readOnly"}}
	}
	return out
}

func setVariable(k *call, a godap.SetVariableArguments) (any, error) {
	c := k.c
	parent, err := c.view.referenced(a.VariablesReference)
	if err != nil {
		return nil, err
	}
	v, err := onRank(k, parent.rank, func(b backend.Backend) (backend.Variable, error) {
		return b.SetVariable(k.ctx, backend.SetVariableRequest{Ref: parent.ref, Name: a.Name, Value: a.Value})
	})
	if err != nil {
		return nil, err
	}
	c.changed(parent.rank, v.Address, largest, c)
	return godap.SetVariableResponseBody{
		Value: v.Value, Type: v.Type, VariablesReference: c.view.reference(parent.moment, parent.frame, v.Ref),
		NamedVariables: v.Named, IndexedVariables: v.Indexed,
	}, nil
}

// setExpression assigns to what an expression stands for in a frame.
func setExpression(k *call, a godap.SetExpressionArguments) (any, error) {
	c := k.c
	if a.FrameId == 0 {
		return nil, refuse("setExpression needs `frameId`, which says in which rank: take one from stackTrace")
	}
	frame, err := c.view.frame(a.FrameId)
	if err != nil {
		return nil, err
	}
	v, err := onRank(k, frame.rank, func(b backend.Backend) (backend.Variable, error) {
		return b.SetVariable(k.ctx,
			backend.SetVariableRequest{Frame: frame.frame, Name: a.Expression, Value: a.Value})
	})
	if err != nil {
		return nil, err
	}
	c.changed(frame.rank, v.Address, largest, c)
	shown := c.variable(frame, v)
	return godap.SetExpressionResponseBody{
		Value: shown.Value, Type: shown.Type, PresentationHint: shown.PresentationHint,
		VariablesReference: shown.VariablesReference, NamedVariables: shown.NamedVariables,
		IndexedVariables: shown.IndexedVariables,
	}, nil
}

// largest is the size of the largest value that can be assigned at once, in bytes.
const largest = 16

// changed tells clients that values of a rank have changed, and that so many bytes at an address have, if that is not
// 0; asker knows the values from its answer.
func (c *client) changed(rank int, address uint64, bytes int, asker *client) {
	for _, other := range c.debuggee().everyone() {
		if address != 0 && other.caps.memoryEvents {
			other.event("memory",
				godap.MemoryEventBody{MemoryReference: addressReference(rank, address), Count: bytes})
		}
		if other != asker && other.caps.invalidated {
			other.event("invalidated", godap.InvalidatedEventBody{
				Areas: []godap.InvalidatedAreas{"variables"}, ThreadId: protocol.ThreadID(rank, 1),
			})
		}
	}
}

// onRank asks the backend of a rank; its errors name the rank.
func onRank[T any](k *call, rank int, ask func(backend.Backend) (T, error)) (answer T, err error) {
	b, err := k.d.Job.Backend(rank)
	if err != nil {
		return answer, err
	}
	if answer, err = ask(b); err != nil {
		err = aboutRank(rank, err)
	}
	return answer, err
}

// aboutRank names the rank in a backend's error, which does not know it.
func aboutRank(rank int, err error) error {
	return fmt.Errorf("rank %d: %w", rank, err)
}

// addressReference names an address of a rank: "3@0x7ffe10". Clients give it back to readMemory as it is.
func addressReference(rank int, address uint64) string { return fmt.Sprintf("%d@%#x", rank, address) }

// memoryReference is what a pointer points to, or where a variable is; "" for a client that does not want it.
func (c *client) memoryReference(rank int, v backend.Variable) string {
	address := v.Address
	if v.Pointer {
		address = v.Number
	}
	if address == 0 || !c.caps.memory {
		return ""
	}
	return addressReference(rank, address)
}

// parseMemoryReference is the inverse of addressReference.
func parseMemoryReference(text string, ranks int) (rank int, address uint64, err error) {
	number, hex, _ := strings.Cut(text, "@")
	rank, rankErr := strconv.Atoi(number)
	address, err = strconv.ParseUint(hex, 0, 64)
	if err != nil || rankErr != nil || rank < 0 || rank >= ranks {
		return 0, 0, refuse("there is no memory reference %s: use that of a variable, or write RANK@ADDRESS such as "+
			"2@0x7ffe0010, with a rank below %d", quoteShort(text), ranks)
	}
	return rank, address, nil
}

// address is a memory reference with an offset, in bytes.
func (k *call) address(reference string, offset int) (rank int, address uint64, err error) {
	rank, address, err = parseMemoryReference(reference, k.d.Job.Ranks())
	if err == nil &&
		(offset < 0 && uint64(-int64(offset)) > address || offset > 0 && address > math.MaxUint64-uint64(offset)) {
		err = refuse("%s cannot start at offset %d of %s: no such address", k.asked, offset, reference)
	}
	return rank, address + uint64(int64(offset)), err
}

func writeMemory(k *call, a godap.WriteMemoryArguments) (any, error) {
	rank, address, err := k.address(a.MemoryReference, a.Offset)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(a.Data)
	if err != nil || len(data) > maxMemory {
		return nil, refuse("writeMemory needs `data`, at most %d bytes in base64: %s", maxMemory, quoteShort(a.Data))
	}
	if len(data) == 0 {
		return godap.WriteMemoryResponseBody{}, nil
	}
	if _, err := onRank(k, rank, func(b backend.Backend) (any, error) {
		return nil, b.WriteMemory(k.ctx, backend.WriteMemoryRequest{Addr: address, Data: data})
	}); err != nil {
		return nil, err
	}
	k.c.changed(rank, address, len(data), nil)
	return godap.WriteMemoryResponseBody{BytesWritten: len(data)}, nil
}

func readMemory(k *call, a godap.ReadMemoryArguments) (any, error) {
	rank, address, err := k.address(a.MemoryReference, a.Offset)
	if err != nil {
		return nil, err
	}
	if a.Count < 0 || a.Count > maxMemory {
		return nil, refuse("readMemory cannot give %d bytes: ask for 0 to %d at once", a.Count, maxMemory)
	}
	body := godap.ReadMemoryResponseBody{Address: fmt.Sprintf("%#x", address)}
	if a.Count == 0 {
		return body, nil
	}
	if _, err := k.stopped(rank); err != nil {
		return nil, err
	}
	data, err := onRank(k, rank, func(b backend.Backend) ([]byte, error) {
		return b.ReadMemory(k.ctx, address, a.Count)
	})
	if err != nil && k.ctx.Err() != nil {
		return nil, err
	}
	// DAP: that nothing is readable there is no error.
	body.Data = base64.StdEncoding.EncodeToString(data)
	body.UnreadableBytes = a.Count - len(data)
	return body, nil
}

// relative is the frame as Job.Evaluate wants it, with its level counted from the first frame that is shown.
func (k *call) relative(frame handle) (backend.FrameID, error) {
	s, err := k.stopped(frame.rank)
	if err != nil {
		return backend.FrameID{}, err
	}
	id := frame.frame
	if s.Stop.Thread == id.Thread {
		id.Level = max(id.Level-s.Hidden, 0)
	}
	return id, nil
}

// oneAnswer is the answer of the only rank that was asked.
func oneAnswer(rank int, results []job.MergedResult, err error) (backend.EvaluateResult, error) {
	switch {
	case err != nil:
		return backend.EvaluateResult{}, err
	case len(results) != 1:
		return backend.EvaluateResult{}, refuse("rank %d has not answered", rank)
	case results[0].Err != "":
		return backend.EvaluateResult{}, quietly("%s", results[0].Err)
	}
	return results[0].Result, nil
}
