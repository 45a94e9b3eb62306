package prettyprint

import (
	"io"

	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
)

// SourceText is implemented by a Resolver that knows the source text around its frame.
type SourceText interface {
	// CallsOnLine returns the MPI calls whose text covers the frame's line, evaluated in it; none is no error.
	CallsOnLine(r *Registry) ([]*Call, error)
	// CallAt returns the call of that function in the source text at a return address, or nil.
	CallAt(site uint64, name string) *mpicall.Call
	// Thread is the kernel's id of the frame's thread; 0: not known. Site is the frame's return address into the
	// program if the frame is in a call, else 0.
	Thread() int32
}

// FrameCalls are the calls that the resolver's frame is about: that which its thread is in, else those of its line. An
// error says why there are none.
func (r *Registry) FrameCalls(res Resolver) ([]*Call, error) {
	text, ok := res.(SourceText)
	if !ok {
		return nil, errorf(KindResolve, 0, "Which line the rank stands at is not known here.")
	}
	running, notKept := r.CallsInProgress(text.CallAt)
	for i := range running {
		t := &running[i]
		if id := text.Thread(); id == t.Thread || id == 0 && len(running) == 1 {
			t.source = r.siteText(t.Site)
			return []*Call{t.Call}, nil
		}
	}
	calls, err := text.CallsOnLine(r)
	switch {
	case err != nil:
		return nil, err
	case len(calls) > 0:
		return calls, nil
	}
	why := "The rank is in no MPI call, and its line holds none whose arguments Cohort can read."
	if notKept != nil {
		why = "The line holds no MPI call whose arguments Cohort can read. " + notKept.Error()
	}
	return nil, errorf(KindNotFound, 0, "%s", why)
}

func (r *Registry) siteText(site uint64) string {
	if where := r.env.where(); where != nil && site != 0 {
		return where(site)
	}
	return ""
}

// calls is mpipp --call.
func (c *command) calls(args []string) (*Result, error) {
	if len(args) > 0 {
		return nil, errorf(KindUsage, 0,
			"mpipp --call takes no argument: it shows the call that the rank is in, or that its line holds.")
	}
	all, err := c.r.FrameCalls(c.res)
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
	all, err := c.r.FrameCalls(c.res)
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
