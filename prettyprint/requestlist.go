package prettyprint

import (
	"encoding/binary"
	"fmt"
)

// requestList shows the requests of an array of handles that a call is given.
func (r *Registry) requestList(addr uint64, n int64, fortran bool) Node {
	const name = "requests"
	switch {
	case n < 0:
		return leafNode(name, fmt.Sprintf("the count %d is negative", n))
	case n > maxParts:
		return leafNode(name, fmt.Sprintf("%d requests, of which at most %d are shown", n, maxParts))
	}
	size := r.HandleSize()
	if fortran {
		size = 4
	}
	b, err := r.readArray("the array of requests", addr, int(n), size)
	if err != nil {
		return leafNode(name, err.Error())
	}
	at := func(i int) (*Object, error) {
		if size == 8 {
			return r.ObjectByHandle(HandleRequest, binary.LittleEndian.Uint64(b[8*i:]))
		}
		h := binary.LittleEndian.Uint32(b[4*i:])
		if fortran {
			return r.ObjectByFortran(HandleRequest, int32(h))
		}
		return r.ObjectByHandle(HandleRequest, uint64(h))
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
	if n == 1 {
		return show(0, "request")
	}
	return listNode(name, plural(n, "request"), int(n), func(i int) Node { return show(i, fmt.Sprintf("[%d]", i)) })
}
