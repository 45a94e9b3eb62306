package main

import (
	"context"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/pmpi"
)

func main() {
	status, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "typewatch:", err)
		status = 1
	}
	os.Exit(status) //nolint:forbidigo // this is a command
}

func run() (status int, err error) {
	build := flag.String("build", "", "only build the interposer, with this mpicc, and print its path")
	lib := flag.String("lib", "", "the interposer")
	report := flag.String("report", ".", "the directory for what was found")
	flag.Parse()
	if *build != "" {
		library, err := pmpi.Build(context.Background(), pmpi.Options{Mpicc: *build})
		if err == nil {
			fmt.Fprintln(os.Stdout, library.Path) //nolint:errcheck // nowhere else to say it
		}
		return 0, err
	}
	if *lib == "" || flag.NArg() == 0 {
		return 0, errors.New("usage: typewatch -lib LIBCOHORT -report DIR PROGRAM ARGS")
	}
	runtime.LockOSThread() // one thread traces
	r, err := start(*lib, flag.Args())
	if err != nil {
		return 0, err
	}
	w := watch{}
	status, err = r.run(&w)
	text := fmt.Sprintf("%s\nstatus %d\n", strings.Join(flag.Args(), " "), status)
	if err != nil {
		text += fmt.Sprintf("PROBLEM %v\n", err)
	}
	path := filepath.Join(*report, fmt.Sprintf("%d.types", r.pid))
	return status, errors.Join(err, os.WriteFile(path, []byte(text+w.text()), 0o600))
}

// rank is a program that is traced, with breakpoints in the interposer.
type rank struct {
	cmd      *exec.Cmd
	pid      int
	lib      string
	base     uint64 // where the interposer lies
	registry uint64
	free     uint64 // MPI_Type_free
	finalize uint64
	old      map[uint64]byte // what breakpoints stand for
	regs     unix.PtraceRegs
}

// start starts the program and runs it to its first instruction, when the dynamic linker has done its work.
func start(lib string, args []string) (*rank, error) {
	r := &rank{lib: lib, old: map[uint64]byte{}}
	// it ends with this process, which is its tracer
	r.cmd = exec.CommandContext(context.Background(), args[0], args[1:]...)
	r.cmd.Env = append(os.Environ(), "LD_PRELOAD="+lib)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	r.cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true, Pdeathsig: unix.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	r.pid = r.cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(r.pid, &status, 0, nil); err != nil || !status.Stopped() {
		return nil, fmt.Errorf("%s did not stop when it began: status %#x: %w", args[0], status, err)
	}
	entry, err := r.entry()
	if err != nil {
		return nil, err
	}
	if err := r.plant(entry); err != nil {
		return nil, err
	}
	at, ended, err := r.next(0)
	if err != nil || ended != nil || at != entry {
		return nil, fmt.Errorf("%s did not get to its first instruction: %v: %w", args[0], ended, err)
	}
	if err := r.lift(entry); err != nil {
		return nil, err
	}
	err = r.find()
	return r, err
}

// entry is the program's first instruction, from the auxiliary vector.
func (r *rank) entry() (uint64, error) {
	const atEntry = 9
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", r.pid))
	if err != nil {
		return 0, fmt.Errorf("finding the program's first instruction: %w", err)
	}
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if word(auxv) == atEntry {
			return word(auxv[8:]), nil
		}
	}
	return 0, errors.New("the program's auxiliary vector does not tell where it begins")
}

func word(b []byte) (w uint64) {
	for i := 7; i >= 0; i-- {
		w = w<<8 | uint64(b[i])
	}
	return w
}

// find finds the interposer and what is needed of it, and plants the breakpoints.
func (r *rank) find() error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", r.pid))
	if err != nil {
		return fmt.Errorf("finding the interposer: %w", err)
	}
	for line := range strings.Lines(string(maps)) {
		if f := strings.Fields(line); len(f) == 6 && f[5] == r.lib && f[2] == "00000000" {
			low, _, _ := strings.Cut(f[0], "-")
			if r.base, err = strconv.ParseUint(low, 16, 64); err != nil {
				return fmt.Errorf("reading %q: %w", line, err)
			}
		}
	}
	if r.base == 0 {
		return fmt.Errorf("the program has not loaded %s", r.lib)
	}
	file, err := elf.Open(r.lib)
	if err != nil {
		return fmt.Errorf("reading the interposer: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("reading the interposer's symbols: %w", err)
	}
	for _, s := range symbols {
		switch s.Name {
		case "cohort_registry":
			r.registry = r.base + s.Value
		case "MPI_Type_free":
			r.free = r.base + s.Value
		case "MPI_Finalize":
			r.finalize = r.base + s.Value
		}
	}
	if r.registry == 0 || r.free == 0 || r.finalize == 0 {
		return fmt.Errorf("%s has not what it should", r.lib)
	}
	return errors.Join(r.plant(r.free), r.plant(r.finalize))
}

func (r *rank) plant(at uint64) error {
	var old [1]byte
	if _, err := unix.PtracePeekText(r.pid, uintptr(at), old[:]); err != nil {
		return fmt.Errorf("planting a breakpoint: %w", err)
	}
	r.old[at] = old[0]
	if _, err := unix.PtracePokeText(r.pid, uintptr(at), []byte{0xcc}); err != nil {
		return fmt.Errorf("planting a breakpoint: %w", err)
	}
	return nil
}

// lift takes a breakpoint away, at which the program stands.
func (r *rank) lift(at uint64) error {
	_, err := unix.PtracePokeText(r.pid, uintptr(at), []byte{r.old[at]})
	r.regs.Rip = at
	return errors.Join(err, unix.PtraceSetRegs(r.pid, &r.regs))
}

// next lets the program run to its next breakpoint, or its end.
func (r *rank) next(signal int) (at uint64, ended *unix.WaitStatus, err error) {
	for {
		if err := unix.PtraceCont(r.pid, signal); err != nil {
			return 0, nil, fmt.Errorf("letting the program run: %w", err)
		}
		status, err := r.wait()
		if err != nil || !status.Stopped() {
			return 0, &status, err
		}
		signal = int(status.StopSignal())
		if signal != int(unix.SIGTRAP) {
			continue
		}
		if err := unix.PtraceGetRegs(r.pid, &r.regs); err != nil {
			return 0, nil, fmt.Errorf("reading registers: %w", err)
		}
		if _, ours := r.old[r.regs.Rip-1]; ours {
			return r.regs.Rip - 1, nil, nil
		}
	}
}

func (r *rank) wait() (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(r.pid, &status, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return status, err //nolint:wrapcheck // callers say what they waited for
		}
	}
}

// step goes on over the breakpoint at which the program stands.
func (r *rank) step(at uint64) error {
	if err := r.lift(at); err != nil {
		return err
	}
	if err := unix.PtraceSingleStep(r.pid); err != nil {
		return fmt.Errorf("stepping over a breakpoint: %w", err)
	}
	if status, err := r.wait(); err != nil || !status.Stopped() {
		return fmt.Errorf("stepping over a breakpoint: status %#x: %w", status, err)
	}
	if _, err := unix.PtracePokeText(r.pid, uintptr(at), []byte{0xcc}); err != nil {
		return fmt.Errorf("planting a breakpoint: %w", err)
	}
	return nil
}

// run lets the program run to its end, and the watch look at its types.
func (r *rank) run(w *watch) (status int, err error) {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", r.pid))
	if err != nil {
		return 1, fmt.Errorf("reading the program's memory: %w", err)
	}
	defer memory.Close() //nolint:errcheck // nothing was written
	over := false
	for {
		at, ended, err := r.next(0)
		switch {
		case err != nil:
			return 1, err
		case ended != nil && ended.Exited():
			return ended.ExitStatus(), nil
		case ended != nil:
			return 128 + int(ended.Signal()), nil
		case at == r.free:
			w.freed(memory, r.registry, r.regs.Rdi)
		case !over: // the interposer's MPI_Finalize calls itself where it keeps calls
			over = true
			w.left(memory, r.registry)
		}
		if err := r.step(at); err != nil {
			return 1, err
		}
	}
}
