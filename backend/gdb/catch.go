package gdb

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb/cli"
	"github.com/cohort-debugger/cohort/gdbmi"
)

// catches are the functions through which everything goes that can be caught. MPI's are those that MPICH and its
// derivatives, and Open MPI, call for an error before its handler runs; no function of the program is called to ask
// more, its registers and memory are read.
var catches = map[backend.Catch][]string{
	backend.CatchThrow:     {"__cxa_throw", "__cxa_rethrow"},
	backend.CatchCatch:     {"__cxa_begin_catch"},
	backend.CatchMPIErrors: {"ompi_errhandler_invoke", "MPIR_Err_return_comm", "MPIR_Err_return_win"},
	backend.CatchMPIAbort:  {"PMPI_Abort"},
	backend.CatchExit:      {"exit", "_exit"},
}

// conventions are the registers that hold the first integer arguments of a function, where it begins; status is the
// first, as a C int.
var conventions = map[string]struct {
	status    string
	arguments []string
}{
	"amd64":   {"$edi", []string{"$rdi", "$rsi", "$rdx", "$rcx", "$r8"}},
	"arm64":   {"$w0", []string{"$x0", "$x1", "$x2", "$x3", "$x4"}},
	"riscv64": {"$a0", []string{"$a0", "$a1", "$a2", "$a3", "$a4"}},
}

// insertCatch gives gdb a breakpoint on each function of a Catch, also on those of libraries that are not loaded yet.
func (o *owner) insertCatch(ctx context.Context, b *bp) error {
	exit := b.Want.Catch == backend.CatchExit
	status := conventions[runtime.GOARCH].status
	switch {
	case len(catches[b.Want.Catch]) == 0:
		b.Refuse("There is nothing named %s to catch.", b.Want.Catch)
		return nil
	case exit && (status == "" || !o.python):
		b.Refuse("Exits are caught on AMD64, ARM64 and RISC-V only, by a gdb that has Python.")
		return nil
	case exit && b.Want.Condition != "":
		b.Refuse("A condition on exits can be a rank set only, and this one has %q too.", b.Want.Condition)
		return nil
	}
	var numbers []string
	for _, function := range catches[b.Want.Catch] {
		c := gdbmi.Cmd("break-insert", "-f")
		switch {
		case function == "exit":
			c = c.Opt("-c", status)
		case function == "_exit":
			c = c.Opt("-c", "$_cohort_exits("+status+")")
		case b.Want.Condition != "":
			c = c.Opt("-c", b.Want.Condition)
		}
		r, _, err := o.capture(ctx, c.Opt("--function", function))
		if refusedByGdb(err) {
			b.RefusedBy(message(err))
			continue
		}
		if err != nil {
			return err
		}
		f := r.Fields().Tuple("bkpt")
		number := f.String("number")
		numbers = append(numbers, number)
		o.bps.ByID[number] = b
		o.bps.places[number], _ = placeOf(f)
		if err := f.Err(); err != nil {
			return err
		}
	}
	if len(numbers) > 0 {
		b.ID, o.bps.more[numbers[0]] = numbers[0], numbers[1:]
		o.placeCatch(b)
	}
	return nil
}

// placeCatch says whether one of the functions is there.
func (o *owner) placeCatch(b *bp) {
	for _, number := range append([]string{b.ID}, o.bps.more[b.ID]...) {
		if len(o.bps.places[number].addrs) > 0 {
			b.Place("", 0, "")
			return
		}
	}
	b.Is.Verified = false
	b.Refuse("The rank has loaded no library yet in which that can happen.")
}

// catchModified takes in that a library has been loaded, or that one of the functions was called.
func (o *owner) catchModified(b *bp, f *gdbmi.Fields) {
	was, number := b.Is, f.String("number")
	before := o.bps.places[number].times
	p, _ := placeOf(f)
	if o.bps.places[number] = p; p.times > before {
		o.bps.hit = append(o.bps.hit, b)
	}
	o.placeCatch(b)
	o.changed(b, was)
}

// describeCaught says what has happened, as far as the arguments of the function tell.
func (o *owner) describeCaught(ctx context.Context, thread int, what backend.Catch, function string) *backend.Caught {
	args := o.passed(ctx, thread)
	switch what {
	case backend.CatchThrow:
		return o.describeThrow(ctx, function, args)
	case backend.CatchMPIErrors:
		return o.describeMPIError(ctx, function, args)
	case backend.CatchMPIAbort:
		text := "called MPI_Abort"
		if len(args) > 1 {
			text += fmt.Sprintf(" with the code %d", int32(args[1])) //nolint:gosec // its lower half is the argument
		}
		return &backend.Caught{Name: "MPI_Abort", Text: text}
	case backend.CatchExit:
		if len(args) > 0 {
			status := fmt.Sprint(int32(args[0])) //nolint:gosec // likewise
			return &backend.Caught{Name: "exit status " + status, Text: "is about to exit with status " + status}
		}
		return &backend.Caught{Name: "exit", Text: "is about to exit"}
	case backend.CatchCatch:
	}
	return &backend.Caught{Name: "C++ exception", Text: "caught a C++ exception"}
}

// passed are the arguments of the function at whose beginning a thread is.
func (o *owner) passed(ctx context.Context, thread int) []uint64 {
	var args []uint64
	for _, register := range conventions[runtime.GOARCH].arguments {
		text, err := o.value(ctx, backend.FrameID{Thread: thread}, register)
		n, ok := cli.Number(text)
		if err != nil || !ok {
			o.warn("an argument is not known: "+register, err)
			return nil
		}
		args = append(args, n)
	}
	return args
}

// text reads a C string, "" if there is none.
func (o *owner) text(ctx context.Context, addr uint64) string {
	const most = 200
	data, err := o.ReadMemory(ctx, addr, most)
	if err != nil || addr == 0 {
		return ""
	}
	before, _, _ := bytes.Cut(data, []byte{0})
	return strings.ToValidUTF8(string(before), "?")
}

// standard are the exceptions of the C++ library that hold their text behind the pointer to their functions.
var standard = []string{
	"std::logic_error", "std::invalid_argument", "std::domain_error", "std::length_error", "std::out_of_range",
	"std::runtime_error", "std::range_error", "std::overflow_error", "std::underflow_error",
}

// describeThrow reads the arguments of __cxa_throw: the object, and its type.
func (o *owner) describeThrow(ctx context.Context, function string, args []uint64) *backend.Caught {
	if function != "__cxa_throw" || len(args) == 0 {
		return &backend.Caught{Name: "C++ exception", Text: "threw a C++ exception again"}
	}
	name := "C++ exception"
	_, said, err := o.capture(ctx, gdbmi.CLI(fmt.Sprintf("info symbol %#x", args[1])))
	for _, r := range said {
		if _, after, ok := strings.Cut(r.Text, "typeinfo for "); ok && err == nil && r.Kind == gdbmi.Console {
			name, _, _ = strings.Cut(after, " in section ")
			name, _, _ = strings.Cut(strings.TrimSpace(name), "@") // its version
		}
	}
	text := "threw " + name
	if slices.Contains(standard, name) {
		const pointer = 8
		if at, err := o.ReadMemory(ctx, args[0]+pointer, pointer); err == nil && len(at) == pointer {
			text += fmt.Sprintf(" (%q)", o.text(ctx, leastFirst(at)))
		}
	}
	return &backend.Caught{Name: name, Text: text}
}

func leastFirst(b []byte) (n uint64) {
	for _, digit := range slices.Backward(b) {
		n = n<<8 | uint64(digit)
	}
	return n
}

// describeMPIError reads which call fails, and with which error.
func (o *owner) describeMPIError(ctx context.Context, function string, args []uint64) *backend.Caught {
	if len(args) == 0 {
		return &backend.Caught{Name: "MPI error", Text: "got an MPI error"}
	}
	code, call, names := args[2], args[1], mpichErrors
	class := int(code & 0x7f)
	if function == "ompi_errhandler_invoke" {
		code, call, names = args[3], args[4], openMPIErrors
		class = int(int32(code)) //nolint:gosec // its lower half is the argument
	}
	name := "MPI error"
	if all := strings.Fields(names); class > 0 && class <= len(all) && all[class-1] != "-" {
		name = "MPI_ERR_" + all[class-1]
	}
	text := fmt.Sprintf("got %s (code %d)", name, int32(code)) //nolint:gosec // likewise
	where := o.text(ctx, call)
	for _, prefix := range []string{"internal_", "PMPI_", "MPI_"} {
		if after, ok := strings.CutPrefix(where, prefix); ok {
			text += " from MPI_" + after
			break
		}
	}
	return &backend.Caught{Name: name, Text: text}
}
