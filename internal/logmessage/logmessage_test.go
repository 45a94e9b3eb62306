package logmessage

import (
	"strings"
	"testing"
)

func FuzzParseLogMessage(f *testing.F) {
	for _, s := range []string{"i={i}", "{", "{}", "a{b{c}d}e", "}{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, msg string) {
		parts, err := Parse(msg)
		if err != nil {
			return
		}
		for _, p := range parts {
			if text := p.Text + p.Expr; text == "" || !strings.Contains(msg, text) {
				t.Errorf("%q has the part %v", msg, p)
			}
		}
	})
}
