package debug

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// code is two ranks of testdata/code.c that have stopped at a line.
func code(t *testing.T, mark string) (e *editor, source string) {
	t.Helper()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	source = filepath.Join(mpitest.Root(t), "testkit", "endtoend", "debug", "testdata", "code.c")
	e = newDAPPlace(t, mpi).editor()
	e.Launch(protocol.LaunchArguments{Program: mpi.BuildFile(t, source), Ranks: 2})
	e.SetBreakpoints(source, markLine(t, source, "mark: "+mark))
	e.ConfigurationDone()
	e.Expect(stops("breakpoint", 0, 1)...)
	e.SetBreakpoints(source)
	return e, source
}

func TestDAPDataBreakpoints(t *testing.T) {
	t.Parallel()
	e, _ := code(t, "begin")
	info := func(a godap.DataBreakpointInfoArguments) godap.DataBreakpointInfoResponseBody {
		t.Helper()
		var body godap.DataBreakpointInfoResponseBody
		e.Do("dataBreakpointInfo", a, &body)
		return body
	}
	set := func(bps ...protocol.DataBreakpoint) []godap.Breakpoint {
		t.Helper()
		var body godap.SetDataBreakpointsResponseBody
		e.Do("setDataBreakpoints", protocol.SetDataBreakpointsArguments{Breakpoints: bps}, &body)
		return body.Breakpoints
	}
	hit := func(rank int, what, text string, id int) {
		t.Helper()
		got := e.stoppedBody(e.Expect(daptest.Stopped(rank, "data breakpoint"))[0])
		if !strings.Contains(got.Text, "in "+what+" ") || !strings.HasSuffix(got.Text, " "+text) ||
			len(got.HitBreakpointIds) != 1 || got.HitBreakpointIds[0] != id {
			t.Errorf("the stop is %+v, want %s by %d in %s", got, text, id, what)
		}
	}
	frame := e.user(1).Id
	for name, why := range map[string]string{"rank + 1": "is not in memory", "nosuch": "annot evaluate nosuch", "$rax": "not in memory"} {
		if got := info(godap.DataBreakpointInfoArguments{Name: name, FrameId: frame}); got.DataId != nil ||
			!strings.Contains(got.Description, why) {
			t.Errorf("%s: %+v, want %s", name, got, why)
		}
	}
	chosen, _ := e.locals(frame, "Locals")
	values := e.children(chosen["chosen"].VariablesReference)["values"]
	element := info(godap.DataBreakpointInfoArguments{Name: "2", VariablesReference: values.VariablesReference})
	total := info(godap.DataBreakpointInfoArguments{Name: "total", FrameId: frame})
	if element.DataId == nil || total.DataId == nil || len(total.AccessTypes) != 3 {
		t.Fatalf("%+v %+v", element, total)
	}
	watch := func(info godap.DataBreakpointInfoResponseBody, access, ranks string) protocol.DataBreakpoint {
		return protocol.DataBreakpoint{
			DataBreakpoint: godap.DataBreakpoint{
				DataId: info.DataId.(string), AccessType: godap.DataBreakpointAccessType(access),
			},
			BreakpointExtra: protocol.BreakpointExtra{Ranks: ranks},
		}
	}
	// Rank 1's alone; then both ranks'.
	got := set(watch(total, "write", ""))
	if !got[0].Verified || got[0].Source != nil {
		t.Errorf("%+v", got)
	}
	e.Continue(1)
	hit(1, "add", "total was 0 and is 2.", got[0].Id)
	frame = e.user(1).Id
	element = info(godap.DataBreakpointInfoArguments{Name: "sample.values[2]", FrameId: frame})
	both := set(watch(total, "write", ""), watch(element, "readWrite", ""))
	if both[0].Id != got[0].Id || !both[1].Verified {
		t.Errorf("%+v", both)
	}
	e.Continue(1)
	hit(1, "add", "total was 2 and is 6.", got[0].Id)
	set()
	unknown := protocol.DataBreakpoint{DataBreakpoint: godap.DataBreakpoint{DataId: "what"}}
	stale := watch(total, "read", "")
	frame = e.user(1).Id
	causal := watch(info(godap.DataBreakpointInfoArguments{Name: "total", FrameId: frame}), "write", "")
	causal.Mode = protocol.ModeCausal
	for i, b := range set(unknown, causal, stale) {
		if why := []string{"no dataId", "mode causal", "not valid any more"}[i]; b.Verified ||
			!strings.Contains(b.Message, why) {
			t.Errorf("%+v, want %s", b, why)
		}
	}
	set()
	e.says("watch total if total > 6", 0, "breakpoint 4: write of total ranks 1 if total > 6.")
	e.Continue(1)
	hit(1, "add", "total was 6 and is 12.", 4)
	e.says("delete 4", 0, "Breakpoint 4 was removed.")
	e.Continue(1)
	e.Expect(daptest.Output("stdout", "[1] rank 1: 24 69\n"))
	e.ends(0)
}

// What memory references name can be read and written, and whoever shows values of it is told.
func TestDAPMemory(t *testing.T) {
	t.Parallel()
	e, source := code(t, "filled")
	frame := e.user(1)
	read := func(reference string, offset, count int) []byte {
		t.Helper()
		var body godap.ReadMemoryResponseBody
		e.Do("readMemory", godap.ReadMemoryArguments{MemoryReference: reference, Offset: offset, Count: count}, &body)
		data, err := base64.StdEncoding.DecodeString(body.Data)
		if err != nil || len(data) != count {
			t.Fatalf("%d bytes of %d at %s%+d: %v", len(data), count, reference, offset, err)
		}
		return data
	}
	double := func(data []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(data)) }
	changed := func(reference string, offset uint64, count int) daptest.Expectation {
		rank, _, _ := strings.Cut(reference, "@")
		want := fmt.Sprintf("%s@%#x", rank, addressOf(t, reference)+offset)
		return daptest.That("memory at "+want, func(event daptest.Event) (daptest.Verdict, string) {
			var body godap.MemoryEventBody
			if event.Name != "memory" || event.Decode(&body) != nil || body.MemoryReference != want ||
				body.Count != count {
				return daptest.NotYet, ""
			}
			return daptest.Met, ""
		})
	}
	arguments, _ := e.locals(frame.Id, "Arguments")
	locals, ref := e.locals(frame.Id, "Locals")
	where, sum := arguments["where"].MemoryReference, locals["sum"].MemoryReference
	if got := double(read(where, 16, 8)); got != 3 { // where the pointer points to
		t.Errorf("where[2] is %g", got)
	}
	if got := double(read(sum, 0, 8)); got != 36 || !strings.HasPrefix(sum, "1@0x") {
		t.Errorf("sum at %s is %g", sum, got)
	}
	if code := read(frame.InstructionPointerReference, -1, 2); len(code) != 2 {
		t.Errorf("the code is %x", code)
	}
	data := binary.LittleEndian.AppendUint64(nil, math.Float64bits(-2.5))
	var written godap.WriteMemoryResponseBody
	e.Do("writeMemory", godap.WriteMemoryArguments{
		MemoryReference: where, Offset: 16, Data: base64.StdEncoding.EncodeToString(data),
	}, &written)
	e.Expect(changed(where, 16, 8), daptest.Named("invalidated"))
	if got := e.evaluate("where[2]", "watch", frame.Id); got.Result != "-2.5" || written.BytesWritten != 8 ||
		!strings.HasSuffix(got.MemoryReference, strconv.FormatUint(addressOf(t, where)+16, 16)) {
		t.Errorf("after %+v where[2] is %+v", written, got)
	}
	e.Do("setVariable", godap.SetVariableArguments{VariablesReference: ref, Name: "sum", Value: "1.25"}, nil)
	e.Expect(changed(sum, 0, 16))
	var set godap.SetExpressionResponseBody
	e.Do("setExpression", godap.SetExpressionArguments{Expression: "grid[3]", Value: "sum * 2", FrameId: frame.Id}, &set)
	e.Expect(changed(where, 24, 16))
	if got := double(read(where, 24, 8)); got != 2.5 || set.Value != "2.5" || set.Type != "double" {
		t.Errorf("grid[3] was set to %+v, and is %g", set, got)
	}
	for _, bad := range []struct {
		command   string
		arguments any
		why       string
	}{
		{"setExpression", godap.SetExpressionArguments{Expression: "sum + 1", Value: "2", FrameId: frame.Id}, "not editable"},
		{"setExpression", godap.SetExpressionArguments{Expression: "sum", Value: "2"}, "frameId"},
		{"writeMemory", godap.WriteMemoryArguments{MemoryReference: "1@0x10", Data: "AAAA"}, "3 bytes cannot be written at 0x10"},
		{"writeMemory", godap.WriteMemoryArguments{MemoryReference: "7@0x10", Data: "AAAA"}, "no memory reference"},
		{"writeMemory", godap.WriteMemoryArguments{MemoryReference: where, Data: "?"}, "base64"},
	} {
		e.Refused(bad.command, bad.arguments, bad.why)
	}

	// Structures say what is in them, numbers of the floating kind stay what they are in hexadecimal.
	e.SetBreakpoints(source, markLine(t, source, "mark: round"))
	e.Continue(1)
	e.Expect(stops("breakpoint", 0, 1)...)
	frame = e.user(1)
	const whole = "{id = 7, values = {0.5, 1.5, 2.5, 3.5}, inner = {count = 3, weight = 0.25}}"
	for _, asker := range []string{"watch", "clipboard"} {
		if got := e.evaluate("sample", asker, frame.Id); got.Result != whole {
			t.Errorf("%s: %+v", asker, got)
		}
	}
	sample := e.evaluate("sample", "watch", frame.Id).VariablesReference
	for _, v := range e.variables(godap.VariablesArguments{
		VariablesReference: sample, Format: &godap.ValueFormat{Hex: true},
	}) {
		want := map[string]string{"id": "0x7", "inner": "{count = 3, weight = 0.25}", "values": "[4]"}[v.Name]
		if v.Value != want {
			t.Errorf("%+v, want %s", v, want)
		}
	}
	for expression, want := range map[string]string{"sample.inner.weight": "0.25", "sample.id": "0x7", "sum": "1.25"} {
		for _, asker := range []string{"watch", "repl"} {
			var got godap.EvaluateResponseBody
			e.Do("evaluate", godap.EvaluateArguments{
				Expression: expression, Context: asker, FrameId: frame.Id, Format: &godap.ValueFormat{Hex: true},
			}, &got)
			if got.Result != want {
				t.Errorf("%s: %s is %+v, want %s", asker, expression, got, want)
			}
		}
	}
	e.Do("terminate", struct{}{}, nil)
	e.Expect(daptest.Terminated())
	e.Disconnect()
}

func addressOf(t *testing.T, reference string) uint64 {
	t.Helper()
	_, text, _ := strings.Cut(reference, "@")
	address, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Code is shown with its source, breakpoints can be set on instructions, and steps be of one.
func TestDAPInstructions(t *testing.T) {
	t.Parallel()
	e, source := code(t, "add")
	frame := e.user(1)
	disassemble := func(a godap.DisassembleArguments) []godap.DisassembledInstruction {
		t.Helper()
		var body godap.DisassembleResponseBody
		e.Do("disassemble", a, &body)
		if len(body.Instructions) != a.InstructionCount {
			t.Fatalf("%+v: %+v", a, body)
		}
		return body.Instructions
	}
	here := frame.InstructionPointerReference
	around := disassemble(godap.DisassembleArguments{
		MemoryReference: here, InstructionOffset: -20, InstructionCount: 30, ResolveSymbols: true,
	})
	at, next := around[20], around[21]
	if at.Address != pc(frame) || at.Line != markLine(t, source, "mark: add") || at.Location == nil ||
		at.Location.Path != source || !strings.HasPrefix(at.Symbol, "add+") || at.Instruction == "" ||
		at.InstructionBytes == "" {
		t.Errorf("the instruction is %+v", at)
	}
	if symbol := around[0].Symbol; symbol == "" || strings.HasPrefix(symbol, "add+") {
		t.Errorf("twenty before it is %+v", around[0])
	}
	again := disassemble(godap.DisassembleArguments{MemoryReference: here, InstructionOffset: 1, InstructionCount: 9})
	for i := range again {
		if again[i].Address != around[21+i].Address || again[i].Symbol != "" {
			t.Errorf("instruction %d is %+v and %+v", i, again[i], around[21+i])
		}
	}
	e.Refused("disassemble", godap.DisassembleArguments{MemoryReference: "1@0x10", InstructionCount: 1}, "no code at 0x10")
	e.Do("stepIn", map[string]any{
		"threadId": protocol.ThreadID(1, 1), "singleThread": true, "granularity": "instruction",
	}, nil)
	e.Expect(daptest.Stopped(1, "step"))
	if f := e.user(1); pc(f) != next.Address {
		t.Errorf("after an instruction rank 1 is at %s, not %s", pc(f), next.Address)
	}
	var set godap.SetInstructionBreakpointsResponseBody
	wanted := protocol.InstructionBreakpoint{
		InstructionBreakpoint: godap.InstructionBreakpoint{InstructionReference: here, Condition: "x == 6"},
	}
	nowhere := protocol.InstructionBreakpoint{
		InstructionBreakpoint: godap.InstructionBreakpoint{InstructionReference: "9@0x10"},
	}
	e.Do("setInstructionBreakpoints", protocol.SetInstructionBreakpointsArguments{
		Breakpoints: []protocol.InstructionBreakpoint{wanted, nowhere},
	}, &set)
	if b := set.Breakpoints; !b[0].Verified || b[0].InstructionReference != here || b[1].Verified ||
		!strings.Contains(b[1].Message, "no memory reference") {
		t.Errorf("%+v", b)
	}
	e.Continue(1)
	if hit := e.stoppedBody(e.Expect(daptest.Stopped(1, "breakpoint"))[0]); len(hit.HitBreakpointIds) != 1 ||
		hit.HitBreakpointIds[0] != set.Breakpoints[0].Id {
		t.Errorf("%+v", hit)
	}
	if f := e.user(1); pc(f) != at.Address || e.evaluate("x", "watch", f.Id).Result != "6" {
		t.Errorf("rank 1 is at %+v", f)
	}
	e.Continue(1) // rank 0 has not been stopped
	e.ends(0)
}
