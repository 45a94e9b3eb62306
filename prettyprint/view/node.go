// Package view is the tree that everything shown of MPI is turned into: a row of Variables, a line of the console. It
// knows nothing of MPI.
package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// Node is one item of a tree for users: a variable, as it crosses the connection to the job and becomes one of DAP, and
// what makes its children when they are asked for. It is valid until the rank resumes.
type Node struct {
	backend.Variable
	// Open returns the children [from, to). nil: the node can have none; with no children it is an empty list.
	Open func(from, to int) ([]Node, error)
}

// Len is the number of children: entries of one list, numbered and paged, if Indexed counts them.
func (n *Node) Len() int { return n.Named + n.Indexed }

// Children returns the children [from, to), reading no more of the rank's memory than they need. to is cut to Len; at
// most 1048576 children come at once.
func (n *Node) Children(from, to int) ([]Node, error) {
	to = min(to, n.Len())
	if from < 0 || from > to {
		return nil, fault.Errorf(fault.Usage, 0, "Children %d to %d of %q were asked for; it has %d.", from, to, n.Name,
			n.Len())
	}
	if to-from > MaxPage {
		return nil, fault.Errorf(fault.Usage, 0, "%d children of %q were asked for at once; at most %d come in one "+
			"page.", to-from, n.Name, MaxPage)
	}
	if n.Open == nil || from == to {
		return nil, nil
	}
	return n.Open(from, to)
}

// Leaf has a value and no children.
func Leaf(name, value string) Node {
	return Node{Variable: backend.Variable{Name: name, Value: value, ReadOnly: true}}
}

// Number is a leaf with a number.
func Number[T int | int64 | uint32 | int32](name string, v T) Node { return Leaf(name, fmt.Sprint(v)) }

// Group has the given children.
func Group(name, value string, kids []Node) Node {
	return Lazy(name, value, len(kids), func() []Node { return kids })
}

// Lazy has n children, which are made when one of them is asked for.
func Lazy(name, value string, n int, kids func() []Node) Node {
	out := Leaf(name, value)
	if out.Named = n; n > 0 {
		out.Open = func(from, to int) ([]Node, error) { return kids()[from:to], nil }
	}
	return out
}

// List has n children made by at.
func List(name, value string, n int, at func(i int) Node) Node {
	out := Leaf(name, value)
	out.Indexed = n
	out.Open = func(from, to int) ([]Node, error) {
		kids := make([]Node, 0, to-from)
		for i := from; i < to; i++ {
			kids = append(kids, at(i))
		}
		return kids, nil
	}
	return out
}

// Options limit what Text writes; of a limit that is 0 the default counts.
type Options struct {
	MaxList  int // entries of one list
	MaxText  int // bytes of the elements of a buffer: the text ends soon after as many, and says how it continues
	MaxLines int // lines in all
	MaxDepth int // levels

	From    int64 // the first element of a buffer that is shown
	Buffers bool  // with a request, what is in its buffers
}

// Filled are the options with the defaults in place of zeros.
func (o Options) Filled() Options {
	o.MaxText = orElse(o.MaxText, 16<<20)
	o.MaxList, o.MaxLines, o.MaxDepth = orElse(o.MaxList, 200), orElse(o.MaxLines, 10000), orElse(o.MaxDepth, 100)
	return o
}

func orElse(n, ifNone int) int {
	if n > 0 {
		return n
	}
	return ifNone
}

// printer writes nodes in the form of the paper's Fig. 5.
type printer struct {
	w     io.Writer
	opt   Options
	lines int
	err   error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		p.err = Write(p.w, format, args...)
	}
}

// Write is fmt.Fprintf with an error that says what failed.
func Write(w io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(w, format, args...); err != nil {
		return fmt.Errorf("writing text: %w", err)
	}
	return nil
}

// Text writes the tree as nested text in the form of the paper's Fig. 5, a C structure:
//
//	{
//	    kind = STRUCT,
//	    count = 2,
//	    entries = {{
//	        blocklength = 1,
//	        ...
//
// What exceeds the options is counted, not shown.
func (n Node) Text(w io.Writer, opt Options) error {
	p := printer{w: w, opt: opt.Filled()}
	p.node(n, 0)
	p.printf("\n")
	return p.err
}

// Titled writes the node's name and value on a line, and the tree below.
func (n Node) Titled(w io.Writer, opt Options) error {
	if err := Write(w, "%s: %s\n", n.Name, n.Value); err != nil {
		return err
	}
	return n.Text(w, opt)
}

func (p *printer) node(n Node, depth int) {
	switch {
	case n.Len() == 0 && n.Open != nil:
		p.printf("{}")
		return
	case n.Len() == 0:
		p.printf("%s", n.Value)
		return
	case depth >= p.opt.MaxDepth || p.lines >= p.opt.MaxLines:
		p.printf("{... %d more}", n.Len())
		return
	}
	show := n.Len()
	if n.Indexed > 0 {
		show = min(show, p.opt.MaxList)
	}
	kids, err := n.Children(0, show)
	switch {
	case err != nil:
		p.printf("<%v>", err)
	case n.Indexed > 0:
		p.list(n, kids, depth)
	default:
		p.printf("{\n")
		for i, k := range kids {
			p.printf("%s%s = ", indent(depth+1), k.Name)
			p.node(k, depth+1)
			p.lines++
			end := ",\n"
			if i+1 == n.Len() {
				end = "\n"
			}
			p.printf("%s", end)
		}
		p.printf("%s}", indent(depth))
	}
}

// list writes {{...}, {...}} around structures and {a, b, c} around plain values.
func (p *printer) list(n Node, kids []Node, depth int) {
	p.printf("{")
	for i, k := range kids {
		if i > 0 {
			p.printf(", ")
		}
		p.node(k, depth)
	}
	if rest := n.Len() - len(kids); rest > 0 {
		p.printf(", ... %d more", rest)
	}
	p.printf("}")
}

func indent(depth int) string { return strings.Repeat("    ", depth) }

// MaxPage is the largest number of elements or children that one call returns.
const MaxPage = 1 << 20

// ListText writes a list with a line for each entry, at most so many.
func ListText(w io.Writer, list Node, most int) error {
	kids, err := list.Children(0, min(list.Len(), most))
	if err != nil {
		return err
	}
	width := 0
	for _, k := range kids {
		width = max(width, len(k.Name))
	}
	var b strings.Builder
	fmt.Fprintln(&b, list.Value)
	for _, k := range kids {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, k.Name, k.Value)
	}
	if rest := list.Len() - len(kids); rest > 0 {
		fmt.Fprintf(&b, "  ... %d more\n", rest)
	}
	return Write(w, "%s", b.String())
}
