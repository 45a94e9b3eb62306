package handles

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// resolver evaluates expressions in one frame.
type resolver struct {
	*session
	frame backend.FrameID

	at   *backend.Frame // the frame, once it was asked for
	text string         // of its source file
}

var (
	_ call.Resolver   = (*resolver)(nil)
	_ call.Locator    = (*resolver)(nil)
	_ call.SourceText = (*resolver)(nil)
)

// surroundings are what is known of the rank besides its memory.
func (r *resolver) surroundings() registry.Surroundings {
	return registry.Surroundings{Locate: r.Locate, Symbol: r.symbol, Machine: r.machine, Now: r.now}
}

// symbol is the address of a symbol of the MPI library.
func (r *resolver) symbol(name string) (uint64, bool) {
	addr, err := r.rank.SymbolAddress(r.ctx, name)
	return addr, err == nil
}

func (r *resolver) machine() string {
	target, err := r.rank.Target(r.ctx)
	if err != nil {
		return ""
	}
	return target.Machine
}

// now is the time by the clock that the rank's times are of.
func (r *resolver) now() (int64, bool) {
	if target, err := r.rank.Target(r.ctx); err != nil || !target.Living {
		return 0, false
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, false
	}
	return t.Nano(), true
}

// Resolve implements call.Resolver.
func (r *resolver) Resolve(expr string) (call.Resolved, error) {
	v, err := r.rank.Resolve(r.ctx, r.frame, expr)
	if err != nil {
		return call.Resolved{}, err
	}
	out := call.Resolved{
		Type: v.Type, Number: v.Number, HasNumber: v.HasNumber, Address: v.Address, HasAddr: v.HasAddr,
		Pointer: v.Pointer, Array: v.Array, Struct: v.Struct, Language: call.C,
	}
	switch v.Language {
	case backend.Fortran:
		out.Language = call.Fortran
	case backend.Go: // its handles are C's, under names of a binding's own
		if k := handleKind(v.Type); k != "" {
			out.Type = k
		}
	case backend.C:
	}
	return out, nil
}

// Locate implements call.Locator.
func (r *resolver) Locate(pc uint64) string {
	if pc == 0 {
		return ""
	}
	at, err := r.rank.LineAt(r.ctx, pc-1) // pc is a return address
	if err != nil || at.Line == 0 {
		return ""
	}
	where := fmt.Sprintf("%s:%d", filepath.Base(at.File), at.Line)
	if at.Function != "" {
		where += " in " + at.Function
	}
	return where
}
