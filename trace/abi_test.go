package trace

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/internal/mpitest"
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

// The constants of the mirror against what the C compiler says.
func TestLayoutIsThatOfTheABI(t *testing.T) {
	mpitest.CheckABI(t, map[string]uint64{
		"COHORT_TRACE_MAGIC":         traceMagic,
		"COHORT_CHUNK_MAGIC":         chunkMagic,
		"COHORT_TRACE_HEADER_SIZE":   HeaderSize,
		"COHORT_CHUNK_MAX":           ChunkMax,
		"COHORT_NEVER":               Never,
		"COHORT_MODE_ORDER":          uint64(ModeOrder),
		"COHORT_MODE_RACING":         uint64(ModeRacing),
		"COHORT_MODE_FULL":           uint64(ModeFull),
		"COHORT_COMM_DIST_GRAPH":     uint64(CommDistGraph),
		"COHORT_ENDED_DISK_COUNTING": uint64(EndedDiskCounting),
		"COHORT_ENDED_DISK":          uint64(EndedDisk),
		"COHORT_ENDED_UNABLE":        uint64(EndedUnable),
		"COHORT_ENDED_REPAIRED":      uint64(EndedRepaired),
		"COHORT_UNDECIDED_OFFSET":    undecidedOffset,
		"COHORT_PENDING_MAX":         pendingMax,
		"COHORT_UNDECIDED_OFFSET + offsetof(struct cohort_undecided, pending)": pendingOffset,
		"sizeof(struct cohort_pending)":                                        pendingSize,
		"sizeof(struct cohort_trace_header)":                                   headerStructSize,
		"sizeof(struct cohort_chunk)":                                          chunkHeaderSize,
		"offsetof(struct cohort_trace_header, version)":                        8,
		"offsetof(struct cohort_trace_header, size)":                           12,
		"offsetof(struct cohort_trace_header, mode)":                           16,
		"offsetof(struct cohort_trace_header, flags)":                          20,
		"offsetof(struct cohort_trace_header, rank)":                           24,
		"offsetof(struct cohort_trace_header, world_size)":                     28,
		"offsetof(struct cohort_trace_header, mpi)":                            32,
		"offsetof(struct cohort_trace_header, closed)":                         36,
		"offsetof(struct cohort_trace_header, start_ns)":                       40,
		"offsetof(struct cohort_trace_header, committed)":                      48,
		"offsetof(struct cohort_trace_header, events)":                         56,
		"offsetof(struct cohort_trace_header, polls)":                          64,
		"offsetof(struct cohort_trace_header, incomplete)":                     72,
		"offsetof(struct cohort_trace_header, ended)":                          76,
		"offsetof(struct cohort_trace_header, incomplete_call)":                80,
		"offsetof(struct cohort_trace_header, incomplete_event)":               128,
		"offsetof(struct cohort_trace_header, current_op)":                     136,
		"offsetof(struct cohort_chunk, magic)":                                 0,
		"offsetof(struct cohort_chunk, length)":                                4,
		"offsetof(struct cohort_chunk, crc32c)":                                8,
		"offsetof(struct cohort_chunk, flags)":                                 12,
		"offsetof(struct cohort_chunk, first_event)":                           16,
	})
}
