package gdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/base"
	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/corefile"
	"github.com/cohort-debugger/cohort/internal/modules"
	"github.com/cohort-debugger/cohort/internal/prose"
)

// isCore says of a rank that is a core file why it does not do something.
const isCore = "a core file: its process has ended, and nothing of it can run or be changed"

// notCore refuses what a core file cannot do.
func (o *owner) notCore(asked string) error {
	if o.core != nil {
		return &backend.StateError{Asked: asked, State: isCore}
	}
	return nil
}

// openCore makes the rank be what a core file holds.
func (o *owner) openCore(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	fail := func(format string, args ...any) (backend.LaunchResult, error) {
		o.b.State = base.Exited
		return backend.LaunchResult{}, base.NotLaunched(req, format, args...)
	}
	core, err := corefile.Open(req.Core)
	if err != nil {
		return fail("%s", prose.Sentence(err.Error()))
	}
	o.core = core
	o.modules.Core = coreSpans(core, o.program)
	if err := o.applySettings(ctx); err != nil {
		return backend.LaunchResult{}, err
	}
	for _, line := range []string{
		"set exec-wrapper false", // should a console command start the program after all, it ends at once
		"set confirm off",
	} {
		if _, err := o.send(ctx, gdbmi.CLI(line)); err != nil {
			return fail("gdb refuses %q: %v.", line, message(err))
		}
	}
	if _, err := o.send(ctx, gdbmi.Cmd("file-exec-and-symbols", o.program)); err != nil {
		return fail("gdb cannot load %s: %v.", o.program, message(err))
	}
	if err := o.targetCore(ctx, req.Core); err != nil {
		return fail("gdb cannot open the core file %s: %v.", req.Core, message(err))
	}
	if err := o.settle(ctx); err != nil {
		return backend.LaunchResult{}, err
	}
	var stop *backend.Stopped
	o.plan = &plan{entry: func(s *backend.Stopped, _ *backend.Exited) { stop = s }}
	o.halt(ctx, o.coreStop(ctx))
	if len(stop.Frames) == 0 {
		return fail("gdb finds no stack in the core file %s. It may be cut off, or of another machine.", req.Core)
	}
	res := backend.LaunchResult{Pid: core.Process.Pid, Stop: *stop, Can: backend.Capabilities{Debugger: o.version}}
	if note := debugNoteCore(o.program, *stop); note != "" {
		res.Notes = append(res.Notes, note)
	}
	return res, nil
}

// targetCore opens the core in gdb, which takes the rest of the line for the path; later versions want quotes around a
// path with blanks.
func (o *owner) targetCore(ctx context.Context, path string) error {
	_, err := o.send(ctx, gdbmi.CLI("core-file "+path))
	if refusedByGdb(err) && strings.ContainsAny(path, " \t\"'\\") {
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
		if _, again := o.send(ctx, gdbmi.CLI("core-file "+quoted)); again == nil {
			return nil
		}
	}
	return err
}

// coreStop is why the process had stopped for good.
func (o *owner) coreStop(ctx context.Context) backend.Stopped {
	s := backend.Stopped{Reason: backend.ReasonCore, Thread: o.currentThread(ctx)}
	p := o.core.Process
	if !p.Crashed() {
		return s
	}
	signal := unix.Signal(p.Signal)
	s.Reason, s.Signal, s.SignalText = backend.ReasonSignal, unix.SignalName(signal), signalTexts[signal]
	if s.Signal == "" {
		s.Signal = fmt.Sprintf("signal %d", p.Signal)
	}
	if p.HasInfo && isFault(s.Signal, int(p.Code)) {
		faultAt(&s, p.Address)
	}
	return s
}

// signalTexts are gdb's descriptions, which live ranks have, of the signals that leave cores.
var signalTexts = map[unix.Signal]string{
	unix.SIGQUIT: "Quit", unix.SIGILL: "Illegal instruction", unix.SIGABRT: "Aborted", unix.SIGBUS: "Bus error",
	unix.SIGFPE:  "Arithmetic exception",
	unix.SIGSEGV: "Segmentation fault", unix.SIGSYS: "Bad system call", unix.SIGXCPU: "CPU time limit exceeded",
	unix.SIGXFSZ: "File size limit exceeded",
}

// debugNoteCore tells of a stack with code of the user's in which not one frame has a line.
func debugNoteCore(program string, s backend.Stopped) string {
	user := slices.DeleteFunc(slices.Clone(s.Frames), func(f backend.Frame) bool { return !f.User })
	if len(user) == 0 || slices.ContainsFunc(user, func(f backend.Frame) bool { return f.Line > 0 }) {
		return ""
	}
	return debugNote(program, backend.Stopped{})
}

// coreSpans are the mapped files; what of them is code a core does not always tell. The program may lie elsewhere now
// than it did.
func coreSpans(core *corefile.File, program string) []modules.Span {
	spans := []modules.Span{}
	main, known := core.Executable()
	for _, m := range core.Mapped {
		path := strings.TrimSuffix(m.Path, " (deleted)")
		if known && m.Path == main.Path {
			path = program
		}
		spans = append(spans, modules.Span{From: m.Start, To: m.End, Path: path})
	}
	return spans
}

// readCore reads from the core file, and through gdb what was not dumped because it is in the program or a library.
func (o *owner) readCore(ctx context.Context, addr uint64, n int) ([]byte, error) {
	buf := make([]byte, n)
	got, err := o.core.ReadMemory(addr, buf)
	for got < n {
		more, gdbErr := o.readMemoryByGdb(ctx, addr+uint64(got), n-got)
		if gdbErr != nil || len(more) == 0 {
			if gdbErr != nil && !refusedByGdb(gdbErr) {
				err = errors.Join(err, gdbErr)
			}
			break
		}
		got += copy(buf[got:], more)
		if got < n {
			var k int
			k, err = o.core.ReadMemory(addr+uint64(got), buf[got:])
			if k == 0 {
				break
			}
			got += k
		}
	}
	if got == 0 {
		return nil, fmt.Errorf("no memory can be read at %#x of the core file: %w", addr, err)
	}
	return buf[:got], nil
}

// startsOrLeaves are commands of gdb after which the rank would not be the core file any more. Those that need a
// process gdb refuses by itself.
var startsOrLeaves = map[string]bool{
	"r": true, "run": true, "start": true, "starti": true, "attach": true, "core": true, "core-file": true,
	"detach": true, "file": true, "exec-file": true,
	"k": true, "kill": true, "target": true, "tar": true, "inferior": true, "add-inferior": true,
	"clone-inferior": true, "remove-inferiors": true, "load": true,
	"quit": true, "q": true, "exit": true,
}

// needsNoProcess refuses a console command that would start the program, or leave the core file.
func (o *owner) needsNoProcess(line string) error {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if startsOrLeaves[word] {
		return o.notCore("run gdb's command " + word)
	}
	return nil
}
