package prettyprint_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

var (
	stepSeed  = flag.Uint64("steps.seed", 1, "of TestStopsAnywhere: which calls are made, and where they are stopped")
	stepStops = flag.Int("steps.stops", 1500, "of TestStopsAnywhere: how often the whole registry is decoded")
	stepSteps = flag.Int("steps.steps", 300_000, "of TestStopsAnywhere: how many instructions are executed at most")
)

// region is where an object lies in a process.
type region struct{ from, to uint64 }

func (r region) has(pc uint64) bool { return pc >= r.from && pc < r.to }

// tracee is a rank whose main thread is traced by the test, an instruction at a time.
type tracee struct {
	t       *testing.T
	pid     int
	program region
	lib     region // libcohort.so
	libc    region
	symbols map[string]region // functions of the program
	regs    unix.PtraceRegs
}

// regionOf is where a file is mapped in a process, from its first byte to its last.
func regionOf(t *testing.T, pid int, is func(path string) bool) region {
	t.Helper()
	mapped, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	var r region
	for line := range strings.Lines(string(mapped)) {
		f := strings.Fields(line)
		if len(f) < 6 || !is(f[5]) {
			continue
		}
		low, high, _ := strings.Cut(f[0], "-")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if r.to == 0 {
			r.from = from
		}
		r.to = to
	}
	if r.to == 0 {
		t.Fatalf("process %d has no such object:\n%s", pid, mapped)
	}
	return r
}

// attach stops the main thread of a rank. The caller is locked to its thread, which alone can trace it.
func attach(t *testing.T, j *job) *tracee {
	t.Helper()
	x := &tracee{t: t, pid: j.pids[0], symbols: map[string]region{}}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", x.pid))
	if err != nil {
		t.Fatal(err)
	}
	x.program = regionOf(t, x.pid, func(path string) bool { return path == program })
	x.lib = regionOf(t, x.pid, func(path string) bool { return path == j.lib })
	x.libc = regionOf(t, x.pid, func(path string) bool {
		return strings.HasPrefix(filepath.Base(path), "libc.so") || strings.HasPrefix(filepath.Base(path), "libc-")
	})
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 {
			from := s.Value
			if file.Type == elf.ET_DYN {
				from += x.program.from
			}
			x.symbols[s.Name] = region{from, from + s.Size}
		}
	}
	if err := unix.PtraceAttach(x.pid); err != nil {
		t.Fatalf("tracing process %d: %v", x.pid, err)
	}
	x.wait(unix.SIGSTOP)
	return x
}

// wait waits until the thread has stopped with the signal. Others on the way are given to it.
func (x *tracee) wait(want unix.Signal) {
	x.t.Helper()
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(x.pid, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || !status.Stopped():
			x.pid = 0
			x.t.Fatalf("the rank ended while it was traced: status %#x, %v", status, err)
		case status.StopSignal() == want:
			return
		}
		if err := unix.PtraceCont(x.pid, int(status.StopSignal())); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x *tracee) detach() {
	if x.pid != 0 {
		_ = unix.PtraceDetach(x.pid) // if it is gone, something else has been reported
		x.pid = 0
	}
}

func (x *tracee) pc() uint64 {
	x.t.Helper()
	if err := unix.PtraceGetRegs(x.pid, &x.regs); err != nil {
		x.t.Fatal(err)
	}
	return x.regs.Rip
}

func (x *tracee) step() {
	x.t.Helper()
	if err := unix.PtraceSingleStep(x.pid); err != nil {
		x.t.Fatal(err)
	}
	x.wait(unix.SIGTRAP)
}

// returnAddress is where the function goes that has just been called.
func (x *tracee) returnAddress() uint64 {
	x.t.Helper()
	var word [8]byte
	if _, err := unix.PtracePeekData(x.pid, uintptr(x.regs.Rsp), word[:]); err != nil {
		x.t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(word[:])
}

// runTo lets the thread run to an instruction.
func (x *tracee) runTo(pc uint64) {
	x.t.Helper()
	var old [1]byte
	if _, err := unix.PtracePeekText(x.pid, uintptr(pc), old[:]); err != nil {
		x.t.Fatal(err)
	}
	if _, err := unix.PtracePokeText(x.pid, uintptr(pc), []byte{0xcc}); err != nil {
		x.t.Fatal(err)
	}
	if err := unix.PtraceCont(x.pid, 0); err != nil {
		x.t.Fatal(err)
	}
	x.wait(unix.SIGTRAP)
	if at := x.pc(); at != pc+1 {
		x.t.Fatalf("the rank stopped at %#x, not at %#x", at-1, pc)
	}
	x.regs.Rip = pc
	if err := unix.PtraceSetRegs(x.pid, &x.regs); err != nil {
		x.t.Fatal(err)
	}
	if _, err := unix.PtracePokeText(x.pid, uintptr(pc), old[:]); err != nil {
		x.t.Fatal(err)
	}
}

// TestStopsAnywhere stops a rank at instructions of the interposer while handles are made, named, freed, and while
// their tables grow: at each instruction that it executes when it is met for the first time, and at random later, and
// decodes the whole registry there. Whatever is published must be complete, and refer to nothing that
// is gone.
func TestStopsAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("single-steps MPI programs")
	}
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		t.Setenv("LD_BIND_NOW", "1") // a call goes to the function at once, not through the dynamic linker
		flags := []string{"-I" + filepath.Join(mpitest.Root(t), "pmpi", "include")}
		j := startProgram(t, mpi, 1, "churn.c", flags, fmt.Sprint(*stepSeed), "3000")
		w := newWatcher(t, j)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		x := attach(t, j)
		defer x.detach()
		if _, err := io.WriteString(j.stdin, "go\n"); err != nil {
			t.Fatal(err)
		}
		w.program = x.program
		w.walk(x)
		x.detach()
		if err := j.wait(); err != nil {
			t.Error(err)
		}
	})
}

// watcher decodes the registry of a rank again and again.
type watcher struct {
	t        *testing.T
	mem      procMemory
	registry uint64
	program  region
	symbols  map[string]uint64 // of libcohort
	before   []byte            // what was there and in the registry when it was decoded last
	lasting  map[uint64]string // by handle: types that are there from the beginning to the end
	random   *rand.Rand
	seen     map[uint64]bool // instructions at which it has looked
	stops    int
	tables   map[uint64]bool // addresses of the table of datatypes
	states   map[string]bool // of what changes: names
	kinds    map[string]bool // what was there at some stop
	most     int             // types at one stop
}

func newWatcher(t *testing.T, j *job) *watcher {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/mem", j.pids[0]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &watcher{
		t: t, mem: procMemory{file}, registry: registryAddress(t, j, 0), lasting: map[uint64]string{},
		random:  rand.New(rand.NewPCG(*stepSeed, 0)),
		symbols: librarySymbols(t, j), seen: map[uint64]bool{}, tables: map[uint64]bool{}, states: map[string]bool{},
		kinds: map[string]bool{},
	}
	r, err := handle.Open(w.mem, w.registry)
	if err != nil {
		t.Fatal(err)
	}
	types, err := datatypesOf(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, dt := range types {
		w.lasting[dt.Handle] = fingerprint(dt)
	}
	return w
}

// librarySymbols are addresses of libcohort's own variables in a rank.
func librarySymbols(t *testing.T, j *job) map[string]uint64 {
	t.Helper()
	file, err := elf.Open(j.lib)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint64{}
	base := uint64(0)
	for _, s := range symbols {
		if s.Name == "cohort_registry" {
			base = registryAddress(t, j, 0) - s.Value
		}
	}
	for _, s := range symbols {
		// racing_requests.c has an arena, too
		if at, known := all[s.Name]; elf.ST_TYPE(s.Info) == elf.STT_OBJECT && (!known || base+s.Value < at) {
			all[s.Name] = base + s.Value
		}
	}
	if base == 0 || all["arena"] == 0 || all["arena_left"] == 0 {
		t.Fatalf("the symbols of %s do not tell where its memory is", j.lib)
	}
	return all
}

// walk steps through the rank until the registry was decoded so often as was asked for.
func (w *watcher) walk(x *tracee) {
	w.t.Helper()
	x.runTo(x.symbols["begin"].from)
	var back uint64 // in the C library, called by the interposer: where it returns to
	steps := 0
	for ; w.stops < *stepStops && steps < *stepSteps; steps++ {
		pc := x.pc()
		switch {
		case x.symbols["fill"].has(pc), x.symbols["empty"].has(pc):
			x.runTo(x.returnAddress())
			continue
		case x.program.has(pc):
		case x.lib.has(pc):
			if pc == back { // else the C library has called back: dl_iterate_phdr does
				back = 0
			}
			w.maybe(pc)
		case back != 0 && x.libc.has(pc):
			w.maybe(pc)
		default:
			to := x.returnAddress()
			switch {
			case back != 0:
				x.runTo(back) // the C library has called something else
			case x.lib.has(to) && x.libc.has(pc):
				back = to
				w.maybe(pc)
				x.step()
			case x.lib.has(to) || x.program.has(to):
				x.runTo(to)
			default:
				w.t.Fatalf("the rank is at %#x, and nothing of ours has called that: it would return to %#x", pc, to)
			}
			continue
		}
		x.step()
	}
	if len(w.tables) < 2 || len(w.states) < 8 || len(w.seen) < 1500 {
		w.t.Errorf("at %d stops, at %d instructions, the table of types was seen at %d places, and these names: %v",
			w.stops, len(w.seen), len(w.tables), w.states)
	}
	for _, kind := range churnKinds {
		if !w.kinds[kind] {
			w.t.Errorf("at no stop was there %s", kind)
		}
	}
	w.t.Logf("%d stops at %d instructions of %d steps; the table was at %d addresses; at most %d types; %v", w.stops,
		len(w.seen), steps, len(w.tables), w.most, slices.Sorted(maps.Keys(w.kinds)))
}

// maybe looks where it has not looked, and at random, unless all is as it was when it looked last.
func (w *watcher) maybe(pc uint64) {
	w.t.Helper()
	if w.seen[pc] && w.random.IntN(100) != 0 {
		return
	}
	w.seen[pc] = true
	if !w.changed() {
		return
	}
	w.stops++
	if err := w.look(); err != nil {
		w.t.Fatalf("stopped at %#x, stop %d: %v", pc, w.stops, err)
	}
}

// changed reports whether the registry is another than before: its tables and records lie in one arena of the library's
// (memory.c), as there are few of them.
func (w *watcher) changed() bool {
	w.t.Helper()
	const arena = 1 << 20
	word := func(at uint64) uint64 {
		var b [8]byte
		if n, err := w.mem.ReadMemory(at, b[:]); err != nil || n != len(b) {
			w.t.Fatalf("%d bytes can be read at %#x: %v", n, at, err)
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	size := word(w.registry+8) >> 32
	if word(w.registry+uint64(unsafe.Offsetof(abi.Registry{}.Memory))) > 2*arena {
		w.t.Fatal("there is more than one arena: what is in the others is not looked at")
	}
	// its next free byte; how many are taken
	next, used := word(w.symbols["arena"]), arena-word(w.symbols["arena_left"])
	now := make([]byte, size+used)
	n1, err1 := w.mem.ReadMemory(w.registry, now[:size])
	n2, err2 := w.mem.ReadMemory(next-used, now[size:])
	if err := errors.Join(err1, err2); err != nil || uint64(n1)+uint64(n2) != size+used || bytes.Equal(now, w.before) {
		return err != nil || !bytes.Equal(now, w.before) // between the two words' changes it cannot be read
	}
	w.before = now
	return true
}

// isName reports whether a name is one that churn.c gives, as long as there is room for it in its record.
func isName(name string) bool {
	const long = "a name that is as long as a name can be that fits into the field of it"
	return name == "short" || name == long || name == long[:31] || name == long[:63]
}

// look decodes everything.
func (w *watcher) look() error {
	r, err := handle.Open(w.mem, w.registry)
	if err != nil {
		return err
	}
	types, err := datatypesOf(r)
	if err != nil {
		return err
	}
	var head [32]byte
	if _, err := w.mem.ReadMemory(w.registry, head[:]); err != nil {
		return err
	}
	w.tables[binary.LittleEndian.Uint64(head[24:])] = true
	w.most = max(w.most, len(types))
	if err := references(types); err != nil {
		return err
	}
	found := 0
	for _, dt := range types {
		want, lasts := w.lasting[dt.Handle]
		if lasts && want == fingerprint(dt) {
			found++
			if dt.Depth > 0 && dt.Name != "" {
				w.states["type "+dt.Name] = true
				if !isName(dt.Name) {
					return fmt.Errorf("a type is called %q", dt.Name)
				}
			}
			continue
		}
		if lasts {
			return fmt.Errorf("the type 0x%x was\n%s\nand is\n%s", dt.Handle, want, fingerprint(dt))
		}
		if err := follows(dt, r.MPI()); err != nil {
			return fmt.Errorf("%w\n%s", err, fingerprint(dt))
		}
	}
	if found != len(w.lasting) {
		return fmt.Errorf("%d of %d lasting types are there", found, len(w.lasting))
	}
	if r.Header.Lost > 0 {
		return fmt.Errorf("%d records are lost", r.Header.Lost)
	}
	return errors.Join(w.lookAtComms(r), w.lookAtObjects(r), w.lookAtCalls(r))
}

// churnKinds are what there must be at some stop.
var churnKinds = []string{
	"a pending receive", "a send that is complete at once", "two requests of one handle", "a persistent receive",
	"a persistent receive that is started", "a cancelled receive",
	"a receive that was given up", "a group", "a window", "a window that is locked", "an info",
	"MPI_Irecv", "MPI_Isend", "MPI_Wait", "MPI_Test", "MPI_Waitall", "MPI_Waitsome", "MPI_Waitany", "MPI_Cancel",
	"MPI_Request_free", "MPI_Recv_init", "MPI_Start", "MPI_Send",
	"MPI_Win_allocate", "MPI_Win_free", "MPI_Win_lock", "MPI_Win_unlock", "MPI_Comm_dup", "MPI_Comm_free",
}

const (
	churnReceive = `receives up to ([1-4]) × MPI_INT from rank 0, tag 100([1-4]), MPI_COMM_SELF`
	churnSend    = `sends ([1-5]) × MPI_INT to (?:rank 0, tag 100([1-5])|MPI_PROC_NULL, tag 7), MPI_COMM_SELF.*`
)

// churnObjects are what churn.c has, in one line each, and what it is called in churnKinds.
var churnObjects = map[registry.Kind][]struct {
	kind  string
	shape *regexp.Regexp
}{
	registry.KindRequest: {
		{"a pending receive", regexp.MustCompile(`^pending MPI_Irecv: ` + churnReceive + `$`)},
		{"a send that is complete at once", regexp.MustCompile(`^complete MPI_Isend: ` + churnSend + `$`)},
		{"a persistent receive", regexp.MustCompile(`^inactive MPI_Recv_init: ` + churnReceive + `$`)},
		{"a persistent receive that is started", regexp.MustCompile(`^pending MPI_Recv_init: ` + churnReceive + `$`)},
		{"a receive that was given up", regexp.MustCompile(`^pending MPI_Irecv: ` + churnReceive + `, freed$`)},
	},
	registry.KindGroup: {{"a group", regexp.MustCompile(`^group of 1 rank, this one is rank 0: 0$`)}},
	registry.KindWindow: {
		{"a window", regexp.MustCompile(`^window(?: "([^"]*)")? of 16 bytes at 0x[0-9a-f]+ over MPI_COMM_SELF$`)},
		{"a window that is locked", regexp.MustCompile(`^window(?: "([^"]*)")? of 16 bytes at 0x[0-9a-f]+ over MPI_COMM_SELF, open epoch: exclusive lock of rank 0$`)},
	},
	registry.KindInfo: {{"an info", regexp.MustCompile(`^info \{state="([^"]*)"\}$`)}},
}

func (w *watcher) lookAtObjects(r *handle.Rank) error {
	for kind, shapes := range churnObjects {
		all, err := objectsOf(r, kind)
		if err != nil {
			return err
		}
		if kind == registry.KindRequest {
			gone, err := r.Detached()
			if err != nil {
				return err
			}
			all = slices.Concat(all, gone)
		}
		made := 0
		for _, h := range all {
			if h.Predefined {
				continue
			}
			made++
			if err := w.lookAtObject(r, h, kind, shapes); err != nil {
				return err
			}
		}
		if kind == registry.KindInfo && made != 1 || kind == registry.KindWindow && made < 1 ||
			kind == registry.KindGroup && made > 2 {
			return fmt.Errorf("there are %d objects of the kind %s", made, kind)
		}
	}
	return nil
}

func (w *watcher) lookAtObject(r *handle.Rank, h registry.Head, kind registry.Kind, shapes []struct {
	kind  string
	shape *regexp.Regexp
},
) error {
	shown, err := call.Show(r, h, "x")
	if err != nil {
		return err
	}
	n := shown.Node
	said := n.Value
	var whole strings.Builder
	if err := n.Text(&whole, view.Options{}); err != nil {
		return err
	}
	for _, s := range shapes {
		m := s.shape.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		if kind == registry.KindRequest {
			if len(m) > 2 && m[2] != "" && m[1] != m[2] {
				return fmt.Errorf("the count and the tag of a request do not go together: %s", said)
			}
			if strings.Contains(whole.String(), "MPI_Cancel was called") {
				w.kinds["a cancelled receive"] = true
			}
			if strings.Contains(whole.String(), "others have the same handle") {
				w.kinds["two requests of one handle"] = true
			}
		} else if len(m) > 1 && m[1] != "" {
			if !isName(m[1]) {
				return fmt.Errorf("a %s is called %q", kind, m[1])
			}
			w.states[fmt.Sprintf("%s %s", kind, m[1])] = true
		}
		w.kinds[s.kind] = true
		return nil
	}
	return fmt.Errorf("no %s is such:\n%s", kind, whole.String())
}

// lookAtCalls checks the call that the rank is in, as far as it is one that is kept.
func (w *watcher) lookAtCalls(r *handle.Rank) error {
	calls, err := call.InProgress(r, nil)
	if err != nil || len(calls) == 0 {
		return err
	}
	c := calls[0]
	var whole strings.Builder
	if err := c.Node().Text(&whole, view.Options{}); err != nil {
		return err
	}
	if len(calls) > 1 || !slices.Contains(churnKinds, c.Name) || !w.program.has(c.Site) {
		return fmt.Errorf("%d calls in progress; the first was made at %#x:\n%s", len(calls), c.Site, whole.String())
	}
	switch said := c.Summary(); {
	case c.Name == "MPI_Irecv" && !regexp.MustCompile(`^`+churnReceive).MatchString(said),
		(c.Name == "MPI_Send" || c.Name == "MPI_Isend") && !regexp.MustCompile(`^`+churnSend).MatchString(said):
		return fmt.Errorf("%s %s", c.Name, said)
	}
	w.kinds[c.Name] = true
	return nil
}

func (w *watcher) lookAtComms(r *handle.Rank) error {
	comms, err := commsOf(r)
	if err != nil {
		return err
	}
	for _, c := range comms {
		if c.Size != 1 || len(c.Members) != 1 {
			return fmt.Errorf("a communicator of one rank is %s", c.Summary())
		}
		if name := c.Name; isName(name) {
			w.states["comm "+name] = true
		} else if !strings.HasPrefix(name, "MPI_COMM_") && name != "" {
			return fmt.Errorf("a communicator is called %q", name)
		}
	}
	if len(comms) < 3 {
		return fmt.Errorf("%d communicators", len(comms))
	}
	return nil
}

// fingerprint is all of a type that does not change.
func fingerprint(dt *datatype.Type) string {
	ints, addrs := arguments(dt)
	s := fmt.Sprintf("0x%x %s %v %v %+v", dt.Handle, dt.Combiner(), ints, addrs, dt.Figures)
	for _, sub := range dt.Types {
		s += " (" + fingerprint(sub) + ")"
	}
	return s
}

// follows checks that a type is one that churn.c makes, and whole.
func follows(dt *datatype.Type, mpi abi.MPI) error {
	if err := dt.Problem; err != nil {
		return err
	}
	if d := dt.Differences(); len(d) > 0 {
		return errors.New(strings.Join(d, " "))
	}
	if _, known := dt.Reported(); !known || dt.Name != "" || dt.Freed {
		return fmt.Errorf("a published type has no figures (%v), a name (%q), or was freed (%v)", known, dt.Name,
			dt.Freed)
	}
	// Open MPI makes none until it is asked for
	if f := dt.FHandle; f == 0 || mpi == abi.MPICH && uint64(uint32(f)) != dt.Handle {
		return fmt.Errorf("its Fortran handle is %d", f)
	}
	ints, addrs := arguments(dt)
	good := true
	switch dt.Combiner() {
	case abi.CombinerVector:
		good = ints[2] == 5*ints[0]+ints[1]
	case abi.CombinerResized:
		// 16: a copy of the lasting one, from MPI_Type_get_contents
		good = addrs[0] == -8 && (addrs[1] == 4096 || addrs[1] == 16)
	case abi.CombinerIndexed, abi.CombinerStruct:
		for i := range ints[0] {
			good = good && ints[1+i] == i+1
			if dt.Combiner() == abi.CombinerStruct {
				good = good && addrs[i] == 4096*i
			} else {
				good = good && ints[1+ints[0]+i] == 10*i
			}
		}
	case abi.CombinerSubarray:
		good = slices.Equal(ints[:7], []int64{2, 4, 5, 2, 3, 1, 1})
	case abi.CombinerContiguous:
		good = ints[0] >= 1 && ints[0] <= 6
	case abi.CombinerDup:
	default:
		good = false
	}
	if !good {
		return errors.New("its arguments are not such as the program gives")
	}
	return nil
}

// references checks that each record counts at least those that can be seen to refer to it.
func references(types []*datatype.Type) error {
	count := map[*datatype.Type]uint32{}
	visited := map[*datatype.Type]bool{}
	var visit func(dt *datatype.Type)
	visit = func(dt *datatype.Type) {
		if visited[dt] {
			return
		}
		visited[dt] = true
		for _, sub := range dt.Types {
			count[sub]++
			visit(sub)
		}
	}
	for _, dt := range types {
		count[dt]++ // the handle
		visit(dt)
	}
	for dt, n := range count {
		if dt.Record.Refs < n {
			return fmt.Errorf("a record has %d references, and counts %d: %s", n, dt.Record.Refs, fingerprint(dt))
		}
	}
	return nil
}
