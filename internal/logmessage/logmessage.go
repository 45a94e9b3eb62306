// Package logmessage reads the messages of log points, for all backends: text with {EXPRESSION} in it.
package logmessage

import (
	"errors"
	"fmt"
	"strings"
)

// Part of a message: an expression if Expr is not empty, else text.
type Part struct{ Text, Expr string }

// Parse splits a message. An error is for the user.
func Parse(s string) ([]Part, error) {
	var parts []Part
	for s != "" {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			return append(parts, Part{Text: s}), nil
		}
		if open > 0 {
			parts = append(parts, Part{Text: s[:open]})
		}
		depth, end := 0, -1
		for i := open; i < len(s) && end < 0; i++ {
			switch s[i] {
			case '{':
				depth++
			case '}':
				if depth--; depth == 0 {
					end = i
				}
			}
		}
		if end < 0 {
			return nil, fmt.Errorf("the log message has a { without its } in %q. Write an expression as {EXPRESSION}",
				s)
		}
		expr := strings.TrimSpace(s[open+1 : end])
		if expr == "" {
			return nil, errors.New("the log message has {} without an expression in it")
		}
		parts = append(parts, Part{Expr: expr})
		s = s[end+1:]
	}
	return parts, nil
}
