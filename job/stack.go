package job

import (
	"context"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
)

// HideInternal splits off the frames of Cohort's interposer at the top of a stack. The visible frames keep their IDs,
// so they can be given to the backend as they are; hidden is how many were removed.
func HideInternal(frames []backend.Frame) (visible []backend.Frame, hidden int) {
	for hidden < len(frames) && frames[hidden].Internal {
		hidden++
	}
	return frames[hidden:], hidden
}

// UserFrame is the index of the frame at which a user looks first: the innermost of the program's own code that has
// source, or else the innermost of its code, or else 0. A rank that waits deep inside MPI is shown where its own code
// called MPI.
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

// fold makes one frame of neighbouring ones of the interposer: a call goes through several of its functions, which mean
// nothing to a user. It is the outermost of them, which the call has entered first, with its ID; so whoever evaluates
// or counts in the debugger's own frames does as before.
func fold(frames []backend.Frame) []backend.Frame {
	out := make([]backend.Frame, 0, len(frames))
	for i, f := range frames {
		if f.Internal && i+1 < len(frames) && frames[i+1].Internal {
			continue
		}
		// and not by MPI, such as its Fortran library
		f.Call = f.Internal && isMPI(f.Function) && i+1 < len(frames) && frames[i+1].User
		out = append(out, f)
	}
	return out
}

func isMPI(function string) bool {
	return strings.HasPrefix(function, "MPI_") || strings.HasPrefix(function, "mpi_")
}

// StackTrace is Backend.StackTrace as a user is to see it: without the interposer's frames at the top, and with one
// frame for those of a call further out. req.Start and the result's Total count what is seen; Total is too large where
// frames that were not asked for are some of the interposer's. Frame IDs keep the debugger's levels.
func (j *Job) StackTrace(ctx context.Context, rank int, req backend.StackTraceRequest) (backend.StackTraceResult,
	error,
) {
	b, err := j.Backend(rank)
	if err != nil {
		return backend.StackTraceResult{}, err
	}
	const ahead = 2   // what a frame is shown as is known when the next one is
	const hidden = 16 // the interposer's frames at the top are seldom more
	start, want := max(req.Start, 0), -1
	if req.Count > 0 {
		want = start + req.Count
	}
	var frames, seen []backend.Frame
	for {
		ask := backend.StackTraceRequest{Thread: req.Thread, Start: len(frames)}
		if want >= 0 {
			ask.Count = want + ahead - min(len(seen), want)
			if len(frames) == 0 {
				ask.Count += hidden
			}
		}
		res, err := b.StackTrace(ctx, ask)
		if err != nil {
			return res, err
		}
		frames = append(frames, res.Frames...)
		visible, _ := HideInternal(frames)
		seen = fold(visible)
		rest := res.Total - len(frames)
		if want >= 0 && len(seen) < want+ahead && len(res.Frames) > 0 && (res.Total < 0 || rest > 0) {
			continue
		}
		out := backend.StackTraceResult{Frames: page(seen, start, want), Total: -1}
		if res.Total >= 0 {
			out.Total = len(seen) + max(rest, 0)
		}
		return out, nil
	}
}

// page is frames from start to end, -1 the last, as far as there are any.
func page(frames []backend.Frame, start, end int) []backend.Frame {
	if end < 0 || end > len(frames) {
		end = len(frames)
	}
	return frames[min(start, end):end]
}
