package dap

import (
	"encoding/json"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

// newRequests is the table of what a server answers.
func newRequests() map[string]spec {
	return map[string]spec{
		"initialize":        on(spec{lane: laneMain, need: phaseConnected}, initialize),
		"launch":            on(spec{lane: laneMain, need: phaseInitialized}, launch),
		"attach":            on(spec{lane: laneMain, need: phaseInitialized}, attach),
		"configurationDone": on(spec{lane: laneMain, need: phaseJob}, configurationDone),
		"disconnect":        on(spec{lane: laneNow, need: phaseConnected, afterEnd: true}, disconnect),
		"terminate":         on(spec{lane: laneNow, need: phaseConnected, afterEnd: true}, terminate),
		"cancel":            on(spec{lane: laneNow, need: phaseConnected, afterEnd: true}, cancelRequest),

		"setBreakpoints":          on(spec{lane: laneMain, need: phaseJob, afterEnd: true}, setBreakpoints),
		"setFunctionBreakpoints":  on(spec{lane: laneMain, need: phaseJob, afterEnd: true}, setFunctionBreakpoints),
		"setExceptionBreakpoints": on(spec{lane: laneMain, need: phaseJob, afterEnd: true}, setExceptionBreakpoints),

		"disassemble":               on(spec{lane: laneRead, need: phaseConfigured}, disassemble),
		"setInstructionBreakpoints": on(spec{lane: laneMain, need: phaseJob}, setInstructionBreakpoints),
		"dataBreakpointInfo": on(
			spec{needsProcess: true, lane: laneRead, need: phaseConfigured},
			dataBreakpointInfo,
		),
		"setDataBreakpoints": on(spec{lane: laneMain, need: phaseJob}, setDataBreakpoints),

		"continue":      on(spec{needsProcess: true, lane: laneMain, need: phaseConfigured}, continueRequest),
		"next":          on(spec{needsProcess: true, lane: laneMain, need: phaseConfigured}, step(backend.Next)),
		"stepIn":        on(spec{needsProcess: true, lane: laneMain, need: phaseConfigured}, step(backend.StepIn)),
		"stepOut":       on(spec{needsProcess: true, lane: laneMain, need: phaseConfigured}, step(backend.StepOut)),
		"pause":         on(spec{needsProcess: true, lane: lanePause, need: phaseConfigured}, pause),
		"exceptionInfo": on(spec{lane: laneRead, need: phaseConfigured}, exceptionInfo),

		"threads":       on(spec{lane: laneRead, need: phaseJob, ended: noThreads}, threads),
		"stackTrace":    on(spec{lane: laneRead, need: phaseConfigured, ended: noFrames, notice: looks}, stackTrace),
		"source":        on(spec{lane: laneRead, need: phaseJob, afterEnd: true}, sourceFile),
		"scopes":        on(spec{lane: laneRead, need: phaseConfigured, ended: noScopes}, scopes),
		"variables":     on(spec{lane: laneRead, need: phaseConfigured, ended: noVariables}, variables),
		"setVariable":   on(spec{needsProcess: true, lane: laneMain, need: phaseConfigured}, setVariable),
		"evaluate":      on(spec{lane: laneRead, need: phaseConfigured, of: evaluated}, evaluate),
		"completions":   on(spec{lane: laneRead, need: phaseInitialized, afterEnd: true}, completions),
		"setExpression": on(spec{needsProcess: true, lane: laneMain, need: phaseConfigured}, setExpression),
		"writeMemory":   on(spec{needsProcess: true, lane: laneMain, need: phaseConfigured}, writeMemory),
		"readMemory":    on(spec{lane: laneRead, need: phaseConfigured}, readMemory),

		protocol.RequestCommands: on(spec{lane: laneNow, need: phaseConnected, afterEnd: true}, commands),
		protocol.RequestRanks:    on(spec{lane: laneRead, need: phaseJob, afterEnd: true}, ranks),
		protocol.RequestWaits:    on(spec{lane: laneRead, need: phaseConfigured}, whoWaits),
		protocol.RequestSetFocus: on(spec{lane: laneMain, need: phaseJob}, setFocus),
		protocol.RequestWaitIdle: on(spec{lane: laneRead, need: phaseConfigured, afterEnd: true}, waitIdle),
		protocol.RequestWaitStall: on(
			spec{lane: laneRead, need: phaseConfigured, ended: protocol.StallBody{}},
			waitStall,
		),
		protocol.RequestInput: on(spec{needsProcess: true, lane: laneMain, need: phaseConfigured}, input),
		protocol.RequestCut:   on(spec{lane: laneRead, need: phaseJob}, cut),
		protocol.RequestRunTo: on(spec{needsProcess: true, lane: laneMain, need: phaseConfigured}, runTo),
	}
}

// The answers when the job has ended: an editor reads on for a moment, and that is nothing to tell its user of.
var (
	noThreads   = godap.ThreadsResponseBody{Threads: []godap.Thread{}}
	noFrames    = godap.StackTraceResponseBody{StackFrames: []godap.StackFrame{}}
	noScopes    = godap.ScopesResponseBody{Scopes: []godap.Scope{}}
	noVariables = godap.VariablesResponseBody{Variables: []godap.Variable{}}
)

// evaluated: only what the console evaluates may have side effects, and has an order.
func evaluated(arguments json.RawMessage) (lane, string) {
	var a godap.EvaluateArguments
	if decodeArguments("evaluate", arguments, &a) != nil || a.Context != "repl" {
		return laneRead, "evaluate"
	}
	if c, arguments, ok := findCommand(a.Expression); ok {
		if c.waits != nil && c.waits(arguments) {
			return laneConsole, c.Name
		}
		return c.lane, c.Name
	}
	return laneConsole, "evaluate"
}

func evaluate(k *call, a godap.EvaluateArguments) (any, error) {
	if a.Context == "repl" {
		return evaluateConsole(k, a)
	}
	return evaluateRead(k, a)
}

// dapCommands are the requests of the Debug Adapter Protocol that this server does not support, so that they are not
// called unknown.
var dapCommands = map[string]bool{
	"restart": true, "breakpointLocations": true,
	"stepBack": true, "reverseContinue": true, "restartFrame": true, "goto": true,
	"terminateThreads": true,
	"modules":          true, "loadedSources": true,
	"stepInTargets": true, "gotoTargets": true,
	"runInTerminal":  true,
	"startDebugging": true, "locations": true,
}
