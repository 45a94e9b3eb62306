package pmpi_test

import (
	"debug/dwarf"
	"debug/elf"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/cohort-debugger/cohort/internal/mpitest"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// TestLayoutIsTheLibrarys compares every field of every mirrored struct with the DWARF of a library built with -g, on
// both MPIs.
func TestLayoutIsTheLibrarys(t *testing.T) {
	mirrors := map[string]any{
		"cohort_control": abi.ControlBlock{}, "cohort_divergence": abi.Divergence{}, "cohort_slot": abi.Slot{},
		"cohort_registry": abi.Registry{}, "cohort_datatype": abi.Datatype{}, "cohort_comm": abi.Comm{},
		"cohort_decisions": abi.Decisions{}, "cohort_match": abi.Match{}, "cohort_poll": abi.Poll{},
		"cohort_set": abi.Set{}, "cohort_check": abi.Check{}, "cohort_recent": abi.RecentCall{},
		"cohort_order":  abi.Order{},
		"cohort_stream": abi.Stream{}, "cohort_value": abi.Value{}, "cohort_turn": abi.Turn{},
		"cohort_stack": abi.Stack{}, "cohort_object": abi.Object{}, "cohort_group": abi.Group{},
		"cohort_window": abi.Window{}, "cohort_file": abi.File{},
		"cohort_reduction": abi.Reduction{}, "cohort_errhandler": abi.Errhandler{}, "cohort_info": abi.Info{},
		"cohort_side":   abi.Side{},
		"cohort_action": abi.Action{}, "cohort_request_record": abi.Request{}, "cohort_call": abi.Call{},
		"cohort_trace_header": abi.TraceHeader{}, "cohort_chunk": abi.Chunk{},
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		structs, values := debugInfo(t, mpi)
		for name, mirror := range mirrors {
			c, ok := structs[name]
			if !ok {
				t.Errorf("the library's DWARF has no struct %s", name)
				continue
			}
			compareStruct(t, c, reflect.TypeOf(mirror))
		}
		for name, want := range map[string]int64{
			"COHORT_MODE_REPLAY": int64(abi.ModeReplay), "COHORT_FLAG_INCOMPLETE_OK": int64(abi.FlagIncompleteOK),
			"COHORT_STATE_REFUSED": int64(abi.StateRefused), "COHORT_STOP_END": int64(abi.StopEnd),
			"COHORT_RELEASE_GO": int64(abi.ReleaseGo), "COHORT_COMBINER_F90_INTEGER": int64(abi.CombinerF90Integer),
			"COHORT_COMBINER_UNKNOWN": int64(abi.CombinerUnknown), "COHORT_BASIC_NULL": int64(abi.BasicNull),
			"COHORT_COMM_DIST_GRAPH": int64(abi.CommDistGraph), "COHORT_TYPE_FREED": abi.TypeFreed,
			"COHORT_FLAG_RECORD_TIME": int64(abi.FlagRecordTime), "COHORT_FLAG_KEEP": int64(abi.FlagKeep),
			"COHORT_TYPE_LONG_NAME":         abi.TypeLongName,
			"COHORT_FEATURE_REQUEST_STACKS": int64(abi.FeatureRequestStacks),
			"COHORT_FEATURE_ASKED":          int64(abi.FeatureAsked),
			"COHORT_FEATURE_INFOS":          int64(abi.FeatureInfos), "COHORT_OBJECT_ADDRESS_ONLY": int64(abi.ObjectAddressOnly),
			"COHORT_REQUEST_UNSURE": int64(abi.RequestUnsure), "COHORT_WINDOW_SHARED": int64(abi.WindowShared),
			"COHORT_EPOCH_LOCK_ALL":   int64(abi.EpochLockAll),
			"COHORT_FUNCTION_SESSION": int64(abi.FunctionSession), "COHORT_SIDE_PER_PEER": int64(abi.SidePerPeer),
			"COHORT_VALUE_WINDOW": int64(trace.ValueWindow), "COHORT_VALUE_CLOCK": int64(trace.ValueClock),
			"COHORT_DECISION_NEVER": abi.DecisionNever, "COHORT_DIVERGENCE_CHECK": int64(abi.DivergenceCheck),
			"COHORT_OP_OTHER": int64(trace.OpOther),
		} {
			if values[name] != want {
				t.Errorf("%s is %d in C and %d in Go", name, values[name], want)
			}
		}
		ops := 0
		for name, value := range values {
			call, isOp := strings.CutPrefix(name, "COHORT_OP_")
			if !isOp || call == "NONE" || call == "OTHER" {
				continue
			}
			ops++
			if got, want := trace.CallName(uint32(value)), "MPI_"+call[:1]+strings.ToLower(call[1:]); got != want {
				t.Errorf("op %d is %s in Go and %s in C", value, got, want)
			}
		}
		if ops < 90 {
			t.Errorf("only %d operations in the library's DWARF", ops)
		}
	})
}

func debugInfo(t *testing.T, mpi mpitest.MPI) (map[string]*dwarf.StructType, map[string]int64) {
	t.Helper()
	lib, err := pmpi.Build(t.Context(), pmpi.Options{Mpicc: mpi.Mpicc, Debug: true})
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(lib.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := file.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	structs, values := map[string]*dwarf.StructType{}, map[string]int64{}
	for r := data.Reader(); ; {
		entry, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if entry == nil {
			return structs, values
		}
		if entry.Tag != dwarf.TagStructType && entry.Tag != dwarf.TagEnumerationType {
			continue
		}
		typ, err := data.Type(entry.Offset)
		if err != nil {
			t.Fatal(err)
		}
		switch typ := typ.(type) {
		case *dwarf.StructType:
			if strings.HasPrefix(typ.StructName, "cohort_") && !typ.Incomplete {
				structs[typ.StructName] = typ
			}
		case *dwarf.EnumType:
			for _, v := range typ.Val {
				values[v.Name] = v.Val
			}
		}
	}
}

func compareStruct(t *testing.T, c *dwarf.StructType, mirror reflect.Type) {
	t.Helper()
	if c.ByteSize != int64(mirror.Size()) {
		t.Errorf("struct %s has %d bytes in C and %d in Go", c.StructName, c.ByteSize, mirror.Size())
	}
	for _, field := range c.Field {
		got, ok := mirror.FieldByName(goName(field.Name))
		switch {
		case !ok:
			t.Errorf("struct %s: field %s has no mirror", c.StructName, field.Name)
		case int64(got.Offset) != field.ByteOffset || int64(got.Type.Size()) != field.Type.Size():
			t.Errorf("struct %s: field %s is at %d with %d bytes in C, at %d with %d in Go",
				c.StructName, field.Name, field.ByteOffset, field.Type.Size(), got.Offset, got.Type.Size())
		}
	}
	if len(c.Field) != mirror.NumField() {
		t.Errorf("struct %s has %d fields in C and %d in Go", c.StructName, len(c.Field), mirror.NumField())
	}
}

// goName makes ParkAt of park_at.
func goName(name string) string {
	var s strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		r := []rune(part)
		r[0] = unicode.ToUpper(r[0])
		s.WriteString(string(r))
	}
	return s.String()
}

// TestLibraryShowsOnlyWhatItMust checks that the library used has no debug information, and exports MPI's names and
// ours alone.
func TestLibraryShowsOnlyWhatItMust(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		file, err := elf.Open(library(t, mpi))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if file.Section(".debug_info") != nil {
			t.Error("the library has debug information: a user's step would enter it")
		}
		symbols, err := file.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		ours := map[string]bool{abi.SymbolControl: false, abi.SymbolRegistry: false, abi.SymbolStop: false}
		for _, stoodInFor := range []string{
			"pthread_create", "clock_gettime", "timespec_get", "gettimeofday", "time", "clock", "getrusage", "times",
			"getrandom", "getentropy",
			"arc4random", "arc4random_uniform", "arc4random_buf", "open", "open64", "fopen", "fopen64",
			"_ZNSt13random_device9_M_getvalEv",
		} {
			ours[stoodInFor] = false
		}
		for _, s := range symbols {
			if s.Section == elf.SHN_UNDEF || strings.HasPrefix(strings.ToUpper(s.Name), "MPI_") ||
				strings.HasPrefix(strings.ToUpper(s.Name), "MPIX_") {
				continue
			}
			if _, ok := ours[s.Name]; !ok {
				t.Errorf("the library exports %s", s.Name)
			}
			ours[s.Name] = true
		}
		for name, found := range ours {
			if !found {
				t.Errorf("the library does not export %s", name)
			}
		}
	})
}
