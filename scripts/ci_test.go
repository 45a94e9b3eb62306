package scripts

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ci runs .ci/run on a machine whose make does what `script` says.
func ci(t *testing.T, script string) (output string, status int) {
	t.Helper()
	m := newMachine(t, "0")
	m.command("make", script)
	m.command("git", "echo abcdef")
	m.command("uname", "echo Linux")
	m.command("nproc", "echo 2")
	cmd := exec.CommandContext(t.Context(), filepath.Join(m.dir, "bash"), "../.ci/run")
	cmd.Env = []string{"PATH=" + m.dir, "HOME=" + m.dir}
	cmd.Stdin = strings.NewReader("nobody should read this\n")
	content, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf(".ci/run: %v\n%s", err, content)
	}
	return string(content), cmd.ProcessState.ExitCode()
}

func TestCiRunsMakeTestAndNothingElse(t *testing.T) {
	output, status := ci(t, `echo "made $*, heard $(cat)"`)
	if status != 0 || strings.Count(output, "made ") != 1 || !strings.Contains(output, "made test, heard \n") {
		t.Errorf("status %d, output\n%s", status, output)
	}
}

func TestCiFailsWithMake(t *testing.T) {
	if output, status := ci(t, "exit 3"); status != 3 || !strings.Contains(output, "FAILED") {
		t.Errorf("status %d, output\n%s", status, output)
	}
}
