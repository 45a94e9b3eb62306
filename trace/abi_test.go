package trace

import (
	"testing"

	"github.com/cohort-debugger/cohort/mpispec"
)

func TestCallName(t *testing.T) {
	for number, want := range map[uint32]string{
		uint32(mpispec.OpSendrecvReplace): "MPI_Sendrecv_replace", 98: "op 98", 128: "op 128", 1 << 30: "op 1073741824",
		0: "none", 127: "uncovered call",
	} {
		if got := CallName(number); got != want {
			t.Errorf("%d is %q, not %q", number, got, want)
		}
	}
}
