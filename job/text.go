package job

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// stopText says in whole sentences why and where a rank stopped.
func stopText(rank int, s *backend.Stopped) string {
	text := stopSentence(rank, s)
	if s.Text != "" {
		text += " " + prose.Stop(s.Text)
	}
	return text
}

func stopSentence(rank int, s *backend.Stopped) string {
	who := fmt.Sprintf("Rank %d", rank)
	at := place(s.Frames)
	switch s.Reason {
	case backend.ReasonEntry:
		return who + " is at its entry" + at + "."
	case backend.ReasonBreakpoint:
		return who + " hit " + breakpointNames(s.Breakpoints) + at + "."
	case backend.ReasonData:
		return who + " hit data " + breakpointNames(s.Breakpoints) + at + "."
	case backend.ReasonStep:
		return who + " has finished its step" + at + "."
	case backend.ReasonPause:
		return who + " was paused" + at + "."
	case backend.ReasonSignal:
		if s.Caught != nil {
			visible, _ := HideInternal(s.Frames)
			return who + " " + s.Caught.Text + place(visible[UserFrame(visible):]) + "."
		}
		return who + " received " + signalName(s) + at + "."
	case backend.ReasonStopPoint:
		return stopPointSentence(who, at, s)
	case backend.ReasonCore:
		return who + " was" + at + " when its core file was written."
	}
	return fmt.Sprintf("%s stopped (%s)%s.", who, s.Reason, at)
}

func breakpointNames(ids []int) string {
	switch len(ids) {
	case 0:
		return "a breakpoint"
	case 1:
		return fmt.Sprintf("breakpoint %d", ids[0])
	}
	names := strings.Fields(strings.Trim(fmt.Sprint(ids), "[]"))
	last := len(names) - 1
	return "breakpoints " + strings.Join(names[:last], ", ") + " and " + names[last]
}

func signalName(s *backend.Stopped) string {
	name := cmp.Or(s.Signal, "a signal")
	if s.SignalText != "" {
		name += " (" + s.SignalText + ")"
	}
	if s.FaultAddr != 0 {
		name += fmt.Sprintf(" for address %#x", s.FaultAddr)
	}
	return name
}

// stopPointSentence describes a stop in cohort_stop_here.
func stopPointSentence(who, at string, s *backend.Stopped) string {
	c := s.Control
	switch stopReason(c) {
	case abi.StopParked:
		if c.Events == 0 {
			return who + " is at its causal position, before its first event" + at + "."
		}
		return fmt.Sprintf("%s is at its causal position, after event %d%s%s.", who, c.Events, calledMPI(s.Frames), at)
	case abi.StopGuard:
		return fmt.Sprintf("%s is about to begin event %d%s%s, and goes no further because the cut ends before it.",
			who, c.Events+1, calledMPI(s.Frames), at)
	case abi.StopDivergence:
		return fmt.Sprintf("%s left the recording%s: %s", who, at, divergenceText(c.Divergence))
	case abi.StopEnd:
		return fmt.Sprintf("%s has come to the end of its recording, after event %d%s; the recorded run was cut "+
			"short there, so what follows is not known.", who, c.Events, at)
	}
	return fmt.Sprintf("%s is at a stop point after event %d%s.", who, c.Events, at)
}

// stopReason is why a rank is in cohort_stop_here. The control block's stop_reason is about the state STOPPED only.
func stopReason(c backend.ControlState) abi.StopReason {
	switch c.State {
	case abi.StateDiverged:
		return abi.StopDivergence
	case abi.StateEnd:
		return abi.StopEnd
	}
	return c.StopReason
}

// Diverged tells whether a rank at a stop point is there because it left the recording.
func Diverged(c backend.ControlState) bool { return stopReason(c) == abi.StopDivergence }

// AtRecordingEnd tells whether a rank at a stop point is there because its recording was cut short.
func AtRecordingEnd(c backend.ControlState) bool { return stopReason(c) == abi.StopEnd }

func divergenceText(d *backend.Divergence) string {
	if d == nil {
		return "it made a call that is not the recorded one."
	}
	actual := call(d.ActualOp, d.ActualSource, d.ActualTag)
	where := ""
	if d.File != "" {
		where = fmt.Sprintf(" at %s:%d", filepath.Base(d.File), d.Line)
	}
	if d.Unnoticed {
		return UnnoticedText(d)
	}
	if d.RecordedOp == "" {
		return fmt.Sprintf("its event %d is %s%s, but the recording holds no further decision.", d.Event, actual, where)
	}
	recorded := call(d.RecordedOp, d.RecordedSource, d.RecordedTag)
	if d.RecordedEvent != d.Event {
		recorded += fmt.Sprintf(" as event %d", d.RecordedEvent)
	}
	return fmt.Sprintf("its event %d is %s%s, but the recording has %s.", d.Event, actual, where, recorded)
}

// UnnoticedText describes a divergence that no decision tells.
func UnnoticedText(d *backend.Divergence) string {
	return fmt.Sprintf("one of its calls from event %d to event %d, %s, is not the recorded one. None of them has a "+
		"recorded outcome, so it was noticed "+
		"only when all of them were compared, and which one it was is not known.", d.RecordedEvent+1, d.Event,
		d.ActualOp)
}

// RecentCalls are lines about the last calls of a rank that left its recording, at most ten and the one in progress,
// oldest first.
func RecentCalls(rank int, calls []backend.RecentCall) []string {
	const most = 11
	var lines []string
	for _, c := range calls[max(len(calls), most)-most:] {
		line := fmt.Sprintf("%d:%d %s", rank, c.Event, CallText(c))
		switch {
		case c.File != "":
			line += fmt.Sprintf(" at %s:%d", filepath.Base(c.File), c.Line)
		case c.Function == "" && c.CallSite != 0:
			line += fmt.Sprintf(" from %#x", c.CallSite)
		}
		if c.Function != "" {
			line += " in " + c.Function
		}
		lines = append(lines, line)
	}
	return lines
}

// CallText is a call with what it named: "MPI_Recv (any source, tag 2, message of 1)".
func CallText(c backend.RecentCall) string {
	peer, tag := known("peer %d", c.Peer), known("tag %d", c.Tag)
	switch {
	case c.Peer == -1:
		peer = "any source"
	case c.Peer == -2:
		peer = "MPI_PROC_NULL"
	}
	if c.Tag == -1 {
		tag = "any tag"
	}
	return withArguments(c.Op, peer, tag, known("message of %d", c.Got))
}

func call(op string, source, tag int) string {
	return withArguments(cmp.Or(op, "an unknown call"), known("source %d", source), known("tag %d", tag))
}

// known is a number for people, "" if it is not known or not applicable.
func known(format string, n int) string {
	if n == math.MinInt32 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// withArguments is "MPI_Recv (source 1, tag 2)", of the arguments that are not empty.
func withArguments(op string, arguments ...string) string {
	arguments = slices.DeleteFunc(arguments, func(a string) bool { return a == "" })
	if len(arguments) == 0 {
		return op
	}
	return op + " (" + strings.Join(arguments, ", ") + ")"
}

// place is " in FUNCTION (FILE:LINE)" of the innermost frame that is not the interposer's, or "".
func place(frames []backend.Frame) string {
	visible, _ := HideInternal(frames)
	if len(visible) == 0 {
		return ""
	}
	user := UserFrame(visible)
	f := visible[user]
	out := ""
	if f.Function != "" {
		out = " in " + f.Function
	}
	switch {
	case f.File != "" && f.Line > 0:
		out += fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
	case f.Function == "" && f.PC != 0:
		out = fmt.Sprintf(" at %#x", f.PC)
	}
	if user > 0 && visible[user-1].Function != "" {
		out += ", inside " + visible[user-1].Function // what the user's code called
	}
	return out
}

// calledMPI is " (MPI_Recv)" if the interposer's outermost frame at the top is the wrapper of an MPI function that the
// program called.
func calledMPI(frames []backend.Frame) string {
	_, hidden := HideInternal(frames)
	if hidden == 0 {
		return ""
	}
	if name := frames[hidden-1].Function; isMPI(name) {
		return " (" + name + ")"
	}
	return ""
}

// statusText is RankStatus.Text.
func statusText(s *RankStatus) string {
	switch s.State {
	case Starting:
		return fmt.Sprintf("Rank %d has not come to its entry yet.", s.Rank)
	case Stopped:
		return s.Stop.Text
	case Exited:
		return fmt.Sprintf("Rank %d %s.", s.Rank, exitText(*s.Exit))
	case Lost:
		return fmt.Sprintf("Rank %d %s.", s.Rank, s.Lost)
	}
	return runningText(s)
}

func runningText(s *RankStatus) string {
	switch c := s.Control; {
	case !c.Present:
	case c.State == abi.StateParked:
		return fmt.Sprintf("Rank %d waits at its position, after event %d, until the others have reached theirs.",
			s.Rank, c.Events)
	case c.State == abi.StateFinalized:
		return fmt.Sprintf("Rank %d runs, and has finished with MPI.", s.Rank)
	case c.State == abi.StateDiverged:
		return fmt.Sprintf("Rank %d left the recording: %s", s.Rank, divergenceText(c.Divergence))
	case c.State == abi.StateEnd:
		return fmt.Sprintf("Rank %d has come to the end of its recording, after event %d, and waits there.", s.Rank,
			c.Events)
	case c.State == abi.StateRefused:
		return fmt.Sprintf("Rank %d: libcohort refused: %s", s.Rank, prose.Stop(c.Message))
	}
	return fmt.Sprintf("Rank %d is running.", s.Rank)
}

// Blocked says why a rank cannot complete any more events; if it can, at which one it is.
func Blocked(c backend.ControlState) string {
	switch c.State {
	case abi.StateDiverged:
		return "it left the recording: " + divergenceText(c.Divergence)
	case abi.StateRefused:
		return "libcohort refused: " + prose.Stop(c.Message)
	case abi.StateEnd:
		return fmt.Sprintf("its recording ends after event %d.", c.Events)
	case abi.StateFinalized:
		return fmt.Sprintf("it finished with MPI after event %d.", c.Events)
	}
	return fmt.Sprintf("it is at event %d.", c.Events)
}

func exitText(e backend.Exited) string {
	if e.Signal != "" {
		return "was killed by " + e.Signal
	}
	return fmt.Sprintf("exited with code %d", e.Code)
}

// lostText is RankStatus.Lost of a rank whose backend has ended.
func lostText(r *rank, e backend.Ended) string {
	switch {
	case r.killed:
		return "was terminated at your request"
	case e.Err == "":
		return "is lost: its debugger ended unexpectedly"
	}
	return "is lost: " + strings.TrimSuffix(e.Err, ".")
}

// summary describes how all ranks ended. Owner.
func (j *Job) summary() *Ended {
	texts := make(map[int]string, j.n)
	for _, r := range j.ranks {
		texts[r.num] = r.lost
		if r.state == Exited {
			texts[r.num] = exitText(*r.exit)
		}
	}
	return &Ended{Summary: strings.Join(MergeTexts(texts), ", ")}
}
