package prettyprint

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// treeRow is a line of an expanded type-tree: a basic element, or those of one stage side by side.
type treeRow struct {
	address  string
	offset   int64
	n, step  int64 // elements, and bytes from one to the next
	what     string
	elements int64
}

// leafRow describes a place whose children are basic elements, or which is one.
func (l location) leafRow() treeRow {
	w := l.width()
	if w == 0 {
		return treeRow{l.long(), l.base, 1, 0, l.typeText(), l.elements()}
	}
	first := l.child(0)
	r := treeRow{"", first.base, w, 0, first.typeText(), l.elements()}
	open, shut := "[", "]"
	if l.row >= 0 {
		open, shut = "{", "}"
	}
	index := open + "0" + shut
	if w > 1 {
		r.step = l.child(1).base - first.base
		index = fmt.Sprintf("%s0..%d%s", open, w-1, shut)
	}
	r.address = l.long() + index + "(" + first.t.Label() + ")"
	return r
}

// evenly reports whether the basic elements below a place of one stage are evenly spaced: those of a cyclic darray are
// not.
func (l location) evenly() bool {
	if l.row >= 0 || l.t.layout.list != nil {
		return true
	}
	d := l.t.layout.dims[len(l.fixed)]
	return d.run <= 0 || d.n <= d.run || d.step*d.run == d.jump
}

// expand calls visit with the rows of the expanded type-tree below the place, until it returns false.
func (l location) expand(visit func(r treeRow) bool) bool {
	w := l.width()
	if w == 0 || l.child(0).width() == 0 && len(l.child(0).fixed) == 0 && l.evenly() {
		return visit(l.leafRow())
	}
	for k := range w {
		if !l.child(k).expand(visit) {
			return false
		}
	}
	return true
}

// place finds what a type with an address behind it names; the address may name any instance.
func (p typePart) place() (location, error) {
	if p.t.problem != nil {
		return location{}, p.t.problem
	}
	root := location{prefix: p.name, short: p.name, t: p.t, row: -1}
	if p.at.Instance >= 0 {
		root.row = p.at.Instance + 1
	}
	var c calc
	c.mul(max(root.row, 1), p.t.elements)
	c.mul(max(root.row, 1), p.t.Figures().Extent)
	if c.bad {
		return root, errorf(KindTooLarge, 0, "%d instances of the datatype %s are more than 2^62 elements or bytes.",
			root.row, p.t.Title())
	}
	return root.at(p.at)
}

// tree shows the expanded type-tree (paper, IV.B) with the addresses of its elements (IV.C).
func (c *command) tree(args []string) (*Result, error) {
	if len(args) != 1 {
		return nil, errorf(KindUsage, 0,
			"mpipp --tree takes one datatype, with or without an address behind it; %d arguments were given.",
			len(args))
	}
	p, err := c.typeArgument(args[0])
	if err != nil {
		return nil, err
	}
	l, err := p.place()
	if err != nil {
		return nil, err
	}
	n := groupNode(p.name+p.at.String(), l.typeText(), []Node{
		leafNode("address", l.long()), numberNode("offset", l.start()), leafNode("type", l.typeText()),
		numberNode("elements", l.elements()),
	})
	n.TreeAddress = l.long()
	return &Result{Node: n, text: func(w io.Writer, opt Options) error {
		if err := write(w, "%s is %s: %s\n", l.long(), l.typeText(), basicElements(l.elements())); err != nil {
			return err
		}
		return l.treeText(w, c.opt.filled(opt).MaxList)
	}}, nil
}

func (l location) treeText(w io.Writer, limit int) error {
	var rows []treeRow
	shown, width := int64(0), 0
	done := l.expand(func(r treeRow) bool {
		if len(rows) == limit {
			return false
		}
		rows = append(rows, r)
		shown += r.elements
		width = max(width, utf8.RuneCountInString(r.address))
		return true
	})
	for _, r := range rows {
		line := fmt.Sprintf("  %s%s  %s at offset %d", r.address,
			strings.Repeat(" ", width-utf8.RuneCountInString(r.address)), r.what, r.offset)
		if r.n > 1 {
			line = fmt.Sprintf("%s, %s apart", line, byteCount(r.step))
		}
		if err := write(w, "%s\n", line); err != nil {
			return err
		}
	}
	if done {
		return nil
	}
	return write(w, "  ... %s more; name a part, such as %s, to see it\n", basicElements(l.elements()-shown),
		l.child(l.width()-1).brief())
}
