package command

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// last is mpipp --last.
func (c *command) last([]string) (n view.Node, err error) {
	k, err := call.LastEvent(c.Rank, c.Resolver.Thread(), c.Resolver.CallAt)
	if err != nil {
		return n, err
	}
	return k.Node(), k.Text(&c.out, c.view)
}

// calls is mpipp --call.
func (c *command) calls([]string) (n view.Node, err error) {
	all, err := call.OfFrame(c.Rank, c.Resolver)
	if err != nil {
		return n, err
	}
	var kids []view.Node
	for _, k := range all {
		kids = append(kids, k.Node())
		if err := k.Text(&c.out, c.view); err != nil {
			return n, err
		}
	}
	if len(kids) == 1 {
		return kids[0], nil
	}
	return view.Group("calls", view.Plural(int64(len(kids)), "call"), kids), nil
}

// MatchSide is one side of mpipp --match.
type MatchSide struct {
	Receives bool
	Rank     int      // -1: not given
	Args     []string // TYPE [COUNT], a request, or nothing: the call that the rank is in or at
	Peer     int      // the other side's rank; -1: not known
	// Event, if not 0, is the number of the call instead of Args, Call its name, and Which the place in its array of
	// requests if it is a Startall.
	Event uint64
	Call  string
	Which int
	// Envelope asks for the envelope of the call alone, which a call that neither sends nor receives has too.
	Envelope bool
}

// ExportLine is the console line that asks the side's rank for its type, as text for [datatype.Import]. Of a call that
// waits for several requests the answer has a line for each.
func (s MatchSide) ExportLine() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers and strings can be written
	}
	return "mpipp --export " + string(text)
}

// export writes one side for a console that compares types of two ranks; it is no command for people.
func (c *command) export(args []string) (n view.Node, err error) {
	var s MatchSide
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		return n, fault.Errorf(fault.Usage, 0, "mpipp --export was given %q: %v.", args[0], err)
	}
	if s.Envelope {
		return n, c.envelope(s)
	}
	sides, err := c.sides(s)
	if err != nil {
		return n, err
	}
	for _, s := range sides {
		text, err := s.Export()
		if err != nil {
			return n, err
		}
		c.printf("%s\n", text)
	}
	return view.Leaf("export", fmt.Sprintf("%d characters", c.out.Len())), nil
}

// WaitsLine is the console line that asks a rank whom it waits for; the answer is a waits.Rank in JSON.
const WaitsLine = "mpipp --waits"

func (c *command) waits([]string) (n view.Node, err error) {
	w, err := call.Waits(c.Rank)
	if err != nil {
		return n, err
	}
	text, err := json.Marshal(w)
	c.printf("%s\n", text)
	return view.Leaf("waits", fmt.Sprintf("%d characters", c.out.Len())), err
}

// envelope writes that of the only call that the frame is about.
func (c *command) envelope(s MatchSide) error {
	all, err := call.OfFrame(c.Rank, c.Resolver)
	if err != nil {
		return err
	}
	if len(all) != 1 {
		return fault.Errorf(fault.Usage, 0, "The line has %d calls.", len(all))
	}
	text, err := json.Marshal(all[0].Envelope(s.Receives))
	if err != nil {
		return fmt.Errorf("writing the envelope of a call: %w", err)
	}
	c.printf("%s\n", text)
	return nil
}

// sides are the types that a side is about: several if it is the call that the frame is about, and waits for several
// requests.
func (c *command) sides(s MatchSide) ([]datatype.Side, error) {
	switch {
	case s.Event > 0:
		one, err := call.EventSide(c.Rank, call.Event{Number: s.Event, Call: s.Call, Which: s.Which}, s.Receives,
			s.Peer,
			c.Resolver)
		return []datatype.Side{one}, err
	case len(s.Args) == 0:
		return c.frameSides(s)
	}
	one, err := c.namedSide(s)
	return []datatype.Side{one}, err
}

// frameSides are what a rank sends, or receives, in the call that its frame is about.
func (c *command) frameSides(s MatchSide) ([]datatype.Side, error) {
	all, err := call.OfFrame(c.Rank, c.Resolver)
	if err != nil {
		return nil, err
	}
	var first error
	var found [][]datatype.Side
	for _, k := range all {
		sides, err := k.MatchSides(s.Receives, s.Peer)
		if err == nil {
			found = append(found, sides)
		} else if first == nil {
			first = err
		}
	}
	switch len(found) {
	case 0:
		return nil, first
	case 1:
		return found[0], nil
	}
	return nil, fault.Errorf(fault.Usage, 0,
		"The line has %d calls that could be meant; name the type and count of one.",
		len(found))
}

// namedSide is TYPE [COUNT], or a request.
func (c *command) namedSide(s MatchSide) (side datatype.Side, err error) {
	if len(s.Args) > 2 {
		return side, fault.Errorf(fault.Usage, 0,
			"One side of mpipp --match is a datatype and a count, or a request; %q was given.", strings.Join(s.Args,
				" "))
	}
	expr := s.Args[0]
	if len(s.Args) == 1 && !call.Predefined.MatchString(expr) {
		if v, err := c.Value(expr); err == nil && registry.KindOf(v.Type) == registry.KindRequest {
			head, err := c.Handle(registry.ClassOf(registry.KindRequest), expr, v)
			if err != nil {
				return side, err
			}
			return call.RequestOf(c.Rank.ObjectOf(head)).Call().MatchSide(s.Receives, s.Peer)
		}
	}
	p, err := c.typeArgument(expr)
	if err != nil {
		return side, err
	}
	if !p.At.IsZero() {
		return side, fault.Errorf(fault.Usage, 0, "Whole datatypes are sent, and %s%s is a part of one.", p.Name, p.At)
	}
	count, err := c.count(s.Args, 1)
	return datatype.Side{Name: p.Name, Type: p.Type, Count: count}, err
}

// MatchSides splits the arguments of mpipp --match, SEND [COUNT] to RECV [COUNT], each side with a rank before it or
// not. It serves a console that asks two ranks.
func MatchSides(line string) (send, recv MatchSide, err error) {
	args, err := call.SplitArguments(line)
	if err != nil {
		return send, recv, err
	}
	return matchSides(args)
}

func matchSides(args []string) (send, recv MatchSide, err error) {
	usage := fault.Errorf(fault.Usage, 0,
		"mpipp --match takes SEND [COUNT] to RECV [COUNT], each with a rank before it, as in [0] SEND, or not; "+
			"%q was given.", strings.Join(args, " "))
	if len(args) > 0 && eventName.MatchString(args[0]) {
		return send, recv, fault.Errorf(fault.Usage, 0,
			"A recording has the length of a message and not its type signature, so for the message of event %s "+
				"the ranks of a replay are asked. Open the recording (cohort debug REC.cohort, or VS Code), and "+
				"write `mpipp --match %s` in its console, without a rank before it.",
			args[0], args[0])
	}
	to := 0
	if len(args) > 0 { // the first may be a variable of that name
		to = 1 + slices.Index(args[1:], "to")
	}
	switch {
	case to > 0:
		send.Args, recv.Args = args[:to], args[to+1:]
	case len(args) == 2: // without "to" nobody could tell counts from types
		send.Args, recv.Args = args[:1], args[1:]
	default:
		return send, recv, usage
	}
	recv.Receives = true
	for _, s := range []*MatchSide{&send, &recv} {
		s.Rank = -1
		if len(s.Args) > 0 && strings.HasPrefix(s.Args[0], "[") && strings.HasSuffix(s.Args[0], "]") {
			n, err := strconv.ParseInt(strings.Trim(s.Args[0], "[] "), 10, 32)
			if err != nil || n < 0 {
				return send, recv, fault.Errorf(fault.Usage, 0,
					"A side of mpipp --match is a type of one rank, as in [3] column; %s is not a rank.", s.Args[0])
			}
			s.Rank, s.Args = int(n), s.Args[1:]
		}
		if len(s.Args) < 1 && s.Rank < 0 || len(s.Args) > 2 {
			return send, recv, usage
		}
	}
	if (send.Rank < 0) != (recv.Rank < 0) {
		return send, recv, fault.Errorf(fault.Usage, 0,
			"mpipp --match was given a rank for one side only; give both or none.")
	}
	send.Peer, recv.Peer = recv.Rank, send.Rank
	return send, recv, nil
}

// eventName is RANK:EVENT.
var eventName = regexp.MustCompile(`^\d+:\d+$`)

// match compares two types of this rank.
func (c *command) match(args []string) (n view.Node, err error) {
	s, r, err := matchSides(args)
	if err != nil {
		return n, err
	}
	if s.Rank >= 0 {
		return n, fault.Errorf(fault.Usage, 0,
			"This console sees one rank. A console of Cohort takes mpipp --match with types of two ranks; "+
				"leave the ranks out to compare two types of this one.")
	}
	send, err := c.namedSide(s)
	if err != nil {
		return n, err
	}
	recv, err := c.namedSide(r)
	if err != nil {
		return n, err
	}
	m, err := datatype.Match(send, recv)
	if err != nil {
		return n, err
	}
	return m.Node(), m.Text(&c.out, int(c.list))
}

// MatchEvent is what `mpipp --match 2:17 from 0` asks for: one of the messages that an event of a recording has a part
// in.
type MatchEvent struct {
	At       string // the event
	From, To string // the sender and the receiver, each a rank, or the event of the call; or empty
	Tag      *int
	Number   int // of the message among those of the event, from 1; 0: not given
}

var rankOrEvent = regexp.MustCompile(`^\d{1,9}(:\d{1,19})?$`)

// ParseMatchEvent reads the arguments of mpipp --match. ours is false if they do not begin with an event.
func ParseMatchEvent(line string) (q MatchEvent, ours bool, err error) {
	words := strings.Fields(line)
	if len(words) == 0 || !eventName.MatchString(words[0]) {
		return q, false, nil
	}
	usage := func(problem string) (MatchEvent, bool, error) {
		return q, true, fault.Errorf(fault.Usage, 0,
			"mpipp --match EVENT takes, if the event has a part in several messages, which of them: "+
				"from RANK, to RANK, tag TAG, or message NUMBER, as in mpipp --match 2:17 from 0; %s.", problem)
	}
	q.At = words[0]
	for words = words[1:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 {
			return usage("nothing follows " + strconv.Quote(words[0]))
		}
		value := words[1]
		switch words[0] {
		case "from", "to":
			value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
			if !rankOrEvent.MatchString(value) {
				return usage(strconv.Quote(words[1]) + " is neither a rank nor an event")
			}
			if words[0] == "from" {
				q.From = value
			} else {
				q.To = value
			}
		case "tag":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return usage(strconv.Quote(value) + " is no tag")
			}
			tag := int(n)
			q.Tag = &tag
		case "message":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < 1 {
				return usage(strconv.Quote(value) + " is no number of a message; they are counted from 1")
			}
			q.Number = int(n)
		default:
			return usage(strconv.Quote(words[0]) + " is none of these")
		}
	}
	return q, true, nil
}
