package dap

import (
	"strings"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

func watchWords(*call) []string {
	return []string{
		"access", string(backend.Write), string(backend.Read), string(backend.ReadWrite), "ranks", "mode",
		protocol.ModeRank, protocol.ModeFocus, protocol.ModeAll, "if",
	}
}

// parseWatch parses the arguments of watch: an expression, which may have blanks, and what follows it in pairs of
// words.
func parseWatch(
	text string,
) (expression, condition string, access godap.DataBreakpointAccessType, extra protocol.BreakpointExtra) {
	head, condition, _ := strings.Cut(" "+text+" ", " if ")
	words := strings.Fields(head)
	for n := len(words) - 2; n > 0; n -= 2 {
		switch words[n] {
		case "access":
			access = godap.DataBreakpointAccessType(words[n+1])
		case "ranks":
			extra.Ranks = words[n+1]
		case "mode":
			extra.Mode = words[n+1]
		default:
			return strings.Join(words, " "), strings.TrimSpace(condition), access, extra
		}
		words = words[:n]
	}
	return strings.Join(words, " "), strings.TrimSpace(condition), access, extra
}

// consoleWatch sets a data breakpoint on an expression in the frame that was chosen, else in the rank's own.
func consoleWatch(k *call, line consoleLine) (answer, error) {
	expression, condition, access, extra := parseWatch(line.arguments)
	if expression == "" {
		return answer{}, refuse("watch needs the expression to watch, such as: watch total")
	}
	frame := line.frame
	if frame == 0 {
		rank, err := k.consoleRank()
		if err != nil {
			return answer{}, err
		}
		at := k.userFrame(rank)
		frame = k.c.view.frameID(at.moment, at.frame)
	}
	at, err := k.c.view.frame(frame)
	if err != nil {
		return answer{}, err
	}
	own := breakpointOwner{k.c, true}
	bp, err := k.watch(own, protocol.DataBreakpoint{
		DataBreakpoint: godap.DataBreakpoint{
			DataId: dataID{at.rank, frame, expression}.String(), AccessType: access, Condition: condition,
		},
		BreakpointExtra: extra,
	})
	if err != nil {
		return answer{}, err
	}
	before := k.d.breakpoints.of(own, bp.Source)
	last, err := k.setBreakpoint(before, len(before), bp, false)
	if err != nil {
		return answer{}, err
	}
	bp.ID = last.ID
	if last.Message != "" {
		return answer{text: breakpointText(bp) + ". " + last.Message}, nil
	}
	return confirm("%s.", breakpointText(bp)), nil
}
