package script

import (
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/script/report"
)

func TestExpectations(t *testing.T) {
	t.Parallel()
	type said struct {
		ranks []int
		text  string
	}
	for _, c := range []struct {
		line    string
		said    []said
		unset   string
		verdict report.Verdict
		reasons []string
	}{
		{line: "x == 4", said: []said{{[]int{0, 1}, "1\t4"}, {[]int{0}, "1\t4"}}, verdict: report.Met},
		{line: "[1] p->ok at a.c:7", said: []said{{[]int{1}, "true"}}, verdict: report.Met},
		{line: "ok", said: []said{{[]int{0, 1}, ".TRUE."}}, verdict: report.Met},
		{
			line: "x == 4 at a.c:7", said: []said{{[]int{0}, "1\t4"}, {[]int{1}, "0\t5"}, {[]int{1}, "0\t5"}},
			verdict: report.NotMet, reasons: []string{"[1] x is 5 (2 times)"},
		},
		{line: "ok", said: []said{{[]int{0, 1}, "0"}}, verdict: report.NotMet, reasons: []string{"[0-1] it is false"}},
		{
			line: "y == 1 at a.c:7", said: []said{{[]int{0, 1}, "<No symbol \"y\".>\t<No symbol \"y\".>"}},
			verdict: report.Unmeetable, reasons: []string{`[0-1] No symbol "y".`},
		},
		{
			line: "x == 4 at a.c:7", said: []said{{[]int{0}, "1\t4"}},
			verdict: report.Unmeetable, reasons: []string{"[1] never came to a.c:7: the end"},
		},
		{line: "x == 4 at a.c:7", unset: "No line 7.", verdict: report.Unmeetable, reasons: []string{"No line 7."}},
		{
			line: "x == 4 at a.c:7", said: []said{{[]int{0}, "0\t3"}}, verdict: report.NotMet,
			reasons: []string{"[0] x is 3", "[1] never came to a.c:7: the end"},
		},
	} {
		e, err := parseExpect(c.line, 2)
		if err != nil {
			t.Errorf("%q: %v", c.line, err)
			continue
		}
		e.unset = c.unset
		for _, s := range c.said {
			e.take(rankset.New(s.ranks...), s.text)
		}
		got := e.judge(": the end")
		if got.Verdict != c.verdict || !slices.Equal(got.Reasons, c.reasons) || got.Text != c.line {
			t.Errorf("%q is %+v, not %s %q", c.line, got, c.verdict, c.reasons)
		}
	}
	for _, line := range []string{"", "[2] x", "[0", "x at a.c", "x at :7", "x at a.c:0", "[0] at a.c:7"} {
		if _, err := parseExpect(line, 2); err == nil || !strings.Contains(err.Error(), "write: expect") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// What the log points of expectations say does not belong to the output.
func TestExpectationsAreTakenOutOfOutput(t *testing.T) {
	t.Parallel()
	e, err := parseExpect("x == 4 at a.c:7", 2)
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{ranks: 2, expectations: []*expectation{e}}
	rest := r.takeExpectations("[0] before\n[0-1] " + expectMark + "0 1\t4\n[1] after\n[0] " + expectMark + "7 1\n")
	if want := "[0] before\n[1] after\n"; rest != want || e.times != 2 {
		t.Errorf("%q is left, and it was true %d times", rest, e.times)
	}
}
