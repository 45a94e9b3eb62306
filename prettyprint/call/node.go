package call

import (
	"fmt"
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Name is the function's name, as the program calls it.
func (c *Call) Name() string { return c.name }

// State says how far the call has come.
func (c *Call) State() State { return c.state }

// what says what is sent or received: 3 × column.
func (s *callSide) what() string {
	if len(s.parts) == 1 && s.parts[0].label == "" {
		return s.parts[0].what()
	}
	var elements int64
	for i := range s.parts {
		elements = datatype.SatAdd(elements, datatype.SatMul(max(s.parts[i].count, 0), s.parts[i].t.Elements()))
	}
	return view.Plural(int64(len(s.parts)), "part") + ", " + datatype.BasicElements(elements)
}

func (p *callPart) what() string {
	name := p.name
	if !simpleName(name) {
		name = p.t.Title()
	}
	return fmt.Sprintf("%s × %s", view.Grouped(p.count), name)
}

// simpleName reports whether a text is one word, which may stand for a type in front of an address.
func simpleName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r > 0x7f || !isWord(byte(r))
	}) < 0 && (s[0] < '0' || s[0] > '9')
}

// Summary says in a line what the call does: "sends 3 × column to rank 2, tag 7, MPI_COMM_WORLD".
func (c *Call) Summary() string {
	var sides []string
	for i := range c.sides {
		s := &c.sides[i]
		switch {
		case s.none && len(c.sides) > 1:
			continue
		case s.none:
			sides = append(sides, s.verb+" nothing")
		case s.err != nil:
			sides = append(sides, s.verb+" "+c.nameOf(s.spec.Address)+" (not evaluated)")
		default:
			text := s.verb + " " + s.what()
			if s.receives() && c.point() {
				text = s.verb + " up to " + s.what()
			}
			sides = append(sides, text)
		}
		if i == 0 && len(c.sides) == 2 && c.fn.Has("dest") {
			sides[len(sides)-1] += c.peer("dest", " to ")
		}
	}
	out := strings.Join(sides, ", ")
	if len(c.sides) != 2 {
		out += c.peer("dest", " to ")
	}
	out += c.peer("source", " from ") + c.peer("target_rank", " at ") + c.tags()
	if c.fn.Has("root") {
		out += c.rootText()
	}
	if c.comm != nil {
		out += ", " + c.commText()
	}
	return strings.TrimPrefix(strings.TrimSpace(out), ", ")
}

// point reports whether the call is point-to-point: its count is an upper bound.
func (c *Call) point() bool { return c.fn.Has("source") || c.fn.Has("message") }

func (c *Call) peer(parameter, how string) string {
	if !c.fn.Has(parameter) {
		return ""
	}
	n, err := c.given.number(parameter)
	if err != nil {
		if text := c.given.text(parameter); text != "" {
			return how + "rank " + text + " (not evaluated)"
		}
		return ""
	}
	return how + c.rankText(n)
}

// rankText names a rank of the call's communicator.
func (c *Call) rankText(n int64) string { return c.r.RankText(n, c.comm) }

func (c *Call) tags() string {
	var out []string
	for _, p := range []string{"tag", "sendtag", "recvtag"} {
		if !c.fn.Has(p) {
			continue
		}
		n, err := c.given.number(p)
		switch {
		case err != nil && c.given.text(p) != "":
			out = append(out, "tag "+c.given.text(p)+" (not evaluated)")
		case err != nil:
		case n == registry.AnyTag:
			out = append(out, "any tag")
		default:
			out = append(out, fmt.Sprintf("tag %d", n))
		}
	}
	if len(out) == 2 && out[0] == out[1] {
		out = out[:1]
	}
	if len(out) == 0 {
		return ""
	}
	return ", " + strings.Join(out, " and ")
}

func (c *Call) rootText() string {
	switch c.root {
	case rootSelf:
		return ", root (this rank)"
	case rootNobody:
		return ", root in this group"
	default:
	}
	if n, err := c.given.number("root"); err == nil {
		return ", root " + strings.TrimPrefix(c.rankText(n), "rank ")
	}
	return ""
}

func (c *Call) commText() string {
	if t := c.given.text("comm"); simpleName(t) {
		return t
	}
	return c.comm.Brief()
}

// Node is the call as a tree: its sides, each opened into the values that the call sees there, and its other arguments.
func (c *Call) Node() view.Node {
	var kids []view.Node
	for i := range c.sides {
		kids = append(kids, c.sideNode(&c.sides[i]))
	}
	kids = append(kids, c.others()...)
	value := c.Summary()
	if preview := c.preview(); preview != "" {
		value += ": " + preview
	}
	if len(c.sides) == 0 {
		value = c.line()
	}
	n := view.Group(c.name, value, kids)
	n.Type = "MPI call"
	return n
}

// line says in a line what the call does: to a buffer, or to requests.
func (c *Call) line() string {
	if len(c.sides) == 0 {
		if kids := c.others(); len(kids) > 0 && strings.HasPrefix(kids[0].Name, "request") {
			return kids[0].Value
		}
	}
	return c.Summary()
}

// requestsText writes the requests that a call is given, if they are several.
func (c *Call) requestsText(w io.Writer, opt view.Options) error {
	kids := c.others()
	if len(kids) == 0 || kids[0].Name != "requests" || kids[0].Len() == 0 {
		return nil
	}
	return view.ListText(w, kids[0], opt.MaxList)
}

// preview shows the first values of a call with one side.
func (c *Call) preview() string {
	if len(c.sides) != 1 || c.sides[0].err != nil || len(c.sides[0].parts) != 1 {
		return ""
	}
	s := &c.sides[0]
	if s.note != "" {
		return s.note
	}
	return s.parts[0].node(c.r, "").Value
}

func (c *Call) sideNode(s *callSide) view.Node {
	name := s.verb
	same := 0
	for i := range c.sides {
		if c.sides[i].verb == s.verb {
			same++
		}
	}
	if same > 1 {
		name += " (" + s.spec.Address + ")"
	}
	switch {
	case s.none:
		return view.Leaf(name, s.note)
	case s.err != nil:
		return view.Leaf(name, "not evaluated: "+s.err.Error())
	case len(s.parts) == 1 && s.parts[0].label == "":
		n := s.parts[0].node(c.r, name)
		n.Value = s.title(&s.parts[0]) + ": " + n.Value
		return n
	}
	return view.List(name, s.what()+s.suffix(), len(s.parts), func(i int) view.Node {
		p := &s.parts[i]
		n := p.node(c.r, p.label)
		n.Value = p.what() + ": " + n.Value
		return n
	})
}

func (s *callSide) suffix() string {
	if s.note == "" {
		return ""
	}
	return " (" + s.note + ")"
}

func (s *callSide) title(p *callPart) string {
	return fmt.Sprintf("%s at 0x%x%s", p.what(), p.addr, s.suffix())
}

// buffer views the part as the call does.
func (p *callPart) buffer(r *handle.Rank) (*datatype.Buffer, error) {
	name := p.name
	if !simpleName(name) {
		name = p.t.Label()
	}
	return r.Buffer(name, p.addr, p.t, p.count)
}

func (p *callPart) node(r *handle.Rank, name string) view.Node {
	b, err := p.buffer(r)
	if err != nil {
		return view.Leaf(name, err.Error())
	}
	n := b.Node(name)
	n.Type = p.what()
	return n
}

// others are the arguments that are no buffers, counts or types.
func (c *Call) others() []view.Node {
	used := map[string]bool{"comm": c.comm != nil}
	for _, b := range c.fn.Buffers {
		for _, p := range []string{b.Address, b.Count, b.Type, b.Displs, b.Parts} {
			used[p] = true
		}
	}
	var out []view.Node
	for i := range c.fn.Params {
		p := c.fn.Params[i].Name
		if used[p] {
			continue
		}
		switch p {
		case "dest", "source", "target_rank", "root":
			if n, err := c.given.number(p); err == nil {
				out = append(out, view.Leaf(p, c.rankText(n)))
				continue
			}
		case "tag", "sendtag", "recvtag":
			if n, err := c.given.number(p); err == nil && n == registry.AnyTag {
				out = append(out, view.Leaf(p, "any tag"))
				continue
			}
		}
		if n, ok := c.given.node(p); ok {
			out = append(out, n)
		}
	}
	if c.comm != nil {
		n := c.comm.Node("comm")
		n.Value = c.commText() + ": " + n.Value
		out = append(out, n)
	}
	return out
}

// Text writes the call for the console: what it does, then each side's values.
func (c *Call) Text(w io.Writer, opt view.Options) error {
	opt = opt.Filled()
	state := map[State]string{
		Ahead: "is about to be called", Running: "is being called",
		Near: "is called on this line",
	}[c.state]
	where := ""
	if c.source != "" {
		where = " at " + c.source
	}
	if err := view.Write(w, "%s %s%s: %s\n", c.name, state, where, c.line()); err != nil {
		return err
	}
	if len(c.sides) == 0 {
		return c.requestsText(w, opt)
	}
	for i := range c.sides {
		s := &c.sides[i]
		if s.none || s.err != nil {
			n := c.sideNode(s)
			if err := view.Write(w, "%s: %s\n", n.Name, n.Value); err != nil {
				return err
			}
			continue
		}
		if err := c.sideText(w, s, opt); err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) sideText(w io.Writer, s *callSide, opt view.Options) error {
	left := int64(opt.MaxList)
	for i := range s.parts {
		p := &s.parts[i]
		if left <= 0 {
			return view.Write(w, "... %s more\n", view.Plural(int64(len(s.parts)-i), "part"))
		}
		who := s.verb
		if p.label != "" {
			who += " " + p.label
		}
		if err := view.Write(w, "%s %s\n", who, s.title(p)); err != nil {
			return err
		}
		b, err := p.buffer(c.r)
		if err != nil {
			if err := view.Write(w, "  %v\n", err); err != nil {
				return err
			}
			continue
		}
		part := opt
		part.MaxList = int(left)
		if err := b.Text(w, part); err != nil {
			return err
		}
		left -= min(b.Len(), left)
		if p.t.Freed() && (c.state == Pending || c.state == Running) {
			continue // which a program may do meanwhile
		}
		if err := datatype.WriteWarnings(w, p.t); err != nil {
			return err
		}
	}
	return nil
}

// envelope is that of the call's send or receive.
func (c *Call) envelope(receives bool) *datatype.Envelope {
	e := &datatype.Envelope{Call: c.name, Self: datatype.NotKnown, Peer: datatype.NotKnown, Tag: datatype.NotKnown}
	if c.comm == nil {
		return e
	}
	e.Comm, e.CommName = c.comm.GlobalID(), c.comm.Brief()
	members := c.comm.Members()
	if me := c.comm.Rank(); me < len(members) && members[me] != handle.OutsideWorld {
		e.Self = int64(members[me])
	}
	group := members
	if c.comm.Kind() == abi.CommInter {
		group = c.comm.Remote()
	}
	peer, tag := "dest", []string{"sendtag", "tag"}
	if receives {
		peer, tag = "source", []string{"recvtag", "tag"}
	}
	if !c.fn.Has(peer) {
		e.Collective = true
		return e
	}
	switch n, err := c.given.number(peer); {
	case err != nil:
	case n == c.r.ProcNull():
		e.Peer = datatype.NullRank
	case n == c.r.AnySource():
		e.Peer = datatype.AnyRank
	case n >= 0 && n < int64(len(group)) && group[n] != handle.OutsideWorld:
		e.Peer = int64(group[n])
	}
	for _, t := range tag {
		if n, err := c.given.number(t); c.fn.Has(t) && err == nil {
			if e.Tag = n; n == registry.AnyTag {
				e.Tag = datatype.AnyRank
			}
			break
		}
	}
	return e
}
