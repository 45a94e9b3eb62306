package waits_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/waits"
)

// step is a statement of a simulated program.
type step struct {
	call      string // send, ssend, recv, probe, isend, irecv, waitall, waitany, barrier, bcast, reduce
	peer, tag int    // peer: also the root
}

func (s step) collective() bool {
	return s.call == "barrier" || s.call == "bcast" || s.call == "reduce"
}

// message is one that has been sent.
type message struct {
	from, to, tag int
	sync          bool
	by            int // receive that has matched it, in world.receives; -1: none
	request       int // of the sender, or -1
}

type receive struct {
	rank, peer, tag int
	message         int // -1: none
	returned        bool
	request         int // of the rank, or -1
}

type request struct {
	step     step
	at       int // its message, or its receive
	over     bool
	sequence int
}

// world is the state of a simulated job. MPI's rules are carried out literally.
type world struct {
	programs [][]step
	pc       []int
	inside   []bool // the call at pc has begun
	at       []int  // message or receive of it
	messages []message
	receives []receive
	requests [][]request
	begun    [][]step // collectives, by rank
}

func newWorld(programs [][]step) *world {
	n := len(programs)
	return &world{
		programs: programs, pc: make([]int, n), inside: make([]bool, n), at: make([]int, n),
		requests: make([][]request, n), begun: make([][]step, n),
	}
}

func (w *world) clone() *world {
	c := *w
	c.pc, c.inside, c.at = slices.Clone(w.pc), slices.Clone(w.inside), slices.Clone(w.at)
	c.messages, c.receives = slices.Clone(w.messages), slices.Clone(w.receives)
	c.requests, c.begun = make([][]request, len(w.requests)), make([][]step, len(w.begun))
	for i := range w.requests {
		c.requests[i], c.begun[i] = slices.Clone(w.requests[i]), slices.Clone(w.begun[i])
	}
	return &c
}

func (w *world) key() string {
	return fmt.Sprint(w.pc, w.inside, w.messages, w.receives, w.requests)
}

func (r *receive) fits(m *message) bool {
	return r.rank == m.to && (r.peer == waits.Any || r.peer == m.from) && (r.tag == waits.Any || r.tag == m.tag)
}

// sent adds a message, and has the oldest receive take it that fits.
func (w *world) sent(m message) int {
	m.by = -1
	for i := range w.receives {
		if r := &w.receives[i]; r.message < 0 && r.fits(&m) {
			r.message, m.by = len(w.messages), i
			break
		}
	}
	w.messages = append(w.messages, m)
	return len(w.messages) - 1
}

// available are the messages that a new receive could take: the oldest of each sender that fits.
func (w *world) available(r *receive) (found []int) {
	met := map[int]bool{}
	for i := range w.messages {
		if m := &w.messages[i]; m.by < 0 && r.fits(m) && !met[m.from] {
			met[m.from] = true
			found = append(found, i)
		}
	}
	return found
}

// posted are the worlds after a rank has posted a receive.
func (w *world) posted(r receive, then func(w *world, at int)) (next []*world) {
	r.message = -1
	choices := w.available(&r)
	if len(choices) == 0 {
		choices = []int{-1}
	}
	for _, m := range choices {
		c := w.clone()
		r.message = m
		c.receives = append(c.receives, r)
		if m >= 0 {
			c.messages[m].by = len(c.receives) - 1
		}
		then(c, len(c.receives)-1)
		next = append(next, c)
	}
	return next
}

// next are the worlds after a rank has begun its next call, or ended the one that it is in.
func (w *world) next(r int) []*world {
	if w.pc[r] == len(w.programs[r]) {
		return nil
	}
	s := w.programs[r][w.pc[r]]
	if w.inside[r] {
		if !w.complete(r) {
			return nil
		}
		c := w.clone()
		c.leave(r)
		return []*world{c}
	}
	enter := func(c *world, at int) { c.inside[r], c.at[r] = true, at }
	post := func(c *world, at int) {
		c.requests[r] = append(c.requests[r], request{step: s, at: at, sequence: len(c.requests[r]) + 1})
		c.pc[r]++
	}
	switch s.call {
	case "recv":
		return w.posted(receive{rank: r, peer: s.peer, tag: s.tag, request: -1}, enter)
	case "irecv":
		return w.posted(receive{rank: r, peer: s.peer, tag: s.tag, request: len(w.requests[r])}, post)
	}
	c := w.clone()
	switch {
	case s.call == "send" || s.call == "ssend":
		enter(c, c.sent(message{from: r, to: s.peer, tag: s.tag, sync: s.call == "ssend", request: -1}))
	case s.call == "isend":
		post(c, c.sent(message{from: r, to: s.peer, tag: s.tag, sync: true, request: len(c.requests[r])}))
	default:
		enter(c, -1)
		if s.collective() {
			c.begun[r] = append(c.begun[r], s)
		}
	}
	return []*world{c}
}

// done reports whether a request is complete.
func (w *world) done(r int, q *request) bool {
	if q.step.call == "isend" {
		return w.messages[q.at].by >= 0
	}
	return w.receives[q.at].message >= 0
}

// complete reports whether the call that a rank is in can return.
func (w *world) complete(r int) bool {
	s := w.programs[r][w.pc[r]]
	there := func(other int) bool { // in the same collective, or beyond
		n := len(w.begun[r])
		return len(w.begun[other]) >= n && w.begun[other][n-1].call == s.call && w.begun[other][n-1].peer == s.peer
	}
	all := func() bool {
		for other := range w.pc {
			if other != r && !there(other) {
				return false
			}
		}
		return true
	}
	switch s.call {
	case "send":
		return true // eager
	case "ssend":
		return w.messages[w.at[r]].by >= 0
	case "recv":
		return w.receives[w.at[r]].message >= 0
	case "probe":
		return len(w.available(&receive{rank: r, peer: s.peer, tag: s.tag})) > 0
	case "barrier":
		return all()
	case "bcast":
		return s.peer == r || there(s.peer)
	case "reduce":
		return s.peer != r || all()
	}
	open, done := 0, 0
	for i := range w.requests[r] {
		if q := &w.requests[r][i]; !q.over {
			open++
			if w.done(r, q) {
				done++
			}
		}
	}
	return done == open || s.call == "waitany" && done > 0
}

// leave ends the call that a rank is in.
func (w *world) leave(r int) {
	s := w.programs[r][w.pc[r]]
	if s.call == "recv" {
		w.receives[w.at[r]].returned = true
	}
	if s.call == "waitall" || s.call == "waitany" {
		for i := range w.requests[r] {
			q := &w.requests[r][i]
			if q.over || !w.done(r, q) {
				continue
			}
			if q.over = true; q.step.call == "irecv" {
				w.receives[q.at].returned = true
			}
			if s.call == "waitany" {
				break
			}
		}
	}
	w.inside[r] = false
	w.pc[r]++
}

const comm = 1

// ranks are what the ranks would say.
func (w *world) ranks() []waits.Rank {
	var members []int
	for r := range w.pc {
		members = append(members, r)
	}
	out := make([]waits.Rank, len(w.pc))
	for r := range out {
		if w.pc[r] == len(w.programs[r]) {
			out[r] = waits.Rank{State: waits.Ended}
			continue
		}
		k := waits.Rank{State: waits.Stopped, Live: []uint64{comm}, Comms: map[uint64]waits.Comm{comm: {Name: "MPI_COMM_WORLD", Members: members}}}
		for other := range out {
			for tag := range 2 {
				t := waits.Traffic{Comm: comm, Peer: other, Tag: tag}
				for i := range w.messages {
					if m := &w.messages[i]; m.tag == tag && m.from == r && m.to == other {
						t.Sent++
					}
					if m := &w.messages[i]; m.tag == tag && m.from == other && m.to == r && m.by >= 0 && w.receives[m.by].returned {
						t.Received++
					}
				}
				k.Traffic = append(k.Traffic, t)
			}
		}
		k.Traffic = append(k.Traffic, waits.Traffic{Comm: comm, Peer: waits.Collectives, Sent: uint64(len(w.begun[r]))})
		for i := range w.requests[r] {
			if q := &w.requests[r][i]; !q.over {
				op := operation(q.step, uint64(q.sequence))
				if q.step.call == "isend" {
					op.Nth = w.nth(q.at)
				}
				k.Pending = append(k.Pending, op)
			}
		}
		if w.inside[r] {
			s := w.programs[r][w.pc[r]]
			c := waits.Call{Name: s.call, Whole: true, Any: s.call == "waitany", Ops: []waits.Operation{operation(s, 0)}}
			switch {
			case s.call == "waitall" || s.call == "waitany":
				c.Ops = k.Pending
			case s.collective():
				c.Ops[0].Nth = uint64(len(w.begun[r]))
			case c.Ops[0].Kind == waits.Send:
				c.Ops[0].Nth = w.nth(w.at[r])
			}
			k.Calls = []waits.Call{c}
		}
		out[r] = k
	}
	return out
}

// nth is which of its kind a message is.
func (w *world) nth(at int) (n uint64) {
	for _, m := range w.messages[:at+1] {
		if m.from == w.messages[at].from && m.to == w.messages[at].to && m.tag == w.messages[at].tag {
			n++
		}
	}
	return n
}

func operation(s step, request uint64) waits.Operation {
	op := waits.Operation{Call: s.call, Comm: comm, Peer: s.peer, Tag: s.tag, Request: request, Root: waits.Unknown}
	switch s.call {
	case "send", "ssend", "isend":
		op.Kind = waits.Send
		if s.call != "send" {
			op.Mode = mpispec.ModeSynchronous
		}
	case "recv", "irecv", "probe":
		op.Kind, op.Probe = waits.Receive, s.call == "probe"
	default:
		op.Kind, op.Peer, op.Root = waits.Collective, waits.Unknown, s.peer
		op.After = map[string]mpispec.Dependence{
			"barrier": mpispec.AfterAll, "bcast": mpispec.AfterRoot, "reduce": mpispec.RootAfterAll,
		}[s.call]
	}
	return op
}

func drawPrograms(t *rapid.T) [][]step {
	n := rapid.IntRange(2, 3).Draw(t, "ranks")
	programs := make([][]step, n)
	calls := []string{
		"send", "ssend", "recv", "recv", "probe", "isend", "irecv", "waitall", "waitany", "barrier", "bcast", "reduce",
	}
	for r := range programs {
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			s := step{call: rapid.SampledFrom(calls).Draw(t, "call"), tag: rapid.IntRange(0, 1).Draw(t, "tag")}
			s.peer = rapid.IntRange(0, n-1).Draw(t, "peer")
			if strings.HasSuffix(s.call, "recv") || s.call == "probe" {
				s.peer = rapid.IntRange(waits.Any, n-1).Draw(t, "source")
				s.tag = rapid.IntRange(waits.Any, 1).Draw(t, "tag asked")
			}
			if s.call == "barrier" {
				s.peer = 0
			}
			programs[r] = append(programs[r], s)
		}
	}
	return programs
}

// What is called a deadlock is one: however the run continues, the ranks do not leave their calls. And where nothing can
// happen any more, all ranks that have not ended are in it, or wait for one that has ended.
func TestDeadlocksAgainstAllRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawPrograms(t))
		for {
			check(t, w)
			var next []*world
			for r := range w.pc {
				next = append(next, w.next(r)...)
			}
			if len(next) == 0 {
				return
			}
			w = next[rapid.IntRange(0, len(next)-1).Draw(t, "next")]
		}
	})
}

// mismatch reports whether ranks have made different calls as one collective. Afterwards nobody knows what MPI does.
func (w *world) mismatch() bool {
	for _, a := range w.begun {
		for _, b := range w.begun {
			for i := range min(len(a), len(b)) {
				if a[i].call != b[i].call || a[i].peer != b[i].peer {
					return true
				}
			}
		}
	}
	return false
}

// ambiguous reports whether a receive of any source or tag is under way, of which nobody but MPI knows what it took.
func (w *world) ambiguous() bool {
	return slices.ContainsFunc(w.receives, func(r receive) bool {
		return !r.returned && r.request >= 0 && (r.peer == waits.Any || r.tag == waits.Any)
	})
}

func check(t *rapid.T, w *world) {
	report := waits.Analyse(w.ranks())
	quiet := !w.mismatch() && !w.ambiguous()
	for r := range w.pc {
		quiet = quiet && len(w.next(r)) == 0
	}
	for r := range w.pc {
		if quiet && w.inside[r] && !report.Deadlock.Contains(r) && !report.Likely.Contains(r) {
			t.Fatalf("nothing can happen any more, and rank %d is said to be able to:\n%s\n%s", r, w.key(), report.Text())
		}
	}
	if report.Deadlock.Empty() {
		return
	}
	seen := map[string]bool{}
	for todo := []*world{w}; len(todo) > 0 && len(seen) < 20000; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at.key()] {
			continue
		}
		seen[at.key()] = true
		for r := range at.pc {
			if report.Deadlock.Contains(r) && at.pc[r] != w.pc[r] {
				t.Fatalf("rank %d is said to be in a deadlock, and leaves its call:\n%s\n%s", r, w.key(), report.Text())
			}
			todo = append(todo, at.next(r)...)
		}
	}
}
