package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/dap/protocol"
)

const nasty = `<script src="http://example.org/x.js">alert(1)</script>&"'`

func sample() *Report {
	r := &Report{
		Cohort: "test", Command: []string{"./prog", nasty}, Start: time.Unix(0, 0), Elapsed: 1.5, Ranks: 2, Status: 5,
		Outcome: Crash, Summary: "Rank 1 received SIGSEGV " + nasty,
		Expectations: []Expectation{{Text: "x < 3 " + nasty, Verdict: NotMet, Times: 2, Reasons: []string{"[1] x is 3"}}},
		Moments: []Moment{{
			Title: "crash " + nasty,
			Ranks: []protocol.RankStatus{{Rank: 1, State: "stopped", Function: nasty, File: "/a/b.c", Line: 3}},
			Tree:  "[0-1] main " + nasty, Calls: "[0] MPI_Recv", Shown: []Value{{Expression: nasty, Text: nasty}},
		}},
	}
	r.Output.Add("printed " + nasty + "\n")
	r.Session.Add("(cohort) continue\n")
	return r
}

// All forms say what there is to say; the page loads nothing, and nothing of the program gets into it as HTML.
func TestForms(t *testing.T) {
	t.Parallel()
	for kind := range Kinds {
		var b strings.Builder
		if err := sample().Write(&b, "r"+kind); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, part := range []string{"SIGSEGV", "unmet", "x is 3", "main", "MPI_Recv", "printed", "continue"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s does not say %q:\n%s", kind, part, text)
			}
		}
		switch kind {
		case ".json":
			var back struct {
				Outcome string
				Output  string
				Moments []Moment
			}
			err := json.Unmarshal([]byte(text), &back)
			if err != nil || back.Outcome != "crash" || !strings.HasPrefix(back.Output, "printed <script") ||
				back.Moments[0].Ranks[0].Function != nasty {
				t.Errorf("%v: %+v", err, back)
			}
		case ".html":
			loads := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|\b(src|href)\s*=\s*["'h]|url\(|@import`)
			if found := loads.FindAllString(text, -1); len(found) > 0 {
				t.Errorf("the page holds %q", found)
			}
		}
	}
	if err := sample().Write(&strings.Builder{}, "r.pdf"); err == nil {
		t.Error("a report named r.pdf is written")
	}
}

func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	var text Text
	lines := 0
	for ; lines < 100_000; lines++ {
		text.Add(fmt.Sprintf("line %d\n", lines))
	}
	got := text.String()
	most := headBytes + 2*tailBytes + 100
	if len(got) > most || !strings.HasPrefix(got, "line 0\n") || !strings.HasSuffix(got, "line 99999\n") ||
		!strings.Contains(got, "bytes left out ...]\nline ") {
		t.Errorf("%d bytes, of at most %d", len(got), most)
	}
	var short Text
	short.Add("one\n")
	short.Add("two")
	if short.String() != "one\ntwo" {
		t.Errorf("a short text is %q", short.String())
	}
	var wide Text
	wide.Add(strings.Repeat("x", headBytes+1))
	if len(wide.String()) != headBytes+1 {
		t.Errorf("of a line of %d bytes %d are there", headBytes+1, len(wide.String()))
	}
}
