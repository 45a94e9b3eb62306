package benchdatatypes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb"
	"github.com/cohort-debugger/cohort/handles"
)

// Elements of the column, and how many of them one mpipp prints.
const (
	columnElements = 1_000_000
	columnPage     = 200_000
)

// session is a gdb as an agent has it, at the line of large.c where there is something to be looked at.
type session struct {
	*handles.Backend
	ended chan struct{}
}

func line(source, text string) int {
	before, _, _ := strings.Cut(source, text)
	return strings.Count(before, "\n") + 1
}

func (p *programs) debug(ctx context.Context) (s *session, err error) {
	g := gdb.New(gdb.Options{})
	s = &session{handles.Around(g, handles.New(g), nil), make(chan struct{})}
	stopped := make(chan error, 1)
	go func() {
		defer close(s.ended)
		for e := range s.Events() {
			switch {
			case e.Stopped != nil && len(stopped) == 0:
				stopped <- nil
			case (e.Exited != nil || e.Ended != nil) && len(stopped) == 0:
				stopped <- errors.New("the program ended before its breakpoint")
			}
		}
	}()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if _, err := s.Launch(ctx,
		backend.LaunchRequest{Program: p.large, Env: []string{"LD_PRELOAD=" + p.lib}}); err != nil {
		return s, err
	}
	if _, err := s.SetBreakpoints(ctx, backend.SetBreakpointsRequest{
		Source: p.largeFile, Breakpoints: []backend.SourceBreakpoint{{
			ID:   1,
			Line: line(largeSource, "breakpoint: handles"),
		}},
	}); err != nil {
		return s, err
	}
	if err := s.Resume(ctx, backend.ResumeRequest{Kind: backend.Continue}); err != nil {
		return s, err
	}
	select {
	case err = <-stopped:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return s, err
}

func (s *session) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := s.Kill(ctx)
	<-s.ended
	return err
}

// mpipp runs a line of the console and returns how long it took. Its answer must have as many lines, at least.
func (s *session) mpipp(ctx context.Context, command string, lines int) (seconds float64, text string, err error) {
	began := time.Now()
	got, err := s.Evaluate(ctx, backend.EvaluateRequest{
		Frame: backend.FrameID{Thread: 1}, Expression: command,
		Context: backend.ContextREPL,
	})
	seconds = time.Since(began).Seconds()
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", command, err)
	}
	if n := strings.Count(got.Text, "\n"); n < lines {
		return 0, "", fmt.Errorf("%s answers with %d lines, not %d", command, n, lines)
	}
	return seconds, got.Text, nil
}

// column prints all of the column and checks some values of each page.
func (s *session) column(ctx context.Context) (seconds float64, err error) {
	for from := 0; from < columnElements; from += columnPage {
		took, text, err := s.mpipp(ctx, fmt.Sprintf("mpipp --from %d --list %d column matrix", from, columnPage),
			columnPage)
		if err != nil {
			return 0, err
		}
		seconds += took
		for _, i := range []int{from, from + columnPage/3, from + columnPage - 1} {
			at := strings.Index(text, fmt.Sprintf("column(VECTOR)[%d][0](DOUBLE)", i))
			if at < 0 || !strings.HasSuffix(strings.SplitN(text[at:], "\n", 2)[0], "  "+value(i)) {
				return 0, fmt.Errorf("mpipp does not show %s for element %d of the column", value(i), i)
			}
		}
	}
	return seconds, nil
}

// value is element i of the column.
func value(i int) string { return strconv.Itoa(5 * i) }

// View is one question to the decoder.
type View struct {
	Name, Title string
	Target      float64 // seconds; 0: none
	Seconds     []float64
}

// decoder measures the views in one session, in turn.
func (p *programs) decoder(ctx context.Context, rounds int) (views []View, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	s, err := p.debug(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	views = []View{
		{Name: "page", Title: "`mpipp indexed buffer`: the first page of 10^8 elements in 10^5 blocks", Target: 0.050},
		{Name: "picture", Title: "`mpipp --layout indexed`: the picture of the 10^5 blocks"},
		{Name: "all", Title: "`mpipp`: all handles of the rank"},
		{Name: "column", Title: "`mpipp column matrix`: all 10^6 elements of a vector, in five pages"},
	}
	commands := []struct {
		line  string
		lines int
	}{{"mpipp indexed buffer", 200}, {"mpipp --layout indexed", 15}, {"mpipp", 5}}
	for range rounds {
		for i := range views {
			var took float64
			if i < len(commands) {
				took, _, err = s.mpipp(ctx, commands[i].line, commands[i].lines)
			} else {
				took, err = s.column(ctx)
			}
			if err != nil {
				return nil, err
			}
			views[i].Seconds = append(views[i].Seconds, took)
		}
	}
	return views, nil
}

// Loop is a loop of gdb's own that prints elements of the column.
type Loop struct {
	Name, Title string
	script      string // %d: how many elements
	Elements    int
	Seconds     []float64
	// Expression: each element is printed by evaluating an expression, which is what mpipp is compared with.
	Expression bool
}

func loops() []Loop {
	return []Loop{
		{
			Name: "output", Title: "`while`: `output matrix[10*$i]`", Expression: true,
			script: "set $i = 0\nwhile $i < %d\noutput matrix[10*$i]\necho \\n\nset $i = $i + 1\nend\n",
		},
		{
			Name: "printf", Title: "`while`: `printf \"%g\\n\", matrix[10*$i]`", Expression: true,
			script: "set $i = 0\nwhile $i < %d\nprintf \"%%.17g\\n\", matrix[10*$i]\nset $i = $i + 1\nend\n",
		},
		{
			Name: "python", Title: "Python: `print(gdb.parse_and_eval(\"matrix[%d]\" % (10 * i)))`", Expression: true,
			script: "python\nfor i in range(%d): print(gdb.parse_and_eval(\"matrix[%%d]\" %% (10 * i)))\nend\n",
		},
		{
			Name: "values", Title: "Python without expressions: `print(matrix[10 * i])` of a gdb.Value",
			script: "python\nmatrix = gdb.parse_and_eval(\"matrix\")\nfor i in range(%d): print(matrix[10 * i])\nend\n",
		},
	}
}

// gdbLoop runs a loop in a plain gdb, whose output goes into a file, and returns how long the loop took.
func (p *programs) gdbLoop(ctx context.Context, l Loop, dir string) (seconds float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	script := filepath.Join(dir, l.Name+".gdb")
	loop := fmt.Sprintf(l.script, l.Elements)
	text := fmt.Sprintf("set pagination off\nset confirm off\nset debuginfod enabled off\nbreak "+
		"large.c:%d\nrun\npython import time; began = time.time()\necho LOOP\\n\n%s"+
		"python print(\"TOOK %%.6f\" %% (time.time() - began))\nkill\n", line(largeSource, "breakpoint: handles"), loop)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return 0, fmt.Errorf("writing a script of gdb: %w", err)
	}
	output := filepath.Join(dir, l.Name+".out")
	file, err := os.Create(output)
	if err != nil {
		return 0, fmt.Errorf("keeping what gdb prints: %w", err)
	}
	cmd := exec.CommandContext(ctx, "gdb", "-nx", "-batch", "-x", script, p.large)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.WaitDelay = 10 * time.Second
	err = errors.Join(cmd.Run(), file.Close())
	printed, readErr := os.ReadFile(output)
	if err = errors.Join(err, readErr); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, tail(printed))
	}
	_, rest, found := strings.Cut(string(printed), "LOOP\n")
	values, took, ended := strings.Cut(rest, "TOOK ")
	if !found || !ended {
		return 0, fmt.Errorf("%s printed no time:\n%s", strings.Join(cmd.Args, " "), tail(printed))
	}
	lines := strings.Split(strings.TrimSpace(values), "\n")
	if len(lines) != l.Elements || strings.TrimSpace(lines[len(lines)-1]) != value(l.Elements-1) {
		return 0, fmt.Errorf("%s printed %d values, the last one %q; expected are %d, the last one %s", l.Title,
			len(lines), lines[len(lines)-1], l.Elements, value(l.Elements-1))
	}
	if seconds, err = strconv.ParseFloat(strings.Fields(took)[0], 64); err != nil {
		return 0, fmt.Errorf("%s printed the time %q: %w", l.Title, took, err)
	}
	return seconds, nil
}

func tail(b []byte) string { return string(b[max(0, len(b)-2000):]) }
