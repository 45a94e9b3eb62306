package dap

import (
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
)

// signalFilter is the filter of what always stops its rank.
const signalFilter = "signals"

// exceptionFilters are DAP's, and but for the first what the console's catch knows. On by default is what hardly any
// program does unless it is wrong.
var exceptionFilters = []godap.ExceptionBreakpointsFilter{
	{
		Filter: signalFilter, Label: "Signals", Default: true,
		Description: "A rank stops when it receives a signal that is an error, such as SIGSEGV, SIGFPE or SIGABRT.",
	},
	filter(backend.CatchMPIErrors, true, "MPI errors", "when an MPI call fails, before its error handler runs"),
	filter(backend.CatchMPIAbort, true, "MPI_Abort", "when it calls MPI_Abort"),
	filter(backend.CatchThrow, false, "C++ exceptions thrown", "where it throws a C++ exception"),
	filter(backend.CatchCatch, false, "C++ exceptions caught", "where it catches a C++ exception"),
	filter(backend.CatchExit, false, "Exit with a status other than 0", "when it is about to exit with such a status"),
}

func filter(name backend.Catch, isDefault bool, label, when string) godap.ExceptionBreakpointsFilter {
	return godap.ExceptionBreakpointsFilter{
		Filter: string(name), Label: label, Description: "A rank stops " + when + ".", Default: isDefault,
		SupportsCondition: true, ConditionDescription: "[0,2]: on these ranks; an expression may follow",
	}
}

// catches are the names of what catch and the filters have in common.
func catches() []string {
	names := make([]string, len(exceptionFilters)-1)
	for i, f := range exceptionFilters[1:] {
		names[i] = f.Filter
	}
	return names
}

func setExceptionBreakpoints(k *call, a protocol.SetExceptionBreakpointsArguments) (any, error) {
	filters := make([]protocol.ExceptionFilterOptions, len(a.Filters))
	for i, name := range a.Filters {
		filters[i].FilterID = name
	}
	filters = append(filters, a.FilterOptions...)
	var others []protocol.ExceptionFilterOptions
	for _, f := range filters {
		if f.FilterID != signalFilter {
			others = append(others, f)
		}
	}
	list, err := k.setAll(backend.ExceptionBreakpoints, len(others), func(i int) (job.Breakpoint, error) {
		f := others[i]
		bp := job.Breakpoint{
			Source:    backend.ExceptionBreakpoints,
			Catch:     backend.Catch(f.FilterID),
			Condition: f.Condition,
		}
		if !slices.Contains(catches(), f.FilterID) {
			return bp, refuse("there is no exception filter %s; there are %s, %s", quoteShort(f.FilterID), signalFilter,
				strings.Join(catches(), ", "))
		}
		return k.d.checkBreakpoint(bp, protocol.BreakpointExtra{Mode: f.Mode})
	})
	if err != nil {
		return nil, err
	}
	body := godap.SetExceptionBreakpointsResponseBody{}
	for _, f := range filters {
		b := godap.Breakpoint{Verified: true}
		switch {
		case f.FilterID != signalFilter:
			b, list = list[0], list[1:]
		case f.Condition != "":
			b = godap.Breakpoint{Message: "Conditions on signals are not supported."}
		}
		body.Breakpoints = append(body.Breakpoints, b)
	}
	if len(others) == len(filters) {
		k.c.say("console", "Ranks stop at signals that are errors all the same: that cannot be switched off. "+
			"Use `-exec handle SIGFPE nostop` for one signal.\n")
	}
	return body, nil
}

func exceptionInfo(k *call, a godap.ExceptionInfoArguments) (any, error) {
	rank, _, err := k.thread(a.ThreadId)
	if err != nil {
		return nil, err
	}
	s, err := k.stopped(rank)
	if err != nil {
		return nil, err
	}
	if s.Stop.Reason != backend.ReasonSignal {
		return nil, refuse("rank %d has not stopped because of a signal or an exception: %s", rank, s.Text)
	}
	name := s.Stop.Signal
	if s.Stop.Caught != nil {
		name = s.Stop.Caught.Name
	}
	return godap.ExceptionInfoResponseBody{
		ExceptionId: name, Description: s.Text, BreakMode: "always",
		Details: &godap.ExceptionDetails{Message: s.Text, TypeName: name},
	}, nil
}
