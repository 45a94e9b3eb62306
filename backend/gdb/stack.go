package gdb

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/modules"
)

// maxFrames bounds a stack, as backend.StackTraceRequest says.
const maxFrames = 10_000

// frames returns the frames low to high of a thread, inclusive and as far as there are any; args: with the arguments of
// those from the program's innermost to its outermost.
func (o *owner) frames(ctx context.Context, thread, low, high int, args bool) ([]backend.Frame, error) {
	lo, hi := strconv.Itoa(low), strconv.Itoa(high)
	r, err := o.send(ctx, gdbmi.Cmd("stack-list-frames").Thread(thread).Opt(lo, hi))
	if err != nil {
		return nil, err
	}
	o.modules.Pid = o.pid
	var frames []backend.Frame
	f := r.Fields()
	for t := range f.Tuples("stack") {
		frames = append(frames, o.frame(thread, t))
	}
	if err := f.Err(); err != nil || !args {
		return frames, err
	}
	// What gdb reads to know the arguments of libraries may take it seconds.
	first, last := -1, -1
	for i, fr := range frames {
		if fr.User {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return frames, nil
	}
	lo, hi = strconv.Itoa(low+first), strconv.Itoa(low+last)
	// 2: names, types and simple values; an array among the arguments is not printed.
	r, err = o.send(ctx, gdbmi.Cmd("stack-list-arguments").Thread(thread).Opt("2", lo, hi))
	if err != nil {
		if refusedByGdb(err) {
			o.b.Log.Info("the arguments of a stack cannot be read", "error", err)
			return frames, nil
		}
		return nil, err
	}
	f = r.Fields()
	for t := range f.Tuples("stack-args") {
		i := t.Int("level") - low
		if i < 0 || i >= len(frames) {
			continue
		}
		for a := range t.Tuples("args") {
			value := a.OptString("value")
			if !a.Has("value") {
				value = "…"
			}
			frames[i].Args = append(frames[i].Args, backend.Argument{Name: a.OptString("name"), Value: value})
		}
	}
	return frames, f.Err()
}

func (o *owner) frame(thread int, t *gdbmi.Fields) backend.Frame {
	fr := backend.Frame{
		ID:       backend.FrameID{Thread: thread, Level: t.Int("level")},
		Function: t.OptString("func"),
		File:     t.OptString("fullname"),
		Line:     t.OptInt("line", 0),
	}
	if fr.Function == "??" {
		fr.Function = ""
	}
	fr.PC, _ = t.OptAddr("addr")
	fr.Module = o.modules.At(fr.PC)
	if fr.Module == "" {
		fr.Module = t.OptString("from")
	}
	fr.NoSource = fr.File == "" || fr.Line == 0
	owner := modules.OwnerOf(fr.Module, o.program)
	fr.Internal, fr.User = owner == modules.Cohort, owner == modules.User
	return fr
}

func (o *owner) StackTrace(ctx context.Context, req backend.StackTraceRequest) (backend.StackTraceResult, error) {
	count := req.Count
	if count <= 0 || count > maxFrames {
		count = maxFrames
	}
	start := max(req.Start, 0)
	if start >= maxFrames {
		return backend.StackTraceResult{Total: -1}, nil
	}
	frames, err := o.frames(ctx, max(req.Thread, 1), start, start+count-1, true)
	if refusedByGdb(err) && start > 0 {
		// gdb has an error, not an empty list, for frames beyond the end.
		r, derr := o.send(ctx, gdbmi.Cmd("stack-info-depth").Thread(max(req.Thread, 1)))
		if derr == nil && r.Fields().OptInt("depth", maxFrames) <= start {
			return backend.StackTraceResult{Total: r.Fields().OptInt("depth", -1)}, nil
		}
	}
	if err != nil {
		return backend.StackTraceResult{}, err
	}
	res := backend.StackTraceResult{Frames: frames, Total: -1}
	if len(frames) < count {
		res.Total = start + len(frames)
	}
	return res, nil
}

// threads lists the threads and marks those of the MPI library.
func (o *owner) Threads(ctx context.Context) ([]backend.Thread, error) {
	r, err := o.send(ctx, gdbmi.Cmd("thread-info"))
	if err != nil {
		return nil, err
	}
	var threads []backend.Thread
	f := r.Fields()
	for t := range f.Tuples("threads") {
		threads = append(threads, backend.Thread{ID: t.Int("id"), Name: t.OptString("name")})
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	for i := range threads {
		threads[i].Library = o.isLibrary(ctx, threads[i].ID)
	}
	// gdb lists the newest first.
	slices.SortFunc(threads, func(a, b backend.Thread) int { return cmp.Compare(a.ID, b.ID) })
	return threads, nil
}

// isLibrary reports whether a thread belongs to the MPI library: it runs that library's code and has
// no frame of the program or of a library of the user's. The answer is kept: what is at the bottom of
// a thread's stack stays there. A thread that has only begun is asked again.
func (o *owner) isLibrary(ctx context.Context, thread int) bool {
	if thread == 1 {
		return false
	}
	if known, ok := o.library[thread]; ok {
		return known
	}
	frames, err := o.frames(ctx, thread, 0, 63, false)
	if err != nil {
		return false
	}
	mpi := false
	for _, f := range frames {
		switch modules.OwnerOf(f.Module, o.program) { //nolint:exhaustive // the others say nothing
		case modules.User:
			o.library[thread] = false
			return false
		case modules.MPI:
			mpi = true
		}
	}
	if mpi {
		o.library[thread] = true
	}
	return mpi
}

// mostFrames bounds how deep inside libraries the user's code is looked for.
const mostFrames = 128

// framesToUser adds frames until the innermost of the user's code is among them: a rank that waits deep inside MPI is
// shown where its own code waits.
func (o *owner) framesToUser(ctx context.Context, thread int, frames []backend.Frame) ([]backend.Frame, error) {
	if len(frames) < stopFrames || slices.ContainsFunc(frames, func(f backend.Frame) bool { return f.User }) {
		return frames, nil
	}
	more, err := o.frames(ctx, thread, len(frames), mostFrames-1, true)
	if err != nil {
		return frames, err
	}
	if i := slices.IndexFunc(more, func(f backend.Frame) bool { return f.User }); i >= 0 {
		return append(frames, more[:i+1]...), nil
	}
	return frames, nil
}
