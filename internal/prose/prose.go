// Package prose makes whole sentences for people out of the texts of errors.
package prose

import (
	"fmt"
	"strings"
)

// Sentence gives text a capital at its start, if it starts with a plain word, and a full stop at its end.
func Sentence(text string) string {
	if text == "" {
		return text
	}
	b := []byte(text)
	// Names of programs, files and DAP requests at the start keep their case: only a word of small letters that is
	// followed by a blank is a plain one.
	for i, c := range b {
		if c == ' ' {
			if i > 0 && !keepCase(string(b[:i])) {
				b[0] -= 'a' - 'A'
			}
			break
		}
		if c < 'a' || c > 'z' {
			break
		}
	}
	// ends with somebody else's words
	if i := strings.LastIndexByte(text, '\n'); i >= 0 && strings.HasPrefix(text[i+1:], " ") {
		return string(b)
	}
	switch b[len(b)-1] {
	case '.', '!', '?', '\n', ':', '"', '`':
		return string(b)
	}
	return string(b) + "."
}

// keepCase tells whether a word is the name of a request or a program rather than English.
func keepCase(word string) bool {
	switch word {
	case "initialize",
		"launch",
		"attach",
		"disconnect",
		"terminate",
		"cancel",
		"continue",
		"next",
		"pause",
		"threads",
		"source",
		"scopes",
		"variables",
		"evaluate",
		"completions",
		"cut",
		"runto",
		"ranks",
		"focus":
		return true
	case "cohort", "gdb", "mpipp", "mpiexec", "mpirun", "srun":
		return true
	}
	return false
}

// Count is "1 rank", "2 ranks": many is the plural of one, where that is not made with an s, or of "entry" entries.
func Count[N int | int64 | uint64](n N, one string, many ...string) string {
	return fmt.Sprint(n) + " " + Plural(n, one, many...)
}

// Plural is the word that follows the number in Count.
func Plural[N int | int64 | uint64](n N, one string, many ...string) string {
	if n == 1 {
		return one
	}
	if len(many) > 0 {
		return many[0]
	}
	if stem, ok := strings.CutSuffix(one, "y"); ok {
		return stem + "ies"
	}
	return one + "s"
}

// Clip cuts a text off after so many bytes, with dots for the rest.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
