package main

import (
	"math"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/trace"
)

// A thread that waited in vain for another one's call: it is said why that can be.
func TestTurnOfAnotherThread(t *testing.T) {
	d := &backend.Divergence{
		Event: 7, RecordedOp: trace.TurnName, RecordedEvent: 7, ActualOp: "MPI_Recv", RecordedSource: math.MinInt32,
		RecordedTag:  math.MinInt32,
		ActualSource: math.MinInt32, ActualTag: math.MinInt32, File: "a.c", Line: 3,
	}
	text := strings.Join(divergenceText(1, d), "\n")
	for _, want := range []string{
		"event 7 (1:7), at a.c:3", "recorded: a call of another thread", "now:      MPI_Recv",
		"holds a lock that the other waits for",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	d.RecordedOp = "MPI_Send"
	if text := strings.Join(divergenceText(1, d), "\n"); strings.Contains(text, "lock") {
		t.Errorf("of another divergence:\n%s", text)
	}
}
