package prettyprint

import (
	"encoding/binary"
	"fmt"
)

// requestArray is an array of handles of requests in the rank.
type requestArray struct {
	addr    uint64
	n       int64
	fortran bool // its handles are Fortran's
}

// readRequests returns what gives each of the requests.
func (r *Registry) readRequests(a requestArray) (at func(i int) (*Object, error), err error) {
	switch {
	case a.n < 0:
		return nil, errorf(KindUsage, 0, "the count %d is negative", a.n)
	case a.n > maxParts:
		return nil, errorf(KindTooLarge, 0, "%d requests, of which at most %d are shown", a.n, maxParts)
	}
	size := r.HandleSize()
	if a.fortran {
		size = 4
	}
	b, err := r.readArray("the array of requests", a.addr, int(a.n), size)
	if err != nil {
		return nil, err
	}
	return func(i int) (*Object, error) {
		if size == 8 {
			return r.ObjectByHandle(HandleRequest, binary.LittleEndian.Uint64(b[8*i:]))
		}
		h := binary.LittleEndian.Uint32(b[4*i:])
		if a.fortran {
			return r.ObjectByFortran(HandleRequest, int32(h))
		}
		return r.ObjectByHandle(HandleRequest, uint64(h))
	}, nil
}

// requestList shows the requests of an array of handles that a call is given.
func (r *Registry) requestList(a requestArray) Node {
	const name = "requests"
	at, err := r.readRequests(a)
	if err != nil {
		return leafNode(name, err.Error())
	}
	show := func(i int, name string) Node {
		o, err := at(i)
		switch {
		case IsKind(err, KindNull):
			return leafNode(name, "MPI_REQUEST_NULL")
		case err != nil:
			return leafNode(name, err.Error())
		}
		return o.Node(name, r.env)
	}
	if a.n == 1 {
		return show(0, "request")
	}
	return listNode(name, plural(a.n, "request"), int(a.n), func(i int) Node { return show(i, fmt.Sprintf("[%d]", i)) })
}
