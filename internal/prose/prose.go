// Package prose makes whole sentences out of the texts of errors, where people read them: what Cohort prints, and what
// the DAP server answers.
package prose

import (
	"fmt"
	"slices"
	"strings"
)

// Sentence gives text a capital at its start, if it starts with a plain word, and a full stop at its end. A word that
// is among names, or the name of a program, keeps its case.
func Sentence(text string, names ...string) string {
	if text == "" {
		return text
	}
	first, _, more := strings.Cut(text, " ")
	// Only small letters: anything else is the name of a file or of something in a program.
	if more && first != "" && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz") == "" &&
		!slices.Contains(names, first) && !slices.Contains(programs, first) {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	// ends with somebody else's words
	if i := strings.LastIndexByte(text, '\n'); i >= 0 && strings.HasPrefix(text[i+1:], " ") {
		return text
	}
	if strings.ContainsAny(text[len(text)-1:], "\n:\"`") {
		return text
	}
	return Stop(text)
}

// Stop gives text a full stop at its end, unless it ends like a sentence.
func Stop(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

var programs = []string{"cohort", "gdb", "mpipp", "mpiexec", "mpirun", "srun"}

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
