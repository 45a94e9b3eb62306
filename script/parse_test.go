package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

func TestParseBreak(t *testing.T) {
	here := t.TempDir()
	for _, name := range []string{"heat.c", "t.c"} {
		if err := os.WriteFile(filepath.Join(here, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]breakpoint{
		"heat.c:12":         {path: here + "/heat.c", line: 12},
		"elsewhere.c:12":    {path: "elsewhere.c", line: 12}, // not here: the debugger looks for it
		"/a/heat.c:12":      {path: "/a/heat.c", line: 12},
		"main":              {function: "main"},
		"ns::solver::step":  {function: "ns::solver::step"},
		"t.c:3 ranks 0-2,5": {path: here + "/t.c", line: 3, extra: protocol.BreakpointExtra{Ranks: "0-2,5"}},
		"t.c:3 ranks 2 mode causal if k == 3 && if_x": {
			path: here + "/t.c", line: 3, condition: "k == 3 && if_x",
			extra: protocol.BreakpointExtra{Ranks: "2", Mode: "causal"},
		},
	} {
		got, err := parseBreak(text, here)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(breakpoint{})); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
	for text, want := range map[string]string{
		"":                  "a place is missing",
		"t.c:0":             "neither FILE:LINE nor a function",
		":3":                "neither FILE:LINE nor a function",
		"t.c:x":             "neither FILE:LINE nor a function",
		"t.c:3 ranks":       `"ranks" has no value`,
		"t.c:3 mode always": `"always" is no mode`,
		"t.c:3 often yes":   `"often" is not understood`,
	} {
		if _, err := parseBreak(text, here); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
