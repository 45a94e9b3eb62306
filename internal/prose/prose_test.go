package prose

import "testing"

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"the trace is damaged":                 "The trace is damaged.",
		"rec/t.cohort is no recording":         "rec/t.cohort is no recording.",
		"launch was refused":                   "launch was refused.",
		"attach was refused":                   "Attach was refused.",
		"gdb was not found":                    "gdb was not found.",
		"Already whole.":                       "Already whole.",
		"what?":                                "what?",
		"it failed; its last words were:\n  x": "It failed; its last words were:\n  x",
		"x":                                    "x.",
	} {
		if got := Sentence(text, "launch"); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", text, got, want)
		}
	}
}
