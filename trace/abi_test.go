package trace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const abiHeader = "../pmpi/include/cohort_abi.h"

func TestOpsAreThoseOfTheABI(t *testing.T) {
	src, err := os.ReadFile(abiHeader)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Op]bool{}
	for _, m := range regexp.MustCompile(`COHORT_OP_([A-Z_]+) = (\d+)`).FindAllStringSubmatch(string(src), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if m[1] == "NONE" {
			continue
		}
		op := Op(n)
		seen[op] = true
		if want := m[1][:1] + strings.ToLower(m[1][1:]); op.String() != want {
			t.Errorf("op %d is %s here and %s in the ABI", n, op, want)
		}
		if back, ok := ParseOp(op.String()); !ok || back != op {
			t.Errorf("ParseOp(%s) = %v, %v", op, back, ok)
		}
	}
	for op := range opTable {
		if Op(op).Known() && !seen[Op(op)] {
			t.Errorf("op %d (%s) is not in the ABI", op, Op(op))
		}
	}
	if len(seen) < 90 {
		t.Errorf("only %d operations found in the ABI", len(seen))
	}
}

func TestCallName(t *testing.T) {
	for number, want := range map[uint32]string{
		uint32(OpSendrecvReplace): "MPI_Sendrecv_replace", 98: "op 98", 128: "op 128", 1 << 30: "op 1073741824",
		0: "none", 127: "uncovered call",
	} {
		if got := CallName(number); got != want {
			t.Errorf("%d is %q, not %q", number, got, want)
		}
	}
}

// The constants of the mirror against what the C compiler says.
func TestLayoutIsThatOfTheABI(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: cc is not in PATH")
	}
	want := []struct {
		expr  string
		value uint64
	}{
		{"COHORT_ABI_VERSION", ABIVersion},
		{"COHORT_TRACE_MAGIC", traceMagic},
		{"COHORT_DECISIONS_MAGIC", decisionsMagic},
		{"COHORT_CHUNK_MAGIC", chunkMagic},
		{"COHORT_TRACE_HEADER_SIZE", HeaderSize},
		{"COHORT_CHUNK_MAX", ChunkMax},
		{"COHORT_NEVER", Never},
		{"COHORT_MODE_ORDER", uint64(ModeOrder)},
		{"COHORT_MODE_RACING", uint64(ModeRacing)},
		{"COHORT_MODE_FULL", uint64(ModeFull)},
		{"COHORT_COMM_DIST_GRAPH", uint64(CommDistGraph)},
		{"COHORT_ENDED_DISK_COUNTING", uint64(EndedDiskCounting)},
		{"COHORT_ENDED_DISK", uint64(EndedDisk)},
		{"COHORT_ENDED_UNABLE", uint64(EndedUnable)},
		{"COHORT_ENDED_REPAIRED", uint64(EndedRepaired)},
		{"COHORT_DECISION_NEVER", flagNever},
		{"COHORT_DECISION_WHICH", matchWhichShift},
		{"COHORT_UNDECIDED_OFFSET", undecidedOffset},
		{"COHORT_PENDING_MAX", pendingMax},
		{"COHORT_UNDECIDED_OFFSET + offsetof(struct cohort_undecided, pending)", pendingOffset},
		{"sizeof(struct cohort_pending)", pendingSize},
		{"sizeof(struct cohort_trace_header)", headerStructSize},
		{"sizeof(struct cohort_chunk)", chunkHeaderSize},
		{"sizeof(struct cohort_decisions)", decisionsHeaderSize},
		{"sizeof(struct cohort_match)", matchSize},
		{"sizeof(struct cohort_poll)", pollSize},
		{"sizeof(struct cohort_set)", setSize},
		{"sizeof(struct cohort_check)", checkSize},
		{"sizeof(struct cohort_order)", orderSize},
		{"sizeof(struct cohort_stream)", streamSize},
		{"sizeof(struct cohort_turn)", turnSize},
		{"sizeof(struct cohort_value)", valueHeaderSize},
	}
	offsets := map[string][]struct {
		field string
		at    int
	}{
		"cohort_trace_header": {
			{"version", 8},
			{"size", 12},
			{"mode", 16},
			{"flags", 20},
			{"rank", 24},
			{"world_size", 28},
			{"mpi", 32},
			{"closed", 36},
			{"start_ns", 40},
			{"committed", 48},
			{"events", 56},
			{"polls", 64},
			{"incomplete", 72},
			{"ended", 76},
			{"incomplete_call", 80},
			{"incomplete_event", 128},
			{"current_op", 136},
		},
		"cohort_chunk": {{"magic", 0}, {"length", 4}, {"crc32c", 8}, {"flags", 12}, {"first_event", 16}},
		"cohort_decisions": {
			{"version", 8},
			{"size", 12},
			{"rank", 16},
			{"world_size", 20},
			{"n_matches", 24},
			{"n_polls", 32},
			{"n_sets", 40},
			{"off_matches", 48},
			{"off_polls", 56},
			{"off_sets", 64},
			{"len_sets", 72},
			{"last_event", 80},
			{"finalized", 88},
			{"current_op", 92},
			{"n_checks", 96},
			{"off_checks", 104},
			{"n_streams", 112},
			{"off_streams", 120},
			{"n_turns", 128},
			{"off_turns", 136},
			{"n_waits", 144},
			{"off_waits", 152},
			{"n_grants", 160},
			{"off_grants", 168},
			{"control", 176},
			{"hold", 180},
		},
		"cohort_match":  {{"event", 0}, {"source", 8}, {"tag", 12}, {"op", 16}, {"flags", 20}},
		"cohort_poll":   {{"event", 0}, {"failures", 8}, {"op", 16}, {"flags", 20}},
		"cohort_set":    {{"event", 0}, {"op", 8}, {"count", 12}},
		"cohort_check":  {{"event", 0}, {"hash", 8}},
		"cohort_stream": {{"thread", 0}, {"count", 8}, {"offset", 16}, {"bytes", 24}},
		"cohort_order":  {{"event", 0}, {"peer", 8}},
		"cohort_turn":   {{"steps", 0}, {"thread", 8}},
		"cohort_value":  {{"kind", 0}, {"length", 4}},
	}
	for name, fields := range offsets {
		for _, f := range fields {
			want = append(want, struct {
				expr  string
				value uint64
			}{fmt.Sprintf("offsetof(struct %s, %s)", name, f.field), uint64(f.at)})
		}
	}
	abi, err := filepath.Abs(abiHeader)
	if err != nil {
		t.Fatal(err)
	}
	var src strings.Builder
	fmt.Fprintf(&src, "#include <stddef.h>\n#include %q\n", abi)
	for _, w := range want {
		fmt.Fprintf(&src, "_Static_assert((uint64_t)(%s) == %dull, %q);\n", w.expr, w.value, w.expr)
	}
	file := filepath.Join(t.TempDir(), "layout.c")
	if err := os.WriteFile(file, []byte(src.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cc, "-std=c11", "-fsyntax-only",
		file).CombinedOutput(); err != nil {
		t.Errorf("the mirror differs from cohort_abi.h: %v\n%s", err, out)
	}
}
