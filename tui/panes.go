package tui

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/rankset"
)

// pane draws one pane: a title line and rows lines of exactly width cells.
func (m *Model) pane(p pane, width, rows int) []string {
	var lines []string
	title := p.title()
	switch p {
	case paneRanks:
		lines = m.ranksPane(rows)
	case paneSource:
		lines = m.sourcePane(rows)
		if m.source.path != "" {
			title = "Source " + m.source.path
			if len(title) > width-4 {
				title = "Source " + filepath.Base(m.source.path)
			}
		}
	case paneStack:
		lines = m.stackPane(rows)
		title = fmt.Sprintf("Stack of rank %d", m.selected)
	case paneVariables:
		lines = m.variablesPane(rows)
	case paneOutput:
		lines = m.output.draw(rows, width)
	case paneConsole:
		lines = append(m.console.draw(rows-1, width), m.consolePrompt())
	case paneCount: // no pane
	}
	style := styleDim
	if p == m.active {
		style = styleActive
	}
	head := style.Render("─ "+title+" ") + m.tabs(p)
	if w := width - ansi.StringWidth(head); w > 0 {
		head += styleDim.Render(strings.Repeat("─", w))
	}
	out := []string{fit(head, width)}
	for i := range rows {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		out = append(out, fit(line, width))
	}
	return out
}

// tabs names the panes that share the place at the bottom right.
func (m *Model) tabs(p pane) string {
	if p < paneVariables {
		return ""
	}
	var names []string
	for q := paneVariables; q < paneCount; q++ {
		if q != p {
			names = append(names, q.title())
		}
	}
	return styleDim.Render("(" + strings.Join(names, ", ") + ": tab) ")
}

func (m *Model) consolePrompt() string {
	if m.prompt == nil && m.active == paneConsole {
		return m.input.View()
	}
	return styleDim.Render("> press : to type")
}

// list shows rows of n lines, so that line sel is visible.
func (m *Model) list(p pane, n, rows, sel int, line func(i int) string) []string {
	top := &m.scroll[p]
	*top = max(sel-rows+1, min(*top, sel))
	*top = max(0, min(*top, n-rows))
	var out []string
	for i := *top; i < min(n, *top+rows); i++ {
		out = append(out, line(i))
	}
	return out
}

func (m *Model) ranksPane(rows int) []string {
	if len(m.ranks) == 0 {
		return []string{styleDim.Render("waiting for the ranks …")}
	}
	return m.list(paneRanks, len(m.ranks), rows, m.selected, func(i int) string {
		line := rankLine(m.ranks[i])
		if i == m.selected {
			line = styleCursor.Render(ansi.Strip(line))
		}
		return line
	})
}

func rankLine(r protocol.RankStatus) string {
	mark, style := "?", styleDim
	text := r.State
	switch r.State {
	case "running":
		mark, style = "▶", styleRunning
		if r.Call != "" {
			text = "in " + r.Call
		}
	case "stopped":
		mark, style = "■", styleStopped
		text = r.Function
		if r.File != "" {
			text = fmt.Sprintf("%s:%d %s", filepath.Base(r.File), r.Line, r.Function)
		}
		if r.Reason == "exception" {
			mark, style = "✗", styleError
		}
	case "exited":
		mark, text = "·", cmp.Or(r.Reason, "exited")
		if strings.HasPrefix(r.Reason, "signal") {
			mark, style = "✗", styleError
		}
	case "lost":
		mark, style, text = "✗", styleError, cmp.Or(r.Text, "lost")
	}
	event := ""
	if r.Event > 0 {
		event = styleDim.Render(fmt.Sprintf(" e%d", r.Event))
	}
	return fmt.Sprintf("%3d ", r.Rank) + style.Render(mark) + event + " " + printable(text)
}

func (m *Model) sourcePane(rows int) []string {
	if m.source.err != "" {
		return hardWrap([]string{printable(m.source.err)}, max(20, m.layout().rightWidth))
	}
	if len(m.source.lines) == 0 {
		return []string{styleDim.Render("No source yet: a rank that stops shows its place here; o opens a file.")}
	}
	at := ranksByLine(m.ranks, m.source.path)
	marks := map[int]string{}
	for _, b := range m.breakpoints[m.source.path] {
		marks[b.Line] = breakpointMark(b)
	}
	gutter := 2
	for _, ranks := range at {
		gutter = min(max(gutter, len(rankset.New(ranks...).String())), 9)
	}
	number := len(fmt.Sprint(len(m.source.lines)))
	var out []string
	for i := m.top; i < len(m.source.lines) && len(out) < rows; i++ {
		ranks, arrow := "", " "
		if here := at[i+1]; len(here) > 0 {
			ranks, arrow = rankset.New(here...).String(), "▸"
			if len(ranks) > gutter {
				ranks = fmt.Sprintf("%d ranks", len(here))
			}
		}
		text := m.source.lines[i]
		if i == m.cursor {
			if m.active == paneSource {
				text = styleCursor.Render(text + " ")
			} else {
				text = styleTitle.Render(text)
			}
		}
		out = append(out, styleMark.Render(fmt.Sprintf("%*s%s", gutter, ranks, arrow))+
			styleBreak.Render(cmp.Or(marks[i+1], " "))+styleDim.Render(fmt.Sprintf("%*d ", number, i+1))+text)
	}
	return out
}

func breakpointMark(b breakpoint) string {
	switch {
	case !b.verified:
		return "○"
	case b.Mode == protocol.ModeCausal:
		return "◆"
	case b.Mode == protocol.ModeAll || b.Mode == protocol.ModeFocus:
		return "■"
	}
	return "●"
}

func (m *Model) stackPane(rows int) []string {
	switch {
	case m.stackErr != "":
		return hardWrap([]string{printable(m.stackErr)}, m.layout().leftWidth)
	case len(m.frames) == 0 && m.selected < len(m.ranks):
		return []string{styleDim.Render("rank is " + m.ranks[m.selected].State)}
	}
	return m.list(paneStack, len(m.frames), rows, m.frame, func(i int) string {
		line := frameLine(m.frames[i])
		switch {
		case i == m.frame:
			line = styleCursor.Render(line)
		case m.frames[i].PresentationHint == "subtle": // not the program's
			line = styleDim.Render(line)
		}
		return line
	})
}

func frameLine(f dap.StackFrame) string {
	if f.Source == nil || f.Source.Path == "" {
		return printable(f.Name)
	}
	return fmt.Sprintf("%s %s:%d", printable(f.Name), filepath.Base(f.Source.Path), f.Line)
}

func (m *Model) variablesPane(rows int) []string {
	if m.varsErr != "" {
		return hardWrap([]string{printable(m.varsErr)}, m.layout().rightWidth)
	}
	list := flatten(m.vars)
	if len(list) == 0 {
		return []string{styleDim.Render("no variables: the rank is running or has no debug information")}
	}
	sel := min(m.variable, len(list)-1)
	return m.list(paneVariables, len(list), rows, sel, func(i int) string {
		line := variableLine(list[i])
		if i == sel && m.active == paneVariables {
			line = styleCursor.Render(ansi.Strip(line))
		}
		return line
	})
}

func variableLine(n *varNode) string {
	sign := "  "
	if n.ref != 0 && !n.more {
		sign = "▸ "
		if n.open {
			sign = "▾ "
		}
	}
	line := strings.Repeat("  ", n.depth) + sign + n.name
	switch {
	case n.err != "":
		return line + "  " + styleError.Render(n.err)
	case n.loading:
		return line + styleDim.Render("  loading …")
	case n.value != "":
		return line + styleDim.Render(" = ") + n.value
	}
	return line
}

// hardWrap breaks what is longer than the pane, between words where there are any: a value that is cut off is a value
// that is not shown.
func hardWrap(lines []string, width int) []string {
	var out []string
	for _, l := range lines {
		if ansi.StringWidth(l) <= width {
			out = append(out, l)
			continue
		}
		out = append(out, strings.Split(ansi.Hardwrap(ansi.Wordwrap(l, max(1, width), ""), max(1, width), true),
			"\n")...)
	}
	return out
}
