package handle

import (
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Object is a handle of the registry that is neither a datatype nor a communicator: a request, group, window, file,
// operation, error handler or info.
type Object struct {
	registry.Head
	Rank *Rank
}

// ObjectAt decodes the record at rec.
func (r *Rank) ObjectAt(k *registry.Class, rec uint64) (*Object, error) {
	head, err := r.Head(k, rec)
	if err != nil {
		return nil, err
	}
	return r.ObjectOf(head), nil
}

// ObjectOf is what a record is of.
func (r *Rank) ObjectOf(h registry.Head) *Object {
	o := r.objects[h.Address]
	if o == nil {
		o = &Object{Rank: r, Head: h}
		r.objects[h.Address] = o
	}
	return o
}

// Created says where the object was made, and how that is called: posted, opened or created. text is "" of a predefined
// one.
func (o *Object) Created() (how, text string) {
	if o.Predefined {
		return "", ""
	}
	how, text = "created", o.Rank.CreatedText(o.CallSite, o.Event)
	switch o.Class.Kind { //nolint:exhaustive // the others are created
	case registry.KindRequest:
		how = "posted"
	case registry.KindFile:
		how = "opened"
	}
	if o.State&abi.ObjectUnseen != 0 {
		text = "by a call that Cohort does not follow; first seen " + text
	}
	return how, text
}

// Common are the nodes that all kinds end with.
func (o *Object) Common() []view.Node {
	state := "live"
	switch {
	case o.Predefined:
		state = "predefined"
	case o.Freed:
		state = "freed, still used"
	}
	kids := []view.Node{view.Leaf("state", state)}
	if how, s := o.Created(); s != "" {
		kids = append(kids, view.Leaf(how, s))
	}
	return append(kids, view.Leaf("handle", o.HandleText()))
}
