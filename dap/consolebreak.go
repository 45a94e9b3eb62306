package dap

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

// breakArguments are those of break, tbreak and logpoint, and breakUsage is said with every mistake in them.
const (
	breakArguments = "FILE:LINE|FUNCTION [ranks SET] [mode rank|focus|all|causal] [hits HITS] [pending] " +
		"[if CONDITION]"
	breakUsage = "write: break " + breakArguments
)

// breakLine is what the arguments of break say.
type breakLine struct {
	bp      job.Breakpoint
	extra   protocol.BreakpointExtra
	pending bool // it may be in a library that is not loaded yet
}

func parseBreak(text string) (b breakLine, err error) {
	head, condition, _ := strings.Cut(" "+text+" ", " if ")
	b.bp.Condition = strings.TrimSpace(condition)
	words := strings.Fields(head)
	if len(words) == 0 {
		return b, refuse("a location is missing; %s", breakUsage)
	}
	location, words := words[0], words[1:]
	// a::b is a function of C++
	if i := strings.LastIndexByte(location, ':'); i < 0 || strings.HasSuffix(location[:i], ":") {
		b.bp.Function = location
	} else if b.bp.Line, err = strconv.Atoi(location[i+1:]); err != nil || b.bp.Line < 1 || i == 0 {
		return b, refuse("%s is neither FILE:LINE nor a function; %s", quoteShort(location), breakUsage)
	} else {
		b.bp.Source = location[:i]
	}
	for len(words) > 0 {
		option := words[0]
		if words = words[1:]; option == "pending" {
			b.pending = true
			continue
		}
		if len(words) == 0 {
			return b, refuse("%s has no value; %s", quoteShort(option), breakUsage)
		}
		value := words[0]
		words = words[1:]
		switch option {
		case "ranks":
			b.extra.Ranks = value
		case "mode":
			b.extra.Mode = value
		case "hits":
			b.bp.HitCondition = value
		default:
			return b, refuse("%s is not understood; %s", quoteShort(option), breakUsage)
		}
	}
	return b, nil
}

// consoleBreak is break and tbreak: one more breakpoint. What the console sets is apart from what the client sets by
// requests, which replace all of a source.
func consoleBreak(k *call, line consoleLine) (answer, error) {
	b, err := parseBreak(line.arguments)
	if err != nil {
		return answer{}, err
	}
	b.extra.Temporary = k.asked == "tbreak"
	return k.addBreakpoint(b)
}

// consoleLogPoint is a breakpoint that prints instead of stopping.
func consoleLogPoint(k *call, line consoleLine) (answer, error) {
	before, rest, opened := strings.Cut(line.arguments, `"`)
	message, after, closed := strings.Cut(rest, `"`)
	if !opened || !closed || strings.TrimSpace(message) == "" {
		return answer{}, refuse(
			"logpoint needs a message in quotes; write: logpoint FILE:LINE \"x is {x}\" [ranks SET] " +
				"[hits HITS] [if CONDITION]",
		)
	}
	b, err := parseBreak(before + " " + after)
	if err != nil {
		return answer{}, err
	}
	b.bp.LogMessage = message
	return k.addBreakpoint(b)
}

// consoleCatch is a breakpoint at what may happen anywhere.
func consoleCatch(k *call, line consoleLine) (answer, error) {
	b, err := parseBreak(line.arguments)
	if err != nil {
		return answer{}, err
	}
	if !slices.Contains(catches(), b.bp.Function) {
		return answer{}, refuse("catch does not know %s: use one of %s", quoteShort(b.bp.Function),
			strings.Join(catches(), ", "))
	}
	b.bp.Catch, b.bp.Function, b.bp.Source = backend.Catch(b.bp.Function), "", backend.ExceptionBreakpoints
	return k.addBreakpoint(b)
}

func (k *call) addBreakpoint(b breakLine) (answer, error) {
	d := k.d
	if b.bp.Line > 0 {
		b.bp.Source = d.typedPath(b.bp.Source)
	}
	bp, err := d.checkBreakpoint(b.bp, b.extra)
	if err != nil {
		return answer{}, refuse("the breakpoint cannot be set: %s", sentence(err.Error()))
	}
	own := breakpointOwner{k.c, true}
	before := d.breakpoints.of(own, bp.Source)
	last, err := k.setBreakpoint(before, len(before), bp, b.pending)
	if err != nil {
		return answer{}, err
	}
	there, err := k.ranksAt(bp, last)
	bp.ID, bp.Line = last.ID, max(last.Line, bp.Line)
	got := confirm("%s.", breakpointText(bp))
	if last.Message != "" {
		got = answer{text: breakpointText(bp) + ". " + last.Message}
	}
	if !there.Empty() && bp.LogMessage == "" {
		got.text += fmt.Sprintf(" Ranks [%s] are there already: continue leaves that place, and they stop when "+
			"they come to it again.", there)
		got.confirms = false
	}
	return got, err
}

// setBreakpoint makes bp the i-th of the console's breakpoints of its source, which are before now. If no rank can have
// it, and it is not pending, everything stays as it was.
func (k *call) setBreakpoint(before []job.Breakpoint, i int, bp job.Breakpoint, pending bool) (job.BreakpointStatus,
	error,
) {
	own := breakpointOwner{k.c, true}
	wanted := slices.Clone(before)
	if i == len(wanted) {
		wanted = append(wanted, bp)
	}
	wanted[i] = bp
	k.lockGate()
	statuses, err := k.d.breakpoints.set(k.ctx, own, bp.Source, wanted)
	if err != nil {
		return job.BreakpointStatus{}, err
	}
	if !statuses[i].Verified && !bp.Disabled && !pending {
		_, err := k.d.breakpoints.set(k.ctx, own, bp.Source, before)
		return statuses[i], cmp.Or(err, refuse("the breakpoint cannot be set: %s", statuses[i].Message))
	}
	return statuses[i], nil
}

// ranksAt are the ranks that have stopped at the place of a breakpoint that is new, such as main at the entry.
func (k *call) ranksAt(bp job.Breakpoint, at job.BreakpointStatus) (ranks rankset.Set, err error) {
	status, err := k.d.Job.Status()
	for _, s := range status {
		if s.State != job.Stopped || s.Hidden > 0 || len(s.Stop.Frames) == 0 ||
			!bp.Ranks.Empty() && !bp.Ranks.Contains(s.Rank) {
			continue
		}
		if f := s.Stop.Frames[0]; f.Line > 0 && f.Line == at.Line && f.File == at.Source {
			ranks = ranks.With(s.Rank)
		}
	}
	return ranks, err
}

// typedPath is a source's path as somebody types it: relative to the directory of this process, which is the user's if
// it is a script's or a terminal's, else as requests name it.
func (d *debuggee) typedPath(path string) string {
	if here, err := filepath.Abs(path); err == nil && readable(here) {
		return here
	}
	return d.sourcePath(path)
}

// breakpointText is a breakpoint in the words of break.
func breakpointText(bp job.Breakpoint) string {
	text := fmt.Sprintf("breakpoint %d: ", bp.ID)
	switch bp.Source {
	case backend.FunctionBreakpoints:
		text += bp.Function
	case backend.InstructionBreakpoints:
		text += fmt.Sprintf("%#x", bp.Address)
	case backend.DataBreakpoints:
		text += fmt.Sprintf("%s of %s", bp.Watch.Access, bp.Watch.Expression)
	case backend.ExceptionBreakpoints:
		text += "catch " + string(bp.Catch)
	default:
		text += fmt.Sprintf("%s:%d", bp.Source, bp.Line)
	}
	if bp.LogMessage != "" {
		text += fmt.Sprintf(" %q", bp.LogMessage)
	}
	if bp.Temporary {
		text += " temporary"
	}
	if !bp.Ranks.Empty() {
		text += " ranks " + bp.Ranks.String()
	}
	if bp.Mode != "" && bp.Mode != job.ModeRank {
		text += " mode " + string(bp.Mode)
	}
	if bp.HitCondition != "" {
		text += " hits " + bp.HitCondition
	}
	if bp.Condition != "" {
		text += " if " + bp.Condition
	}
	return text
}

func consoleBreakpoints(k *call, _ consoleLine) (answer, error) {
	list := k.d.breakpoints.all()
	if len(list) == 0 {
		return answer{text: "There are no breakpoints."}, nil
	}
	statuses, err := k.d.Job.Breakpoints()
	if err != nil {
		return answer{}, err
	}
	lines := make([]string, len(list))
	for i, bp := range list {
		if lines[i] = breakpointText(bp); statuses[bp.ID].Message != "" {
			lines[i] += ". " + statuses[bp.ID].Message
		}
	}
	return answer{text: strings.Join(lines, "\n")}, nil
}

// ownBreakpoint finds the console's breakpoint of a number, among those of its source.
func (k *call) ownBreakpoint(number string) (list []job.Breakpoint, i int, err error) {
	for _, bp := range k.d.breakpoints.all() {
		if strconv.Itoa(bp.ID) != number {
			continue
		}
		list := k.d.breakpoints.of(breakpointOwner{k.c, true}, bp.Source)
		i := slices.IndexFunc(list, func(b job.Breakpoint) bool { return b.ID == bp.ID })
		if i < 0 {
			return nil, 0, refuse(
				"breakpoint %d was not set by this console: change or remove it where it was set",
				bp.ID,
			)
		}
		return list, i, nil
	}
	return nil, 0, refuse("there is no breakpoint %s (breakpoints lists them)", number)
}

func consoleDelete(k *call, line consoleLine) (answer, error) {
	list, i, err := k.ownBreakpoint(line.arguments)
	if err != nil {
		return answer{}, err
	}
	k.lockGate()
	bp := list[i]
	_, err = k.d.breakpoints.set(k.ctx, breakpointOwner{k.c, true}, bp.Source, slices.Delete(list, i, i+1))
	return confirm("Breakpoint %d was removed.", bp.ID), err
}

// consoleEnable is enable and disable.
func consoleEnable(k *call, line consoleLine) (answer, error) {
	list, i, err := k.ownBreakpoint(line.arguments)
	if err != nil {
		return answer{}, err
	}
	bp := list[i]
	if bp.Source == backend.DataBreakpoints {
		return answer{}, setAgain(bp)
	}
	bp.Disabled = k.asked == "disable"
	_, err = k.setBreakpoint(list, i, bp, true)
	return confirm("Breakpoint %d is %sd.", bp.ID, k.asked), err
}

// consoleCondition changes the condition of a breakpoint, and its ranks if the new one begins with a rank set.
func consoleCondition(k *call, line consoleLine) (answer, error) {
	number, condition, _ := strings.Cut(line.arguments, " ")
	list, i, err := k.ownBreakpoint(number)
	if err != nil {
		return answer{}, err
	}
	before, bp := list[i], list[i]
	if bp.Source == backend.DataBreakpoints {
		return answer{}, setAgain(bp)
	}
	bp.Condition = strings.TrimSpace(condition)
	bp, err = k.d.checkBreakpoint(bp, protocol.BreakpointExtra{Mode: string(bp.Mode), Temporary: bp.Temporary})
	if err != nil {
		return answer{}, err
	}
	if bp.Ranks.Empty() {
		bp.Ranks = before.Ranks
	}
	statuses, err := k.d.Job.Breakpoints()
	if err != nil {
		return answer{}, err
	}
	_, err = k.setBreakpoint(list, i, bp, !statuses[bp.ID].Verified)
	return confirm("%s.", breakpointText(bp)), err
}

// setAgain refuses to change a data breakpoint: the frame of its expression may be gone.
func setAgain(bp job.Breakpoint) error {
	return refuse(
		"breakpoint %d is a data breakpoint, which belongs to the frame in which it was set: delete it, and set "+
			"another one",
		bp.ID,
	)
}

func startsWithNumber(arguments string) bool {
	number, _, _ := strings.Cut(arguments, " ")
	return isNumber(number)
}
