package gdb

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/internal/logmessage"
)

// A log message is a breakpoint whose condition prints and is never true, so that a step over it is not
// lost, as it would be if gdb stopped and were resumed. The condition is a function in gdb's Python.
const logFunction = `
import json
_cohort_logs = {}
class _CohortLog(gdb.Function):
    def __init__(self):
        super().__init__("_cohort_log")
    def invoke(self, key):
        log = _cohort_logs[int(key)]
        def text(part):
            if part[0] == 0:
                return part[1]
            try:
                return gdb.parse_and_eval(part[1]).format_string()
            except gdb.error as e:
                return "<" + str(e) + ">"
        try:
            if log["cond"] and not gdb.parse_and_eval(log["cond"]):
                return 0
            log["hits"] += 1
            after = log["hits"] - log["first"]
            if after < 0 or after and (not log["every"] or after % log["every"]):
                return 0
            out = "".join(text(p) for p in log["parts"])
        except gdb.error as e:
            out = "<the condition of this log message fails: " + str(e) + ">"
        gdb.write("\x01cohort-log " + out.replace("\\", "\\\\").replace("\n", "\\n") + "\n")
        return 0
_CohortLog()
class _CohortExits(gdb.Function):
    """Whether an exit with this status is news: it is none that exit(), which has its own breakpoint, comes to."""
    def __init__(self):
        super().__init__("_cohort_exits")
    def invoke(self, status):
        frame = gdb.newest_frame() if int(status) else None
        for _ in range(10):
            if frame is None:
                break
            if frame.name() in ("exit", "__GI_exit"):
                return 0
            frame = frame.older()
        return int(int(status) != 0)
_CohortExits()`

func unescapeLog(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(s)
}

// addLogFunction reports whether this gdb has a Python that can hold it.
func (o *owner) addLogFunction(ctx context.Context) bool {
	_, err := o.send(ctx, gdbmi.CLI("python "+strings.TrimPrefix(logFunction, "\n")))
	if err != nil {
		o.b.Log.Info("this gdb has no usable Python: no log messages, no printers of containers", "error", err)
	}
	return err == nil
}

// registerLog hands the message to gdb. refusal is a sentence for the user.
func (o *owner) registerLog(ctx context.Context, b *bp) (key int, refusal string, err error) {
	if !o.python {
		return 0, "Log messages need a gdb that was built with Python, and this one was not.", nil
	}
	message, err := logmessage.Parse(b.Want.LogMessage)
	if err != nil {
		return 0, err.Error(), nil //nolint:nilerr // the user's mistake is the answer
	}
	parts := make([][2]any, len(message)) // [0, text] and [1, expression]
	for i, p := range message {
		if parts[i] = [2]any{0, p.Text}; p.Expr != "" {
			parts[i] = [2]any{1, p.Expr}
		}
	}
	data, err := json.Marshal(map[string]any{
		"cond": b.Want.Condition, "first": b.Hits.First, "every": b.Hits.Every, "hits": 0, "parts": parts,
	})
	if err != nil {
		return 0, "", fmt.Errorf("the log message cannot be handed to gdb: %w", err)
	}
	o.bps.logKeys++
	line := fmt.Sprintf("python _cohort_logs[%d] = json.loads(bytes.fromhex('%s').decode())", o.bps.logKeys,
		hex.EncodeToString(data))
	_, err = o.send(ctx, gdbmi.CLI(line))
	return o.bps.logKeys, "", err
}
