package call

import (
	"encoding/binary"
	"fmt"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// requestArray is an array of handles of requests in the rank.
type requestArray struct {
	addr    uint64
	n       int64
	fortran bool // its handles are Fortran's
}

// readRequests returns what gives each of the requests.
func readRequests(r *handle.Rank, a requestArray) (at func(i int) (*Request, error), err error) {
	switch {
	case a.n < 0:
		return nil, fault.Errorf(fault.Usage, 0, "the count %d is negative", a.n)
	case a.n > registry.MaxParts:
		return nil, fault.Errorf(fault.TooLarge, 0, "%d requests, of which at most %d are shown", a.n,
			registry.MaxParts)
	}
	size := r.HandleSize()
	if a.fortran {
		size = 4
	}
	b, err := r.ReadArray("the array of requests", a.addr, int(a.n), size)
	if err != nil {
		return nil, err
	}
	return func(i int) (*Request, error) {
		h := uint64(0)
		if size == 8 {
			h = binary.LittleEndian.Uint64(b[8*i:])
		} else {
			h = uint64(binary.LittleEndian.Uint32(b[4*i:]))
		}
		head, err := r.Lookup(registry.ClassOf(registry.KindRequest), h, a.fortran)
		if err != nil {
			return nil, err
		}
		return RequestOf(r.ObjectOf(head)), nil
	}, nil
}

// requestList shows the requests of an array of handles that a call is given.
func requestList(r *handle.Rank, a requestArray) view.Node {
	const name = "requests"
	at, err := readRequests(r, a)
	if err != nil {
		return view.Leaf(name, err.Error())
	}
	show := func(i int, name string) view.Node {
		q, err := at(i)
		switch {
		case fault.Is(err, fault.Null):
			return view.Leaf(name, "MPI_REQUEST_NULL")
		case err != nil:
			return view.Leaf(name, err.Error())
		}
		return q.Node(name)
	}
	if a.n == 1 {
		return show(0, "request")
	}
	return view.List(name, view.Plural(a.n, "request"), int(a.n), func(i int) view.Node {
		return show(i,
			fmt.Sprintf("[%d]", i))
	})
}
