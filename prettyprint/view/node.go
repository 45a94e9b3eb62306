// Package view is the tree that everything shown of MPI is turned into: a row of Variables, a line of the console, an
// object of JSON. It knows nothing of MPI.
package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// Node is one place in a tree for users: a variable of DAP, a line of the console, an object of JSON. Its children are
// made when they are asked for. A Node is valid as long as its Registry.
type Node struct {
	Name    string
	Value   string
	Type    string
	Address uint64 // in the rank's memory, if HasAddress
	// TreeAddress is the place in the expanded type-tree, t(STRUCT)[2][5](CHAR), or empty.
	TreeAddress string
	HasAddress  bool
	NumChildren int
	// IsList says that the children are entries of one list, to be numbered and paged (DAP: indexed variables).
	IsList bool
	Open   func(from, to int) ([]Node, error)
}

// Children returns the children [from, to), reading no more of the rank's memory than they need. to is cut to
// NumChildren; at most 1048576 children come at once.
func (n Node) Children(from, to int) ([]Node, error) {
	to = min(to, n.NumChildren)
	if from < 0 || from > to {
		return nil, fault.Errorf(fault.Usage, 0, "Children %d to %d of %q were asked for; it has %d.", from, to, n.Name,
			n.NumChildren)
	}
	if to-from > MaxPage {
		return nil, fault.Errorf(fault.Usage, 0, "%d children of %q were asked for at once; at most %d come in one page.",
			to-from, n.Name, MaxPage)
	}
	if n.Open == nil || from == to {
		return nil, nil
	}
	return n.Open(from, to)
}

func Leaf(name, value string) Node { return Node{Name: name, Value: value} }

func Number[T int | int64 | uint32 | int32](name string, v T) Node {
	return Node{Name: name, Value: fmt.Sprint(v)}
}

// groupNode has the given children.
func Group(name, value string, kids []Node) Node {
	return Node{
		Name: name, Value: value, NumChildren: len(kids),
		Open: func(from, to int) ([]Node, error) { return kids[from:to], nil },
	}
}

// listNode has n children made by at.
func List(name, value string, n int, at func(i int) Node) Node {
	return Node{Name: name, Value: value, NumChildren: n, IsList: true, Open: func(from, to int) ([]Node, error) {
		kids := make([]Node, 0, to-from)
		for i := from; i < to; i++ {
			kids = append(kids, at(i))
		}
		return kids, nil
	}}
}

// Options limit what Text and JSON write.
type Options struct {
	MaxList  int // entries of one list; 0: 200
	MaxLines int // lines in all; 0: 10000
	MaxDepth int // levels; 0: 100

	From int64 // the first element of a buffer that is shown
}

func (o Options) Filled() Options {
	if o.MaxList <= 0 {
		o.MaxList = 200
	}
	if o.MaxLines <= 0 {
		o.MaxLines = 10000
	}
	if o.MaxDepth <= 0 {
		o.MaxDepth = 100
	}
	return o
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

func (p *printer) node(n Node, depth int) {
	if n.NumChildren == 0 {
		if n.IsList {
			p.printf("{}")
			return
		}
		p.printf("%s", n.Value)
		return
	}
	if depth >= p.opt.MaxDepth || p.lines >= p.opt.MaxLines {
		p.printf("{... %d more}", n.NumChildren)
		return
	}
	show := n.NumChildren
	if n.IsList {
		show = min(show, p.opt.MaxList)
	}
	kids, err := n.Children(0, show)
	if err != nil {
		p.printf("<%v>", err)
		return
	}
	if n.IsList {
		p.list(n, kids, depth)
		return
	}
	p.printf("{\n")
	for i, k := range kids {
		p.printf("%s%s = ", indent(depth+1), k.Name)
		p.node(k, depth+1)
		p.comma(i+1 < n.NumChildren)
	}
	p.printf("%s}", indent(depth))
}

func (p *printer) comma(more bool) {
	p.lines++
	if more {
		p.printf(",")
	}
	p.printf("\n")
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
	if rest := n.NumChildren - len(kids); rest > 0 {
		p.printf(", ... %d more", rest)
	}
	p.printf("}")
}

func indent(depth int) string { return strings.Repeat("    ", depth) }

// jsonNode is the form of a node in JSON.
type jsonNode struct {
	Name        string     `json:"name"`
	Value       string     `json:"value,omitempty"`
	Type        string     `json:"type,omitempty"`
	Address     string     `json:"address,omitempty"`     // hexadecimal: 64 bits do not fit a JSON number
	TreeAddress string     `json:"treeAddress,omitempty"` // t(STRUCT)[2][5](CHAR)
	Children    []jsonNode `json:"children,omitempty"`
	More        int        `json:"more,omitempty"` // children that are not in Children
}

// JSON writes the tree as one JSON object; what exceeds the options is counted in "more".
func (n Node) JSON(w io.Writer, opt Options) error {
	opt = opt.Filled()
	lines := 0
	j, err := n.json(opt, 0, &lines)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(j); err != nil {
		return fmt.Errorf("writing %q as JSON: %w", n.Name, err)
	}
	return nil
}

func (n Node) json(opt Options, depth int, lines *int) (jsonNode, error) {
	*lines++
	j := jsonNode{Name: n.Name, Value: n.Value, Type: n.Type, TreeAddress: n.TreeAddress}
	if n.HasAddress {
		j.Address = fmt.Sprintf("0x%x", n.Address)
	}
	show := n.NumChildren
	if n.IsList {
		show = min(show, opt.MaxList)
	}
	if depth >= opt.MaxDepth || *lines >= opt.MaxLines {
		show = 0
	}
	kids, err := n.Children(0, show)
	if err != nil {
		return j, err
	}
	for _, k := range kids {
		c, err := k.json(opt, depth+1, lines)
		if err != nil {
			return j, err
		}
		j.Children = append(j.Children, c)
	}
	j.More = n.NumChildren - show
	return j, nil
}

// maxPage is the largest number of elements or children that one call returns.
const MaxPage = 1 << 20

func ListText(w io.Writer, list Node, most int) error {
	if err := Write(w, "%s\n", list.Value); err != nil {
		return err
	}
	kids, err := list.Children(0, min(list.NumChildren, most))
	if err != nil {
		return err
	}
	width := 0
	for _, k := range kids {
		width = max(width, len(k.Name))
	}
	for _, k := range kids {
		if err := Write(w, "  %-*s  %s\n", width, k.Name, k.Value); err != nil {
			return err
		}
	}
	if rest := list.NumChildren - len(kids); rest > 0 {
		return Write(w, "  ... %d more\n", rest)
	}
	return nil
}
