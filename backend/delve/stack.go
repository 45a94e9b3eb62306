package delve

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/internal/modules"
)

// key is what has a number: a goroutine, or a thread of the kernel's that has none.
type key struct {
	goroutine int64
	thread    int
}

// numbers are the thread numbers of this package. They are never given again.
type numbers struct {
	of   map[key]int
	keys []key // of number 1, 2, ...
}

func newNumbers() numbers {
	main := key{goroutine: 1}
	return numbers{of: map[key]int{main: 1}, keys: []key{main}}
}

func (n *numbers) number(k key) int {
	if id := n.of[k]; id != 0 {
		return id
	}
	n.keys = append(n.keys, k)
	n.of[k] = len(n.keys)
	return len(n.keys)
}

func (n *numbers) key(number int) (key, error) {
	if number < 1 || number > len(n.keys) {
		return key{}, fmt.Errorf("there is no goroutine %d here", number)
	}
	return n.keys[number-1], nil
}

// goroutine is what has a number, and its goroutine, which has ended if it is nil.
func (o *owner) goroutine(number int) (key, *proc.G, error) {
	k, err := o.numbers.key(max(number, 1))
	if err != nil || k.goroutine == 0 {
		return k, nil, err
	}
	g, err := proc.FindGoroutine(o.target(), k.goroutine)
	if err != nil {
		return k, nil, fmt.Errorf("goroutine %d has ended: %w", k.goroutine, err)
	}
	return k, g, nil
}

// currentThread is the goroutine at which the rank stopped.
func (o *owner) currentThread() int {
	if g := o.target().SelectedGoroutine(); g != nil {
		return o.numbers.number(key{goroutine: g.ID})
	}
	return o.numbers.number(key{thread: o.target().CurrentThread().ThreadID()})
}

// mostGoroutines bounds how many are listed.
const mostGoroutines = 1000

// Threads lists the program's goroutines, the one that stopped first, and no goroutine of the runtime's own.
func (o *owner) Threads(context.Context) ([]backend.Thread, error) {
	gs, _, err := proc.GoroutinesInfo(o.target(), 0, mostGoroutines)
	if err != nil {
		return nil, fmt.Errorf("the goroutines cannot be listed: %w", err)
	}
	current := o.currentThread()
	var out []backend.Thread
	for _, g := range gs {
		id := o.numbers.number(key{goroutine: g.ID})
		if id != current && (g.System(o.target()) || g.Status == proc.Gdead) {
			continue
		}
		name := fmt.Sprintf("goroutine %d", g.ID)
		if fn := g.StartLoc(o.target()).Fn; fn != nil && g.ID != 1 {
			name += " " + fn.Name
		}
		out = append(out, backend.Thread{ID: id, Name: name})
	}
	if !slices.ContainsFunc(out, func(t backend.Thread) bool { return t.ID == current }) {
		out = append(out, backend.Thread{
			ID: current, Name: fmt.Sprintf("thread %d", o.target().CurrentThread().ThreadID()),
		})
	}
	place := func(t backend.Thread) int {
		if t.ID == current {
			return 0
		}
		return t.ID
	}
	slices.SortFunc(out, func(a, b backend.Thread) int { return cmp.Compare(place(a), place(b)) })
	return out, nil
}

// maxFrames bounds a stack, as backend.StackTraceRequest says.
const maxFrames = 10_000

// stack returns the frames of a goroutine, without those by which cgo goes from Go to C.
func (o *owner) stack(thread int) ([]proc.Stackframe, error) {
	if frames, ok := o.stacks[thread]; ok {
		return frames, nil
	}
	k, g, err := o.goroutine(thread)
	if err != nil {
		return nil, err
	}
	t := o.target()
	var frames []proc.Stackframe
	if k.goroutine == 0 {
		th, ok := t.FindThread(k.thread)
		if !ok {
			return nil, fmt.Errorf("thread %d has ended", k.thread)
		}
		frames, err = proc.ThreadStacktrace(t, th, maxFrames)
	} else {
		frames, err = goroutineStack(t, g)
	}
	if err != nil {
		return nil, fmt.Errorf("the stack cannot be read: %w", err)
	}
	frames = slices.DeleteFunc(slices.Clone(frames), func(f proc.Stackframe) bool {
		return f.Err != nil || cgoPassage(f)
	})
	if len(frames) == 0 {
		return nil, fmt.Errorf("the goroutine has no stack")
	}
	o.stacks[thread] = frames
	return frames, nil
}

// goroutineStack is the stack of a goroutine as far as the program's own code, if that can be found.
func goroutineStack(t *proc.Target, g *proc.G) ([]proc.Stackframe, error) {
	own := func(f proc.Stackframe) bool { return !plumbing(f) }
	frames, err := proc.GoroutineStacktrace(t, g, maxFrames, 0)
	if slices.ContainsFunc(frames, own) {
		return frames, err //nolint:wrapcheck // the caller does
	}
	// Delve ends a stack at runtime.mcall, which leaves the goroutine's stack in its midst and not at its beginning.
	plain, plainErr := proc.GoroutineStacktrace(t, g, maxFrames, proc.StacktraceSimple)
	if plainErr == nil && slices.ContainsFunc(plain, own) {
		return plain, nil
	}
	// Where the C of a library without debug information cannot be unwound, what the goroutine called it from is known.
	saved, savedErr := proc.GoroutineStacktrace(t, g, maxFrames, proc.StacktraceG)
	if savedErr == nil && slices.ContainsFunc(saved, own) {
		return append(slices.Clip(frames), saved...), nil
	}
	return frames, err //nolint:wrapcheck // the caller does
}

// stackFrom is the stack of a frame's thread from the frame on.
func (o *owner) stackFrom(at backend.FrameID) ([]proc.Stackframe, error) {
	raw, err := o.stack(max(at.Thread, 1))
	if err != nil {
		return nil, err
	}
	if at.Level < 0 || at.Level >= len(raw) {
		return nil, fmt.Errorf("there is no frame %d; the stack has %d", at.Level, len(raw))
	}
	return raw[at.Level:], nil
}

func isGo(f proc.Stackframe) bool {
	ext := filepath.Ext(f.Current.File)
	return f.Current.Fn != nil && (ext == ".go" || ext == ".s")
}

func function(f proc.Stackframe) string {
	if f.Call.Fn == nil {
		return ""
	}
	return f.Call.Fn.Name
}

// cgoPassage reports whether a frame is one of those between a Go function that calls C and the C function.
func cgoPassage(f proc.Stackframe) bool {
	name := function(f)
	return strings.HasPrefix(name, "runtime.asmcgocall") || name == "runtime.cgocall" ||
		strings.HasPrefix(name, "runtime.systemstack") || filepath.Base(f.Call.File) == "_cgo_gotypes.go"
}

// gogo is what the runtime switches to a goroutine by; in assembly, its name has no package.
const gogo = "gogo"

// plumbing reports whether a frame is C's, or the runtime's: nothing that is stepped in.
func plumbing(f proc.Stackframe) bool {
	if !isGo(f) {
		return true
	}
	pkg := f.Current.Fn.PackageName()
	return pkg == "runtime" || f.Current.Fn.Name == gogo || strings.HasPrefix(pkg, "internal/runtime/") ||
		pkg == "syscall" ||
		filepath.Base(f.Call.File) == "_cgo_gotypes.go"
}

// userFrame is the innermost frame that is stepped in, or 0 if there is none.
func (o *owner) userFrame(frames []proc.Stackframe) int {
	return max(slices.IndexFunc(frames, func(f proc.Stackframe) bool { return !plumbing(f) }), 0)
}

// cgoStub is the C function that cgo writes for a call.
var cgoStub = regexp.MustCompile(`^_cgo_[0-9a-f]+_Cfunc_`)

func (o *owner) frame(thread, level int, f proc.Stackframe) backend.Frame {
	out := backend.Frame{
		ID: backend.FrameID{Thread: thread, Level: level}, Function: cgoStub.ReplaceAllString(function(f), "C."),
		File: f.Call.File, Line: f.Call.Line, PC: f.Current.PC, Module: o.modules.At(f.Current.PC),
	}
	if !filepath.IsAbs(out.File) {
		out.File = ""
	}
	if out.Function == "" {
		out.Function = o.symbolAt(out.Module, f.Current.PC)
	}
	out.NoSource = out.File == "" || out.Line == 0
	whose := modules.OwnerOf(out.Module, o.program)
	out.Internal = whose == modules.Cohort
	out.User = whose == modules.User && !plumbing(f) && (o.goroot == "" || !strings.HasPrefix(out.File, o.goroot))
	return out
}

// frames are all frames of a goroutine, with the arguments of the program's own.
func (o *owner) frames(thread int) ([]backend.Frame, error) {
	raw, err := o.stack(thread)
	if err != nil {
		return nil, err
	}
	out := make([]backend.Frame, len(raw))
	for i, f := range raw {
		out[i] = o.frame(thread, i, f)
		if !out[i].User || i >= stopFrames {
			continue
		}
		scope, err := o.scope(out[i].ID)
		if err != nil {
			continue
		}
		args, err := scope.FunctionArguments(loadBrief)
		if err != nil {
			continue
		}
		for _, a := range args {
			if a.Flags&proc.VariableReturnArgument == 0 {
				out[i].Args = append(out[i].Args, backend.Argument{Name: a.Name, Value: text(a)})
			}
		}
	}
	return out, nil
}

func (o *owner) StackTrace(_ context.Context, req backend.StackTraceRequest) (backend.StackTraceResult, error) {
	frames, err := o.frames(max(req.Thread, 1))
	if err != nil {
		return backend.StackTraceResult{}, err
	}
	from, to := base.Page(req.Start, req.Count, len(frames))
	return backend.StackTraceResult{Frames: frames[from:to], Total: len(frames)}, nil
}
