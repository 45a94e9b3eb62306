package runner

import (
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// A replay that is still starting does not stand still, however little patience is asked for.
func TestStallTimeoutWhileRanksStart(t *testing.T) {
	const asked = 3 * time.Second
	running := backend.ControlState{Present: true, State: abi.StateRunning}
	starting := backend.ControlState{Present: true, State: abi.StateNew, Current: 1}
	for name, c := range map[string]struct {
		first backend.ControlState
		over  bool
		want  time.Duration
	}{
		"in MPI_Init":            {starting, false, withinStall},
		"not answered in time":   {backend.ControlState{}, false, withinStall},
		"ended before MPI_Init":  {starting, true, asked},
		"all have left MPI_Init": {running, false, asked},
	} {
		w := &watch{
			options: ReplayOptions{StallTimeout: asked}, at: make([]abi.State, 2), over: []bool{c.over, false},
			last: make([]backend.ControlState, 2),
		}
		w.progress([]backend.ControlState{c.first, running})
		if got := w.stallLimit(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
