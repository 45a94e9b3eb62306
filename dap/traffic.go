package dap

import (
	"bytes"
	"encoding/json"
	"log/slog"

	"github.com/cohort-debugger/cohort/internal/logfile"
)

// logTraffic logs a message as it crosses the connection, but for its secrets.
func (c *client) logTraffic(way string, content []byte) {
	if c.log.Enabled(c.ctx, slog.LevelDebug) {
		c.log.Debug("dap: "+way, "message", logfile.Message(withoutSecrets(content)))
	}
}

// hidden stands for a secret in the log.
const hidden = "(hidden)"

// withoutSecrets hides tokens, and the values of environments. What cannot be read is not shown at all.
func withoutSecrets(content []byte) string {
	if !bytes.Contains(content, []byte(`"token"`)) && !bytes.Contains(content, []byte(`"env"`)) {
		return string(content)
	}
	var message any
	if json.Unmarshal(content, &message) != nil {
		return hidden
	}
	hideSecrets(message)
	shown, err := json.Marshal(message)
	if err != nil {
		return hidden
	}
	return string(shown)
}

func hideSecrets(value any) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			hideSecrets(element)
		}
	case map[string]any:
		for name, member := range v {
			variables, _ := member.(map[string]any)
			switch {
			case name == "env" && variables != nil:
				for variable := range variables {
					variables[variable] = hidden
				}
			case name == "env", name == "token":
				v[name] = hidden
			default:
				hideSecrets(member)
			}
		}
	}
}
