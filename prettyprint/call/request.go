package call

import (
	"fmt"
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Request is an Object that is a request.
type Request struct {
	*handle.Object
	abi abi.RequestRecord
}

func RequestOf(o *handle.Object) *Request {
	return &Request{o, abi.Read[abi.RequestRecord](o.Head.Raw)}
}

// Pending reports whether the request is active and not known to be complete.
func (q *Request) Pending() bool {
	return q.Head.State&(abi.RequestActive|abi.RequestComplete) == abi.RequestActive
}

func (q *Request) Call() *Call {
	state := Near
	if q.Pending() {
		state = Pending
	}
	return recordCall(q.Rank, &q.abi.A, state, nil)
}

func (q *Request) stateText() string {
	s := "pending"
	switch state := q.Head.State; {
	case state&abi.RequestComplete != 0:
		s = "complete, not waited for yet"
	case state&abi.RequestActive == 0 && q.abi.StartEvent == 0:
		s = "inactive, never started"
	case state&abi.RequestActive == 0:
		s = "inactive"
	case state&abi.RequestUnsure != 0:
		s = "pending or complete: a call that waited for it ended with an error"
	case state&abi.RequestCancelled != 0:
		s = "pending, MPI_Cancel was called"
	}
	if q.Head.State&abi.RequestPersistent != 0 {
		s += ", persistent"
	}
	if q.Head.State&abi.RequestShared != 0 {
		s += "; others have the same handle"
	}
	return s
}

func (q *Request) summary() string {
	c := q.Call()
	return fmt.Sprintf("%s %s: %s", firstWord(q.stateText()), c.name, c.Summary())
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, ",")
	w, _, _ = strings.Cut(w, ";")
	w, _, _ = strings.Cut(w, ":")
	return w
}

// Line is the summary with place and time, for lists.
func (q *Request) Line() string {
	s := q.summary()
	site, event := q.Head.CallSite, q.Head.Event
	how := "posted "
	if q.abi.StartEvent != 0 {
		site, event, how = q.abi.StartSite, q.abi.StartEvent-1, "started "
	}
	s += "; " + how + q.Rank.CreatedText(site, event)
	if q.Pending() {
		if since := q.Rank.Env.Since(q.abi.SinceNS); since != "" {
			s += ", " + since + " ago"
		}
	}
	return s
}

// Node is the request as a tree.
func (q *Request) Node(name string) view.Node {
	value := q.summary()
	if q.Freed() {
		value += ", freed"
	}
	n := view.Group(name, value, append(q.nodes(), q.Common()...))
	n.Type = q.Head.Class.Ctype
	return n
}

func (q *Request) nodes() []view.Node {
	c := q.Call()
	kids := []view.Node{view.Leaf("operation", c.name), view.Leaf("status", q.stateText())}
	for i := range c.sides {
		kids = append(kids, c.sideNode(&c.sides[i]))
	}
	kids = append(kids, c.others()...)
	if q.abi.StartEvent != 0 {
		kids = append(kids, view.Leaf("started", q.Rank.CreatedText(q.abi.StartSite, q.abi.StartEvent-1)))
	}
	if since := q.Rank.Env.Since(q.abi.SinceNS); since != "" && q.Pending() {
		kids = append(kids, view.Leaf("since", since))
	}
	if q.abi.Tid != 0 {
		kids = append(kids, view.Leaf("thread", fmt.Sprintf("posted by the thread with the kernel's id %d", q.abi.Tid)))
	}
	return kids
}

// Text writes a request for the console: what it does, since when, and if asked for what lies in its buffers.
func (q *Request) Text(w io.Writer, name string, opt view.Options) error {
	if err := view.Write(w, "%s: %s\n", name, q.Line()); err != nil {
		return err
	}
	if state := q.stateText(); state != firstWord(state) {
		if err := view.Write(w, "%s\n", state); err != nil {
			return err
		}
	}
	call := q.Call()
	for i := range call.sides {
		s := &call.sides[i]
		if opt.Buffers && !s.none && s.err == nil {
			if err := call.sideText(w, s, opt); err != nil {
				return err
			}
			continue
		}
		n := call.sideNode(s)
		if err := view.Write(w, "%s %s\n", n.Name, n.Value); err != nil {
			return err
		}
	}
	handle := q.Common()
	return view.Write(w, "handle %s\n", handle[len(handle)-1].Value)
}
