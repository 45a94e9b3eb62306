package view

import (
	"strconv"
	"strings"
)

func ByteCount(n int64) string { return Plural(n, "byte") }

// plural counts things; of an entry it makes entries.
func Plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return Grouped(n) + " " + stem + "ies"
	}
	return Grouped(n) + " " + what + "s"
}

// grouped writes a number with commas.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
