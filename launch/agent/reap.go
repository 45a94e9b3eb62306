package agent

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
)

// How often watchProgram looks whether it may go, and how long a debugger gets to notice the end of its program by
// itself.
const (
	watchSlice  = 200 // milliseconds
	noticeGrace = 500 * time.Millisecond
)

// watchProgram sees to it that the end of a program that stands still is noticed. A debugger waits for its program only
// while that runs: one that is killed at a stop (by the launcher, say, or for want of memory) stays "stopped" until it
// is told to go on, so it is told to.
func (d *debugger) watchProgram(b backend.Backend, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has gone, which the debugger noticed or Launch would have failed
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	for d.control.gone.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, watchSlice)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if n > 0 {
			break
		}
	}
	select {
	case <-d.control.gone.Done():
		return
	case <-time.After(noticeGrace):
	}
	ctx, cancel := context.WithTimeout(d.control.gone, killTimeout)
	defer cancel()
	if err := b.Resume(ctx, backend.ResumeRequest{Kind: backend.Continue}); err != nil && ctx.Err() == nil {
		d.log.Info("making the debugger notice that its program has gone", "rank", d.id.rank, "err", err)
	}
}
