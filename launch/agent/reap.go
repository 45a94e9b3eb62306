package agent

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/marked"
)

// noticeGrace is how long a debugger gets to notice the end of its program by itself.
const noticeGrace = 500 * time.Millisecond

// watchProgram sees to it that the end of a stopped program is noticed. A debugger waits for its program only
// while that runs: one that is killed at a stop (by the launcher, say, or for want of memory) stays "stopped" until it
// is told to continue, so it is told to.
func (d *debugger) watchProgram(b backend.Backend, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has gone, which the debugger noticed or Launch would have failed
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if marked.Ended(d.control.gone, fd) != nil {
		return // the debugger has noticed
	}
	select {
	case <-d.control.gone.Done():
		return
	case <-time.After(noticeGrace):
	}
	ctx, cancel := context.WithTimeout(d.control.gone, killTimeout)
	defer cancel()
	if err := b.Resume(ctx, backend.ResumeRequest{Kind: backend.Continue}); err != nil && ctx.Err() == nil {
		d.log.Info("making the debugger notice that its program has gone", "rank", d.number, "err", err)
	}
}
