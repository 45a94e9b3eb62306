package session

import (
	"errors"

	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/trace"
)

// IsRefusal tells whether an error means that nothing was started, because what was asked cannot work: a program or
// recording that cannot be used, or arguments that make no sense. It is for errors of what starts a job; those of a job
// that runs may be based on the same causes.
func IsRefusal(err error) bool {
	for _, kind := range []any{
		new(*RefusedError), new(*launch.RefusedError), new(*pmpi.ProgramError), new(*pmpi.MissingError),
		new(*trace.NotRecordingError), new(*trace.ExistsError), new(*trace.VersionError), new(*trace.ModeError),
		new(*trace.MissingRankError), new(*trace.RankCountError), new(*trace.FormatError), new(*trace.ProgramError),
		new(*trace.IncompleteError), new(*trace.UnfinishedError), new(*trace.SameRecordingError), new(*DoubtError),
		new(*trace.GraphMismatchError), new(*trace.TextError),
		new(*trace.RepairError),
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
