package benchdebug

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

// ours is a run of Cohort.
type ours struct {
	ctx    context.Context //nolint:containedctx // of the run
	server *exec.Cmd
	conn   *client.Client
	launch protocol.LaunchArguments
}

// pipes are the two ends of a server on its standard streams.
type pipes struct {
	io.Reader
	io.WriteCloser
}

func startOurs(ctx context.Context, cohort, mpi string, ranks int, program string) (*ours, error) {
	o := &ours{
		ctx: ctx, server: exec.CommandContext(ctx, cohort, "dap"),
		launch: protocol.LaunchArguments{Program: program, Ranks: ranks, MPI: mpi, StopOnEntry: true, Yield: "off"},
	}
	in, inErr := o.server.StdinPipe()
	out, outErr := o.server.StdoutPipe()
	o.server.Stderr = os.Stderr
	if err := errors.Join(inErr, outErr, o.server.Start()); err != nil {
		return nil, fmt.Errorf("starting cohort dap: %w", err)
	}
	o.conn = client.New(pipes{out, in}, func(client.Message) {})
	init := protocol.InitializeArguments{SupportsCohortEvents: true}
	init.AdapterID, init.LinesStartAt1, init.ColumnsStartAt1 = "cohort", true, true
	if err := o.ask("initialize", init, nil); err != nil {
		o.end()
		return nil, err
	}
	return o, nil
}

func (o *ours) ask(command string, args, result any) error {
	if err := o.conn.Request(o.ctx, command, args, result); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

func (o *ours) line(text string) error {
	return o.ask("evaluate", dap.EvaluateArguments{Expression: text, Context: "repl"}, nil)
}

// move carries out a line of the console that makes ranks run, and waits until all have stopped.
func (o *ours) move(line string) error {
	return errors.Join(o.line(line), o.ask(protocol.RequestWaitIdle, protocol.WaitArguments{Ranks: "all"}, nil))
}

func (o *ours) do(s step) error {
	switch s {
	case launchStep:
		return errors.Join(o.ask("launch", o.launch, nil), o.ask("configurationDone", struct{}{}, nil),
			o.ask(protocol.RequestWaitIdle, protocol.WaitArguments{}, nil))
	case initStep:
		return errors.Join(o.line("break work"), o.move("continue"))
	case continueStep:
		return o.move("continue")
	case nextStep:
		return o.move("next")
	case evaluateStep:
		return o.line("[all] p i")
	case stacksStep:
		return o.line("stacks")
	default:
		return errors.Join(o.line("pause"), o.ask(protocol.RequestWaitIdle, protocol.WaitArguments{Ranks: "all"}, nil))
	}
}

func (o *ours) resume() error { return errors.Join(o.line("delete 1"), o.line("continue")) }

func (o *ours) memory() (agents, gdbs uint64) { return memoryBelow(o.server.Process.Pid) }

func (o *ours) end() {
	_ = o.ask("disconnect", map[string]any{"terminateDebuggee": true}, nil) // it may have gone
	o.conn.Close()
	_ = o.server.Wait() // its status does not matter
}

// memoryBelow adds up the memory, in bytes, of a process and those below it: of gdbs, and of those that are Cohort's. A
// page that several processes share counts in parts.
func memoryBelow(root int) (agents, gdbs uint64) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	parent, name := map[int]int{}, map[int]string{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has gone
		}
		line := string(text)
		end := strings.LastIndexByte(line, ')')
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent[pid], _ = strconv.Atoi(strings.Fields(line[end+1:])[1])
		name[pid] = line[strings.IndexByte(line, '(')+1 : end]
	}
	for pid := range parent {
		up := pid
		for up > 1 && up != root {
			up = parent[up]
		}
		if up != root {
			continue
		}
		switch name[pid] {
		case "gdb":
			gdbs += shareOf(pid)
		case "cohort":
			agents += shareOf(pid)
		}
	}
	return agents, gdbs
}

// shareOf is the memory of a process in bytes, 0 if it has gone.
func shareOf(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nPss:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseUint(fields[0], 10, 64)
	return kib << 10
}
