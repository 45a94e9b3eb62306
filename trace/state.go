package trace

import (
	"fmt"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// state is what the records so far mean for the next one: the rules that hold between records, the same for reading and
// writing.
type state struct {
	mode     abi.Mode
	events   uint64 // EVENT records so far
	contents uint32 // of the messages of the last EVENT: those that a CONTENT may not be of any more
	last     uint64 // event of the last order-mode record
	comms    declared
	modules  declared
	sites    declared
	checked  uint64 // event of the last CHECK
	ended    bool
	values   valueState
}

func newState(mode abi.Mode) state {
	return state{mode: mode, comms: declared{}, modules: declared{}, sites: declared{0: true}, values: newValueState()}
}

// declared has the numbers of what later records may refer to.
type declared map[uint64]bool

func (d declared) add(what string, number uint64) *RuleError {
	if d[number] {
		return broken("a new "+what, "%s %d again", what, number)
	}
	d[number] = true
	return nil
}

func (d declared) need(what string, number uint64) *RuleError {
	if !d[number] {
		return broken("a "+what+" that was declared before", "%s %d", what, number)
	}
	return nil
}

// add checks r against the records before it and takes it in.
func (s *state) add(r Record) *RuleError {
	if s.ended {
		return broken("nothing after END", "a %s", kinds[r.kind()].name)
	}
	if b := s.inMode(r); b != nil {
		return b
	}
	switch r := r.(type) {
	case *Comm:
		return s.addComm(r)
	case *Module:
		return s.modules.add("module", r.Index)
	case *Site:
		if b := s.modules.need("module", r.Module); b != nil {
			return b
		}
		return s.sites.add("call site", r.Index)
	case *Note:
		return s.sites.need("call site", r.Site)
	case *Event:
		return s.addEvent(r)
	case *End:
		s.ended = true
	case *Match:
		return s.addOrder(r.Event, r.Op)
	case *Run:
		return s.addOrder(r.Event, r.Op)
	case *Poll:
		return s.addOrder(r.Event, r.Op)
	case *Set:
		return s.addOrder(r.Event, r.Op)
	case *Check:
		if r.Event <= s.checked {
			return broken(fmt.Sprintf("a check after event %d", s.checked), "one of event %d", r.Event)
		}
		s.checked = r.Event
	case *Value, *Thread, *Turn:
		return s.values.add(r)
	case *Content:
		switch {
		case s.events == 0:
			return broken("a CONTENT after the event that sent the message", "one before the first event")
		case r.Which < s.contents:
			return broken(fmt.Sprintf("the content of message %d or a later one of the event", s.contents),
				"that of message %d", r.Which)
		}
		s.contents = r.Which + 1
	}
	return nil
}

// inMode: EVENT records only in full mode, order-mode records only in order mode. But MATCH is in full mode too,
// for a receive whose request was freed, and one whose message is known before its completion.
func (s *state) inMode(r Record) *RuleError {
	full, wrong := s.mode == abi.ModeFull, false
	switch r := r.(type) {
	case *Event, *Content:
		wrong = !full
	case *Run:
		wrong = s.mode != abi.ModeRacing
	case *Poll, *Set:
		wrong = full
	case *Match:
		wrong = full && r.Back == 0
	}
	if !wrong {
		return nil
	}
	want := "order-mode records"
	if full {
		want = "EVENT records, or the MATCH of an earlier receive,"
	}
	return broken(want+" in a trace of mode "+s.mode.String(), "a %s", kinds[r.kind()].name)
}

func (s *state) addComm(c *Comm) *RuleError {
	switch {
	case c.CommKind < abi.CommIntra || c.CommKind > abi.CommDistGraph:
		return broken("a kind of communicator from 1 to 6", "%d", uint8(c.CommKind))
	case c.CommKind != abi.CommNull && int(c.MyRank) >= len(c.Members):
		return broken(fmt.Sprintf("a rank below the size %d", len(c.Members)), "%d", c.MyRank)
	}
	return s.comms.add("communicator", uint64(c.Index))
}

func (s *state) addOrder(event uint64, op mpispec.Op) *RuleError {
	switch {
	case event == 0 || event < s.last:
		return broken(fmt.Sprintf("an event from %d on", max(s.last, 1)), "%d", event)
	case !op.Known():
		return broken("a known operation", "%s", op)
	}
	s.last = event
	return nil
}

func (s *state) addEvent(e *Event) *RuleError {
	if e.Index != s.events+1 {
		return broken(fmt.Sprintf("event %d", s.events+1), "event %d", e.Index)
	}
	if b := s.sites.need("call site", e.Site); b != nil {
		return b
	}
	var comms []uint32
	switch e.Op.Class() {
	case mpispec.ClassSend, mpispec.ClassSendInit, mpispec.ClassRecvInit:
		comms = []uint32{e.Send.Comm}
	case mpispec.ClassRecv, mpispec.ClassIrecv, mpispec.ClassProbe:
		comms = []uint32{e.Recv.Comm}
	case mpispec.ClassSendrecv:
		comms = []uint32{e.Send.Comm, e.Recv.Comm}
	case mpispec.ClassCollective, mpispec.ClassIcollective, mpispec.ClassCollectiveInit, mpispec.ClassComm:
		comms = []uint32{e.Coll.Comm}
		if e.Coll.NewComm != 0 {
			comms = append(comms, e.Coll.NewComm-1)
		}
	case mpispec.ClassNone:
		return broken("a known operation", "%s", e.Op)
	case mpispec.ClassStart, mpispec.ClassCompletion, mpispec.ClassRequest, mpispec.ClassOther:
	}
	for _, c := range comms {
		if b := s.comms.need("communicator", uint64(c)); b != nil {
			return b
		}
	}
	s.events++
	s.contents = 0
	return nil
}

// Checker tells whether records may follow each other in a trace, without writing one.
type Checker struct{ st state }

// NewChecker is for a trace of a mode.
func NewChecker(mode abi.Mode) *Checker { return &Checker{newState(mode)} }

// Add returns the rule between records that this one breaks, after those before it; nil if it breaks none.
func (c *Checker) Add(r Record) *RuleError { return c.st.add(r) }
