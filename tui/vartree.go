package tui

import (
	"fmt"

	"github.com/google/go-dap"
)

// pageSize is how many children are asked for at once: an array of 10^8 elements opens as fast as one of ten.
const pageSize = 100

// varNode is a line of the variables pane: a scope, a variable, or the "more" line of a list that is not loaded to its
// end.
type varNode struct {
	name, value string
	ref         int
	total       int // children that the server announced, 0 unknown
	children    []*varNode
	parent      *varNode
	depth       int
	open        bool
	loading     bool
	more        bool // stands for the children that are not loaded yet
	err         string
}

func scopeNodes(scopes []dap.Scope) []*varNode {
	nodes := make([]*varNode, 0, len(scopes))
	for _, s := range scopes {
		total := s.NamedVariables + s.IndexedVariables
		nodes = append(nodes, &varNode{name: s.Name, ref: s.VariablesReference, total: total})
	}
	return nodes
}

// addChildren appends a page that was loaded from start.
func (n *varNode) addChildren(vars []dap.Variable) {
	n.children = n.children[:n.loaded()]
	for _, v := range vars {
		n.children = append(n.children, &varNode{
			name: printable(v.Name), value: printable(v.Value), ref: v.VariablesReference,
			total: v.NamedVariables + v.IndexedVariables, parent: n, depth: n.depth + 1,
		})
	}
	if len(vars) > 0 && (n.total > len(n.children) || (n.total == 0 && len(vars) == pageSize)) {
		text := "more (Enter)"
		if n.total > 0 {
			text = fmt.Sprintf("%d more (Enter)", n.total-len(n.children))
		}
		n.children = append(n.children, &varNode{name: "…", value: text, more: true, parent: n, depth: n.depth + 1})
	}
}

// loaded counts the children that came from the server.
func (n *varNode) loaded() int {
	k := len(n.children)
	if k > 0 && n.children[k-1].more {
		k--
	}
	return k
}

// flatten lists the visible lines.
func flatten(nodes []*varNode) []*varNode {
	var out []*varNode
	for _, n := range nodes {
		out = append(out, n)
		if n.open {
			out = append(out, flatten(n.children)...)
		}
	}
	return out
}
