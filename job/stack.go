package job

import (
	"context"

	"github.com/cohort-debugger/cohort/backend"
)

// HideInternal splits off the frames of Cohort's interposer at the top of a stack. The visible frames keep their IDs, so they can be given to the
// backend as they are; hidden is how many were removed.
func HideInternal(frames []backend.Frame) (visible []backend.Frame, hidden int) {
	for hidden < len(frames) && frames[hidden].Internal {
		hidden++
	}
	return frames[hidden:], hidden
}

// UserFrame is the index of the frame at which a user looks first: the innermost of the program's own code that has source, or else the innermost of its
// code, or else 0. A rank that waits deep inside MPI is shown where its own code called MPI.
func UserFrame(frames []backend.Frame) int {
	code := -1
	for i, f := range frames {
		if !f.User {
			continue
		}
		if !f.NoSource && f.File != "" {
			return i
		}
		if code < 0 {
			code = i
		}
	}
	return max(code, 0)
}

// mostInternal bounds the search for the first frame that is not Internal.
const mostInternal = 256

// StackTrace is Backend.StackTrace without the interposer's frames at the top: req.Start and the result's Total count visible frames only. Frame IDs keep
// the debugger's levels.
func (j *Job) StackTrace(ctx context.Context, rank int, req backend.StackTraceRequest) (backend.StackTraceResult, error) {
	b, err := j.Backend(rank)
	if err != nil {
		return backend.StackTraceResult{}, err
	}
	hidden, err := j.hiddenFrames(ctx, b, rank, req.Thread)
	if err != nil {
		return backend.StackTraceResult{}, err
	}
	req.Start += hidden
	res, err := b.StackTrace(ctx, req)
	if err != nil {
		return res, err
	}
	if res.Total >= 0 {
		res.Total = max(res.Total-hidden, 0)
	}
	return res, nil
}

// hiddenFrames is the level of the first frame of a thread that is not Internal: known from the stop, or asked for.
func (j *Job) hiddenFrames(ctx context.Context, b backend.Backend, rank, thread int) (int, error) {
	known, hidden := false, 0
	err := j.call(func() {
		r := j.ranks[rank]
		if r.stop != nil && (thread == 0 || thread == r.stop.Thread) && len(r.stop.Frames) > 0 {
			known, hidden = true, r.hidden
		}
	})
	if err != nil || known {
		return hidden, err
	}
	const batch = 16
	for start := 0; start < mostInternal; start += batch {
		res, err := b.StackTrace(ctx, backend.StackTraceRequest{Thread: thread, Start: start, Count: batch})
		if err != nil {
			return 0, err
		}
		_, n := HideInternal(res.Frames)
		if n < batch {
			return start + n, nil
		}
	}
	return 0, nil // a stack of nothing else is shown as it is
}
