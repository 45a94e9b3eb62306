package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/handles"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/rankset"
)

// checkAttach refuses arguments that make no sense with ranks that run already.
func checkAttach(args protocol.LaunchArguments) error {
	target := args.Attach
	if (len(target.Pids) > 0) == (target.Program != "") {
		return refuse("Either process ids or the name of a program say what to attach to.")
	}
	for name, given := range map[string]bool{
		"program": args.Program != "", "recording": args.Recording != "", "noDebug": args.NoDebug,
		"cores": len(args.Cores) > 0, "args": len(args.Args) > 0, "debugger": args.Debugger == "delve",
	} {
		if given {
			return refuse("%q cannot be given with \"attach\": the ranks run already. Leave %q out.", name, name)
		}
	}
	return nil
}

// noRegistryAttached says why the handles of a rank cannot be decoded.
const noRegistryAttached = "This rank was started without Cohort's library libcohort.so, so its MPI handles cannot " +
	"be decoded. Ranks have it when cohort starts them, or with LD_PRELOAD in their environment: `cohort library " +
	"PROGRAM` prints its path."

// attach makes a job of ranks that run: one gdb for each, in this process's care.
func (s *Starter) attach(ctx context.Context, args protocol.LaunchArguments, report dap.Progress) (dap.Started, error) {
	n := &notes{report: report}
	found, size, err := attachTo(*args.Attach, n)
	if err != nil {
		return dap.Started{}, err
	}
	held, err := hold(found)
	if err != nil {
		return dap.Started{}, err
	}
	j := job.New(job.Options{Ranks: size, Log: s.Log})
	for rank := range size {
		p := found[rank]
		if p == nil {
			err = errors.Join(err, j.Absent(rank, "is not attached to"))
			continue
		}
		g := &attachedBackend{pid: p.pid, Backend: gdb.New(gdb.Options{Log: s.Log})}
		decoder := handles.New(g)
		if !p.cohort {
			decoder.NoRegistry = noRegistryAttached
		}
		b := handles.Around(g, decoder, s.Log)
		if failed := j.Attach(rank, b, job.Info{Pid: p.pid}); failed != nil {
			err = errors.Join(err, failed, b.Kill(ctx))
		}
	}
	if err != nil {
		err = errors.Join(err, j.Kill(ctx), held.release())
		j.Close()
		return dap.Started{}, err
	}
	first := slices.Min(slices.Collect(maps.Keys(found)))
	return dap.Started{
		Job: j, Attached: true, Attend: first, Notes: n.list, Terminate: held.kill,
		Launch: backend.LaunchRequest{Program: found[first].command[0], DebuggerPath: args.Gdb},
		Stop:   func(context.Context) error { return held.release() }, // Job.Kill ends the debuggers
	}, nil
}

// attachTo finds the processes of the ranks, and how many ranks the job has.
func attachTo(target protocol.AttachTarget, n *notes) (map[int]*process, int, error) {
	found, err := readProcesses().ranks(target)
	if err != nil {
		return nil, 0, err
	}
	size, without := 0, []int{}
	for rank, p := range found {
		size = max(size, p.size, rank+1)
	}
	if size > launch.MaxRanks {
		return nil, 0, refuse("The job has %d ranks, and Cohort shows jobs of at most %d.", size, launch.MaxRanks)
	}
	if target.Ranks != "" {
		wanted, err := rankset.Parse(target.Ranks, size)
		if err != nil {
			return nil, 0, refuse("The ranks %q cannot be attached to: %v.", target.Ranks, err)
		}
		maps.DeleteFunc(found, func(rank int, _ *process) bool { return !wanted.Contains(rank) })
		if len(found) == 0 {
			return nil, 0, refuse("None of the ranks %s runs on this host.", wanted)
		}
	}
	for rank, p := range found {
		if p.tracer != 0 {
			return nil, 0, refuse("Rank %d, %v, is being debugged already, by process %d. Detach that debugger first.",
				rank, p, p.tracer)
		}
		if !p.cohort {
			without = append(without, rank)
		}
	}
	if len(found) < size {
		n.add(fmt.Sprintf("The job has %d ranks, of which %s are attached to; the others are shown as lost.", size,
			rankset.New(slices.Collect(maps.Keys(found))...)))
	}
	if len(without) > 0 {
		n.add(fmt.Sprintf("The ranks %s run without Cohort's library, so there are no positions, no MPI calls by name "+
			"with their buffers, and no mpipp of handles; stacks, variables and breakpoints work. `cohort debug` or "+
			"LD_PRELOAD=$(cohort library PROGRAM) starts ranks with it.", rankset.New(without...)))
	}
	return found, size, nil
}

// attachedBackend attaches to its rank when it is launched.
type attachedBackend struct {
	*gdb.Backend
	pid int
}

// Launch implements backend.Backend.
func (b *attachedBackend) Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	req.Attach = b.pid
	return b.Backend.Launch(ctx, req)
}

// Control implements backend.Backend: the control block of a rank, if it has one, is somebody else's.
func (b *attachedBackend) Control(context.Context, backend.ControlRequest) (backend.ControlState, error) {
	return backend.ControlState{}, nil
}

// heldProcesses are descriptors of the ranks, so that no other process can be meant by their numbers.
type heldProcesses []int

func hold(found map[int]*process) (heldProcesses, error) {
	var held heldProcesses
	for rank, p := range found {
		fd, err := unix.PidfdOpen(p.pid, 0)
		if err == nil {
			held = append(held, fd)
			if now := readProcess(p.pid); now == nil || now.rank != rank {
				err = unix.ESRCH
			}
		}
		if err != nil {
			return nil, errors.Join(refuse("Rank %d, %v, has ended meanwhile (%v).", rank, p, err), held.release())
		}
	}
	return held, nil
}

// kill ends the ranks.
func (h heldProcesses) kill() {
	for _, fd := range h {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) //nolint:errcheck // it may have ended
	}
}

func (h *heldProcesses) release() error {
	var err error
	for _, fd := range *h {
		err = errors.Join(err, unix.Close(fd))
	}
	*h = nil
	return err
}
