package base

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/hitcondition"
	"github.com/cohort-debugger/cohort/internal/prose"
)

// Breakpoint is one of the user's. ID is the debugger's name for it; the zero value: it has none, as it was refused or
// is gone.
type Breakpoint[ID comparable] struct {
	Want   backend.SourceBreakpoint
	Source string // as in the request
	ID     ID
	Is     backend.Breakpoint

	Hits hitcondition.Rule
	What string
	// Over: it is not set again: where it was to be set, or was, may be another place now.
	Over bool
}

// Refuse says why the breakpoint is not there.
func (b *Breakpoint[ID]) Refuse(format string, args ...any) {
	b.Is.Message = fmt.Sprintf(format, args...)
}

// check begins what becomes of a breakpoint, and refuses what no debugger can do.
func (b *Breakpoint[ID]) check() (ok bool) {
	b.Is = backend.Breakpoint{ID: b.Want.ID, Line: b.Want.Line, Source: b.Source}
	var err error
	if b.Hits, err = hitcondition.Parse(b.Want.HitCondition); err != nil {
		b.Refuse("%s", prose.Sentence(err.Error()))
		return false
	}
	switch {
	case b.Source == backend.DataBreakpoints:
		b.What, b.Is.Source = b.Want.Watch.Expression, ""
	case b.Source == backend.ExceptionBreakpoints:
		b.What, b.Is.Source = string(b.Want.Catch), ""
	case b.Source == backend.InstructionBreakpoints:
		b.What, b.Is.Source = fmt.Sprintf("%#x", b.Want.Address), ""
	case b.Source == "" && b.Want.Function != "":
		b.What = "function " + b.Want.Function
	case b.Source != "" && b.Want.Line > 0:
		b.What = fmt.Sprintf("%s:%d", filepath.Base(b.Source), b.Want.Line)
	default:
		b.Refuse("A breakpoint needs a file and a line from 1 up, or a function.")
		return false
	}
	return true
}

// RefusedBy says that the debugger does not take the breakpoint, in its words.
func (b *Breakpoint[ID]) RefusedBy(why string) {
	at := "breakpoint at "
	if b.Source == backend.DataBreakpoints {
		at = "data breakpoint on "
	}
	if b.Want.Condition != "" && b.Want.LogMessage == "" {
		b.Refuse("The %s with the condition %q is refused: %s.", at+b.What, b.Want.Condition, why)
	} else {
		b.Refuse("The %s is refused: %s.", at+b.What, why)
	}
}

// Place says where the breakpoint is.
func (b *Breakpoint[ID]) Place(source string, line int, function string) {
	b.Is.Verified, b.Is.Message = true, ""
	if line > 0 {
		if b.Want.Line > 0 && line != b.Want.Line {
			b.Refuse("Line %d holds no code; the breakpoint is at line %d, in %s.", b.Want.Line, line, function)
		}
		b.Is.Line = line
	}
	if source != "" {
		b.Is.Source = source
	}
}

// Breakpoints are the user's breakpoints.
type Breakpoints[ID comparable] struct {
	bySource map[string][]*Breakpoint[ID]
	ByID     map[ID]*Breakpoint[ID]
}

// NewBreakpoints returns none.
func NewBreakpoints[ID comparable]() Breakpoints[ID] {
	return Breakpoints[ID]{map[string][]*Breakpoint[ID]{}, map[ID]*Breakpoint[ID]{}}
}

// Replace makes the breakpoints of a source be those that are asked for. One that is there already stays, so that its
// hits continue counting. insert sets the ID and calls Place, or refuses; an error of insert and remove is for a
// debugger that does not answer.
func (s *Breakpoints[ID]) Replace(req backend.SetBreakpointsRequest, insert func(*Breakpoint[ID]) error,
	remove func(ID) error,
) ([]backend.Breakpoint, error) {
	var none ID
	old := slices.Clone(s.bySource[req.Source])
	all := make([]*Breakpoint[ID], len(req.Breakpoints))
	for i, want := range req.Breakpoints {
		same := slices.IndexFunc(old, func(b *Breakpoint[ID]) bool {
			before := b.Want
			before.ID, before.Watch.Frame = want.ID, want.Watch.Frame
			return (b.ID != none || b.Over) && before == want
		})
		if same < 0 {
			all[i] = &Breakpoint[ID]{Want: want, Source: req.Source}
			continue
		}
		all[i] = old[same]
		old = slices.Delete(old, same, same+1)
		all[i].Want.ID, all[i].Is.ID = want.ID, want.ID
	}
	for _, b := range old {
		if b.ID == none {
			continue
		}
		delete(s.ByID, b.ID)
		if err := remove(b.ID); err != nil {
			return nil, err
		}
	}
	s.bySource[req.Source] = all
	result := make([]backend.Breakpoint, len(all))
	for i, b := range all {
		if b.ID == none && !b.Over && b.check() {
			if err := insert(b); err != nil {
				return nil, err
			}
			b.Over = b.ID == none && req.Source == backend.DataBreakpoints
			if b.ID != none {
				s.ByID[b.ID] = b
			}
		}
		result[i] = b.Is
	}
	return result, nil
}
