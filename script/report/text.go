package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/internal/prose"
)

func (r *Report) writeText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", r.head(), r.Conclusion())
	for _, m := range r.Moments {
		fmt.Fprintf(&b, "== %s\n\n%s\n", m.Title, m.Text())
	}
	fmt.Fprintf(&b, "== output of the ranks\n\n%s\n== session\n\n%s", r.Output.String(), r.Session.String())
	_, err := io.WriteString(w, b.String())
	return err //nolint:wrapcheck // the caller names the file
}

// Text is the moment without its title.
func (m *Moment) Text() string {
	var b strings.Builder
	for _, s := range m.Ranks {
		fmt.Fprintf(&b, "rank %-4d %s\n", s.Rank, rankText(s))
	}
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n-- %s\n%s\n", title, strings.TrimRight(text, "\n"))
		}
	}
	section("stacks", m.Tree)
	section("who waits for whom", m.Waits)
	section("MPI calls", m.Calls)
	for _, v := range m.Shown {
		section(v.Expression, v.Text)
	}
	return b.String()
}

func (r *Report) head() string {
	return fmt.Sprintf("cohort %s: %s, %d ranks, %s, %s", r.Cohort, strings.Join(r.Command, " "), r.Ranks,
		r.Start.Format(time.DateTime), time.Duration(r.Elapsed*float64(time.Second)).Round(100*time.Millisecond))
}

// Conclusion is how the run ended and what became of the expectations: lines for the end of a log.
func (r *Report) Conclusion() string {
	lines := []string{fmt.Sprintf("%s (exit status %d): %s", r.Outcome, r.Status, r.Summary)}
	for _, e := range r.Expectations {
		lines = append(lines, e.String())
	}
	return strings.Join(lines, "\n")
}

// rankText says where a rank is.
func rankText(s protocol.RankStatus) string {
	where := s.State
	if s.File != "" {
		where = fmt.Sprintf("%s in %s at %s:%d", s.State, s.Function, filepath.Base(s.File), s.Line)
	} else if in := cmp.Or(s.Function, s.Call); in != "" {
		where = s.State + " in " + in
	}
	if s.Event > 0 {
		where += fmt.Sprintf(", after event %d", s.Event)
	}
	if s.Text != "" {
		where += ": " + strings.TrimSpace(s.Text)
	}
	return where
}

// String says what became of the expectation, in a line and one for each reason.
func (e *Expectation) String() string {
	line := fmt.Sprintf("%-10s  %s", e.Verdict, e.Text)
	if e.Times > 0 {
		line += fmt.Sprintf("  (true %s)", prose.Count(e.Times, "time"))
	}
	for _, reason := range e.Reasons {
		line += "\n            " + reason
	}
	return line
}
