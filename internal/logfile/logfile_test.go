package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two that have it open append to one file; a message takes a bounded part of a line.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for range 2 {
		log, f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		log.Debug("m", "message", Message(strings.Repeat("é", 1<<20)))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 || len(lines[0]) > 3000 || !strings.Contains(lines[1], "(2097152 bytes)") {
		t.Errorf("%d lines, of %d bytes: %.300s", len(lines), len(text), text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
