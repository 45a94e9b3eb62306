package replayctl

import (
	"context"
	"errors"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/rankset"
)

// abandonTime bounds how long the ranks may take to stop where they are.
const abandonTime = 10 * time.Second

// runToCut is job.RunToCut, and stops everybody if the cut is given up on the way: by the caller (a pause), or because
// a rank stopped for another reason. Otherwise the ranks that had not arrived would stop much later at positions that
// nobody wants any more, those that had would wait in their parking loops for ever, and both would look as if they ran.
// No rank is beyond its position then, so the cut can still be reached.
func (c *Controller) runToCut(ctx context.Context, request job.RunToCutRequest) error {
	_, err := c.o.Job.RunToCut(ctx, request)
	if _, partial := errors.AsType[*job.PartialCutError](err); partial {
		c.abandon(context.WithoutCancel(ctx))
	}
	return err
}

// abandon lifts the stop points that were set, and stops the ranks. A rank that has gone meanwhile cannot be told, and
// need not be.
func (c *Controller) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, abandonTime)
	defer cancel()
	never := abi.Never
	if _, err := c.o.Job.Control(ctx, c.o.Job.All(),
		backend.ControlRequest{ParkAt: &never, GuardAt: &never}); err != nil {
		c.o.Log.Debug("abandoning a cut: positions", "error", err)
	}
	running := rankset.Set{}
	status, err := c.o.Job.Status(ctx)
	for _, s := range status {
		if s.State == job.Running {
			running = running.With(s.Rank)
		}
	}
	if err == nil && !running.Empty() {
		err = c.o.Job.Interrupt(ctx, running)
	}
	if err != nil {
		c.o.Log.Debug("abandoning a cut: stopping the ranks", "error", err)
	}
}
