package dap

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

// consoleStacks shows the stacks of all ranks that have stopped, of each the thread that did: equal ones once.
func consoleStacks(k *call, _ consoleLine) (answer, error) {
	status, err := k.d.Job.Status()
	if err != nil {
		return answer{}, err
	}
	ranks := inState(status, job.Stopped)
	if ranks.Empty() {
		return answer{}, notStopped("stacks needs a stopped rank, and none is stopped: pause first")
	}
	var mu sync.Mutex
	stacks, failures := map[int][]protocol.StackFrame{}, map[int]string{}
	var group sync.WaitGroup
	for rank := range ranks.Each {
		group.Go(func() {
			thread := protocol.ThreadID(rank, max(status[rank].Stop.Thread, 1))
			body, err := stackTrace(k, godap.StackTraceArguments{ThreadId: thread})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failures[rank] = "error: " + err.Error()
				return
			}
			stack := body.(godap.StackTraceResponseBody) //nolint:forcetypeassert // it is
			stacks[rank] = shownFrames(stack.StackFrames)
		})
	}
	group.Wait()
	got := answer{stacks: mergeStacks(stacks)}
	lines := append(stackTree(stacks), job.MergeTexts(failures)...)
	if len(stacks) == 0 {
		return got, quietly("%s", strings.Join(lines, "\n"))
	}
	got.text = strings.Join(lines, "\n")
	return got, nil
}

// shownFrames leaves out what is below the program and the MPI function that it calls, unless nothing else is there.
func shownFrames(frames []godap.StackFrame) []protocol.StackFrame {
	hidden := func(f godap.StackFrame) bool { return f.PresentationHint == "subtle" }
	shown := slices.DeleteFunc(slices.Clone(frames), hidden)
	if len(shown) == 0 {
		shown = frames
	}
	out := make([]protocol.StackFrame, len(shown))
	for i, f := range shown {
		out[i] = protocol.StackFrame{Function: f.Name, Line: f.Line}
		if f.Source != nil {
			out[i].File = f.Source.Path
		}
	}
	return out
}

// mergeStacks collects the ranks that have equal stacks, ordered by their lowest rank.
func mergeStacks(stacks map[int][]protocol.StackFrame) []protocol.MergedStack {
	var out []protocol.MergedStack
	var sets []rankset.Set
	for _, rank := range slices.Sorted(maps.Keys(stacks)) {
		frames := stacks[rank]
		i := slices.IndexFunc(out, func(s protocol.MergedStack) bool { return slices.Equal(s.Frames, frames) })
		if i < 0 {
			i = len(out)
			out, sets = append(out, protocol.MergedStack{Frames: frames}), append(sets, rankset.Set{})
		}
		sets[i] = sets[i].With(rank)
	}
	for i := range out {
		out[i].Ranks = sets[i].String()
	}
	return out
}

// stackTree draws stacks as a tree, from the outermost frame on: ranks share a line as far as they came the same way.
func stackTree(stacks map[int][]protocol.StackFrame) []string {
	root := &stackNode{}
	for _, rank := range slices.Sorted(maps.Keys(stacks)) {
		at := root
		for _, f := range slices.Backward(stacks[rank]) {
			at = at.child(f)
			at.ranks = at.ranks.With(rank)
		}
	}
	var lines []string
	for _, n := range root.children {
		lines = n.draw(lines, "")
	}
	return lines
}

// stackNode is a frame, and the frames that it has called.
type stackNode struct {
	frame    protocol.StackFrame
	ranks    rankset.Set
	children []*stackNode
}

func (n *stackNode) child(f protocol.StackFrame) *stackNode {
	for _, c := range n.children {
		if c.frame == f {
			return c
		}
	}
	c := &stackNode{frame: f}
	n.children = append(n.children, c)
	return c
}

// draw appends the lines of a frame and of what it has called; where all ranks went the same way they are named once.
func (n *stackNode) draw(lines []string, indent string) []string {
	label := "[" + n.ranks.String() + "] "
	lines = append(lines, indent+label+frameText(n.frame))
	for len(n.children) == 1 && n.children[0].ranks.Equal(n.ranks) {
		n = n.children[0]
		lines = append(lines, indent+strings.Repeat(" ", len(label))+frameText(n.frame))
	}
	for _, c := range n.children {
		lines = c.draw(lines, indent+"  ")
	}
	return lines
}

func frameText(f protocol.StackFrame) string {
	if f.File == "" {
		return f.Function
	}
	return fmt.Sprintf("%s at %s:%d", f.Function, filepath.Base(f.File), f.Line)
}
