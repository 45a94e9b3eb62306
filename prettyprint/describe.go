package prettyprint

// Describe shows a variable by its declared type (see [KindOfType]): value is the handle, of Fortran if fortran is set,
// or for MPI_Status its address. A null handle, one that was freed, and one of a kind that is not kept have a node that
// says so.
func Describe(r *Rank, declared string, value uint64, fortran bool) (Node, error) {
	kind := KindOfType(declared)
	if kind == 0 {
		return Node{}, errorf(KindUsage, 0, "%s is no type of MPI handles.", declared)
	}
	k := infoOf(kind)
	n, err := nodeOf(r, k, value, fortran)
	switch {
	case err == nil:
		return n, nil
	case IsKind(err, KindNull):
		n = leafNode("", k.null)
	case IsKind(err, KindFreed):
		n = leafNode("", k.shown(fortran, r.maskOf(k, value))+": a "+k.word+" that was freed")
	case IsKind(err, KindNotKept):
		n = groupNode("", k.shown(fortran, r.maskOf(k, value))+" ("+k.words()+" are not kept in this run)",
			[]Node{leafNode("why", err.Error())})
	default:
		return Node{}, err
	}
	n.Type = k.ctype
	return n, nil
}

// nodeOf shows a handle.
func nodeOf(r *Rank, k *kindInfo, value uint64, fortran bool) (Node, error) {
	switch k.kind { //nolint:exhaustive // the others are Objects
	case HandleStatus:
		s, err := r.StatusAt(value)
		if err != nil {
			return Node{}, err
		}
		return s.Node(""), nil
	case HandleDatatype:
		t, err := r.typeOfHandle(value, fortran)
		if err != nil {
			return Node{}, err
		}
		return t.Node("", r.env.Locate), nil
	case HandleComm:
		m, err := r.commOfHandle(value, fortran)
		if err != nil {
			return Node{}, err
		}
		return m.Node("", r.env.Locate), nil
	}
	o, err := r.objectOfHandle(k, value, fortran)
	if err != nil {
		return Node{}, err
	}
	return ObjectNode(o, ""), nil
}
