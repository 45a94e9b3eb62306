package plaingdb

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/handles"
	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/internal/prose"

	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
)

// Protocol is the version of what script.py and Serve say to each other.
const Protocol = 2

// maxLine bounds one line of the protocol: a megabyte of memory is much.
const maxLine = 64 << 20

// maxChildren bounds what a front end is given to open.
const maxChildren = 200

type hello struct {
	Protocol int    `json:"protocol"`
	Cohort   string `json:"cohort"`
	Version  string `json:"version"`
}

// request is what the script wants.
type request struct {
	Do     string `json:"do"`    // mpipp, describe
	State  string `json:"state"` // changes with whatever may change the program's memory
	Pid    int    `json:"pid"`   // 0: there is no process, and no core file
	Cwd    string `json:"cwd"`   // gdb's, in which files are written
	Line   string `json:"line"`  // of mpipp
	Type   string `json:"type"`  // of describe
	Handle uint64 `json:"handle"`
	Tree   bool   `json:"tree"`
}

// answer ends a request.
type answer struct {
	Done     bool        `json:"done"`
	Error    string      `json:"error,omitempty"`
	Text     string      `json:"text,omitempty"`
	Value    string      `json:"value,omitempty"`
	Children [][2]string `json:"children,omitempty"`
}

// Serve decodes MPI handles for the script at the other end of in and out until in ends, which is no error.
func Serve(in io.Reader, out io.Writer, version string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	s := &server{lines: lines, out: out}
	s.decoder = handles.New(&rank{s})
	s.decoder.NoRegistry = noLibrary
	if err := s.send(hello{Protocol: Protocol, Cohort: "decoder", Version: version}); err != nil {
		return err
	}
	for {
		var req request
		if err := s.receive(&req); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if req.State != s.state || req.State == "" {
			s.state, s.memory = req.State, nil
			s.decoder.Forget()
		}
		got := s.serve(req)
		if s.broken != nil {
			return s.broken
		}
		got.Done = true
		if err := s.send(got); err != nil {
			return err
		}
	}
}

// server is used by one goroutine.
type server struct {
	lines   *bufio.Scanner
	out     io.Writer
	decoder *handles.Decoder
	state   string
	memory  []piece // of state, by address
	broken  error   // the conversation has ended in the middle of a request
}

func (s *server) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding for gdb's script: %w", err)
	}
	if _, err := s.out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("writing to gdb's script: %w", err)
	}
	return nil
}

func (s *server) receive(v any) error {
	if !s.lines.Scan() {
		if err := s.lines.Err(); err != nil {
			return fmt.Errorf("reading from gdb's script: %w", err)
		}
		return io.EOF
	}
	if err := json.Unmarshal(s.lines.Bytes(), v); err != nil {
		return fmt.Errorf("what gdb's script says is not understood: %w", err)
	}
	return nil
}

func (s *server) serve(req request) answer {
	var got answer
	var err error
	switch {
	case req.Do == "mpipp" && strings.TrimSpace(req.Line) == "--help": // which needs no program
		got.Text = command.Usage()
	case req.Pid == 0:
		err = errors.New("there is no process: run the program, attach to one of its ranks, or open a core file")
	case req.Do == "mpipp":
		got.Text, err = s.mpipp(req)
	case req.Do == "describe":
		got = s.describe(req)
	default:
		err = fmt.Errorf("the decoder was asked for %q, which it does not do", req.Do)
	}
	if err != nil {
		got = answer{Error: explain(err)}
	}
	return got
}

const noLibrary = "The program runs without Cohort's library libcohort.so, so MPI handles cannot be decoded. " +
	"`cohort library PROGRAM` prints the library's path. In gdb, write `set environment LD_PRELOAD PATH` before " +
	"`run`; ranks that gdb is to attach to, or that are to leave core files, are started with it: " +
	"mpiexec -n 4 env LD_PRELOAD=PATH PROGRAM."

// explain is an error for somebody in gdb.
func explain(err error) string {
	if fault.Is(err, fault.NoInterposer) {
		return noLibrary
	}
	if errors.As(err, new(*fault.Error)) { // whole sentences, which may begin with an expression of the user's
		return err.Error()
	}
	return prose.Sentence(err.Error())
}

func (s *server) mpipp(req request) (string, error) {
	result, _, err := s.decoder.Run(context.Background(), backend.FrameID{}, req.Line)
	if err != nil {
		return "", err
	}
	if result.File == nil {
		return result.Text, nil
	}
	path, err := writeFile(req.Cwd, result.File)
	if err != nil {
		return "", err
	}
	if result.Text != "" && !strings.HasSuffix(result.Text, "\n") {
		result.Text += "\n"
	}
	return result.Text + "The picture is in " + path + "\n", nil
}

// writeFile writes what the user asked for, whole or not at all.
func writeFile(dir string, file *backend.File) (path string, err error) {
	path = file.Name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if old, err := os.Stat(path); err == nil && !old.Mode().IsRegular() {
		return "", fmt.Errorf("writing %s: it exists, and is no regular file", path)
	}
	if err := atomicfile.Write(path, file.Data); err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	return path, nil
}

// describe is for a printer. What has no meaning to show is left to gdb: the answer is empty then.
func (s *server) describe(req request) answer {
	ctx := context.Background()
	node, err := s.decoder.Describe(ctx, req.Type, req.Handle)
	if err != nil {
		return answer{} // gdb shows the handle as it is; mpipp says why
	}
	got := answer{Value: node.Value}
	if !req.Tree || node.Len() == 0 {
		return got
	}
	shown := min(node.Len(), maxChildren)
	kids, err := s.decoder.Children(ctx, &node, 0, shown)
	if err != nil {
		return got // likewise
	}
	for i, k := range kids {
		name := k.Name
		if name == "" {
			name = fmt.Sprintf("[%d]", i)
		}
		got.Children = append(got.Children, [2]string{name, k.Value})
	}
	if rest := node.Len() - shown; rest > 0 {
		got.Children = append(got.Children, [2]string{"…", fmt.Sprintf("%d more; mpipp shows them", rest)})
	}
	return got
}
