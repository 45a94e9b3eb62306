package tui

import (
	"context"
	"fmt"
	"io"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

// Options say what to debug and where to show it.
type Options struct {
	Conn   io.ReadWriteCloser // a DAP connection, owned by the TUI from now on
	Launch protocol.LaunchArguments
	Title  string // what is debugged: "tsp", "tsp.cohort"

	Input  io.Reader // nil: the terminal
	Output io.Writer // nil: the terminal
}

// framesPerSecond is how often the screen is drawn at most: what text scrolls by cannot be read at more.
const framesPerSecond = 30

// Run shows the terminal interface until the user quits, the connection ends or ctx does. The terminal is restored in
// every case. An error says why the session could not start or broke down.
func Run(ctx context.Context, options Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, options)
	programOptions := []tea.ProgramOption{tea.WithContext(ctx), tea.WithFPS(framesPerSecond)}
	if options.Input != nil {
		programOptions = append(programOptions, tea.WithInput(options.Input))
	}
	if options.Output != nil {
		programOptions = append(programOptions, tea.WithOutput(options.Output))
	}
	p := tea.NewProgram(m, programOptions...)
	m.client = client.New(options.Conn, func(e client.Message) { p.Send(eventMsg(e)) })
	_, err := p.Run()
	cancel()
	m.client.Close()
	if err != nil {
		return fmt.Errorf("the terminal interface ended: %w", err)
	}
	return m.fatal
}

// A pane takes keys when it is active.
type pane int

const (
	paneRanks pane = iota
	paneSource
	paneStack
	paneVariables
	paneOutput
	paneConsole
	paneCount
)

func (p pane) title() string {
	return [...]string{"Ranks", "Source", "Stack", "Variables", "Output", "Console"}[p]
}

type phase int

const (
	phaseStarting phase = iota
	phaseRunning
	phaseEnded
)

// Model is the state of the interface. Only bubbletea's loop touches it.
type Model struct {
	ctx     context.Context //nolint:containedctx // a bubbletea model lives exactly as long as its Run
	client  *client.Client
	options Options

	width, height int
	phase         phase
	quitting      bool
	fatal         error // why the session could not start

	ranks      []protocol.RankStatus // by rank
	focus      string
	idle       bool
	selected   int         // rank
	generation map[int]int // counts the stops of a rank, to tell late answers

	frames   []dap.StackFrame // of the selected rank
	frame    int              // index in frames
	stackErr string
	vars     []*varNode
	answers  []*varNode // of the console, that can be opened: the first of vars
	varsErr  string

	source      sourceFile
	cursor      int                     // 0-based line of source
	top         int                     // first visible line of source
	breakpoints map[string][]breakpoint // by path
	catches     []string                // the exception filters that are on by default
	output      *scrollback             // of the ranks and the debugger
	console     *scrollback
	history     []string
	historyAt   int
	scroll      [paneCount]int // first visible line, panes that list
	variable    int            // selected line of the variables

	active   pane
	bottom   pane // which of variables, output, console is shown
	input    textinput.Model
	prompt   *prompt
	help     bool
	notice   string // last thing worth saying
	isError  bool
	progress string
}

// prompt asks for one line of text at the bottom of the screen.
type prompt struct {
	label string
	then  func(m *Model, text string) tea.Cmd
}

func newModel(ctx context.Context, options Options) *Model {
	input := textinput.New()
	input.Prompt = "> "
	input.SetVirtualCursor(true)
	styles := input.Styles()
	styles.Cursor.Blink = false // a blinking cursor wakes the program twice a second for nothing
	input.SetStyles(styles)
	return &Model{
		ctx: ctx, options: options, generation: map[int]int{}, breakpoints: map[string][]breakpoint{},
		output: newScrollback(), console: newScrollback(),
		focus: "all", input: input, active: paneRanks, bottom: paneVariables, progress: "starting …",
	}
}

func (m *Model) fail(text string) { m.notice, m.isError = text, true }
func (m *Model) say(text string)  { m.notice, m.isError = text, false }

func (m *Model) threadOf(rank int) int {
	if rank < len(m.ranks) && m.ranks[rank].ThreadID != 0 {
		return m.ranks[rank].ThreadID
	}
	return protocol.ThreadID(rank, 1)
}

// frameID is the frame that the console evaluates in; 0 is none.
func (m *Model) frameID() int {
	if m.frame < len(m.frames) {
		return m.frames[m.frame].Id
	}
	return 0
}
