package command

import (
	"io"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// calls is mpipp --call.
func (c *command) calls([]string) (*Result, error) {
	all, err := call.OfFrame(c.Rank, c.Resolver)
	if err != nil {
		return nil, err
	}
	var kids []view.Node
	for _, k := range all {
		kids = append(kids, k.Node())
	}
	n := kids[0]
	if len(kids) > 1 {
		n = view.Group("calls", view.Plural(int64(len(kids)), "call"), kids)
	}
	return &Result{Node: n, text: func(w io.Writer, opt view.Options) error {
		for _, k := range all {
			if err := k.Text(w, c.opt.filled(opt)); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// frameSides are what a rank sends, or receives, in the call that its frame is about.
func (c *command) frameSides(receives bool, peer int) ([]datatype.Side, error) {
	all, err := call.OfFrame(c.Rank, c.Resolver)
	if err != nil {
		return nil, err
	}
	var first error
	var found []datatype.Side
	calls := 0
	for _, k := range all {
		s, err := k.MatchSides(receives, peer)
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
	return nil, fault.Errorf(fault.Usage, 0, "The line has %d calls that could be meant; name the type and count of "+
		"one.", calls)
}
