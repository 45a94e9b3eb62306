package dap

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

func TestStacksAreMerged(t *testing.T) {
	frame := func(function string, line int) protocol.StackFrame {
		return protocol.StackFrame{Function: function, File: "/src/a.c", Line: line}
	}
	main := frame("main", 9)
	receive, send := protocol.StackFrame{Function: "MPI_Recv"}, protocol.StackFrame{Function: "MPI_Send"}
	stacks := map[int][]protocol.StackFrame{
		0: {send, frame("exchange", 4), main}, 1: {receive, frame("exchange", 4), main},
		2: {send, frame("exchange", 4), main}, 3: {frame("solve", 7), main},
	}
	want := []string{
		"[0-3] main at a.c:9",
		"  [0-2] exchange at a.c:4",
		"    [0,2] MPI_Send",
		"    [1] MPI_Recv",
		"  [3] solve at a.c:7",
	}
	if got := stackTree(stacks); !slices.Equal(got, want) {
		t.Errorf("the tree is\n%s", strings.Join(got, "\n"))
	}
	var sets []string
	for _, s := range mergeStacks(stacks) {
		sets = append(sets, s.Ranks)
	}
	if want := []string{"0,2", "1", "3"}; !slices.Equal(sets, want) {
		t.Errorf("the rank sets are %q, not %q", sets, want)
	}
	chain := map[int][]protocol.StackFrame{0: {receive, main}, 1: {receive, main}}
	if got := stackTree(chain); !slices.Equal(got, []string{"[0-1] main at a.c:9", "      MPI_Recv"}) {
		t.Errorf("the tree is %q", got)
	}
}

// A job stands still when no rank completes a call: by default only while all are within MPI calls, or poll.
func TestStall(t *testing.T) {
	at := func(events, current, polls uint64) backend.ControlState {
		return backend.ControlState{Present: true, State: abi.StateRunning, Events: events, Current: current, Polls: polls}
	}
	inCall := func(int) map[int]backend.ControlState {
		return map[int]backend.ControlState{0: at(5, 1, 0), 1: at(7, 1, 0)}
	}
	for name, c := range map[string]struct {
		limit time.Duration
		ended bool // a rank has not ended well
		ranks func(second int) map[int]backend.ControlState
		after int // seconds until it is told; 0: never
	}{
		"within calls": {ranks: inCall, after: 60},
		"one has gone": {ended: true, ranks: inCall, after: 10},
		"polling": {ranks: func(i int) map[int]backend.ControlState {
			return map[int]backend.ControlState{0: at(5, 1, 0), 1: at(7, 0, uint64(i))}
		}, after: 60},
		"computing": {ranks: func(int) map[int]backend.ControlState {
			return map[int]backend.ControlState{0: at(5, 1, 0), 1: at(7, 0, 0)}
		}},
		"computing, with a limit": {limit: 3 * time.Second, ranks: func(int) map[int]backend.ControlState {
			return map[int]backend.ControlState{0: at(5, 1, 0), 1: at(7, 0, 0)}
		}, after: 3},
		"getting on": {limit: 3 * time.Second, ranks: func(i int) map[int]backend.ControlState {
			return map[int]backend.ControlState{0: at(5, 1, 0), 1: at(uint64(i), 1, 0)}
		}},
		"starting": {limit: 3 * time.Second, ranks: func(int) map[int]backend.ControlState {
			return map[int]backend.ControlState{0: at(0, 1, 0), 1: {Present: true}}
		}, after: 60},
		"one does not answer": {ranks: func(int) map[int]backend.ControlState {
			return map[int]backend.ControlState{0: at(5, 1, 0)}
		}},
		"no library": {ranks: func(int) map[int]backend.ControlState {
			return map[int]backend.ControlState{0: {}, 1: {}}
		}},
	} {
		w := stallWatch{limit: c.limit, lossy: c.ended, callName: func(int) string { return "MPI_Recv" }}
		start, told := time.Now(), 0
		for i := range 200 {
			if text := w.look(start.Add(time.Duration(i)*time.Second), c.ranks(i), 2); text != "" {
				if told = i; !strings.Contains(text, "[0") || !strings.Contains(text, "MPI_Recv") {
					t.Errorf("%s: it says %q", name, text)
				}
				break
			}
		}
		if told != c.after {
			t.Errorf("%s: it is told after %d s, not %d", name, told, c.after)
		}
	}
}
