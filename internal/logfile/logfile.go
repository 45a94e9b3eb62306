// Package logfile is what --log-file writes, for bug reports: one file, to which cohort and the agents of its ranks
// append lines, at level debug.
package logfile

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/cohort-debugger/cohort/internal/prose"
)

// Open opens a log, or makes it, for this user only. Several processes may append at once: each line is one write.
func Open(path string) (*slog.Logger, *os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the log file: %w", err)
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})), f, nil
}

// mostMessage bounds what is logged of one message, in bytes.
const mostMessage = 2000

// Message is what is logged of a message that crosses a connection.
func Message(text string) string {
	if len(text) <= mostMessage {
		return text
	}
	return fmt.Sprintf("%s (%d bytes)", prose.Clip(text, mostMessage), len(text))
}
