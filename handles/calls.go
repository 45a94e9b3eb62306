package handles

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint"
	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
)

// maxSource is the size of the largest source file in which calls are looked for.
const maxSource = 8 << 20

// DescribeCalls implements backend.CallDescriber: the call that the frame is in, or those whose text covers its line.
func (d *Decoder) DescribeCalls(ctx context.Context, frame backend.Frame) ([]backend.HandleTree, error) {
	text := lineSource(frame)
	found := mpicall.Find(text, mpicall.LanguageOf(frame.File), frame.Line)
	if len(found) == 0 && frame.ID.Level == 0 {
		return nil, nil
	}
	s, err := d.open(ctx, frame.ID)
	if err != nil {
		return nil, err
	}
	s.resolver.at, s.resolver.text = &frame, text
	calls, err := s.callsOf(ctx, found)
	if err != nil {
		return nil, err
	}
	out := make([]backend.HandleTree, len(calls))
	seen := map[string]int{}
	for i, c := range calls {
		n := c.Node()
		seen[c.Name()]++
		if k := seen[c.Name()]; k > 1 { // a scope's variables have names of their own
			n.Name += fmt.Sprintf(" (%d)", k)
		}
		if c.State() != prettyprint.CallRunning && newerThanProgram(frame) {
			n.Value += " (the source is newer than the program: this may not be the call that was compiled)"
		}
		out[i] = s.tree(n)
	}
	return out, nil
}

// callsOf are the calls of the resolver's frame: that which the registry says the thread is in from there, else those
// that were found in the source.
func (s *session) callsOf(ctx context.Context, found []mpicall.Call) ([]*prettyprint.Call, error) {
	frame := s.resolver.at
	if frame.ID.Level > 0 {
		running, err := s.registry.CallsInProgress(s.resolver.CallAt)
		if err != nil && !prettyprint.IsKind(err, prettyprint.KindNotKept) {
			return nil, err
		}
		var here []*prettyprint.Call
		for i := range running {
			if running[i].Site == frame.PC {
				here = append(here, running[i].Call)
			}
		}
		if len(here) > 1 { // several threads are in the same call
			here = here[:0]
			for i := range running {
				if running[i].Site == frame.PC && running[i].Thread == s.resolver.Thread() {
					here = append(here, running[i].Call)
				}
			}
		}
		if len(here) == 1 {
			return here, nil
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return s.sourceCalls(ctx, *frame, s.resolver.text, found)
}

// frameHere is the resolver's frame and the source that it is in.
func (r *resolver) frameHere() (backend.Frame, string, error) {
	if r.at == nil {
		got, err := r.rank.StackTrace(r.ctx, backend.StackTraceRequest{
			Thread: r.frame.Thread, Start: r.frame.Level,
			Count: 1,
		})
		if err != nil {
			return backend.Frame{}, "", err
		}
		r.at = &backend.Frame{ID: r.frame}
		if len(got.Frames) == 1 {
			r.at = &got.Frames[0]
		}
		r.text = lineSource(*r.at)
	}
	return *r.at, r.text, nil
}

// CallsOnLine implements prettyprint.SourceText.
func (r *resolver) CallsOnLine(*prettyprint.Registry) ([]*prettyprint.Call, error) {
	frame, text, err := r.frameHere()
	if err != nil {
		return nil, err
	}
	found := mpicall.Find(text, mpicall.LanguageOf(frame.File), frame.Line)
	if len(found) == 0 {
		return nil, nil
	}
	return r.sourceCalls(r.ctx, frame, text, found)
}

// CallAt implements prettyprint.SourceText, for the resolver's frame.
func (r *resolver) CallAt(site uint64, name string) *mpicall.Call {
	frame, text, err := r.frameHere()
	if err != nil || frame.PC != site {
		return nil
	}
	var same []mpicall.Call
	for _, c := range mpicall.Find(text, mpicall.LanguageOf(frame.File), frame.Line) {
		if sameFunction(c.Name, name) {
			same = append(same, c)
		}
	}
	if len(same) != 1 {
		return nil
	}
	return &same[0]
}

var kernelThread = regexp.MustCompile(`(?:LWP|process) (\d+)`)

// Thread implements prettyprint.SourceText.
func (r *resolver) Thread() int32 {
	text, err := r.console("thread")
	if err != nil {
		return 0
	}
	m := kernelThread.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	id, err := strconv.ParseInt(m[1], 10, 32)
	if err != nil {
		return 0
	}
	return int32(id)
}

// lineSource is the source of a frame's line; "" if there is none here, or it is too large.
func lineSource(frame backend.Frame) string {
	if frame.File == "" || frame.Line <= 0 {
		return ""
	}
	info, err := os.Stat(frame.File)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
		return ""
	}
	text, err := os.ReadFile(frame.File)
	if err != nil {
		return ""
	}
	return string(text)
}

// newerThanProgram reports whether the source was changed after the object that the frame is in was built.
func newerThanProgram(frame backend.Frame) bool {
	source, err1 := os.Stat(frame.File)
	object, err2 := os.Stat(frame.Module)
	return err1 == nil && err2 == nil && source.ModTime().After(object.ModTime())
}

// sourceCalls evaluates calls in a frame.
func (s *session) sourceCalls(ctx context.Context, frame backend.Frame, text string,
	found []mpicall.Call,
) ([]*prettyprint.Call, error) {
	var constants map[string]string
	if mpicall.LanguageOf(frame.File) == mpicall.C {
		constants = mpicall.Constants(text)
	}
	inner := ""
	if frame.ID.Level > 0 {
		got, err := s.rank.StackTrace(ctx, backend.StackTraceRequest{
			Thread: frame.ID.Thread, Start: frame.ID.Level - 1,
			Count: 1,
		})
		if err != nil {
			return nil, err
		}
		if len(got.Frames) == 1 {
			inner = got.Frames[0].Function
		}
	}
	begins := frame.ID.Level == 0 && s.resolver.beginsLine(frame.PC)
	at := fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
	var out []*prettyprint.Call
	for _, c := range found {
		state := prettyprint.CallNear
		switch {
		case begins:
			state = prettyprint.CallAhead
		case inner != "" && sameFunction(inner, c.Name):
			state = prettyprint.CallRunning
		}
		out = append(out, s.registry.SourceCall(s.resolver, c, constants, state, at))
	}
	return out, nil
}

var fortranSuffix = regexp.MustCompile(`(_f08)?(ts)?_*$`)

// sameFunction reports whether the function of a frame is what a call of that name calls: MPI_Send, PMPI_Send, or
// Fortran's mpi_send_ and mpi_send_f08ts_.
func sameFunction(frame, call string) bool {
	plain := func(s string) string {
		s = strings.ToLower(strings.TrimLeft(s, "_"))
		return fortranSuffix.ReplaceAllString(strings.TrimPrefix(s, "p"), "")
	}
	return plain(frame) == plain(call)
}

var lineStarts = regexp.MustCompile(`starts at address (0x[0-9a-f]+)`)

// beginsLine reports whether an instruction is the first of those that the line table has for its line there: what the
// line calls has not been called yet.
func (r *resolver) beginsLine(pc uint64) bool {
	text, err := r.console(fmt.Sprintf("info line *0x%x", pc))
	if err != nil {
		return false
	}
	m := lineStarts.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	start, err := strconv.ParseUint(m[1], 0, 64)
	return err == nil && start == pc
}
