package command

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// sides evaluate TYPE [COUNT], a request, or nothing: then it is the call that the frame is about, which may wait for
// several requests.
func (c *command) sides(args []string, receives bool, peer int) ([]datatype.Side, error) {
	if len(args) == 0 {
		return c.frameSides(receives, peer)
	}
	s, err := c.namedSide(args, receives, peer)
	return []datatype.Side{s}, err
}

func (c *command) namedSide(args []string, receives bool, peer int) (datatype.Side, error) {
	switch {
	case len(args) > 2:
		return datatype.Side{}, fault.Errorf(fault.Usage, 0,
			"One side of mpipp --match is a datatype and a count, or a request; %q was given.", strings.Join(args, " "))
	case len(args) == 1 && !call.Predefined.MatchString(args[0]):
		if v, err := c.Value(args[0]); err == nil && registry.KindOf(v.Type) == registry.KindRequest {
			head, err := c.Handle(registry.ClassOf(registry.KindRequest), args[0], v)
			if err != nil {
				return datatype.Side{}, err
			}
			return call.RequestOf(c.Rank.ObjectOf(head)).Call().MatchSide(receives, peer)
		}
	}
	p, err := c.typeArgument(args[0])
	if err != nil {
		return datatype.Side{}, err
	}
	if !p.At.IsZero() {
		return datatype.Side{}, fault.Errorf(fault.Usage, 0, "Whole datatypes are sent, and %s%s is a part of one.",
			p.Name, p.At)
	}
	s := datatype.Side{Name: p.Name, Type: p.Type, Count: 1}
	if len(args) == 2 {
		s.Count, err = c.count(args[1])
	}
	return s, err
}

// MatchSides splits the arguments of mpipp --match, SEND [COUNT] to RECV [COUNT], each side with a rank before it or
// not. rank is -1 where none is given. It serves a console that asks two ranks.
func MatchSides(line string) (send, recv MatchSide, err error) {
	args, err := call.SplitArguments(line)
	if err != nil {
		return send, recv, err
	}
	return matchSides(args)
}

// MatchSide is one side of mpipp --match.
type MatchSide struct {
	Rank     int      // -1: not given
	Args     []string // TYPE [COUNT], a request, or nothing: the call that the rank is in or at
	Receives bool
	Peer     int // the other side's rank; -1: not known
	// Event, if not 0, is the number of the call instead of Args, Call its name, and Which the place in its array of
	// requests if it is a Startall.
	Event uint64
	Call  string
	Which int
}

// ExportLine is the console line that asks the side's rank for its type, as text for [Import]. Of a call that waits for
// several requests the answer has a line for each.
func (s MatchSide) ExportLine() string {
	words := []string{"mpipp --export send"}
	if s.Receives {
		words[0] = "mpipp --export receive"
	}
	if s.Peer >= 0 {
		words = append(words, fmt.Sprintf("%s%d", exportPeer, s.Peer))
	}
	if s.Event > 0 {
		words = append(words, fmt.Sprintf("%s%d", exportEvent, s.Event), exportCall+s.Call,
			fmt.Sprintf("%s%d", exportWhich, s.Which))
	}
	for _, a := range s.Args {
		words = append(words, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a)+`"`)
	}
	return strings.Join(words, " ")
}

// What may stand before the expressions of mpipp --export; no expression begins so.
const (
	exportPeer  = "@peer:"
	exportEvent = "@event:"
	exportCall  = "@call:"
	exportWhich = "@which:"
)

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
	at := -1
	for i, a := range args {
		if a == "to" && i > 0 {
			at = i
			break
		}
	}
	var second []string
	switch {
	case at > 0:
		args, second = args[:at], args[at+1:]
	case len(args) == 2: // without "to" nobody could tell counts from types
		args, second = args[:1], args[1:]
	default:
		return send, recv, usage
	}
	for _, s := range []struct {
		side *MatchSide
		args []string
	}{{&send, args}, {&recv, second}} {
		s.side.Rank, s.side.Args = -1, s.args
		if len(s.args) > 0 && strings.HasPrefix(s.args[0], "[") && strings.HasSuffix(s.args[0], "]") {
			n, err := strconv.ParseInt(strings.Trim(s.args[0], "[] "), 10, 32)
			if err != nil || n < 0 {
				return send, recv, fault.Errorf(fault.Usage, 0,
					"A side of mpipp --match is a type of one rank, as in [3] column; %s is not a rank.", s.args[0])
			}
			s.side.Rank, s.side.Args = int(n), s.args[1:]
		}
		if len(s.side.Args) < 1 && s.side.Rank < 0 || len(s.side.Args) > 2 {
			return send, recv, usage
		}
	}
	recv.Receives = true
	if (send.Rank < 0) != (recv.Rank < 0) {
		return send, recv, fault.Errorf(fault.Usage, 0, "mpipp --match was given a rank for one side only; give both "+
			"or none.")
	}
	send.Peer, recv.Peer = recv.Rank, send.Rank
	return send, recv, nil
}

// eventName is RANK:EVENT.
var eventName = regexp.MustCompile(`^\d+:\d+$`)

// match compares two types of this rank.
func (c *command) match(args []string) (*Result, error) {
	s, r, err := matchSides(args)
	if err != nil {
		return nil, err
	}
	if s.Rank >= 0 {
		return nil, fault.Errorf(fault.Usage, 0,
			"This console sees one rank. A console of Cohort takes mpipp --match with types of two ranks; "+
				"leave the ranks out to compare two types of this one.")
	}
	send, err := c.sides(s.Args, false, call.NoPeer)
	if err != nil {
		return nil, err
	}
	recv, err := c.sides(r.Args, true, call.NoPeer)
	if err != nil {
		return nil, err
	}
	m, err := datatype.Match(send[0], recv[0]) // with arguments there is one of each
	if err != nil {
		return nil, err
	}
	return matchResult(m, c.opt), nil
}

func matchResult(m *datatype.Matching, o options) *Result {
	return &Result{Node: m.Node(), text: func(w io.Writer, _ view.Options) error { return m.Text(w, int(o.list)) }}
}

// export writes one side for a console that compares types of two ranks; it is no command for people.
func (c *command) export(args []string) (*Result, error) {
	if len(args) == 0 || args[0] != "send" && args[0] != "receive" {
		return nil, fault.Errorf(fault.Usage, 0, "mpipp --export says first whether it is a send or a receive.")
	}
	receives := args[0] == "receive"
	args = args[1:]
	peer, event := call.NoPeer, call.Event{}
	for ; len(args) > 0 && strings.HasPrefix(args[0], "@"); args = args[1:] {
		name, text, _ := strings.Cut(args[0], ":")
		name += ":"
		if name == exportCall {
			event.Call = text
			continue
		}
		number, err := strconv.ParseUint(text, 10, 62)
		switch name {
		case exportPeer:
			peer = int(number)
		case exportEvent:
			event.Number = number
		case exportWhich:
			event.Which = int(number)
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			return nil, fault.Errorf(fault.Usage, 0, "mpipp --export was given %q.", args[0])
		}
	}
	var sides []datatype.Side
	var err error
	if event.Number > 0 {
		var s datatype.Side
		s, err = call.EventSide(c.Rank, event, receives, peer, c.Resolver)
		sides = []datatype.Side{s}
	} else {
		sides, err = c.sides(args, receives, peer)
	}
	if err != nil {
		return nil, err
	}
	var all strings.Builder
	for _, s := range sides {
		text, err := s.Export()
		if err != nil {
			return nil, err
		}
		all.WriteString(text + "\n")
	}
	return &Result{
		Node: view.Leaf("export", fmt.Sprintf("%d characters", all.Len())),
		text: func(w io.Writer, _ view.Options) error {
			return view.Write(w, "%s", all.String())
		},
	}, nil
}
