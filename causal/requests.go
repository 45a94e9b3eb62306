package causal

import "github.com/cohort-debugger/cohort/trace"

func (in *ingest) start(e *trace.Event) error {
	for which, at := range e.Inits {
		if at == 0 { // made by a call that is not covered
			in.b.doubtf(ProblemRequest, in.rank, e.Index,
				"%s starts a request (array index %d) of which there is no _init", e.Op.Call(), which)
			continue
		}
		p := in.requests.Persistent(at)
		if p == nil {
			return in.fault(e, "it starts the request of event %d, which makes no persistent one", at)
		}
		if p.Active {
			return in.fault(e, "it starts the request of event %d, which is active", at)
		}
		req, err := in.startOne(e, &p.Init, p.Starts, trace.Which(e.Op, which))
		if err != nil {
			return err
		}
		p.Start(req)
	}
	return nil
}

// startOne starts a persistent request, which was started so often before.
func (in *ingest) startOne(e *trace.Event, p *persistent, starts int, which uint32) (request, error) {
	switch {
	case p.coll != nil:
		inst := p.coll.start(p.nth, starts)
		return request{class: trace.RequestCollective, index: none, coll: inst}, in.join(e, p.op, p.root, inst, false)
	case p.send:
		i, err := in.addSend(e, p.op, &p.args, 0)
		if i != none {
			in.sends[i].which = which
		}
		return request{class: trace.RequestSend, index: i}, err
	default:
		i, err := in.addAsked(e, p.args.Comm, p.args.Dest, p.args.Tag)
		if i != none {
			in.takes[i].which = which
		}
		return request{class: trace.RequestRecv, index: i}, err
	}
}

// receiving is the receive that a request in progress is for; nil if it is for none.
func (in *ingest) receiving(name uint64) *takeRec {
	if req, known := in.requests.Of(name); known && req.class == trace.RequestRecv && req.index != none {
		return &in.takes[req.index]
	}
	return nil
}

// free is Request_free: no event will complete the request. What a receive with a wildcard takes nevertheless is in a
// record of its own.
func (in *ingest) free(e *trace.Event) {
	t := in.receiving(e.Post)
	if req, _ := in.requests.Free(e.Post); t != nil && t.done == 0 { // else Request_get_status has seen it
		t.freed = true
		in.freed[trace.Posting{Event: t.post, Which: t.which}] = req.index
	}
}

// took takes in what became of a receive, before an event completes it or without one: its request was freed, or it was
// found out when a later call was given another message.
func (in *ingest) took(m *trace.Match) error {
	e := &trace.Event{Index: m.Event, Op: m.Op}
	p := m.Posting()
	var t *takeRec
	if i, freed := in.freed[p]; freed {
		t = &in.takes[i]
		delete(in.freed, p)
	} else {
		t = in.underway(p)
	}
	switch {
	case t == nil:
		return in.fault(e, "the trace tells what a receive took that event %d posted, and there is none", p.Event)
	case m.IsCancelled():
		t.kind = takeVoid
		return nil
	case !t.wild || t.kind != takeReceive:
		return in.fault(e, "the receive that event %d posted has no wildcard, and the trace tells what it took",
			p.Event)
	}
	return in.resolve(e, t, m.Source, m.Tag)
}

// underway finds the receive that was posted so and is not completed; nil if there is none.
func (in *ingest) underway(p trace.Posting) *takeRec {
	if t := in.receiving(p.Event); t != nil {
		return t
	}
	for req := range in.requests.Started() {
		if req.class == trace.RequestRecv && req.index != none {
			if t := &in.takes[req.index]; t.post == p.Event && t.which == p.Which {
				return t
			}
		}
	}
	return nil
}

func (in *ingest) completion(e *trace.Event) error {
	for i := range e.Completed {
		c := &e.Completed[i]
		req, known := in.requests.Of(c.Post)
		if !known {
			in.b.doubtf(ProblemRequest, in.rank, e.Index,
				"%s completes a request (array index %d) of which there is no post", e.Op.Call(), c.ArrayIndex)
			continue
		}
		if err := in.complete(e, c, req); err != nil {
			return err
		}
		in.requests.Complete(e, c.Post)
	}
	return nil
}

func (in *ingest) complete(e *trace.Event, c *trace.Completion, req request) error {
	if c.Class != req.class && c.Class != trace.RequestOther {
		return in.fault(e, "it completes the request of event %d as one of class %d, but it is of class %d", c.Post,
			c.Class, req.class)
	}
	switch {
	case req.class == trace.RequestCollective:
		if p := &req.coll.parts[req.coll.comm.member[in.rank]]; p.exit == 0 {
			p.exit = e.Index
		}
	case req.index == none:
	case c.Class == trace.RequestOther: // cancelled
		if req.class == trace.RequestRecv {
			in.takes[req.index].kind = takeVoid
		} else {
			in.sends[req.index].void = true
		}
	case req.class == trace.RequestSend:
		if s := &in.sends[req.index]; s.done == 0 {
			s.done = e.Index
		}
	default:
		return in.taken(e, c, &in.takes[req.index])
	}
	return nil
}

// taken completes a receive.
func (in *ingest) taken(e *trace.Event, c *trace.Completion, t *takeRec) error {
	if t.done != 0 { // seen by Request_get_status before
		return nil
	}
	t.done, t.bytes = e.Index, c.Bytes
	if t.kind != takeReceive { // nobody, or its Mprobe knows
		return nil
	}
	if c.Source == trace.ProcNull {
		t.kind = takeVoid
		return nil
	}
	before, wasKnown := t.ch, t.known
	if err := in.resolve(e, t, c.Source, c.Tag); err != nil {
		return err
	}
	if wasKnown && before != t.ch {
		return in.fault(e, "the receive that event %d posted for world rank %d and tag %d took a message from world "+
			"rank %d with tag %d", t.post, before.src, before.tag, t.ch.src, t.ch.tag)
	}
	return nil
}
