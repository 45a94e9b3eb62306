package handles

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
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

// symbol is the address of a symbol of the MPI library.
func (d *Decoder) symbol(name string) (uint64, bool) {
	addr, err := d.rank.SymbolAddress(d.ctx, name)
	return addr, err == nil
}

func (d *Decoder) machine() string {
	target, err := d.rank.Target(d.ctx)
	if err != nil {
		return ""
	}
	return target.Machine
}

// now is the time by the clock that the rank's times are of.
func (d *Decoder) now() (int64, bool) {
	if target, err := d.rank.Target(d.ctx); err != nil || !target.Living {
		return 0, false
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, false
	}
	return t.Nano(), true
}

// locate names the line of a call by its return address. Each is asked about once: types are made in loops.
func (d *Decoder) locate(pc uint64) string {
	if where, known := d.places[pc]; known || pc == 0 {
		return where
	}
	at, err := d.rank.LineAt(d.ctx, pc-1)
	if err != nil {
		return ""
	}
	where := at.Function // of C that cgo writes, nothing else is known
	if at.Line != 0 {
		where = fmt.Sprintf("%s:%d", filepath.Base(at.File), at.Line)
		if at.Function != "" {
			where += " in " + at.Function
		}
	}
	d.places[pc] = where
	return where
}

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
