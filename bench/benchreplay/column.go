package benchreplay

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Column is a way to run a program.
type Column string

// The columns, in the order of the table. A replay is of the recording that the order column made in the same round.
const (
	Bare Column = "bare" // without any part of Cohort
	// the interposer is there and records nothing; yielding as in the columns that follow
	Unrecorded Column = "unrecorded"
	Order      Column = "order"
	Racing     Column = "racing"
	Full       Column = "full"
	Replay     Column = "replay"
)

// Columns are all of them.
func Columns() []Column { return []Column{Bare, Unrecorded, Order, Racing, Full, Replay} }

// Sample is one run.
type Sample struct {
	Seconds float64 `json:"seconds"` // of the measured part
	Wall    float64 `json:"wall"`    // from the start of the launcher to the end of the job
	// Cut: the run was ended after so many seconds, because it would have taken far longer.
	Cut bool `json:"cut,omitempty"`
	// The rest of a recording only.
	Events     uint64 `json:"events,omitempty"`
	Messages   uint64 `json:"messages,omitempty"`
	Decisions  uint64 `json:"decisions,omitempty"`
	Wildcards  uint64 `json:"wildcards,omitempty"`
	TraceBytes uint64 `json:"traceBytes,omitempty"`
}

var measured = regexp.MustCompile(`(?m)^[a-z_]+: rank \d+ measured from (\d+\.\d+) to (\d+\.\d+)$`)

// elapsed is the time of the measured part: from when the last rank began to when the last one ended.
func elapsed(output string, ranks int) (float64, error) {
	var from, to float64
	lines := measured.FindAllStringSubmatch(output, -1)
	if len(lines) != ranks {
		return 0, fmt.Errorf("%d ranks of %d said how long they took; they wrote:\n%s", len(lines), ranks, output)
	}
	for _, line := range lines {
		began, err1 := strconv.ParseFloat(line[1], 64)
		ended, err2 := strconv.ParseFloat(line[2], 64)
		if err := errors.Join(err1, err2); err != nil {
			return 0, fmt.Errorf("a time of %q: %w", line[0], err)
		}
		from, to = max(from, began), max(to, ended)
	}
	if to <= from {
		return 0, fmt.Errorf("a rank had ended before another one began: the times are of no use:\n%s", output)
	}
	return to - from, nil
}

var orderLine = regexp.MustCompile(`(?m)^[a-z_]+: rank (\d+) order [0-9a-f]{16} data [0-9a-f]{16} tasks \d+ polls \d+$`)

// orders are the order lines by rank. A program whose messages cannot race has none.
func orders(output string, ranks int) ([]string, error) {
	lines := make([]string, ranks)
	n := 0
	for _, match := range orderLine.FindAllStringSubmatch(output, -1) {
		rank, err := strconv.Atoi(match[1])
		if err != nil || rank >= ranks || lines[rank] != "" {
			return nil, fmt.Errorf("unexpected order line %q", match[0])
		}
		lines[rank] = match[0]
		n++
	}
	if n != 0 && n != ranks {
		return nil, fmt.Errorf("%d of %d ranks wrote an order line", n, ranks)
	}
	return lines, nil
}
