package dap

import (
	"context"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/replayctl"
)

// A Starter starts the ranks of a job, live or as a replay. cmd/cohort supplies the real one.
type Starter interface {
	// Start checks the arguments, starts the launcher and returns when every rank's agent has reported and its backend
	// is attached to the job; in a debugged job no rank's program has begun then. ctx bounds the start, not what was
	// started. Errors are whole sentences for the user; after an error nothing is left running. arguments are as the
	// client sent them but for Token, which is removed. report may be called from any goroutine until Start returns.
	Start(ctx context.Context, arguments protocol.LaunchArguments, report Progress) (Started, error)
}

// Progress is told how something slow gets on: a short text such as "2 of 4 ranks have reported", and how much is done;
// total 0 means that it is not known.
type Progress func(text string, done, total int64)

// Started is a job that has been started. The server owns it from then on and calls Stop and Job.Close exactly when all
// is over.
type Started struct {
	Job *job.Job
	// Launch is the request that starts each rank's program; the server passes it to Job.Launch after
	// configurationDone.
	Launch backend.LaunchRequest
	// Running: the ranks run already, without debuggers (noDebug): Launch is not used, and breakpoints are refused with
	// the reason.
	Running bool
	// Cores: the ranks are core files. Nothing runs, and requests that would make something run or change are refused.
	Cores bool
	// Attached: the ranks were running before, are shown stopped where they were found, and are left running at the end
	// unless Terminate was called.
	Attached bool
	// Terminate, with Attached, ends the ranks. They are to be gone at the end of Job.Kill and Stop.
	Terminate func()
	// Attend is the rank whose stop takes the users' attention at first, with Cores.
	Attend int
	// Notes are whole sentences for the user, shown once.
	Notes []string
	// Controller is set in a replay.
	Controller Controller
	// Stop ends everything that Start started and returns when it is gone. It may be called more than once, and when
	// everything has gone by itself.
	Stop func(context.Context) error
	// Wait returns when the launcher has ended: nil if it ended with status 0, else whole sentences that say how it
	// ended. May be nil.
	Wait func() error
}

// A Controller steers a replay by its recording: a *replayctl.Controller, and what only the session knows. Its methods
// may be called from any goroutine. A run that it starts cancels the one that is in progress; the server does so itself
// before it resumes or pauses ranks otherwise. A run that was refused or cancelled leaves each rank where it is.
type Controller interface {
	// Continue is called instead of Job.Resume when the user continues and a causal breakpoint is set. breakpoints are
	// all that are set, of every mode.
	Continue(breakpoints []job.Breakpoint, focus rankset.Set) *replayctl.Run
	// RunTo brings every rank to the causal cut of an event, "2:17", or if that is "" to a consistent cut.
	RunTo(at string, cut []uint64) *replayctl.Run
	// Visit brings ranks to the ends of calls, in the order that the recording allows: for each call look is called,
	// with its index in calls, while its rank is stopped there.
	Visit(calls []RecordedCall, look func(ctx context.Context, index int) error) *replayctl.Run
	// Cancel ends the run in progress, if there is one, and returns when it is over.
	Cancel()
	// Close is Cancel, and runs that are started later are cancelled at once. The server calls it before Started.Stop.
	Close()
	// Cut computes the causal cut of an event, "2:17", and moves nothing.
	Cut(ctx context.Context, at string) (protocol.CutBody, error)
	// Messages tells what messages an event has a part in, and moves nothing.
	Messages(ctx context.Context, at string) (RecordedMessages, error)
}

// RecordedCall is a call of the recording.
type RecordedCall struct {
	Rank  int
	Event uint64 // 0: there is none
	Name  string // MPI_Isend
	Which int    // place in the array of a Startall, else 0
}

// RecordedMessage is a message of the recording, or what one rank gives another in a collective.
type RecordedMessage struct {
	// what the event that was asked about does with it, for people: "completes the receive of"; not of a collective
	Part          string
	Send, Receive RecordedCall // that were given the buffers
	To            int          // the rank that it was sent to, also if no call of the recording receives it
	Collective    bool
	Comm          uint64 // the communicator's id that is the same in all ranks
	Tag           int    // not of a collective, and
	Bytes         uint64 // as sent
	Doubt         string // whole sentences: why it may not be this message; usually empty
}

// RecordedMessages are the messages that an event has a part in.
type RecordedMessages struct {
	Call     RecordedCall
	Messages []RecordedMessage
	None     string // without messages: whole sentences that say why, and what to do
}
