package cohorttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// EndLimit is how long processes may take to end once they have been told to.
const EndLimit = time.Minute

// markVar marks every process of a workplace: its value is the workplace's directory.
const markVar = "COHORT_TEST"

// marked lists the processes of the workplaces in a directory, or of one: "PID COMMAND".
func marked(dir string) []string {
	var list []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well-formed
	mark := []byte(markVar + "=" + dir)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(raw, append(mark[:len(mark):len(mark)], 0)) &&
			!bytes.Contains(raw, append(mark[:len(mark):len(mark)], '/')) {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || len(cmdline) == 0 { // it has gone since, or is a zombie
			continue
		}
		list = append(list, filepath.Base(filepath.Dir(path))+" "+string(bytes.ReplaceAll(cmdline, []byte{0},
			[]byte{' '})))
	}
	return list
}

// killMarked ends what a test has left behind, lest it disturb the next ones.
func killMarked(dir string) {
	for _, line := range marked(dir) {
		text, _, _ := strings.Cut(line, " ")
		if pid, err := strconv.Atoi(text); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have gone
		}
	}
}

// awaitNone gives what has just been told to end a moment to do so (the kernel delivers a SIGKILL in its own time), and
// returns what is left.
func awaitNone(find func() []string) []string {
	deadline := time.NewTimer(EndLimit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := find()
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return left
		}
	}
}
