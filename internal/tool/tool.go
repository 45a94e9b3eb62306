// Package tool asks other programs what they are.
package tool

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// Timeout bounds how long a launcher, compiler or debugger may take to say what it is.
const Timeout = 30 * time.Second

// Ask runs a program with the C locale and no input, and returns all that it printed. It takes Timeout at most, also if
// something that the program left behind keeps its output open. The error is that of exec.Cmd.Run; what was printed is
// returned with it.
func Ask(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return string(out), err // the caller knows what was asked, and says so
}
