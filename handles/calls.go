package handles

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// resolver evaluates expressions in one frame.
type resolver struct {
	*Decoder
	frame backend.FrameID

	// Once they were asked for:
	at    *backend.Frame
	text  string         // of its source file
	found []mpicall.Call // on its line
}

var _ call.Resolver = (*resolver)(nil)

// Resolve implements call.Resolver.
func (r *resolver) Resolve(expr string) (backend.Value, error) {
	v, err := r.rank.Resolve(r.ctx, r.frame, expr)
	if v.Language == backend.Go { // its handles are C's, under names of a binding's own
		if k := handleKind(v.Type); k != "" {
			v.Type = k
			v.Struct = v.Struct && !v.HasNumber
		}
	}
	if v.Language != backend.Fortran {
		v.Language = backend.C
	}
	return v, err
}

// maxSource is the size of the largest source file in which calls are looked for.
const maxSource = 8 << 20

// Calls returns the MPI calls of a frame: the call that the frame is in, or those whose text covers its line.
func (d *Decoder) Calls(ctx context.Context, frame backend.Frame) (nodes []view.Node, err error) {
	r := &resolver{Decoder: d, frame: frame.ID}
	r.read(frame)
	if len(r.found) == 0 && frame.ID.Level == 0 {
		return nil, nil
	}
	err = d.with(ctx, func() error {
		calls, err := r.calls()
		if err != nil {
			return err
		}
		seen := map[string]int{}
		for _, c := range calls {
			n := c.Node()
			seen[c.Name]++
			if k := seen[c.Name]; k > 1 { // a scope's variables have names of their own
				n.Name += fmt.Sprintf(" (%d)", k)
			}
			if c.State != call.Running && newerThanProgram(frame) {
				n.Value += " (the source is newer than the program: this may not be the call that was compiled)"
			}
			nodes = append(nodes, n)
		}
		return nil
	})
	return nodes, err
}

// calls are those of the resolver's frame: that which the registry says the thread is in from there, else those that
// were found in the source.
func (r *resolver) calls() ([]*call.Call, error) {
	rank, err := r.open()
	if err != nil {
		return nil, err
	}
	if r.frame.Level > 0 {
		running, err := call.InProgress(rank, r.CallAt)
		if err != nil && !fault.Is(err, fault.NotTracked) {
			return nil, err
		}
		running = slices.DeleteFunc(running, func(c call.ThreadCall) bool { return c.Site != r.at.PC })
		if len(running) > 1 { // several threads are in the same call
			thread := r.Thread()
			running = slices.DeleteFunc(running, func(c call.ThreadCall) bool { return c.Thread != thread })
		}
		if len(running) == 1 {
			return []*call.Call{running[0].Call}, nil
		}
	}
	return r.CallsOnLine(rank)
}

// read notes the resolver's frame, and the calls that the source has on its line.
func (r *resolver) read(frame backend.Frame) {
	r.at, r.text = &frame, lineSource(frame)
	r.found = mpicall.Find(r.text, mpicall.LanguageOf(frame.File), frame.Line)
}

// look asks for the resolver's frame unless it is known.
func (r *resolver) look() error {
	if r.at != nil {
		return nil
	}
	at, err := r.rank.FrameAt(r.ctx, r.frame)
	if err == nil {
		r.read(at)
	}
	return err
}

// CallAt implements call.Resolver, for the resolver's frame.
func (r *resolver) CallAt(site uint64, name string) *mpicall.Call {
	if r.look() != nil || r.at.PC != site {
		return nil
	}
	var same []*mpicall.Call
	for i := range r.found {
		if sameFunction(r.found[i].Name, name) {
			same = append(same, &r.found[i])
		}
	}
	if len(same) != 1 {
		return nil
	}
	return same[0]
}

// Thread implements call.Resolver.
func (r *resolver) Thread() int32 {
	id, err := r.rank.KernelThread(r.ctx, r.frame)
	if err != nil {
		return 0
	}
	return id
}

// lineSource is the source of a frame's line; "" if there is none here, or it is too large.
func lineSource(frame backend.Frame) string {
	if frame.File == "" || frame.Line <= 0 {
		return ""
	}
	info, err := os.Stat(frame.File)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
		return ""
	}
	text, err := os.ReadFile(frame.File)
	if err != nil {
		return ""
	}
	return string(text)
}

// newerThanProgram reports whether the source was changed after the object that the frame is in was built.
func newerThanProgram(frame backend.Frame) bool {
	source, err1 := os.Stat(frame.File)
	object, err2 := os.Stat(frame.Module)
	return err1 == nil && err2 == nil && source.ModTime().After(object.ModTime())
}

// CallsOnLine implements call.Resolver.
func (r *resolver) CallsOnLine(rank *handle.Rank) ([]*call.Call, error) {
	if err := r.look(); err != nil || len(r.found) == 0 {
		return nil, err
	}
	var constants map[string]string
	if mpicall.LanguageOf(r.at.File) == mpicall.C {
		constants = mpicall.Constants(r.text)
	}
	inner, begins := "", false
	if id := r.at.ID; id.Level > 0 {
		at, err := r.rank.FrameAt(r.ctx, backend.FrameID{Thread: id.Thread, Level: id.Level - 1})
		if err != nil {
			return nil, err
		}
		inner = at.Function
	} else if at, err := r.rank.LineAt(r.ctx, r.at.PC); err == nil {
		// at the first instruction that the line table has for it, what the line calls has not been called yet
		begins = at.Line != 0 && at.Start == r.at.PC
	}
	at := fmt.Sprintf("%s:%d", filepath.Base(r.at.File), r.at.Line)
	var out []*call.Call
	for _, c := range r.found {
		state := call.Near
		switch {
		case begins:
			state = call.Ahead
		case inner != "" && sameFunction(inner, c.Name):
			state = call.Running
		}
		out = append(out, call.FromSource(rank, r, c, constants, state, at))
	}
	return out, nil
}

var fortranSuffix = regexp.MustCompile(`(_f08)?(ts)?_*$`)

// sameFunction reports whether the function of a frame is what a call of that name calls: MPI_Send, PMPI_Send, or
// Fortran's mpi_send_ and mpi_send_f08ts_.
func sameFunction(frame, call string) bool {
	plain := func(s string) string {
		s = strings.ToLower(strings.TrimLeft(s, "_"))
		return fortranSuffix.ReplaceAllString(strings.TrimPrefix(s, "p"), "")
	}
	return plain(frame) == plain(call)
}
