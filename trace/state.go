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
	comms    map[uint32]bool
	modules  map[uint64]bool
	sites    map[uint64]bool
	checked  uint64 // event of the last CHECK
	ended    bool
	values   valueState
}

func newState(mode abi.Mode) state {
	return state{mode: mode, comms: map[uint32]bool{}, modules: map[uint64]bool{}, sites: map[uint64]bool{0: true}}
}

func (s *state) needComm(index uint32) *RuleError {
	if s.comms[index] {
		return nil
	}
	return &RuleError{"a communicator that was declared before", fmt.Sprintf("communicator %d", index)}
}

func (s *state) needSite(index uint64) *RuleError {
	if s.sites[index] {
		return nil
	}
	return &RuleError{"a call site that was declared before", fmt.Sprintf("site %d", index)}
}

// add checks r against the records before it and takes it in.
func (s *state) add(r Record) *RuleError {
	if s.ended {
		return &RuleError{"nothing after END", "a " + kinds[r.kind()].name}
	}
	if b := s.inMode(r); b != nil {
		return b
	}
	switch r := r.(type) {
	case *Comm:
		return s.addComm(r)
	case *Module:
		if s.modules[r.Index] {
			return &RuleError{"a new module", fmt.Sprintf("module %d again", r.Index)}
		}
		s.modules[r.Index] = true
	case *Site:
		if s.sites[r.Index] {
			return &RuleError{"a new call site", fmt.Sprintf("site %d again", r.Index)}
		}
		if !s.modules[r.Module] {
			return &RuleError{"a module that was declared before", fmt.Sprintf("module %d", r.Module)}
		}
		s.sites[r.Index] = true
	case *Note:
		return s.needSite(r.Site)
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
			return &RuleError{fmt.Sprintf("a check after event %d", s.checked), fmt.Sprintf("one of event %d", r.Event)}
		}
		s.checked = r.Event
	case *Value, *Thread, *Turn:
		return s.values.add(r)
	case *Content:
		return s.addContent(r)
	}
	return nil
}

// inMode: EVENT records only in full mode, order-mode records only in order mode. But MATCH stands in full mode too,
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
	return &RuleError{want + " in a trace of mode " + s.mode.String(), "a " + kinds[r.kind()].name}
}

func (s *state) addContent(c *Content) *RuleError {
	switch {
	case s.events == 0:
		return &RuleError{"a CONTENT after the event that sent the message", "one before the first event"}
	case c.Which < s.contents:
		return &RuleError{
			fmt.Sprintf("the content of message %d or a later one of the event", s.contents),
			fmt.Sprintf("that of message %d", c.Which),
		}
	}
	s.contents = c.Which + 1
	return nil
}

func (s *state) addComm(c *Comm) *RuleError {
	if s.comms[c.Index] {
		return &RuleError{"a new communicator", fmt.Sprintf("communicator %d again", c.Index)}
	}
	if c.CommKind < abi.CommIntra || c.CommKind > abi.CommDistGraph {
		return &RuleError{"a kind of communicator from 1 to 6", fmt.Sprint(uint8(c.CommKind))}
	}
	if c.CommKind != abi.CommNull && int(c.MyRank) >= len(c.Members) {
		return &RuleError{fmt.Sprintf("a rank below the size %d", len(c.Members)), fmt.Sprint(c.MyRank)}
	}
	s.comms[c.Index] = true
	return nil
}

func (s *state) addOrder(event uint64, op mpispec.Op) *RuleError {
	if event == 0 || event < s.last {
		return &RuleError{fmt.Sprintf("an event from %d on", max(s.last, 1)), fmt.Sprint(event)}
	}
	if !op.Known() {
		return &RuleError{"a known operation", op.String()}
	}
	s.last = event
	return nil
}

func (s *state) addEvent(e *Event) *RuleError {
	if e.Index != s.events+1 {
		return &RuleError{fmt.Sprintf("event %d", s.events+1), fmt.Sprintf("event %d", e.Index)}
	}
	if b := s.needSite(e.Site); b != nil {
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
		return &RuleError{"a known operation", e.Op.String()}
	case mpispec.ClassStart, mpispec.ClassCompletion, mpispec.ClassRequest, mpispec.ClassOther:
	}
	for _, c := range comms {
		if b := s.needComm(c); b != nil {
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
