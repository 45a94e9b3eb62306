// Package lifetime names processes for good: a process id alone is given to another process some day, and means nothing
// on another host.
package lifetime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// StartTime is when a process was started, in clock ticks since boot: together with the pid it names a process of this
// host for good. ok is false if there is no such process, or only its zombie.
func StartTime(pid int) (ticks uint64, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The command is in parentheses and may hold anything; the fields after it do not.
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, false
	}
	fields := bytes.Fields(stat[i+1:])
	const state, starttime = 0, 19 // of the fields after the command
	if len(fields) <= starttime || fields[state][0] == 'Z' || fields[state][0] == 'X' {
		return 0, false
	}
	ticks, err = strconv.ParseUint(string(fields[starttime]), 10, 64)
	return ticks, err == nil
}

// Process is one process among those of all hosts that share a file system.
type Process struct {
	// where its pid means something: one boot of one host, and one of its pid namespaces; not known: unknownPlace
	Place string
	Pid   int
	Start uint64 // as StartTime
}

const unknownPlace = "0"

// Self is the calling process.
func Self() Process {
	start, _ := StartTime(os.Getpid())
	return Process{place(), os.Getpid(), start}
}

func place() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return unknownPlace
	}
	pids, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return unknownPlace
	}
	times, _ := os.Readlink("/proc/self/ns/time") // Linux before 5.6 has one only
	sum := sha256.Sum256([]byte(string(boot) + pids + times))
	return hex.EncodeToString(sum[:6])
}

// String can be part of a file's name.
func (p Process) String() string { return fmt.Sprintf("%s-%d-%d", p.Place, p.Pid, p.Start) }

var written = regexp.MustCompile(`^([0-9a-f]+)-(\d+)-(\d+)`)

// Parse reads what String has written, at the beginning of a text.
func Parse(text string) (p Process, ok bool) {
	m := written.FindStringSubmatch(text)
	if m == nil {
		return Process{}, false
	}
	pid, err := strconv.ParseInt(m[2], 10, 32)
	if err != nil {
		return Process{}, false
	}
	start, err := strconv.ParseUint(m[3], 10, 64)
	return Process{m[1], int(pid), start}, err == nil
}

// Gone tells whether the process has ended. It is known only of processes whose pids mean something here.
func (p Process) Gone() (gone, known bool) {
	if p.Place == unknownPlace || p.Place != place() {
		return false, false
	}
	start, alive := StartTime(p.Pid)
	return !alive || start != p.Start, true
}
