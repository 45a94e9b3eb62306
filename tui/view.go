package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Colours are the terminal's own sixteen, so that they suit its theme; lipgloss drops them where there are none.
var (
	styleTitle   = lipgloss.NewStyle().Bold(true)
	styleActive  = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("6"))
	styleDim     = lipgloss.NewStyle().Faint(true)
	styleError   = lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true)
	styleStopped = lipgloss.NewStyle().Foreground(lipgloss.Color("3"))
	styleRunning = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
	styleMark    = lipgloss.NewStyle().Foreground(lipgloss.Color("6"))
	styleCursor  = lipgloss.NewStyle().Reverse(true)
	styleBreak   = lipgloss.NewStyle().Foreground(lipgloss.Color("1"))
)

// minWidth and minHeight are the smallest screen with everything on it.
const minWidth, minHeight = 60, 16

// layout is where the panes are, in cells.
type layout struct {
	leftWidth, rightWidth int
	topRows, bottomRows   int // inside, without the title line of a pane
	sourceRows            int
}

func (m *Model) layout() layout {
	left := min(max(26, m.width/3), 44)
	inner := m.height - 3 // header, notice, keys
	top := max(4, inner*6/10)
	bottom := inner - top
	return layout{
		leftWidth: left, rightWidth: m.width - left - 1, topRows: top - 1, bottomRows: bottom - 1,
		sourceRows: top - 1,
	}
}

func (l layout) rows(p pane) int {
	if p == paneRanks || p == paneSource {
		return l.topRows
	}
	return l.bottomRows
}

// View draws the screen.
func (m *Model) View() tea.View {
	v := tea.NewView(m.draw())
	v.AltScreen = true
	v.WindowTitle = "Cohort " + m.options.Title
	return v
}

func (m *Model) draw() string {
	switch {
	case m.width == 0:
		return ""
	case m.width < minWidth || m.height < minHeight:
		return fmt.Sprintf("The terminal has %dx%d cells;\nCohort needs %dx%d.\nMake it larger, or q to quit.", m.width,
			m.height, minWidth, minHeight)
	case m.help:
		return m.helpScreen()
	}
	l := m.layout()
	top := beside(m.pane(paneRanks, l.leftWidth, l.topRows), m.pane(paneSource, l.rightWidth, l.topRows))
	bottom := beside(m.pane(paneStack, l.leftWidth, l.bottomRows), m.pane(m.bottom, l.rightWidth, l.bottomRows))
	lines := append([]string{m.header()}, top...)
	lines = append(lines, bottom...)
	lines = append(lines, m.noticeLine(), m.footer())
	return strings.Join(lines, "\n")
}

func beside(left, right []string) []string {
	out := make([]string, len(left))
	for i := range left {
		out[i] = left[i] + styleDim.Render("│") + right[i]
	}
	return out
}

// fit cuts or pads a line, which may hold styles, to exactly width cells.
func fit(line string, width int) string {
	if width <= 0 {
		return ""
	}
	line = ansi.Truncate(line, width, "…")
	if w := ansi.StringWidth(line); w < width {
		line += strings.Repeat(" ", width-w)
	}
	return line
}

func (m *Model) header() string {
	state := map[phase]string{phaseStarting: "starting", phaseRunning: "running", phaseEnded: "ended"}[m.phase]
	if m.phase == phaseRunning && m.idle {
		state = "idle"
	}
	kind := "live"
	switch {
	case m.options.Launch.Recording != "":
		kind = "replay"
	case len(m.options.Launch.Cores) > 0:
		kind = "ended"
	}
	left := styleTitle.Render("Cohort ") + printable(m.options.Title) +
		styleDim.Render(fmt.Sprintf("  %s · %d ranks · focus %s · %s", kind, len(m.ranks), m.focus, state))
	if m.progress != "" {
		left += "  " + styleMark.Render(printable(m.progress))
	}
	return fit(left, m.width)
}

func (m *Model) noticeLine() string {
	if m.prompt != nil {
		return fit(styleActive.Render(m.prompt.label)+m.input.View(), m.width)
	}
	text := printable(strings.ReplaceAll(m.notice, "\n", " "))
	if m.isError {
		return fit(styleError.Render(text), m.width)
	}
	return fit(text, m.width)
}

func (m *Model) footer() string {
	var parts []string
	switch {
	case m.prompt != nil:
		parts = append(parts, "enter ok", "esc cancel")
	case m.active == paneConsole:
		parts = append(parts, "enter evaluate", "[0,2] p x on ranks", "mpipp TYPE BUF", "up/down history",
			"tab next pane", "esc leave")
	default:
		for _, b := range bindings() {
			if b.short != "" {
				parts = append(parts, styleActive.Render(b.keys[0])+" "+b.short)
			}
		}
	}
	line := strings.Join(parts, "  ")
	if ansi.StringWidth(line) > m.width {
		line = strings.Join(parts, " ")
	}
	return fit(line, m.width)
}

func (m *Model) helpScreen() string {
	lines := []string{styleTitle.Render("Keys") + styleDim.Render("   ? or esc closes this"), ""}
	half := (len(bindings()) + 1) / 2
	list := bindings()
	column := m.width / 2
	for i := range half {
		line := fit(helpLine(list[i]), column)
		if j := i + half; j < len(list) {
			line += helpLine(list[j])
		}
		lines = append(lines, fit(line, m.width))
	}
	lines = append(lines, "",
		fit("Gutter of the source: ● breakpoint, ○ not verified, ◆ causal, ■ stops all; 0-2▸ ranks that are at "+
			"the line.", m.width))
	for len(lines) < m.height {
		lines = append(lines, "")
	}
	return strings.Join(lines[:m.height], "\n")
}

func helpLine(b binding) string {
	return fmt.Sprintf("%-13s %s", strings.Join(b.keys, " "), b.help)
}
