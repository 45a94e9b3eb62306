package job

import (
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

func TestStopTexts(t *testing.T) {
	main := backend.Frame{Function: "exchange", File: "/src/heat.c", Line: 40}
	user := []backend.Frame{main}
	inRecv := []backend.Frame{
		{Function: "cohort_stop_here", Internal: true},
		{Function: "MPI_Recv", Internal: true},
		main,
	}
	stopPoint := func(reason abi.StopReason, c backend.ControlState) backend.Stopped {
		c.Present, c.StopReason = true, reason
		return backend.Stopped{Reason: backend.ReasonStopPoint, Frames: inRecv, Control: c}
	}
	na := abi.NoRank
	for _, c := range []struct {
		stop backend.Stopped
		want string
	}{
		{backend.Stopped{Reason: backend.ReasonEntry, Frames: user}, "Rank 2 is at its entry in exchange (heat.c:40)."},
		{
			backend.Stopped{Reason: backend.ReasonBreakpoint, Breakpoints: []int{3}, Frames: user},
			"Rank 2 hit breakpoint 3 in exchange (heat.c:40).",
		},
		{
			backend.Stopped{Reason: backend.ReasonBreakpoint, Breakpoints: []int{3, 4, 9}, Frames: user},
			"Rank 2 hit breakpoints 3, 4 and 9 in exchange (heat.c:40).",
		},
		{backend.Stopped{Reason: backend.ReasonBreakpoint}, "Rank 2 hit a breakpoint."},
		{
			backend.Stopped{Reason: backend.ReasonStep, Frames: user},
			"Rank 2 has finished its step in exchange (heat.c:40).",
		},
		{
			backend.Stopped{Reason: backend.ReasonPause, Frames: []backend.Frame{{Function: "poll", PC: 16}}},
			"Rank 2 was paused in poll.",
		},
		{
			backend.Stopped{Reason: backend.ReasonPause, Frames: []backend.Frame{{PC: 0x1234}}},
			"Rank 2 was paused at 0x1234.",
		},
		{backend.Stopped{
			Reason: backend.ReasonSignal, Signal: "SIGFPE", SignalText: "Arithmetic exception",
			Frames: user,
		}, "Rank 2 received SIGFPE (Arithmetic exception) in exchange (heat.c:40)."},
		{
			backend.Stopped{Reason: backend.ReasonSignal, Signal: "SIGSEGV", FaultAddr: 0x10, Text: "It read there"},
			"Rank 2 received SIGSEGV for address 0x10. It read there.",
		},
		{backend.Stopped{Reason: "watchpoint"}, "Rank 2 stopped (watchpoint)."},
		{
			stopPoint(abi.StopParked, backend.ControlState{Events: 17}),
			"Rank 2 is at its causal position, after event 17 (MPI_Recv) in exchange (heat.c:40).",
		},
		{
			stopPoint(abi.StopParked, backend.ControlState{}),
			"Rank 2 is at its causal position, before its first event in exchange (heat.c:40).",
		},
		{
			stopPoint(abi.StopGuard, backend.ControlState{Events: 17}),
			"Rank 2 is about to begin event 18 (MPI_Recv) in " +
				"exchange (heat.c:40), and goes no further because the cut ends before it.",
		},
		{stopPoint(abi.StopEnd, backend.ControlState{Events: 17}), "Rank 2 has come to the end of its recording, " +
			"after event 17 in exchange (heat.c:40); the recorded run was cut short there, so what follows is not " +
			"known."},
		{
			stopPoint(abi.StopDivergence, backend.ControlState{Divergence: &backend.Divergence{
				Event: 12, RecordedEvent: 12, RecordedOp: "MPI_Recv", RecordedSource: 1, RecordedTag: 5,
				ActualOp: "MPI_Probe", ActualSource: na, ActualTag: na, File: "/src/heat.c", Line: 41,
			}}),
			"Rank 2 left the recording in exchange (heat.c:40): its event 12 is MPI_Probe at heat.c:41, but the " +
				"recording has MPI_Recv (source 1, tag 5).",
		},
		{
			stopPoint(abi.StopDivergence, backend.ControlState{Divergence: &backend.Divergence{
				Event: 12, RecordedEvent: 14, RecordedOp: "MPI_Recv", RecordedSource: na, RecordedTag: na,
				ActualOp: "MPI_Irecv", ActualSource: 0, ActualTag: na,
			}}),
			"Rank 2 left the recording in exchange (heat.c:40): its event 12 is MPI_Irecv (source 0), but the " +
				"recording has MPI_Recv as event 14.",
		},
		{
			stopPoint(abi.StopDivergence,
				backend.ControlState{Divergence: &backend.Divergence{
					Event: 12, ActualOp: "MPI_Recv", ActualSource: na,
					ActualTag: na,
				}}),
			"Rank 2 left the recording in exchange (heat.c:40): its event 12 is MPI_Recv, but the recording holds no " +
				"further decision.",
		},
		{
			stopPoint(abi.StopDivergence, backend.ControlState{}),
			"Rank 2 left the recording in exchange (heat.c:40): it made a call that is not the recorded one.",
		},
		{
			stopPoint(0, backend.ControlState{Events: 3}),
			"Rank 2 is at a stop point after event 3 in exchange (heat.c:40).",
		},
	} {
		wantText(t, string(c.stop.Reason), stopText(2, &c.stop), c.want)
	}
}

func TestStatusTexts(t *testing.T) {
	control := func(state abi.State) backend.ControlState {
		return backend.ControlState{
			Present: true, State: state, Events: 4,
			Message: "the recording is of another rank count",
		}
	}
	for _, c := range []struct {
		s    RankStatus
		want string
	}{
		{RankStatus{Rank: 1}, "Rank 1 has not come to its entry yet."},
		{RankStatus{Rank: 1, State: Running}, "Rank 1 is running."},
		{RankStatus{Rank: 1, State: Running, Control: control(abi.StateRunning)}, "Rank 1 is running."},
		{
			RankStatus{Rank: 1, State: Running, Control: control(abi.StateParked)},
			"Rank 1 waits at its position, after event 4, until the others have reached theirs.",
		},
		{
			RankStatus{Rank: 1, State: Running, Control: control(abi.StateFinalized)},
			"Rank 1 runs, and has finished with MPI.",
		},
		{
			RankStatus{Rank: 1, State: Running, Control: control(abi.StateDiverged)},
			"Rank 1 left the recording: it made a call that is not the recorded one.",
		},
		{
			RankStatus{Rank: 1, State: Running, Control: control(abi.StateEnd)},
			"Rank 1 has come to the end of its recording, after event 4, and waits there.",
		},
		{
			RankStatus{Rank: 1, State: Running, Control: control(abi.StateRefused)},
			"Rank 1: libcohort refused: the recording is of another rank count.",
		},
		{RankStatus{Rank: 1, State: Exited, Exit: &backend.Exited{Code: 3}}, "Rank 1 exited with code 3."},
		{RankStatus{Rank: 1, State: Exited, Exit: &backend.Exited{Signal: "SIGABRT"}}, "Rank 1 was killed by SIGABRT."},
		{RankStatus{Rank: 1, State: Lost, Lost: "is lost: why"}, "Rank 1 is lost: why."},
	} {
		wantText(t, c.s.State.String(), statusText(&c.s), c.want)
	}
}
