package call

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Request is an Object that is a request.
type Request struct {
	*handle.Object
	abi abi.RequestRecord
}

// RequestOf is the request that an object is.
func RequestOf(o *handle.Object) *Request {
	return &Request{o, abi.Read[abi.RequestRecord](o.Head.Raw)}
}

// Pending reports whether the request is active and not known to be complete.
func (q *Request) Pending() bool {
	return q.Head.State&(abi.RequestActive|abi.RequestComplete) == abi.RequestActive
}

// Call is the call that the request is of.
func (q *Request) Call() *Call {
	state := Near
	if q.Pending() {
		state = Pending
	}
	return recordCall(q.Rank, &recordArguments{r: q.Rank, a: &q.abi.A}, state)
}

// state is a word for how far the request is, and what else there is to say of that.
func (q *Request) state() (is, more string) {
	is = "pending"
	switch state := q.Head.State; {
	case state&abi.RequestComplete != 0:
		is, more = "complete", ", not waited for yet"
	case state&abi.RequestActive == 0 && q.abi.StartEvent == 0:
		is, more = "inactive", ", never started"
	case state&abi.RequestActive == 0:
		is = "inactive"
	case state&abi.RequestUnsure != 0:
		is, more = "pending or complete", ": a call that waited for it ended with an error"
	case state&abi.RequestCancelled != 0:
		more = ", MPI_Cancel was called"
	}
	if q.Head.State&abi.RequestPersistent != 0 {
		more += ", persistent"
	}
	if q.Head.State&abi.RequestShared != 0 {
		more += "; others have the same handle"
	}
	return is, more
}

func (q *Request) summary() string {
	c := q.Call()
	is, _ := q.state()
	return fmt.Sprintf("%s %s: %s", is, c.Name, c.Summary())
}

// Line is the summary with place and time, for lists.
func (q *Request) Line() string {
	s := q.summary()
	if q.abi.StartEvent != 0 {
		s += "; started " + q.started()
	} else {
		s += "; posted " + q.Rank.CreatedText(q.Head.CallSite, q.Head.Event)
	}
	if since := q.since(); since != "" {
		s += ", " + since + " ago"
	}
	return s
}

func (q *Request) started() string { return q.Rank.CreatedText(q.abi.StartSite, q.abi.StartEvent-1) }

// since is how long the request has been pending, or "".
func (q *Request) since() string {
	if !q.Pending() {
		return ""
	}
	return q.Rank.Env.Since(q.abi.SinceNS)
}

// Node is the request as a tree.
func (q *Request) Node(name string) view.Node {
	value := q.summary()
	if q.Freed {
		value += ", freed"
	}
	c := q.Call()
	is, more := q.state()
	kids := append([]view.Node{view.Leaf("operation", c.Name), view.Leaf("status", is+more)}, c.nodes()...)
	if q.abi.StartEvent != 0 {
		kids = append(kids, view.Leaf("started", q.started()))
	}
	if since := q.since(); since != "" {
		kids = append(kids, view.Leaf("since", since))
	}
	if q.abi.Tid != 0 {
		kids = append(kids, view.Leaf("thread", fmt.Sprintf("posted by the thread with the kernel's id %d", q.abi.Tid)))
	}
	n := view.Group(name, value, append(kids, q.Common()...))
	n.Type = q.Head.Class.Ctype
	return n
}

// Text writes a request for the console: what it does, since when, and if asked for what lies in its buffers.
func (q *Request) Text(w *strings.Builder, name string, opt view.Options) error {
	fmt.Fprintf(w, "%s: %s\n", name, q.Line())
	if is, more := q.state(); more != "" {
		fmt.Fprintln(w, is+more)
	}
	c := q.Call()
	if opt.Buffers {
		if err := c.sidesText(w, opt); err != nil {
			return err
		}
	} else {
		for i := range c.sides {
			n := c.sideNode(&c.sides[i])
			fmt.Fprintf(w, "%s %s\n", n.Name, n.Value)
		}
	}
	common := q.Common()
	fmt.Fprintf(w, "handle %s\n", common[len(common)-1].Value)
	return nil
}

// requestArray is an array of handles of requests in the rank.
type requestArray struct {
	addr    uint64
	n       int64
	fortran bool // its handles are Fortran's
}

// read returns what gives each of the requests.
func (a *requestArray) read(r *handle.Rank) (at func(i int) (*Request, error), err error) {
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
		h := uint64(binary.LittleEndian.Uint32(b[size*i:]))
		if size == 8 {
			h = binary.LittleEndian.Uint64(b[size*i:])
		}
		head, err := r.Lookup(registry.ClassOf(registry.KindRequest), h, a.fortran)
		if err != nil {
			return nil, err
		}
		return RequestOf(r.ObjectOf(head)), nil
	}, nil
}

// node shows the requests.
func (a *requestArray) node(r *handle.Rank) view.Node {
	const name = "requests"
	at, err := a.read(r)
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
		return show(i, fmt.Sprintf("[%d]", i))
	})
}
