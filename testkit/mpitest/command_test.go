package mpitest

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pidsOf are the processes whose executable is the given file.
func pidsOf(t *testing.T, executable string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, link := range links {
		// A process may end at any time, and those of other users cannot be read.
		if target, err := os.Readlink(link); err == nil && target == executable {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestCommandEndsItsRanks cancels a job that would never end, and waits for the end of each of its ranks.
func TestCommandEndsItsRanks(t *testing.T) {
	Each(t, func(t *testing.T, mpi MPI) {
		content, err := os.ReadFile(mpi.Build(t, "deadlock.c"))
		if err != nil {
			t.Fatal(err)
		}
		prog := filepath.Join(t.TempDir(), "deadlock") // a file that no other test runs
		if err := os.WriteFile(prog, content, 0o755); err != nil {
			t.Fatal(err)
		}
		deadline, end := context.WithTimeout(t.Context(), 5*time.Minute)
		defer end()
		ctx, cancel := context.WithCancel(deadline)
		cmd := mpi.Command(ctx, 3, prog)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waiting := 0
		for lines := bufio.NewScanner(stdout); waiting < 3 && lines.Scan(); {
			if strings.Contains(lines.Text(), "waits") {
				waiting++
			}
		}
		pids := pidsOf(t, prog)
		if waiting != 3 || len(pids) != 3 {
			t.Errorf("%d ranks said that they wait, %d run; both should be 3", waiting, len(pids))
		}
		var ends []unix.PollFd
		for _, pid := range pids {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				t.Fatalf("rank with pid %d is gone already: %v", pid, err)
			}
			t.Cleanup(func() { _ = unix.Close(fd) })
			ends = append(ends, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
		cancel()
		if err := cmd.Wait(); err == nil {
			t.Error("the launcher was cancelled and reports success")
		}
		for i := range ends {
			if n, err := unix.Poll(ends[i:i+1], 60_000); n != 1 {
				t.Errorf("rank with pid %d still runs a minute after its launcher ended (%v)", pids[i], err)
			}
		}
	})
}

func TestParseOrders(t *testing.T) {
	const zero = "tsp: rank 0 order 0123456789abcdef data 00000000000000ff tasks 3 polls 4000000000\n"
	const one = "tsp: rank 1 order 1123456789abcdef data 10000000000000ff tasks 0 polls 0\n"
	orders, err := ParseOrders("hello\n[1] "+one+"[0] "+zero+"tsp: tour length 5: 0 1\n", 2)
	if err != nil {
		t.Fatal(err)
	}
	want := Order{Rank: 0, Order: "0123456789abcdef", Data: "00000000000000ff", Tasks: 3, Polls: 4000000000}
	if orders[0] != want || orders[1].Rank != 1 {
		t.Errorf("parsed %+v, wanted %+v first", orders, want)
	}
	for name, bad := range map[string]string{
		"missing":      zero,
		"twice":        zero + one + one,
		"beyond":       zero + one + strings.Replace(one, "rank 1", "rank 2", 1),
		"out of range": zero + strings.Replace(one, "tasks 0", "tasks 99999999999999999999", 1),
		"cut off":      zero + strings.TrimSuffix(one, " polls 0\n"),
	} {
		if orders, err := ParseOrders(bad, 2); err == nil {
			t.Errorf("%s: no error, but %+v", name, orders)
		}
	}
}

func TestFindNamesWhatIsMissing(t *testing.T) {
	if _, err := Find("nosuchmpi"); err == nil || !strings.Contains(err.Error(), "mpich, openmpi") {
		t.Errorf("an unknown MPI: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if mpi, err := Find("mpich"); err == nil {
		if !strings.HasPrefix(mpi.Mpicc, "/usr/") && !strings.HasPrefix(mpi.Mpicc, "/opt/") {
			t.Errorf("found %s with an empty PATH", mpi.Mpicc)
		}
	} else if !strings.Contains(err.Error(), "mpich") || !strings.Contains(err.Error(), "make setup") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

func TestLineIsUnique(t *testing.T) {
	for name, text := range map[string]string{
		"tsp.c": "breakpoint: task received", "heat.c": "breakpoint: halo exchange",
		"datatypes.c": "breakpoint: all types live", "threads.c": "breakpoint: second thread",
		"hello.c": "breakpoint: hello", "crash.c": "crash: here", "deadlock.c": "deadlock: here",
		"fintegrate.f90": "breakpoint: answer received",
	} {
		if line := Line(t, name, text); line < 1 {
			t.Errorf("%s: line %d", name, line)
		}
	}
}
