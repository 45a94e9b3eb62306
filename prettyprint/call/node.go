package call

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// whole reports whether the side is in one piece.
func (s *callSide) whole() bool { return len(s.parts) == 1 && s.parts[0].label == "" }

// what says what is sent or received: 3 × column.
func (s *callSide) what() string {
	if s.whole() {
		return s.parts[0].what()
	}
	var elements int64
	for i := range s.parts {
		elements = datatype.SatAdd(elements, datatype.SatMul(max(s.parts[i].count, 0), s.parts[i].Type.Elements))
	}
	return view.Plural(int64(len(s.parts)), "part") + ", " + datatype.BasicElements(elements)
}

// told is what with what the type is, which its name in the program does not tell.
func (s *callSide) told() string {
	if s.whole() {
		p := &s.parts[0]
		return fmt.Sprintf("%s × %s", view.Grouped(p.count), p.Type.Told(p.named(func() string { return "" })))
	}
	text := s.what()
	if len(s.parts) > 0 && !slices.ContainsFunc(s.parts, func(p callPart) bool { return p.Type != s.parts[0].Type }) {
		text += " of " + s.parts[0].Type.Told("")
	}
	return text
}

func (p *callPart) what() string {
	return fmt.Sprintf("%s × %s", view.Grouped(p.count), p.named(p.Type.Title))
}

// named is how the program calls the type, if that is a word; it may stand in front of an address.
func (p *callPart) named(otherwise func() string) string {
	if word.MatchString(p.Name) {
		return p.Name
	}
	return otherwise()
}

var word = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// Summary says in a line what the call does: "sends 3 × column to rank 2, tag 7, MPI_COMM_WORLD".
func (c *Call) Summary() string {
	var sides []string
	to := c.peer("dest", " to ")
	for i := range c.sides {
		s := &c.sides[i]
		text := s.verb
		switch {
		case s.none && len(c.sides) > 1:
			continue
		case s.none:
			text += " nothing"
		case s.err != nil:
			text += " " + c.nameOf(s.spec.Address) + " (not evaluated)"
		case s.receives() && (c.fn.Has("source") || c.fn.Has("message")): // the count is an upper bound
			text += " up to " + s.told()
		default:
			text += " " + s.told()
		}
		if i == 0 && len(c.sides) == 2 {
			text, to = text+to, ""
		}
		sides = append(sides, text)
	}
	out := strings.Join(sides, ", ") + to + c.peer("source", " from ") + c.peer("target_rank", " at ") + c.tags() +
		c.rootText()
	if c.fn.Has("op") {
		if op, err := c.given.op(); err == nil {
			out += ", " + op
		}
	}
	if c.comm != nil {
		out += ", " + c.commText()
	}
	return strings.TrimPrefix(strings.TrimSpace(out), ", ")
}

func (c *Call) peer(parameter, how string) string {
	if !c.fn.Has(parameter) {
		return ""
	}
	n, err := c.given.number(parameter)
	if err == nil {
		return how + c.r.RankText(n, c.comm)
	}
	if text := c.given.text(parameter); text != "" {
		return how + "rank " + text + " (not evaluated)"
	}
	return ""
}

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
	if len(out) == 0 {
		return ""
	}
	return ", " + strings.Join(slices.Compact(out), " and ")
}

func (c *Call) rootText() string {
	switch c.root {
	case rootSelf:
		return ", root (this rank)"
	case rootNobody:
		return ", root in this group"
	default:
		if n, err := c.given.number("root"); err == nil && c.fn.Has("root") {
			return ", root " + strings.TrimPrefix(c.r.RankText(n, c.comm), "rank ")
		}
		return ""
	}
}

// commText is which communicator it is, after what the program calls it.
func (c *Call) commText() string {
	written := c.given.text("comm")
	if !word.MatchString(written) {
		written = ""
	}
	return c.comm.Told(written)
}

// Node is the call as a tree: its sides, each opened into the values that the call sees there, and its other arguments.
func (c *Call) Node() view.Node {
	value := c.line()
	if preview := c.preview(); preview != "" {
		value += ": " + preview
	}
	n := view.Group(c.Name, value, c.nodes())
	n.Type = "MPI call"
	return n
}

func (c *Call) nodes() (kids []view.Node) {
	for i := range c.sides {
		kids = append(kids, c.sideNode(&c.sides[i]))
	}
	return append(kids, c.others()...)
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
	if slices.ContainsFunc(c.sides, func(o callSide) bool { return o.verb == s.verb && o.spec != s.spec }) {
		name += " (" + s.spec.Address + ")"
	}
	switch {
	case s.none:
		return view.Leaf(name, s.note)
	case s.err != nil:
		return view.Leaf(name, "not evaluated: "+s.err.Error())
	case s.whole():
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
	return r.Buffer(p.named(p.Type.Label), p.addr, p.Type, p.count)
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
	for _, p := range c.fn.Params {
		if used[p.Name] {
			continue
		}
		if n, ok := c.argument(p); ok {
			out = append(out, n)
		}
	}
	if c.comm != nil {
		n := c.comm.Node("comm")
		if t := c.given.text("comm"); word.MatchString(t) {
			n.Value = t + ": " + n.Value
		}
		out = append(out, n)
	}
	return out
}

// argument shows what a parameter is given, if there is anything to show.
func (c *Call) argument(p mpispec.Param) (view.Node, bool) {
	switch p.Name {
	case "dest", "source", "tag", "sendtag", "recvtag", "root", "target_rank", "target_disp", "target_count", "offset",
		"insize", "outsize", "partitions":
	default:
		return c.given.node(p.Name)
	}
	n, err := c.given.number(p.Name)
	switch {
	case fault.Is(err, fault.NotFound): // it is not recorded
		return view.Node{}, false
	case err != nil:
		text := c.given.text(p.Name)
		return view.Leaf(p.Name, text+" (not evaluated: "+err.Error()+")"), text != ""
	}
	switch p.Role {
	case mpispec.RoleDest, mpispec.RoleSource, mpispec.RoleTarget, mpispec.RoleRoot:
		return view.Leaf(p.Name, c.r.RankText(n, c.comm)), true
	case mpispec.RoleTag:
		if n == registry.AnyTag {
			return view.Leaf(p.Name, "any tag"), true
		}
	default:
	}
	return view.Number(p.Name, n), true
}

// how says how far the call has come.
func (c *Call) how() string {
	return map[State]string{
		Ahead: "is about to be called", Running: "is being called", Near: "is called on this line",
		Returned: "has returned",
	}[c.State]
}

// Text writes the call for the console: what it does, then each side's values, or the requests that it is given.
func (c *Call) Text(w *strings.Builder, opt view.Options) error {
	opt = opt.Filled()
	how := c.how()
	if c.source != "" {
		how += " at " + c.source
	}
	if c.State == Returned {
		how += ", with the buffers as they are now"
	}
	fmt.Fprintf(w, "%s %s: %s\n", c.Name, how, c.line())
	if len(c.sides) > 0 {
		return c.sidesText(w, opt)
	}
	if kids := c.others(); len(kids) > 0 && kids[0].Name == "requests" && kids[0].Len() > 0 {
		return view.ListText(w, kids[0], opt.MaxList)
	}
	return nil
}

// sidesText writes what is in the buffers of the call.
func (c *Call) sidesText(w *strings.Builder, opt view.Options) error {
	for i := range c.sides {
		s := &c.sides[i]
		if s.none || s.err != nil {
			n := c.sideNode(s)
			fmt.Fprintf(w, "%s: %s\n", n.Name, n.Value)
		} else if err := c.sideText(w, s, opt); err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) sideText(w *strings.Builder, s *callSide, opt view.Options) error {
	left := int64(opt.MaxList)
	for i := range s.parts {
		p := &s.parts[i]
		if left <= 0 {
			fmt.Fprintf(w, "... %s more\n", view.Plural(int64(len(s.parts)-i), "part"))
			return nil
		}
		fmt.Fprintf(w, "%s %s\n", strings.TrimSpace(s.verb+" "+p.label), s.title(p))
		b, err := p.buffer(c.r)
		if err != nil {
			fmt.Fprintf(w, "  %v\n", err)
			continue
		}
		opt.MaxList = int(left)
		if err := b.Text(w, opt); err != nil {
			return err
		}
		left -= min(b.Len(), left)
		if p.Type.Freed && (c.State == Pending || c.State == Running) {
			continue // which a program may do meanwhile
		}
		if err := datatype.WriteWarnings(w, p.Type); err != nil {
			return err
		}
	}
	return nil
}
