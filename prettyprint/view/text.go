package view

import (
	"strconv"

	"github.com/cohort-debugger/cohort/internal/prose"
)

// ByteCount is a number of bytes in words.
func ByteCount(n int64) string { return Plural(n, "byte") }

// Plural counts things; of an entry it makes entries.
func Plural(n int64, what string) string { return Grouped(n) + " " + prose.Plural(n, what) }

// Grouped writes a number with commas.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 1 // the first digit that can have a comma before it
	if n < 0 {
		first = 2
	}
	for i := len(s) - 3; i >= first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
