package prettyprint

import (
	"fmt"
	"io"
	"strings"
)

// request is an Object that is a request.
type pendingOp struct {
	*Object
	abi abiRequest
}

func requestOf(o *Object) *pendingOp { return &pendingOp{o, decodeRequest(o.raw)} }

// pending reports whether the request is active and not known to be complete.
func (q *pendingOp) pending() bool {
	return q.hdr.state&(requestActive|requestComplete) == requestActive
}

func (q *pendingOp) call() *Call {
	state := CallNear
	if q.pending() {
		state = CallPending
	}
	return recordCall(q.reg, &q.abi.action, state, nil)
}

func (q *pendingOp) stateText() string {
	s := "pending"
	switch state := q.hdr.state; {
	case state&requestComplete != 0:
		s = "complete, not waited for yet"
	case state&requestActive == 0 && q.abi.startEvent == 0:
		s = "inactive, never started"
	case state&requestActive == 0:
		s = "inactive"
	case state&requestUnsure != 0:
		s = "pending or complete: a call that waited for it ended with an error"
	case state&requestCancelled != 0:
		s = "pending, MPI_Cancel was called"
	}
	if q.hdr.state&requestPersistent != 0 {
		s += ", persistent"
	}
	if q.hdr.state&requestShared != 0 {
		s += "; others have the same handle"
	}
	return s
}

func (q *pendingOp) summary() string {
	c := q.call()
	return fmt.Sprintf("%s %s: %s", firstWord(q.stateText()), c.name, c.Summary())
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, ",")
	w, _, _ = strings.Cut(w, ";")
	w, _, _ = strings.Cut(w, ":")
	return w
}

// line is the summary with place and time, for lists.
func (q *pendingOp) line() string {
	s := q.summary()
	site, event := q.hdr.callSite, q.hdr.event
	how := "posted "
	if q.abi.startEvent != 0 {
		site, event, how = q.abi.startSite, q.abi.startEvent-1, "started "
	}
	s += "; " + how + createdText(site, event, q.reg.env.Locate)
	if q.pending() {
		if since := q.reg.env.since(q.abi.sinceNs); since != "" {
			s += ", " + since + " ago"
		}
	}
	return s
}

// ObjectNode shows an object, be it a request or not.
func ObjectNode(o *Object, name string) Node {
	if o.Kind() != HandleRequest {
		return o.Node(name)
	}
	q := requestOf(o)
	value := q.summary()
	if o.Freed() {
		value += ", freed"
	}
	n := groupNode(name, value, append(q.nodes(), o.common(o.reg.env.Locate)...))
	n.Type = o.info.ctype
	return n
}

func (q *pendingOp) nodes() []Node {
	c := q.call()
	kids := []Node{leafNode("operation", c.name), leafNode("status", q.stateText())}
	for i := range c.sides {
		kids = append(kids, c.sideNode(&c.sides[i]))
	}
	kids = append(kids, c.others()...)
	if q.abi.startEvent != 0 {
		kids = append(kids, leafNode("started", createdText(q.abi.startSite, q.abi.startEvent-1, q.reg.env.Locate)))
	}
	if since := q.reg.env.since(q.abi.sinceNs); since != "" && q.pending() {
		kids = append(kids, leafNode("since", since))
	}
	if q.abi.tid != 0 {
		kids = append(kids, leafNode("thread", fmt.Sprintf("posted by the thread with the kernel's id %d", q.abi.tid)))
	}
	return kids
}

// Text writes a request for the console: what it does, since when, and if asked for what lies in its buffers.
func (q *pendingOp) Text(w io.Writer, name string, opt Options, buffers bool) error {
	if err := write(w, "%s: %s\n", name, q.line()); err != nil {
		return err
	}
	if state := q.stateText(); state != firstWord(state) {
		if err := write(w, "%s\n", state); err != nil {
			return err
		}
	}
	call := q.call()
	for i := range call.sides {
		s := &call.sides[i]
		if buffers && !s.none && s.err == nil {
			if err := call.sideText(w, s, opt); err != nil {
				return err
			}
			continue
		}
		n := call.sideNode(s)
		if err := write(w, "%s %s\n", n.Name, n.Value); err != nil {
			return err
		}
	}
	handle := q.common(nil)
	return write(w, "handle %s\n", handle[len(handle)-1].Value)
}
