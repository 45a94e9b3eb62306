package causaltest

import (
	"slices"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
)

// ready says whether a request can be completed.
func (s *sim) ready(q *request) bool {
	switch {
	case q.recv != nil:
		return q.recv.done()
	case q.coll != nil:
		return q.coll.mayExit(q.coll.member)
	case q.send != nil:
		return !q.send.truth.Sync || q.send.started
	}
	return true
}

// finishSome makes a rank wait for, or test, some of its requests.
func (s *sim) finishSome(r *rank) {
	if len(r.requests) == 0 {
		return
	}
	array := slices.Clone(r.requests)
	for i := range array { // a shuffle
		j := i + s.src.Intn(len(array)-i)
		array[i], array[j] = array[j], array[i]
	}
	array = array[:1+s.src.Intn(len(array))]
	readyOnes := func() []*request {
		var all []*request
		for _, q := range array {
			if s.ready(q) {
				all = append(all, q)
			}
		}
		return all
	}
	some := func() []*request {
		all := readyOnes()
		return all[:1+s.src.Intn(len(all))]
	}
	op := pick(s, []mpispec.Op{
		mpispec.OpWait, mpispec.OpWaitall, mpispec.OpWaitany, mpispec.OpWaitsome,
		mpispec.OpTest, mpispec.OpTestall, mpispec.OpTestany, mpispec.OpTestsome, mpispec.OpRequestGetStatus,
	})
	enough := func() bool { return len(readyOnes()) > 0 }
	switch op {
	case mpispec.OpWait, mpispec.OpTest, mpispec.OpRequestGetStatus:
		array = array[:1]
		some = readyOnes
	case mpispec.OpWaitany, mpispec.OpTestany:
		some = func() []*request { return readyOnes()[:1] }
	case mpispec.OpWaitall, mpispec.OpTestall:
		some = readyOnes
		enough = func() bool { return len(readyOnes()) == len(array) }
	default: // Waitsome and Testsome
	}
	if op.IsPoll() {
		if enough() {
			s.complete(r, op, array, some())
		} else {
			r.failed++
		}
		return
	}
	if !enough() && s.chance(95) {
		return // too easily stuck
	}
	s.until(r, enough, func() { s.complete(r, op, array, some()) })
}

// complete ends a Wait or Test of an array of requests with some of them done.
func (s *sim) complete(r *rank, op mpispec.Op, array, done []*request) {
	e := &trace.Event{Op: op}
	for _, q := range done {
		c := trace.Completion{ArrayIndex: uint32(slices.Index(array, q)), Post: q.post, Class: trace.RequestSend}
		switch {
		case q.recv != nil && q.recv.cancelled:
			c.Class, q.recv.told = trace.RequestOther, true
		case q.recv != nil:
			c.Class = trace.RequestRecv
			var a trace.RecvArgs
			q.recv.got(&a)
			c.Source, c.Tag, c.Bytes = a.Source, a.Tag, a.Bytes
			if q.recv.msg != nil && q.recv.msg.truth.Receive.IsZero() {
				s.received(r, q.recv)
			}
		case q.coll != nil:
			c.Class = trace.RequestCollective
			if m := &q.coll.truth.Members[q.coll.member]; m.Exit.IsZero() {
				m.Exit = r.next()
			}
		case q.send != nil:
			if q.send.truth.Sync && q.send.truth.Done.IsZero() {
				q.send.truth.Done = r.next()
			}
		}
		e.Completed = append(e.Completed, c)
		if op == mpispec.OpRequestGetStatus {
			continue
		}
		r.requests = slices.DeleteFunc(r.requests, func(x *request) bool { return x == q })
		if q.init != nil {
			q.init.active = false
		}
	}
	s.end(r, e)
}
