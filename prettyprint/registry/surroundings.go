package registry

import (
	"fmt"
	"time"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

func (r *Registry) StackFrames(at uint64) ([]uint64, error) {
	b, err := r.ReadFull(at, int64(abi.Size[abi.Stack]()), "A stack")
	if err != nil {
		return nil, err
	}
	n := abi.Read[abi.Stack](b).N
	if n == 0 || n > abi.StackMax {
		return nil, fault.Corruptf(at, "a stack claims %d frames, and at most %d are kept", n, abi.StackMax)
	}
	if b, err = r.ReadFull(at+uint64(abi.Size[abi.Stack]()), 8*int64(n), "The frames of a stack"); err != nil {
		return nil, err
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = Words(b).Addr(i)
	}
	return out, nil
}

// Surroundings is what is known of where a rank runs besides its memory; any of it may be nil.
type Surroundings struct {
	Locate func(pc uint64) string // the source line of a call, by its return address
	Symbol func(name string) (addr uint64, ok bool)
	// Machine names the architecture of the program as gdb does, i386:x86-64 or aarch64: it decides what a long double
	// is. nil: x86-64.
	Machine func() string
	Now     func() (ns int64, ok bool) // CLOCK_MONOTONIC on the rank's host
}

// Since says how long ago a time of CLOCK_MONOTONIC was.
func (s *Surroundings) Since(ns int64) string {
	if s.Now == nil || ns <= 0 {
		return ""
	}
	now, ok := s.Now()
	const longest = int64(10 * 365 * 24 * time.Hour)
	if !ok || now < ns || now-ns > longest {
		return ""
	}
	d := time.Duration(now - ns)
	switch {
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < time.Minute:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	return d.String()
}

// Line names the source line of a call by its return address; "" if it is not known.
func (r *Registry) Line(site uint64) string {
	if r.Env.Locate == nil || site == 0 {
		return ""
	}
	return r.Env.Locate(site)
}

// CreatedText says where and when something was made, by the return address of the call.
func (r *Registry) CreatedText(callSite, event uint64) string {
	s := ""
	if callSite != 0 {
		if s = r.Line(callSite); s == "" {
			s = fmt.Sprintf("0x%x", callSite-1)
		}
		s = "at " + s + ", "
	}
	return s + fmt.Sprintf("after event %d", event)
}

// Machine is the architecture of the program as Surroundings.Machine tells it, or "".
func (r *Registry) Machine() string {
	if r.machine == nil {
		name := ""
		if r.Env.Machine != nil {
			name = r.Env.Machine()
		}
		r.machine = &name
	}
	return *r.machine
}
