package base

import (
	"fmt"

	"github.com/cohort-debugger/cohort/backend"
)

// Refs maps the references that clients hold to what they stand for. Numbers are never used again, so that one from
// before a resume is recognised.
type Refs[N any] struct {
	nodes map[backend.Ref]N
	last  backend.Ref // of all
	old   backend.Ref // the last of the stops before
}

// Add makes a reference.
func (r *Refs[N]) Add(n N) backend.Ref {
	if r.nodes == nil {
		r.nodes = map[backend.Ref]N{}
	}
	r.last++
	r.nodes[r.last] = n
	return r.last
}

// Get returns what a reference stands for.
func (r *Refs[N]) Get(ref backend.Ref) (N, error) {
	n, ok := r.nodes[ref]
	switch {
	case ok:
		return n, nil
	case ref > 0 && ref <= r.old:
		return n, fmt.Errorf("the variables reference %d is from before the rank resumed; ask for the scopes again",
			ref)
	}
	return n, fmt.Errorf("there is no variables reference %d", ref)
}

// Clear makes all references invalid.
func (r *Refs[N]) Clear() {
	clear(r.nodes)
	r.old = r.last
}

// Page clips [start, start+count) to n elements; count 0 is all the rest.
func Page(start, count, n int) (from, to int) {
	from = min(max(start, 0), n)
	if count > 0 && count < n-from {
		return from, from + count
	}
	return from, n
}

// MostListed bounds a request for all children, and More stands for the others.
func More(n int) backend.Variable {
	return backend.Variable{Name: "…", Value: fmt.Sprintf("%d more elements; ask for a range", n), ReadOnly: true}
}
