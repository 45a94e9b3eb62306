package dap

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
)

// dataID names what a data breakpoint watches: a rank, the id of the frame in which the expression is evaluated, and
// the expression, as in "2:17:u[1]".
type dataID struct {
	rank, frame int
	expression  string
}

func (id dataID) String() string { return fmt.Sprintf("%d:%d:%s", id.rank, id.frame, id.expression) }

func parseDataID(text string, ranks int) (id dataID, err error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) == 3 {
		rank, rankErr := strconv.Atoi(parts[0])
		frame, frameErr := strconv.Atoi(parts[1])
		if rankErr == nil && frameErr == nil && rank >= 0 && rank < ranks && parts[2] != "" {
			return dataID{rank, frame, parts[2]}, nil
		}
	}
	return id, refuse("there is no dataId %s: use one that dataBreakpointInfo gave", quoteShort(text))
}

// dataBreakpointInfo answers without a dataId, and with the reason, for what cannot be watched.
func dataBreakpointInfo(k *call, a godap.DataBreakpointInfoArguments) (any, error) {
	at, expression, err := k.named(a.VariablesReference, a.FrameId, a.Name)
	if err != nil {
		return nil, err
	}
	no := func(format string, args ...any) (any, error) {
		return godap.DataBreakpointInfoResponseBody{
			Description: sentence(fmt.Sprintf("%s cannot be watched: ", a.Name) + fmt.Sprintf(format, args...)),
		}, nil
	}
	if expression == "" {
		return no("it is no variable of the program")
	}
	value, err := onRank(k, at.rank, func(b backend.Backend) (backend.EvaluateResult, error) {
		return b.Evaluate(k.ctx, backend.EvaluateRequest{
			Frame: at.frame, Expression: expression, Context: backend.ContextWatch,
		})
	})
	switch {
	case err != nil:
		return no("%v", err)
	case value.Address == 0:
		return no("it is not in memory")
	}
	id := dataID{at.rank, k.c.view.frameID(at.moment, at.frame), expression}
	if id.frame == 0 {
		return nil, notStopped("dataBreakpointInfo was overtaken: rank %d has resumed", at.rank)
	}
	return godap.DataBreakpointInfoResponseBody{
		DataId:      id.String(),
		Description: fmt.Sprintf("%s of rank %d", expression, at.rank),
		AccessTypes: []godap.DataBreakpointAccessType{"write", "read", "readWrite"},
	}, nil
}

// named is the frame and the expression of a variable that a client names by what holds it, or of an expression in a
// frame. The expression is empty for what is no variable of the program.
func (k *call) named(reference, frameID int, name string) (at handle, expression string, err error) {
	if reference == 0 {
		if frameID == 0 {
			return at, "", refuse("%s needs `variablesReference`, or `frameId`, which says in which rank", k.asked)
		}
		at, err = k.c.view.frame(frameID)
		return at, name, err
	}
	if at, err = k.c.view.referenced(reference); err != nil {
		return at, "", err
	}
	req := backend.VariablesRequest{Ref: at.ref}
	list, err := onRank(k, at.rank, func(b backend.Backend) (backend.VariablesResult, error) {
		// Of a long array only a bounded part is listed at once.
		if i, isIndex := strconv.Atoi(name); isIndex == nil && i >= 0 {
			one := backend.VariablesRequest{Ref: at.ref, Start: i, Count: 1}
			if list, err := b.Variables(k.ctx, one); err == nil && len(list.Variables) == 1 &&
				list.Variables[0].Name == name {
				return list, nil
			}
		}
		return b.Variables(k.ctx, req)
	})
	if err != nil {
		return at, "", err
	}
	i := slices.IndexFunc(list.Variables, func(v backend.Variable) bool { return v.Name == name })
	if i < 0 {
		return at, "", refuse("%s names %s, and there is no such variable there", k.asked, quoteShort(name))
	}
	return at, list.Variables[i].EvaluateName, nil
}

// setDataBreakpoints replaces all data breakpoints of the client. One that is set already stays, also when the frame of
// its dataId is gone.
func setDataBreakpoints(k *call, a protocol.SetDataBreakpointsArguments) (any, error) {
	list, err := k.setAll(backend.DataBreakpoints, len(a.Breakpoints), func(i int) (job.Breakpoint, error) {
		return k.watch(breakpointOwner{client: k.c}, a.Breakpoints[i])
	})
	return godap.SetDataBreakpointsResponseBody{Breakpoints: list}, err
}

// watch is a data breakpoint as the job wants it. It is its rank's alone unless ranks are named.
func (k *call) watch(own breakpointOwner, b protocol.DataBreakpoint) (bp job.Breakpoint, err error) {
	id, err := parseDataID(b.DataId, k.d.Job.Ranks())
	if err != nil {
		return bp, err
	}
	bp = job.Breakpoint{
		Source: backend.DataBreakpoints, WatchRank: id.rank, Condition: b.Condition, HitCondition: b.HitCondition,
		Watch: backend.Watch{
			Key: b.DataId, Expression: id.expression, Access: cmp.Or(backend.Access(b.AccessType), backend.Write),
		},
	}
	switch bp.Watch.Access {
	case backend.Write, backend.Read, backend.ReadWrite:
	default:
		return bp, refuse("there is no access type %s: use \"write\", \"read\" or \"readWrite\"",
			quoteShort(string(b.AccessType)))
	}
	if b.Mode == protocol.ModeCausal {
		return bp, refuse(
			"a data breakpoint cannot have the mode causal: where it is hit cannot be looked up in advance",
		)
	}
	if !strings.HasPrefix(strings.TrimSpace(bp.Condition), "[") && b.Ranks == "" {
		b.Ranks = strconv.Itoa(id.rank)
	}
	if bp, err = k.d.checkBreakpoint(bp, b.BreakpointExtra); err != nil {
		return bp, err
	}
	for _, set := range k.d.breakpoints.of(own, backend.DataBreakpoints) {
		bp.Watch.Frame = set.Watch.Frame
		if sameBreakpoint(set, bp) {
			return bp, nil
		}
	}
	frame, err := k.c.view.frame(id.frame)
	bp.Watch.Frame = frame.frame
	return bp, err
}
