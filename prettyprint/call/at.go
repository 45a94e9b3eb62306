package call

import (
	"fmt"
	"slices"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// At finds what of MPI holds the byte at an address: a node for each buffer of a call in progress, or else of the
// frame's line, of an active request, and of a window, opened into the elements. problems is what could not be looked
// at.
func At(r *handle.Rank, res Resolver, addr uint64) (found []view.Node, problems []error) {
	add := func(name, value string, c *Call) {
		if kids := c.holding(addr); len(kids) > 0 {
			found = append(found, view.Group(name, value, kids))
		}
	}
	running, err := InProgress(r, res.CallAt)
	if err != nil {
		problems = append(problems, err)
	}
	for i := range running {
		add("call", running[i].Line(), running[i].Call)
	}
	if len(running) == 0 {
		calls, err := res.CallsOnLine(r)
		if err != nil {
			problems = append(problems, err)
		}
		for _, c := range calls {
			add("call", fmt.Sprintf("%s %s: %s", c.Name, c.how(), c.Summary()), c)
		}
	}
	for _, h := range heads(r, registry.KindRequest, &problems) {
		if q := RequestOf(r.ObjectOf(h)); h.State&abi.RequestActive != 0 {
			add(fmt.Sprintf("request 0x%x", h.Handle), q.Line(), q.Call())
		}
	}
	for _, h := range heads(r, registry.KindWindow, &problems) {
		w := abi.Read[abi.Window](h.Raw)
		if at := addr - w.Base; w.Base != 0 && at < uint64(max(w.Bytes, 0)) {
			place := fmt.Sprintf("byte %s of this rank's part", view.Grouped(int64(at)))
			if unit := uint64(max(w.DispUnit, 1)); unit > 1 {
				place += fmt.Sprintf(": displacement %d and %s", at/unit, view.ByteCount(int64(at%unit)))
			}
			found = append(found, view.Group(fmt.Sprintf("window 0x%x", h.Handle), r.ObjectOf(h).Summary(),
				[]view.Node{view.Leaf("window", place)}))
		}
	}
	return found, problems
}

// heads are the records of a kind, with the requests that the program has freed; of a kind that is not tracked, none.
func heads(r *handle.Rank, kind registry.Kind, problems *[]error) []registry.Head {
	k := registry.ClassOf(kind)
	if r.Header.Features&k.Feature == 0 {
		return nil // calls in progress are not tracked either then, and say so
	}
	all, bad, _, err := r.Heads(k)
	*problems = append(*problems, bad...)
	if err == nil && kind == registry.KindRequest {
		var freed []registry.Head
		freed, err = r.Detached()
		all = slices.Concat(all, freed)
	}
	if err != nil {
		*problems = append(*problems, err)
	}
	return all
}

// holding are the elements of the call's buffers that hold the byte at an address.
func (c *Call) holding(addr uint64) (kids []view.Node) {
	for i := range c.sides {
		s := &c.sides[i]
		if s.none || s.err != nil {
			continue
		}
		for j := range s.parts {
			p := &s.parts[j]
			if b, err := p.buffer(c.r); err == nil {
				kids = append(kids, Holding(b, addr, s.verb+p.label)...)
			}
		}
	}
	return kids
}

// Holding are the elements of a buffer that hold the byte at an address, each called what it is in. A byte between them
// is said to be in a gap.
func Holding(b *datatype.Buffer, addr uint64, name string) (kids []view.Node) {
	found, near := b.At(addr)
	for _, h := range found {
		kids = append(kids, view.Leaf(name, fmt.Sprintf("%s at 0x%x, its byte %d: %s", h.Address, h.Memory, h.Byte,
			h.Text)))
	}
	if near {
		kids = append(kids, view.Leaf(name, "a gap: the byte lies between those that the datatype selects"))
	}
	return kids
}
