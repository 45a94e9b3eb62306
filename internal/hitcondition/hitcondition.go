// Package hitcondition reads the hit conditions of breakpoints, for all backends and for what checks them before.
package hitcondition

import (
	"fmt"
	"strconv"
	"strings"
)

// A Rule says at which hits of a breakpoint to stop, counted from 1: at hit First, and then at each Every-th one; Every
// 0: at First alone.
type Rule struct{ First, Every int }

// Parse reads a hit condition: "N" or ">= N" (hit N and each later one), "> N", "== N" (that hit alone), "% N" (each
// N-th); "" is each hit. An error is for the user.
func Parse(text string) (Rule, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Rule{1, 1}, nil
	}
	number := strings.TrimLeft(text, "<>=!%")
	operator := strings.TrimSuffix(text, number)
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err == nil && (n >= 1 || operator == ">" && n == 0) && n < mostHits {
		switch operator {
		case "", ">=":
			return Rule{n, 1}, nil
		case ">":
			return Rule{n + 1, 1}, nil
		case "=", "==":
			return Rule{n, 0}, nil
		case "%":
			return Rule{n, n}, nil
		}
	}
	return Rule{}, fmt.Errorf("the hit condition %q cannot be used: write a number from 1 up (stop at that hit and at "+
		"each later one), > N, == N (at that hit alone) or %% N (at each N-th hit)", text)
}

// mostHits is what debuggers can count to, at least.
const mostHits = 1 << 30

// Stops tells whether hit n is one to stop at.
func (r Rule) Stops(n int) bool {
	if n <= r.First || r.Every == 0 {
		return n == r.First
	}
	return (n-r.First)%r.Every == 0
}

// PassAfter is how many hits are passed between one that stopped and the next one to stop at.
func (r Rule) PassAfter() int {
	if r.Every == 0 {
		return mostHits
	}
	return r.Every - 1
}
