package command

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/picture"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// picture is mpipp --layout and --svg.
func (c *command) picture(args []string) (*Result, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, fault.Errorf(fault.Usage, 0, "mpipp --%s takes a datatype and a count; %d arguments were given. Usage:\n%s",
			c.opt.action, len(args), Usage)
	}
	p, err := c.typeArgument(args[0])
	if err != nil {
		return nil, err
	}
	if !p.At.IsZero() {
		return nil, fault.Errorf(fault.Usage, 0, "The picture is one of a whole datatype, and %s names a part of it, %s. "+
			"mpipp --tree %s shows where that lies.", p.Name, p.At, args[0])
	}
	count := int64(1)
	if len(args) == 2 {
		if count, err = c.count(args[1]); err != nil {
			return nil, err
		}
	}
	if c.opt.action == "svg" {
		return c.svg(p, count)
	}
	pic, err := picture.ForWidth(p.Type, p.Name, count, c.opt.width)
	if err != nil {
		return nil, err
	}
	return &Result{Node: view.Leaf(p.Name, p.Type.Summary()), text: func(w io.Writer, _ view.Options) error {
		if err := pic.Text(w, c.opt.colour); err != nil {
			return err
		}
		return datatype.WriteWarnings(w, p.Type)
	}}, nil
}

func (c *command) svg(p datatype.Part, count int64) (*Result, error) {
	if !strings.HasSuffix(c.opt.file, ".svg") {
		return nil, fault.Errorf(fault.Usage, 0, "mpipp --svg writes to files whose names end in .svg; %q does not.",
			c.opt.file)
	}
	pic, err := picture.New(p.Type, p.Name, count, picture.Options{})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := pic.SVG(&b); err != nil {
		return nil, err
	}
	return &Result{
		Node: view.Leaf(p.Name, p.Type.Summary()), File: &backend.File{Name: c.opt.file, Data: []byte(b.String())},
		text: func(w io.Writer, _ view.Options) error {
			if err := view.Write(w, "%s", pic.Head()); err != nil {
				return err
			}
			return datatype.WriteWarnings(w, p.Type)
		},
	}, nil
}

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
		return datatype.Side{}, fault.Errorf(fault.Usage, 0, "Whole datatypes are sent, and %s%s is a part of one.", p.Name, p.At)
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
			"A recording holds of a message its length, not its type signature, so for the message of event %s "+
				"the ranks of a replay are asked. Open the recording (cohort debug REC.cohort, or VS Code), and write `mpipp --match %s` in its console, without a rank before it.",
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
		return send, recv, fault.Errorf(fault.Usage, 0, "mpipp --match was given a rank for one side only; give both or none.")
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
	return &Result{Node: m.Node(), text: func(w io.Writer, _ view.Options) error { return m.Text(w, o.list) }}
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

// tree shows the expanded type-tree (paper, IV.B) with the addresses of its elements (IV.C).
func (c *command) tree(args []string) (*Result, error) {
	if len(args) != 1 {
		return nil, fault.Errorf(fault.Usage, 0,
			"mpipp --tree takes one datatype, with or without an address behind it; %d arguments were given.",
			len(args))
	}
	p, err := c.typeArgument(args[0])
	if err != nil {
		return nil, err
	}
	l, err := p.Locate()
	if err != nil {
		return nil, err
	}
	n := view.Group(p.Name+p.At.String(), l.TypeText(), []view.Node{
		view.Leaf("address", l.Long()), view.Number("offset", l.Start()), view.Leaf("type", l.TypeText()),
		view.Number("elements", l.Elements()),
	})
	return &Result{Node: n, text: func(w io.Writer, opt view.Options) error {
		if err := view.Write(w, "%s is %s: %s\n", l.Long(), l.TypeText(), datatype.BasicElements(l.Elements())); err != nil {
			return err
		}
		return l.TreeText(w, c.opt.filled(opt).MaxList)
	}}, nil
}
