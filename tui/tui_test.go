package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-dap"
	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness runs a Model against a fakeServer without a terminal: it is bubbletea's loop, made of one goroutine and a
// channel.
type harness struct {
	t    *testing.T
	m    *Model
	s    *fakeServer
	msgs chan tea.Msg
	quit bool
}

func newHarness(t *testing.T, options Options) *harness {
	t.Helper()
	source := filepath.Join(t.TempDir(), "heat.c")
	if err := os.WriteFile(source, []byte("int main(void)\n{\n\texchange_halo(grid); /* \x1b[31m */\n}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	s, conn := newFakeServer(t, source)
	options.Conn = conn
	options.Title = "heat"
	h := &harness{t: t, m: newModel(ctx, options), s: s, msgs: make(chan tea.Msg, 1000)}
	h.m.client = client.New(conn, func(e client.Message) { h.msgs <- eventMsg(e) })
	t.Cleanup(func() { cancel(); h.m.client.Close() })
	return h
}

// do runs a command, and the commands that batches hold, and queues what they give.
func (h *harness) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				h.do(c)
			}
		default:
			h.msgs <- msg
		}
	}()
}

// until runs the loop until the condition holds, or fails when the deadline of the context ends it.
func (h *harness) until(what string, cond func() bool) {
	h.t.Helper()
	for !cond() {
		select {
		case msg := <-h.msgs:
			h.update(msg)
		case <-h.m.ctx.Done():
			h.t.Fatalf("never: %s\nscreen:\n%s", what, h.screen())
		}
	}
}

func (h *harness) update(msg tea.Msg) {
	if seq, ok := sequence(msg); ok {
		go func() {
			for _, c := range seq {
				if c != nil {
					if msg := c(); msg != nil {
						h.msgs <- msg
					}
				}
			}
		}()
		return
	}
	if _, ok := msg.(tea.QuitMsg); ok {
		h.quit = true
		return
	}
	_, cmd := h.m.Update(msg)
	h.do(cmd)
}

// sequence unpacks tea.Sequence's message, whose type is not exported.
func sequence(msg tea.Msg) ([]tea.Cmd, bool) {
	probe := tea.Sequence(func() tea.Msg { return nil }, func() tea.Msg { return nil })()
	if strings.Contains(typeName(msg), "sequenceMsg") && typeName(msg) == typeName(probe) {
		return commands(msg), true
	}
	return nil, false
}

func (h *harness) key(keys ...string) {
	for _, k := range keys {
		char, size := utf8.DecodeRuneInString(k)
		switch {
		case size == len(k):
			h.update(tea.KeyPressMsg{Code: char, Text: k})
		case k == "enter":
			h.update(tea.KeyPressMsg{Code: tea.KeyEnter})
		case k == "tab":
			h.update(tea.KeyPressMsg{Code: tea.KeyTab})
		case k == "down":
			h.update(tea.KeyPressMsg{Code: tea.KeyDown})
		case k == "end":
			h.update(tea.KeyPressMsg{Code: tea.KeyEnd})
		case k == "esc":
			h.update(tea.KeyPressMsg{Code: tea.KeyEscape})
		default:
			h.t.Fatalf("no such key in the test: %s", k)
		}
	}
}

func (h *harness) screen() string { return ansi.Strip(h.m.draw()) }

func (h *harness) sees(text string) func() bool {
	return func() bool { return strings.Contains(h.screen(), text) }
}

// asked waits for a request of that command and returns its arguments.
func (h *harness) asked(command string) string {
	h.t.Helper()
	for {
		select {
		case r := <-h.s.requests:
			if r.Command == command {
				return string(r.Arguments)
			}
		case msg := <-h.msgs:
			h.update(msg)
		case <-h.m.ctx.Done():
			h.t.Fatalf("never asked: %s\n%s", command, h.screen())
		}
	}
}

func started(t *testing.T) *harness {
	h := newHarness(t, Options{})
	h.update(tea.WindowSizeMsg{Width: 80, Height: 24})
	h.do(h.m.Init())
	h.until("variables of the stopped rank", h.sees("n = 64"))
	return h
}

// checkShape: whatever happens, the screen has exactly the terminal's cells.
func checkShape(t *testing.T, m *Model) {
	t.Helper()
	lines := strings.Split(m.draw(), "\n")
	if len(lines) != m.height {
		t.Errorf("%d lines on a screen of %d", len(lines), m.height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > m.width {
			t.Errorf("line %d has %d cells on a screen of %d: %q", i, w, m.width, ansi.Strip(l))
		}
	}
}

func TestScreenAt80x24(t *testing.T) {
	h := started(t)
	checkShape(t, h.m)
	screen := h.screen()
	for _, want := range []string{
		"4 ranks · focus all", "1 ■ e11 heat.c:3", "3 ▶ in MPI_Recv", "0-1▸", "2▸",
		"exchange_halo(grid)", "grid = [250]", "Stack of rank 1", "Rank 1 stopped at a breakpoint.", "c cont",
		"q quit",
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	if strings.ContainsRune(screen, 0x1b) {
		t.Error("an escape sequence of the source reached the terminal")
	}
}

func TestSurvivesAnySize(t *testing.T) {
	h := started(t)
	for _, size := range [][2]int{{1, 1}, {20, 5}, {60, 16}, {61, 17}, {80, 24}, {200, 60}, {132, 16}, {60, 100}} {
		h.update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		if size[0] >= minWidth && size[1] >= minHeight {
			checkShape(t, h.m)
		} else {
			_ = h.m.draw() // must not panic
		}
		h.key("?")
		_ = h.m.draw()
		h.key("?")
	}
}

func TestLargeArrayIsLoadedByPages(t *testing.T) {
	h := started(t)
	h.m.active = paneVariables
	h.m.variable = 2 // Locals, n, grid
	h.key("enter")
	h.until("first page", h.sees("[0] = 0"))
	if grid := h.m.vars[0].children[1]; grid.loaded() != 100 {
		t.Errorf("%d children loaded, want one page of 100", grid.loaded())
	}
	h.key("end")
	h.until("the line for the rest", h.sees("150 more"))
	h.key("enter")
	h.until("second page", func() bool { return h.m.vars[0].children[1].loaded() == 200 })
}

func TestBreakpointKeys(t *testing.T) {
	h := started(t)
	h.key("b")
	if args := h.asked("setBreakpoints"); !strings.Contains(args, `"line":3`) {
		t.Errorf("asked for %s", args)
	}
	h.until("its mark", h.sees("●3"))
	h.key("b")
	if args := h.asked("setBreakpoints"); !strings.Contains(args, `"breakpoints":[]`) {
		t.Errorf("the second b should clear it, asked for %s", args)
	}
	h.key("B")
	args := h.asked("setBreakpoints")
	if !strings.Contains(args, `"mode":"causal"`) || !strings.Contains(args, `"ranks":"1"`) {
		t.Errorf("asked for %s", args)
	}
	h.until("its mark", h.sees("◆3"))
}

func TestStepsGoToTheSelectedRank(t *testing.T) {
	h := started(t)
	for key, command := range map[string]string{
		"c": "continue", "n": "next", "s": "stepIn", "f": "stepOut",
		"p": "pause",
	} {
		h.key(key)
		var args struct{ ThreadID int }
		if err := json.Unmarshal([]byte(h.asked(command)), &args); err != nil ||
			args.ThreadID != protocol.ThreadID(1, 1) {
			t.Errorf("%s: %+v %v", command, args, err)
		}
	}
}

func TestConsole(t *testing.T) {
	h := started(t)
	h.key(":")
	for _, r := range "[0-3] p n" {
		h.key(string(r))
	}
	h.key("enter")
	if args := h.asked("evaluate"); !strings.Contains(args, `"[0-3] p n"`) || !strings.Contains(args, `"repl"`) {
		t.Errorf("asked for %s", args)
	}
	h.until("the answer", h.sees("[0-3] 64"))
	checkShape(t, h.m)
}

// A breakpoint of the console is the server's matter: the line goes to it as it was typed.
func TestConsoleBreak(t *testing.T) {
	h := started(t)
	h.key(":")
	for _, r := range "break heat.c:3 ranks 1" {
		h.key(string(r))
	}
	h.key("enter")
	var args dap.EvaluateArguments
	if err := json.Unmarshal([]byte(h.asked("evaluate")), &args); err != nil ||
		args.Expression != "break heat.c:3 ranks 1" || args.Context != "repl" || args.FrameId != 8 {
		t.Errorf("asked for %+v (%v)", args, err)
	}
	h.until("the answer", h.sees("breakpoint 1: heat.c:3 ranks 1."))
	checkShape(t, h.m)
}

// What can be opened of an answer is among the variables, page by page, until the rank continues.
func TestAnswersOpen(t *testing.T) {
	h := started(t)
	h.key(":")
	for _, r := range "mpipp u" {
		h.key(string(r))
	}
	h.key("enter")
	h.until("where the answer is", h.sees("It can be opened"))
	h.key("esc")
	h.key("v")
	h.until("the answer among the variables", h.sees("column: 250 values"))
	h.key("enter")
	h.until("its values", h.sees("[0]"))
	h.key("end")
	h.until("the rest", h.sees("more (Enter)"))
	checkShape(t, h.m)
}

func TestRefusalIsShown(t *testing.T) {
	h := started(t)
	h.s.refuse["next"] = "Rank 1 is running: pause it first."
	h.key("n")
	h.until("the refusal", h.sees("Rank 1 is running: pause it first."))
}

func TestOutputKeepsLinesAndHidesEscapes(t *testing.T) {
	h := started(t)
	h.key("u")
	h.s.event("output", map[string]string{"category": "stdout", "output": "[0-3] he"})
	h.s.event("output", map[string]string{"category": "stdout", "output": "llo\n[1] \x1b[2J\n"})
	h.until("both lines", h.sees("[1] ·[2J"))
	if !h.sees("[0-3] hello")() {
		t.Error(h.screen())
	}
}

func TestServerGone(t *testing.T) {
	h := started(t)
	_ = h.s.conn.Close()
	h.until("the news", h.sees("The debug server has closed the connection"))
	h.key("n")
	h.until("an answer to a key", h.sees("no running job"))
	checkShape(t, h.m)
}

func TestQuitDisconnects(t *testing.T) {
	h := started(t)
	h.key("q")
	if args := h.asked("disconnect"); !strings.Contains(args, `"terminateDebuggee":true`) {
		t.Error(args)
	}
	h.until("the end", func() bool { return h.quit })
}

// TestRunReportsALaunchThatFails drives the real program on a pipe instead of a terminal.
func TestRunReportsALaunchThatFails(t *testing.T) {
	s, conn := newFakeServer(t, "")
	s.refuse["launch"] = "The program ./nompi is not linked to an MPI library."
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	err := Run(ctx, Options{Conn: conn, Title: "nompi", Input: strings.NewReader(""), Output: &out})
	if err == nil || !strings.Contains(err.Error(), "not linked to an MPI library") {
		t.Errorf("Run returned %v", err)
	}
}

// TestLongLines: a line is broken between words where there are any, never wider than the pane, and nothing of it is
// lost.
func TestLongLines(t *testing.T) {
	long := []string{"  receives up to 8 × MPI_DOUBLE from rank 1; posted at particles.c:62", strings.Repeat("x", 50) +
		" y", ""}
	for width := 1; width < 80; width++ {
		got := hardWrap(long, width)
		for _, l := range got {
			if ansi.StringWidth(l) > width {
				t.Errorf("at width %d: %q", width, l)
			}
		}
		squeeze := func(lines []string) string { return strings.ReplaceAll(strings.Join(lines, ""), " ", "") }
		if squeeze(got) != squeeze(long) {
			t.Errorf("at width %d: %q", width, got)
		}
		if width >= 20 && !slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, "posted") }) {
			t.Errorf("at width %d a word is broken: %q", width, got)
		}
	}
}
