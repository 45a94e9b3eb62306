package call

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Shown is what a handle, or a status, is shown as: a tree, and text for the console.
type Shown struct {
	Node view.Node
	Text func(w *strings.Builder, opt view.Options) error
}

// Show decodes what a record is of.
func Show(r *handle.Rank, head registry.Head, name string) (Shown, error) {
	var n view.Node
	switch head.Class.Kind { //nolint:exhaustive // the others are Objects, and a status has no record
	case registry.KindDatatype:
		t, err := r.DatatypeAt(head.Address)
		if err != nil {
			return Shown{}, err
		}
		return Shown{t.Node(name), func(w *strings.Builder, opt view.Options) error { return t.Text(w, name, opt) }},
			nil
	case registry.KindComm:
		m, err := r.CommAt(head.Address)
		if err != nil {
			return Shown{}, err
		}
		n = m.Node(name)
	case registry.KindRequest:
		q := RequestOf(r.ObjectOf(head))
		return Shown{q.Node(name), func(w *strings.Builder, opt view.Options) error { return q.Text(w, name, opt) }},
			nil
	default:
		n = r.ObjectOf(head).Node(name)
	}
	return Shown{n, func(w *strings.Builder, opt view.Options) error { return n.Titled(w, opt) }}, nil
}

// ShowStatus shows the status at an address.
func ShowStatus(r *handle.Rank, addr uint64, name string) (Shown, error) {
	s, err := r.StatusAt(addr)
	if err != nil {
		return Shown{}, err
	}
	return Shown{s.Node(name), func(w *strings.Builder, _ view.Options) error {
		fmt.Fprintf(w, "%s: %s\n", name, s.Summary())
		return nil
	}}, nil
}

// Describe shows a variable by its declared type (see [registry.KindOf]): value is the handle, of Fortran if fortran is
// set, or for MPI_Status its address. A null handle, one that was freed, and one of a kind that is not tracked have a
// node that says so.
func Describe(r *handle.Rank, declared string, value uint64, fortran bool) (view.Node, error) {
	kind := registry.KindOf(declared)
	switch kind {
	case 0:
		return view.Node{}, fault.Errorf(fault.Usage, 0, "%s is no type of MPI handles.", declared)
	case registry.KindStatus:
		s, err := ShowStatus(r, value, "")
		return s.Node, err
	default:
	}
	k := registry.ClassOf(kind)
	var s Shown
	head, err := r.Lookup(k, value, fortran)
	if err == nil {
		s, err = Show(r, head, "")
	}
	n := s.Node
	switch {
	case err == nil:
		return n, nil
	case fault.Is(err, fault.Null):
		n = view.Leaf("", k.Null)
	case fault.Is(err, fault.Freed):
		n = view.Leaf("", r.Shown(k, value, fortran)+": a "+k.Word+" that was freed")
	case fault.Is(err, fault.NotTracked):
		n = view.Group("", r.Shown(k, value, fortran)+" ("+k.Words()+" are not tracked in this run)",
			[]view.Node{view.Leaf("why", err.Error())})
	default:
		return view.Node{}, err
	}
	n.Type = k.Ctype
	return n, nil
}
