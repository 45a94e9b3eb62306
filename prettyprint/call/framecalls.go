package call

import (
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
)

// SourceText is implemented by a Resolver that knows the source text around its frame.
type SourceText interface {
	// CallsOnLine returns the MPI calls whose text covers the frame's line, evaluated in it; none is no error.
	CallsOnLine(r *handle.Rank) ([]*Call, error)
	// CallAt returns the call of that function in the source text at a return address, or nil.
	CallAt(site uint64, name string) *mpicall.Call
	// Thread is the kernel's id of the frame's thread; 0: not known. Site is the frame's return address into the
	// program if the frame is in a call, else 0.
	Thread() int32
}

// OfFrame are the calls that the resolver's frame is about: that which its thread is in, else those of its line. An
// error says why there are none.
func OfFrame(r *handle.Rank, res Resolver) ([]*Call, error) {
	text, ok := res.(SourceText)
	if !ok {
		return nil, fault.Errorf(fault.Resolve, 0, "Which line the rank is stopped at is not known here.")
	}
	running, notTracked := InProgress(r, text.CallAt)
	for i := range running {
		t := &running[i]
		if id := text.Thread(); id == t.Thread || id == 0 && len(running) == 1 {
			t.source = r.Line(t.Site)
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
	why := "The rank is in no MPI call, and its line has none whose arguments Cohort can read."
	if notTracked != nil {
		why = "The line has no MPI call whose arguments Cohort can read. " + notTracked.Error()
	}
	return nil, fault.Errorf(fault.NotFound, 0, "%s", why)
}
