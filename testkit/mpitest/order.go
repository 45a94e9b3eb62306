package mpitest

import (
	"fmt"
	"regexp"
	"strconv"
)

// Order is what one rank of a test program reports of the order in which it took its messages
// (testprograms/orderhash.h).
type Order struct {
	Rank  int
	Order string // hash over source, tag and failed polls of every message, 16 hexadecimal digits
	Data  string // hash over what the messages held
	Tasks int    // messages (or tasks) taken
	Polls int64  // probes and tests that found nothing
}

var orderLine = regexp.MustCompile(`(?m)\b[a-z_]+: rank (\d+) order ([0-9a-f]{16}) ` +
	`data ([0-9a-f]{16}) tasks (\d+) polls (\d+)\s*$`)

// ParseOrders finds the order lines of all n ranks in a program's output, whatever stands before each (a label, for
// example), and returns them by rank. A rank without a line, or with two, is an error.
func ParseOrders(output string, n int) ([]Order, error) {
	orders := make([]Order, n)
	seen := make([]bool, n)
	for _, match := range orderLine.FindAllStringSubmatch(output, -1) {
		rank, err := strconv.Atoi(match[1])
		if err != nil || rank >= n {
			return nil, fmt.Errorf("order line of rank %s, of %d ranks: %q", match[1], n, match[0])
		}
		if seen[rank] {
			return nil, fmt.Errorf("a second order line of rank %d: %q", rank, match[0])
		}
		tasks, errTasks := strconv.Atoi(match[4])
		polls, errPolls := strconv.ParseInt(match[5], 10, 64)
		if errTasks != nil || errPolls != nil {
			return nil, fmt.Errorf("a number out of range in the order line %q", match[0])
		}
		seen[rank] = true
		orders[rank] = Order{Rank: rank, Order: match[2], Data: match[3], Tasks: tasks, Polls: polls}
	}
	for rank, found := range seen {
		if !found {
			return nil, fmt.Errorf("no order line of rank %d in the output:\n%s", rank, output)
		}
	}
	return orders, nil
}
