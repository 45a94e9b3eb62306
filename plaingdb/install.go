package plaingdb

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cohort-debugger/cohort/internal/atomicfile"
	"github.com/cohort-debugger/cohort/internal/privatedir"
)

//go:embed script.py
var script string

// scriptName is the same for every version, so that a .gdbinit may name it.
const scriptName = "cohort_gdb.py"

// Install writes the script for a cohort at the given absolute path into the directory, unless it is there already, and
// returns its path.
func Install(dir, cohort string) (string, error) {
	if err := privatedir.Make(dir); err != nil { // what is in it is run by the user's gdb
		return "", fmt.Errorf("making the directory of gdb's script: %w; set XDG_CACHE_HOME to another place", err)
	}
	quoted, err := json.Marshal(cohort) // a Python string as well
	if err != nil {
		return "", fmt.Errorf("writing gdb's script: %w", err)
	}
	text := strings.Replace(script, "@COHORT@", string(quoted), 1)
	path := filepath.Join(dir, scriptName)
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return path, nil
	}
	if err := atomicfile.Write(path, []byte(text)); err != nil {
		return "", fmt.Errorf("writing gdb's script: %w", err)
	}
	return path, nil
}
