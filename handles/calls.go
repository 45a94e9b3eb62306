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

// DescribeCalls implements backend.CallDescriber: the calls whose text covers the frame's line.
func (d *Decoder) DescribeCalls(ctx context.Context, frame backend.Frame) ([]backend.HandleTree, error) {
	text, err := lineSource(frame)
	if text == "" || err != nil {
		return nil, err
	}
	language := mpicall.LanguageOf(frame.File)
	found := mpicall.Find(text, language, frame.Line)
	if len(found) == 0 {
		return nil, nil
	}
	s, err := d.open(ctx, frame.ID)
	if err != nil {
		return nil, err
	}
	calls, err := s.sourceCalls(ctx, frame, text, found)
	if err != nil {
		return nil, err
	}
	out := make([]backend.HandleTree, len(calls))
	seen := map[string]int{}
	for i, c := range calls {
		n := c.Node()
		if seen[n.Name]++; seen[n.Name] > 1 { // a scope's variables have names of their own
			n.Name += fmt.Sprintf(" (%d)", seen[n.Name])
		}
		if newerThanProgram(frame) {
			n.Value += " (the source is newer than the program: this may not be the call that was compiled)"
		}
		out[i] = s.tree(n)
	}
	return out, nil
}

// lineSource is the source of a frame's line; "" if there is none, or it is too large.
func lineSource(frame backend.Frame) (string, error) {
	if frame.File == "" || frame.Line <= 0 {
		return "", nil
	}
	info, err := os.Stat(frame.File)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
		return "", nil //nolint:nilerr // a program's source need not be here
	}
	text, err := os.ReadFile(frame.File)
	if err != nil {
		return "", fmt.Errorf("looking for MPI calls on the line: %w", err)
	}
	return string(text), nil
}

// newerThanProgram reports whether the source was changed after the object that the frame is in was built.
func newerThanProgram(frame backend.Frame) bool {
	source, err1 := os.Stat(frame.File)
	object, err2 := os.Stat(frame.Module)
	return err1 == nil && err2 == nil && source.ModTime().After(object.ModTime())
}

// sourceCalls evaluates calls in a frame.
func (s *session) sourceCalls(ctx context.Context, frame backend.Frame, text string, found []mpicall.Call) ([]*prettyprint.Call, error) {
	var constants map[string]string
	if mpicall.LanguageOf(frame.File) == mpicall.C {
		constants = mpicall.Constants(text)
	}
	inner := ""
	if frame.ID.Level > 0 {
		got, err := s.rank.StackTrace(ctx, backend.StackTraceRequest{Thread: frame.ID.Thread, Start: frame.ID.Level - 1, Count: 1})
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

// sameFunction reports whether the function of a frame is what a call of that name calls: MPI_Send, PMPI_Send, or Fortran's mpi_send_ and mpi_send_f08ts_.
func sameFunction(frame, call string) bool {
	plain := func(s string) string {
		s = strings.ToLower(strings.TrimLeft(s, "_"))
		return fortranSuffix.ReplaceAllString(strings.TrimPrefix(s, "p"), "")
	}
	return plain(frame) == plain(call)
}

var lineStarts = regexp.MustCompile(`starts at address (0x[0-9a-f]+)`)

// beginsLine reports whether an instruction is the first of those that the line table has for its line there: what the line calls has not been called yet.
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
