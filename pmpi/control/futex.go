package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

const (
	futexOpWait = 0
	futexOpWake = 1
)

// cancelSlice bounds how late a cancelled wait returns if its wake comes in the instant before the thread sleeps.
const cancelSlice = 100 * time.Millisecond

// WaitChange blocks until the rank's state is not old, and returns the new one; or until ctx ends, with its error. It
// occupies one OS thread while it waits. A rank that dies does not change its state: whoever waits must end ctx when
// the process is gone.
func (c *Block) WaitChange(ctx context.Context, old abi.State) (abi.State, error) {
	return c.wait(ctx, fmt.Sprintf("leave state %q", old), func(now abi.State) bool { return now != old })
}

// WaitParked blocks until the rank is parked at the position last given to SetParkAt, or is in a state that it will not
// leave by itself (diverged, end, refused, finalized), and returns that state; or until ctx ends. Unlike a wait for
// abi.StateParked alone it is not satisfied by the park before, which a rank that was just released may not have left
// yet.
func (c *Block) WaitParked(ctx context.Context) (abi.State, error) {
	return c.wait(ctx, "park", func(now abi.State) bool {
		switch now {
		case abi.StateParked:
			return c.ParkAt() == abi.Never
		case abi.StateDiverged, abi.StateEnd, abi.StateRefused, abi.StateFinalized:
			return true
		case abi.StateNew, abi.StateRunning, abi.StateStopped:
		}
		return false
	})
}

// wait blocks until the rank's state is as asked, which is so when the rank has done what is said.
func (c *Block) wait(ctx context.Context, said string, reached func(abi.State) bool) (abi.State, error) {
	word := (*uint32)(&c.block.State)
	// The wake may still be under way when this returns and the caller unmaps: it is harmless on an unmapped address
	// (EFAULT).
	defer context.AfterFunc(ctx, func() { futexWake(word) })()
	for {
		now := abi.State(atomic.LoadUint32(word))
		if reached(now) {
			return now, nil
		}
		err := context.Cause(ctx)
		if err == nil {
			// A rank that parks again at once leaves the word as it was: then the end of the slice finds it.
			err = futexWait(word, uint32(now), cancelSlice)
		}
		if err != nil {
			return now, fmt.Errorf("waiting for the rank to %s: %w", said, err)
		}
	}
}

func futexWait(word *uint32, value uint32, limit time.Duration) error {
	timeout := unix.NsecToTimespec(limit.Nanoseconds())
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX,
		uintptr(unsafe.Pointer(word)), futexOpWait, uintptr(value), //nolint:gosec // a word of the mapping
		uintptr(unsafe.Pointer(&timeout)), 0, 0) //nolint:gosec // likewise
	switch {
	case errno == 0, errors.Is(errno, unix.EAGAIN), errors.Is(errno, unix.EINTR), errors.Is(errno, unix.ETIMEDOUT):
		return nil
	default:
		return fmt.Errorf("futex wait: %w", errno)
	}
}

func futexWake(word *uint32) {
	// The only errors are of a word that is no longer mapped: nobody waits there.
	unix.Syscall6(unix.SYS_FUTEX, //nolint:errcheck // as above
		uintptr(unsafe.Pointer(word)), futexOpWake, math.MaxInt32, 0, 0, 0) //nolint:gosec // a word of the mapping
}
