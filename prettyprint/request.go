package prettyprint

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Surroundings is what is known of where a rank runs besides its memory; any of it may be nil.
type Surroundings struct {
	Locate func(pc uint64) string // the source line of a call, by its return address
	Symbol func(name string) (addr uint64, ok bool)
	// Machine names the architecture of the program as gdb does, i386:x86-64 or aarch64: it decides what a long double
	// is. nil: x86-64.
	Machine func() string
	Now     func() (ns int64, ok bool) // CLOCK_MONOTONIC on the rank's host
}

func (s Surroundings) where() func(pc uint64) string { return s.Locate }

// since says how long ago a time of CLOCK_MONOTONIC was.
func (s Surroundings) since(ns int64) string {
	if s.Now == nil || ns <= 0 {
		return ""
	}
	now, ok := s.Now()
	const longest = int64(10 * 365 * 24 * time.Hour)
	if !ok || now < ns || now-ns > longest {
		return ""
	}
	d := time.Duration(now - ns)
	switch {
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < time.Minute:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	return d.String()
}

const (
	sharedMax   = 1024 // COHORT_SHARED_MAX: requests of one handle
	detachedMax = 64   // COHORT_DETACHED_MAX
	noneInt32   = math.MinInt32
)

// chain follows the records with the same handle, or the detached ones.
func (r *Registry) chain(first *Object, most int) ([]*Object, error) {
	all := []*Object{first}
	seen := map[uint64]bool{first.rec: true}
	for next := decodeRequest(first.raw).next; next != 0; {
		if seen[next] || len(all) > most {
			return all, corrupt(next, "the requests of one handle go round in a circle, or are more than %d", most)
		}
		seen[next] = true
		o, err := r.object(first.info, next)
		if err != nil {
			return all, err
		}
		all = append(all, o)
		next = decodeRequest(o.raw).next
	}
	return all, nil
}

// Detached returns the requests whose handle the program has given up while they were active.
func (r *Registry) Detached() ([]*Object, error) {
	if r.abi.detached == 0 {
		return nil, nil
	}
	first, err := r.object(infoOf(HandleRequest), r.abi.detached)
	if err != nil {
		return nil, err
	}
	return r.chain(first, detachedMax)
}

// request is an Object that is a request.
type pendingOp struct {
	*Object
	abi abiRequest
}

func (o *Object) request() *pendingOp { return &pendingOp{o, decodeRequest(o.raw)} }

// pending reports whether the request is active and not known to be complete.
func (q *pendingOp) pending() bool {
	return q.hdr.state&(requestActive|requestComplete) == requestActive
}

func (q *pendingOp) call() *Call {
	state := CallNear
	if q.pending() {
		state = CallPending
	}
	return q.reg.recordCall(&q.abi.action, state, nil)
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
func (q *pendingOp) line(env Surroundings) string {
	s := q.summary()
	site, event := q.hdr.callSite, q.hdr.event
	how := "posted "
	if q.abi.startEvent != 0 {
		site, event, how = q.abi.startSite, q.abi.startEvent-1, "started "
	}
	s += "; " + how + createdText(site, event, env.where())
	if q.pending() {
		if since := env.since(q.abi.sinceNs); since != "" {
			s += ", " + since + " ago"
		}
	}
	return s
}

func (q *pendingOp) nodes(env Surroundings) []Node {
	c := q.call()
	kids := []Node{leafNode("operation", c.name), leafNode("status", q.stateText())}
	for i := range c.sides {
		kids = append(kids, c.sideNode(&c.sides[i]))
	}
	kids = append(kids, c.others()...)
	if q.abi.startEvent != 0 {
		kids = append(kids, leafNode("started", createdText(q.abi.startSite, q.abi.startEvent-1, env.where())))
	}
	if since := env.since(q.abi.sinceNs); since != "" && q.pending() {
		kids = append(kids, leafNode("since", since))
	}
	if q.abi.tid != 0 {
		kids = append(kids, leafNode("thread", fmt.Sprintf("posted by the thread with the kernel's id %d", q.abi.tid)))
	}
	return kids
}
