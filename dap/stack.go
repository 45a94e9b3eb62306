package dap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
)

// Bounds of one answer.
const (
	maxFrames = 10_000
	maxSource = 16 << 20 // bytes
)

func threads(k *call, _ struct{}) (any, error) {
	d, c := k.d, k.c
	body := godap.ThreadsResponseBody{Threads: []godap.Thread{}}
	status, err := d.Job.Status()
	if err != nil {
		return nil, err
	}
	for _, s := range status {
		if s.State.Gone() {
			continue
		}
		list := c.view.threadsOf(s.Rank)
		if s.State == job.Stopped { // newer than what this client has been told, perhaps
			list = visibleThreads(s.Stop, c.caps.showLibraries)
		}
		for _, t := range list {
			body.Threads = append(body.Threads,
				godap.Thread{Id: protocol.ThreadID(s.Rank, t.ID), Name: threadName(s.Rank, t, s.Can)})
		}
	}
	return body, nil
}

// looks notices whose stack is asked for.
func looks(c *client, arguments json.RawMessage) {
	var a godap.StackTraceArguments
	if decodeArguments("stackTrace", arguments, &a) == nil {
		rank, _ := protocol.RankThread(a.ThreadId)
		c.view.look(rank)
	}
}

func stackTrace(k *call, a godap.StackTraceArguments) (any, error) {
	d, c := k.d, k.c
	rank, thread, err := k.thread(a.ThreadId)
	if err != nil {
		return nil, err
	}
	if a.StartFrame < 0 || a.Levels < 0 {
		return nil, refuse("stackTrace cannot give %d frames from frame %d: both numbers must be 0 or more", a.Levels,
			a.StartFrame)
	}
	at := c.view.now(rank)
	if _, err := k.stopped(rank); err != nil {
		return nil, err
	}
	result, err := d.Job.StackTrace(k.ctx, rank,
		backend.StackTraceRequest{Thread: thread, Start: a.StartFrame, Count: min(a.Levels, maxFrames)})
	if err != nil {
		return nil, err
	}
	body := godap.StackTraceResponseBody{
		StackFrames: make([]godap.StackFrame, 0, len(result.Frames)),
		TotalFrames: max(result.Total, 0),
	}
	for _, f := range result.Frames {
		id := c.view.frameID(at, f.ID)
		if id == 0 {
			return nil, notStopped("stackTrace was overtaken: rank %d has resumed", rank)
		}
		body.StackFrames = append(body.StackFrames, c.stackFrame(rank, id, f, a.Format))
	}
	return body, nil
}

// stackFrame is a frame as DAP has it.
func (c *client) stackFrame(rank, id int, f backend.Frame, format *godap.StackFrameFormat) godap.StackFrame {
	pc := fmt.Sprintf("%#x", f.PC)
	out := godap.StackFrame{
		Id:                          id,
		Name:                        cmp.Or(f.Function, pc),
		InstructionPointerReference: addressReference(rank, f.PC),
	}
	if format != nil && format.Parameters {
		out.Name += "(" + parameters(f.Args, *format) + ")"
	}
	if f.File != "" && !f.NoSource && readable(f.File) {
		out.Source = c.source(f.File)
		out.Line, out.Column = c.lineOut(f.Line), c.columnOut()
		if format != nil && format.Line {
			out.Name += fmt.Sprintf(" line %d", f.Line)
		}
	}
	if !f.Call && (out.Source == nil || f.Internal || f.Module != "" && !f.User) {
		out.PresentationHint = "subtle"
	}
	if f.Module != "" {
		out.ModuleId = f.Module
		if out.Source == nil && !f.Call {
			out.Name += " in " + filepath.Base(f.Module)
		}
	}
	return out
}

func parameters(args []backend.Argument, format godap.StackFrameFormat) string {
	parts := make([]string, len(args))
	for i, a := range args {
		switch {
		case format.ParameterNames && format.ParameterValues:
			parts[i] = a.Name + "=" + a.Value
		case format.ParameterValues:
			parts[i] = a.Value
		default:
			parts[i] = a.Name
		}
	}
	return strings.Join(parts, ", ")
}

// readable tells whether a source file is there; an editor that was given the path of one that is not opens an empty
// page on it.
func readable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// source is a file as DAP has it.
func (c *client) source(path string) *godap.Source {
	s := &godap.Source{Name: filepath.Base(path), Path: path}
	if c.caps.pathsAreURIs {
		s.Path = (&url.URL{Scheme: "file", Path: path}).String()
	}
	return s
}

// pathIn is the path of a source that the client names.
func (c *client) pathIn(s godap.Source) (string, error) {
	path := s.Path
	if path == "" {
		return "", refuse("the source %s has no path: send source.path", quoteShort(s.Name))
	}
	if c.caps.pathsAreURIs || strings.HasPrefix(path, "file://") {
		u, err := url.Parse(path)
		if err != nil || u.Scheme != "file" {
			return "", refuse("the source %s is not a file: URI", quoteShort(path))
		}
		path = u.Path
	}
	if strings.ContainsRune(path, 0) {
		return "", refuse("the source %s is not a path: it holds a zero byte", quoteShort(path))
	}
	return path, nil
}

// lineIn, lineOut and columnOut convert between the client's way of counting and ours, from 1.
func (c *client) lineIn(line int) int {
	if c.caps.linesFrom0 {
		return line + 1
	}
	return line
}

func (c *client) lineOut(line int) int {
	if c.caps.linesFrom0 && line > 0 {
		return line - 1
	}
	return line
}

func (c *client) columnOut() int {
	if c.caps.columnsFrom0 {
		return 0
	}
	return 1
}

// sourceFile gives the text of a file that the client cannot see, such as one on another host.
func sourceFile(k *call, a godap.SourceArguments) (any, error) {
	if a.Source == nil || a.Source.Path == "" {
		return nil, refuse("source needs `source.path`: this server refers to sources by their paths only")
	}
	path, err := k.c.pathIn(*a.Source)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return nil, refuse("source cannot give %s: there is no such file where cohort runs", quoteShort(path))
	case info.Size() > maxSource:
		return nil, refuse("source cannot give %s: it is larger than %d bytes", quoteShort(path), maxSource)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, refuse("source cannot give %s: %v", quoteShort(path), err)
	}
	return godap.SourceResponseBody{Content: strings.ToValidUTF8(string(text), "\uFFFD"), MimeType: "text/plain"}, nil
}
