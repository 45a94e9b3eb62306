package call

import (
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Describe shows a variable by its declared type (see [KindOfType]): value is the handle, of Fortran if fortran is set,
// or for MPI_Status its address. A null handle, one that was freed, and one of a kind that is not kept have a node that
// says so.
func Describe(r *handle.Rank, declared string, value uint64, fortran bool) (view.Node, error) {
	kind := registry.KindOf(declared)
	if kind == 0 {
		return view.Node{}, fault.Errorf(fault.Usage, 0, "%s is no type of MPI handles.", declared)
	}
	k := registry.ClassOf(kind)
	n, err := nodeOf(r, k, value, fortran)
	switch {
	case err == nil:
		return n, nil
	case fault.Is(err, fault.Null):
		n = view.Leaf("", k.Null)
	case fault.Is(err, fault.Freed):
		n = view.Leaf("", k.Shown(fortran, r.MaskOf(k, value))+": a "+k.Word+" that was freed")
	case fault.Is(err, fault.NotKept):
		n = view.Group("", k.Shown(fortran, r.MaskOf(k, value))+" ("+k.Words()+" are not kept in this run)",
			[]view.Node{view.Leaf("why", err.Error())})
	default:
		return view.Node{}, err
	}
	n.Type = k.Ctype
	return n, nil
}

// nodeOf shows a handle.
func nodeOf(r *handle.Rank, k *registry.Class, value uint64, fortran bool) (view.Node, error) {
	switch k.Kind { //nolint:exhaustive // the others are Objects
	case registry.KindStatus:
		s, err := r.StatusAt(value)
		if err != nil {
			return view.Node{}, err
		}
		return s.Node(""), nil
	case registry.KindDatatype:
		t, err := r.DatatypeOfHandle(value, fortran)
		if err != nil {
			return view.Node{}, err
		}
		return t.Node(""), nil
	case registry.KindComm:
		m, err := r.CommOfHandle(value, fortran)
		if err != nil {
			return view.Node{}, err
		}
		return m.Node(""), nil
	}
	o, err := r.ObjectOfHandle(k, value, fortran)
	if err != nil {
		return view.Node{}, err
	}
	return ObjectNode(o, ""), nil
}
