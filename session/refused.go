package session

import (
	"errors"

	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
)

// IsRefusal tells whether an error means that nothing was started, because what was asked cannot work: a program or
// recording that cannot be used, or arguments that make no sense. It is for errors of what starts a job; those of a job
// that runs may be based on the same causes.
func IsRefusal(err error) bool {
	for _, kind := range []any{
		new(*launch.RefusedError), new(*pmpi.ProgramError), new(*pmpi.MissingError),
		new(*trace.RefusedError), new(*trace.FormatError), new(*decisions.IncompleteError),
	} {
		if errors.As(err, kind) {
			return true
		}
	}
	return false
}

// refusal marks an error for dap.Refusal.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// Refusal implements dap.Refusal.
func (refusal) Refusal() bool { return true }

func marked(err error) error {
	if IsRefusal(err) {
		return refusal{err}
	}
	return err
}
