package prettyprint

import (
	"io"
)

// calls is mpipp --call.
func (c *command) calls(args []string) (*Result, error) {
	if len(args) > 0 {
		return nil, errorf(KindUsage, 0,
			"mpipp --call takes no argument: it shows the call that the rank is in, or that its line holds.")
	}
	all, err := FrameCalls(c.r, c.res)
	if err != nil {
		return nil, err
	}
	var kids []Node
	for _, k := range all {
		kids = append(kids, k.Node())
	}
	n := kids[0]
	if len(kids) > 1 {
		n = groupNode("calls", plural(int64(len(kids)), "call"), kids)
	}
	return &Result{Node: n, text: func(w io.Writer, opt Options) error {
		for _, k := range all {
			if err := k.Text(w, c.opt.filled(opt)); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// frameSides are what a rank sends, or receives, in the call that its frame is about.
func (c *command) frameSides(receives bool, peer int) ([]Side, error) {
	all, err := FrameCalls(c.r, c.res)
	if err != nil {
		return nil, err
	}
	var first error
	var found []Side
	calls := 0
	for _, k := range all {
		s, err := k.matchSides(receives, peer)
		if err == nil {
			found = append(found, s...)
			calls++
		} else if first == nil {
			first = err
		}
	}
	switch calls {
	case 0:
		return nil, first
	case 1:
		return found, nil
	}
	return nil, errorf(KindUsage, 0, "The line holds %d calls that would do; name the type and count of one.", calls)
}
