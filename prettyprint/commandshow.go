package prettyprint

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// picture is mpipp --layout and --svg.
func (c *command) picture(args []string) (*Result, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, errorf(KindUsage, 0, "mpipp --%s takes a datatype and a count; %d arguments were given. Usage:\n%s",
			c.opt.action, len(args), Usage)
	}
	p, err := c.typeArgument(args[0])
	if err != nil {
		return nil, err
	}
	if !p.at.IsZero() {
		return nil, errorf(KindUsage, 0, "The picture is one of a whole datatype, and %s names a part of it, %s. "+
			"mpipp --tree %s shows where that lies.", p.name, p.at, args[0])
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
	pic, err := p.t.PictureForWidth(p.name, count, c.opt.width)
	if err != nil {
		return nil, err
	}
	return &Result{Node: leafNode(p.name, p.t.Summary()), text: func(w io.Writer, _ Options) error {
		if err := pic.Text(w, c.opt.colour); err != nil {
			return err
		}
		return writeWarnings(w, p.t)
	}}, nil
}

func (c *command) svg(p typePart, count int64) (*Result, error) {
	if !strings.HasSuffix(c.opt.file, ".svg") {
		return nil, errorf(KindUsage, 0, "mpipp --svg writes to files whose names end in .svg; %q does not.",
			c.opt.file)
	}
	pic, err := p.t.Picture(p.name, count, PictureOptions{})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := pic.SVG(&b); err != nil {
		return nil, err
	}
	return &Result{
		Node: leafNode(p.name, p.t.Summary()), File: &File{c.opt.file, []byte(b.String())},
		text: func(w io.Writer, _ Options) error {
			if err := write(w, "%s", pic.head()); err != nil {
				return err
			}
			return writeWarnings(w, p.t)
		},
	}, nil
}

// sides evaluate TYPE [COUNT], a request, or nothing: then it is the call that the frame is about, which may wait for
// several requests.
func (c *command) sides(args []string, receives bool, peer int) ([]Side, error) {
	if len(args) == 0 {
		return c.frameSides(receives, peer)
	}
	s, err := c.namedSide(args, receives, peer)
	return []Side{s}, err
}

func (c *command) namedSide(args []string, receives bool, peer int) (Side, error) {
	switch {
	case len(args) > 2:
		return Side{}, errorf(KindUsage, 0,
			"One side of mpipp --match is a datatype and a count, or a request; %q was given.", strings.Join(args, " "))
	case len(args) == 1 && !predefined.MatchString(args[0]):
		if v, err := c.value(args[0]); err == nil && KindOfType(v.Type) == HandleRequest {
			o, err := c.r.objectOfHandle(infoOf(HandleRequest), v.Number, v.Language == Fortran)
			if err != nil {
				return Side{}, c.explain(err, args[0])
			}
			return o.request().call().matchSide(receives, peer)
		}
	}
	p, err := c.typeArgument(args[0])
	if err != nil {
		return Side{}, err
	}
	if !p.at.IsZero() {
		return Side{}, errorf(KindUsage, 0, "Whole datatypes are sent, and %s%s is a part of one.", p.name, p.at)
	}
	s := Side{Name: p.name, Type: p.t, Count: 1}
	if len(args) == 2 {
		s.Count, err = c.count(args[1])
	}
	return s, err
}

// MatchSides splits the arguments of mpipp --match, SEND [COUNT] to RECV [COUNT], each side with a rank before it or
// not. rank is -1 where none is given. It serves a console that asks two ranks.
func MatchSides(line string) (send, recv MatchSide, err error) {
	args, err := SplitArguments(line)
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
	usage := errorf(KindUsage, 0,
		"mpipp --match takes SEND [COUNT] to RECV [COUNT], each with a rank before it, as in [0] SEND, or not; "+
			"%q was given.", strings.Join(args, " "))
	if len(args) > 0 && eventName.MatchString(args[0]) {
		return send, recv, errorf(KindUsage, 0,
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
				return send, recv, errorf(KindUsage, 0,
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
		return send, recv, errorf(KindUsage, 0, "mpipp --match was given a rank for one side only; give both or none.")
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
		return nil, errorf(KindUsage, 0,
			"This console sees one rank. A console of Cohort takes mpipp --match with types of two ranks; "+
				"leave the ranks out to compare two types of this one.")
	}
	send, err := c.sides(s.Args, false, noPeer)
	if err != nil {
		return nil, err
	}
	recv, err := c.sides(r.Args, true, noPeer)
	if err != nil {
		return nil, err
	}
	m, err := Match(send[0], recv[0]) // with arguments there is one of each
	if err != nil {
		return nil, err
	}
	return m.result(c.opt), nil
}

func (m *Matching) result(o options) *Result {
	return &Result{Node: m.Node(), text: func(w io.Writer, _ Options) error { return m.Text(w, o.list) }}
}

// export writes one side for a console that compares types of two ranks; it is no command for people.
func (c *command) export(args []string) (*Result, error) {
	if len(args) == 0 || args[0] != "send" && args[0] != "receive" {
		return nil, errorf(KindUsage, 0, "mpipp --export says first whether it is a send or a receive.")
	}
	receives := args[0] == "receive"
	args = args[1:]
	peer, event := noPeer, eventAsked{}
	for ; len(args) > 0 && strings.HasPrefix(args[0], "@"); args = args[1:] {
		name, text, _ := strings.Cut(args[0], ":")
		name += ":"
		if name == exportCall {
			event.call = text
			continue
		}
		number, err := strconv.ParseUint(text, 10, 62)
		switch name {
		case exportPeer:
			peer = int(number)
		case exportEvent:
			event.number = number
		case exportWhich:
			event.which = int(number)
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			return nil, errorf(KindUsage, 0, "mpipp --export was given %q.", args[0])
		}
	}
	var sides []Side
	var err error
	if event.number > 0 {
		var s Side
		s, err = c.r.eventSide(event, receives, peer, c.res)
		sides = []Side{s}
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
		Node: leafNode("export", fmt.Sprintf("%d characters", all.Len())),
		text: func(w io.Writer, _ Options) error {
			return write(w, "%s", all.String())
		},
	}, nil
}
