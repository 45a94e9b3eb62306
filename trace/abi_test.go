package trace

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/mpispec"
)

const abiHeader = "../pmpi/include/cohort_abi.h"

func TestOpsAreThoseOfTheABI(t *testing.T) {
	src, err := os.ReadFile(abiHeader)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[mpispec.Op]bool{}
	for _, m := range regexp.MustCompile(`COHORT_OP_([A-Z_]+) = (\d+)`).FindAllStringSubmatch(string(src), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if m[1] == "NONE" {
			continue
		}
		op := mpispec.Op(n)
		seen[op] = true
		if want := m[1][:1] + strings.ToLower(m[1][1:]); op.String() != want {
			t.Errorf("op %d is %s here and %s in the ABI", n, op, want)
		}
		if back, ok := mpispec.ParseOp(op.String()); !ok || back != op {
			t.Errorf("mpispec.ParseOp(%s) = %v, %v", op, back, ok)
		}
	}
	for _, op := range mpispec.Standard().Operations() {
		if !seen[op] {
			t.Errorf("op %d (%s) is not in the ABI", uint32(op), op)
		}
	}
	if len(seen) < 90 {
		t.Errorf("only %d operations found in the ABI", len(seen))
	}
}

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
