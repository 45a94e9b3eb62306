package dap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

func TestParseBreak(t *testing.T) {
	type parsed struct {
		source, function, condition, hits string
		line                              int
		extra                             protocol.BreakpointExtra
		pending                           bool
	}
	for text, want := range map[string]parsed{
		"heat.c:12":         {source: "heat.c", line: 12},
		"/a/heat.c:12":      {source: "/a/heat.c", line: 12},
		"main":              {function: "main"},
		"ns::solver::step":  {function: "ns::solver::step"},
		"t.c:3 ranks 0-2,5": {source: "t.c", line: 3, extra: protocol.BreakpointExtra{Ranks: "0-2,5"}},
		"t.c:3 ranks 2 mode causal if k == 3 && if_x": {
			source: "t.c", line: 3, condition: "k == 3 && if_x",
			extra: protocol.BreakpointExtra{Ranks: "2", Mode: "causal"},
		},
		"f hits %3 pending ranks 1": {
			function: "f", hits: "%3", extra: protocol.BreakpointExtra{Ranks: "1"}, pending: true,
		},
	} {
		b, err := parseBreak(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		got := parsed{b.bp.Source, b.bp.Function, b.bp.Condition, b.bp.HitCondition, b.bp.Line, b.extra, b.pending}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(parsed{})); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
	for text, want := range map[string]string{
		"":                "a location is missing",
		"t.c:0":           "neither FILE:LINE nor a function",
		":3":              "neither FILE:LINE nor a function",
		"t.c:x":           "neither FILE:LINE nor a function",
		"t.c:3 ranks":     `"ranks" has no value`,
		"t.c:3 often yes": `"often" is not understood`,
	} {
		if _, err := parseBreak(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What is a command and what an expression that begins with a variable's name.
func TestFindCommand(t *testing.T) {
	for line, want := range map[string]string{
		"continue": "continue", "step": "step", "step = 3": "", "step + 1": "", "next->value": "", "rank": "",
		"rank 2": "rank", "rank + 1": "", "rank == 2": "", "focus": "focus", "focus [0,2]": "focus", "n": "", "c": "",
		"input": "input", "input = 3": "input", "break heat.c:3": "break", "p step": "", "[0] p x": "", "": "",
		"mpipp": "", "ranks x": "ranks",
	} {
		got := ""
		if c, _, ok := findCommand(line); ok {
			got = c.Name
		}
		if got != want {
			t.Errorf("%q is the command %q, not %q", line, got, want)
		}
	}
}
