package launch

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/marked"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// endLimit bounds how long everything may take to end after one process was killed.
const endLimit = time.Minute

// waiting is a job whose rank 0 waits for input and whose other ranks wait for rank 0.
type waiting struct {
	session *Session
	ready   chan struct{} // closed when rank 0 says that it is
	exits   chan int      // ranks whose program has gone
}

// rankZero returns what takes output, from any goroutine, and a channel that is closed when rank 0 has said that it is
// ready: all programs have started then.
func rankZero() (take func(OutputChunk), ready chan struct{}) {
	var out collector
	var once sync.Once
	ready = make(chan struct{})
	return func(c OutputChunk) {
		out.take(c)
		if strings.Contains(out.of(0), "ready") {
			once.Do(func() { close(ready) })
		}
	}, ready
}

func startWaiting(t *testing.T, mpi mpitest.MPI, mode Mode) *waiting {
	t.Helper()
	take, ready := rankZero()
	w := &waiting{ready: ready, exits: make(chan int, 10)}
	o := Options{Ranks: 3, Program: mpi.Build(t, "stdin.c"), Mode: mode, Output: take}
	if mode == Run {
		o.Stdin = blockedReader(t)
	}
	w.session = start(t, mpi, o)
	wait := drain(w.session, func(rank int, event backend.Event) {
		switch {
		case event.Output != nil && rank == 0:
			take(OutputChunk{Rank: 0, Data: event.Output.Data})
		case event.Exited != nil:
			w.exits <- rank
		}
	})
	t.Cleanup(wait)
	if mode == Debug {
		launchAll(t, w.session)
	}
	select {
	case <-w.ready:
	case <-w.session.over:
		t.Fatalf("it ended by itself: %+v", w.session.Wait())
	case <-testContext(t).Done():
		t.Fatal("rank 0 is not ready")
	}
	return w
}

func launchAll(t *testing.T, s *Session) {
	t.Helper()
	for i, rank := range s.Ranks() {
		if result, err := rank.Backend().Launch(testContext(t), backend.LaunchRequest{}); err != nil ||
			result.Pid == 0 {
			t.Fatalf("launching rank %d: %+v, %v", i, result, err)
		}
	}
}

func (w *waiting) expectEnd(t *testing.T) {
	t.Helper()
	select {
	case <-w.session.over:
	case <-time.After(endLimit):
		t.Fatalf("the job continues %v after a part of it was killed", endLimit)
	}
}

// Whatever is killed: everything else ends, and nothing is left (start's cleanup checks that).
func TestKillInRunMode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	for victim, pid := range map[string]func(*Session) int{
		"launcher": func(s *Session) int { return s.launcher.cmd.Process.Pid },
		"agent":    func(s *Session) int { return s.Ranks()[1].Info().AgentPid },
		"rank":     func(s *Session) int { return s.Ranks()[1].Info().Pid },
	} {
		t.Run(victim, func(t *testing.T) {
			mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
				w := startWaiting(t, mpi, Run)
				if err := syscall.Kill(pid(w.session), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				w.expectEnd(t)
				result := w.session.Wait()
				if result.First() == -1 {
					t.Errorf("nothing failed: %+v", result)
				}
				if victim == "rank" && (result.First() != 1 || result.Ranks[1].String() != "killed by SIGKILL") {
					t.Errorf("first is rank %d, rank 1 %v", result.First(), result.Ranks[1])
				}
			})
		})
	}
}

func TestKillInDebugMode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	for victim, pid := range map[string]func(*Session) int{
		"launcher": func(s *Session) int { return s.launcher.cmd.Process.Pid },
		"agent":    func(s *Session) int { return s.Ranks()[1].Info().AgentPid },
	} {
		t.Run(victim, func(t *testing.T) {
			mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
				w := startWaiting(t, mpi, Debug)
				if err := syscall.Kill(pid(w.session), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				w.expectEnd(t)
			})
		})
	}
	t.Run("rank", func(t *testing.T) {
		mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
			w := startWaiting(t, mpi, Debug)
			if err := syscall.Kill(w.session.Ranks()[1].Info().Pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			select {
			case rank := <-w.exits:
				if rank != 1 {
					t.Errorf("rank %d exited", rank)
				}
			case <-time.After(endLimit):
				t.Fatal("the end of rank 1 was not reported")
			}
			// The rest of the job is as usable as before.
			for _, rank := range []int{0, 1, 2} {
				if r, err := w.session.Ranks()[rank].Backend().Evaluate(testContext(t),
					backend.EvaluateRequest{Expression: "1+1"}); err != nil || r.Text != "1+1" {
					t.Errorf("rank %d after another died: %+v, %v", rank, r, err)
				}
			}
			r := w.session.Stop(testContext(t))
			if r.Ranks[1].String() != "killed by SIGKILL" || r.Ranks[1].Stopped {
				t.Errorf("rank 1: %+v", r.Ranks[1])
			}
			if !r.Ranks[0].Stopped || !r.Ranks[2].Stopped {
				t.Errorf("ranks 0 and 2, which Stop has ended: %+v, %+v", r.Ranks[0], r.Ranks[2])
			}
		})
	})
}

// A launcher that does not see that an agent was killed: the job ends all the same.
func TestAgentIsLostUnnoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the launcher")
	}
	mpi := mpitest.Need(t, "mpich")
	if !strings.Contains(mpi.Mpiexec, "mpich") {
		t.Skip("its launcher is another MPI's")
	}
	dir := t.TempDir()
	for name, script := range map[string]string{
		"mpiexec": "case \" $* \" in *' agent '*) ;; *) exec " + mpi.Mpiexec + " \"$@\";; esac\n" + mpi.Mpiexec +
			" \"$@\"\nexec sleep 300\n",
		"mpicc": "exec " + mpi.Mpicc + " \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mpi.Name = filepath.Join(dir, "mpiexec")
	w := startWaiting(t, mpi, Run)
	if err := syscall.Kill(w.session.Ranks()[1].Info().AgentPid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.expectEnd(t)
	if result := w.session.Wait(); result.Stopped || result.Ranks[1].Lost == "" {
		t.Errorf("%+v", result)
	}
}

// TestKillCohort kills the process that holds the session.
func TestKillCohort(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many jobs")
	}
	for _, mode := range []string{"run", "debug"} {
		t.Run(mode, func(t *testing.T) {
			mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
				self, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(self, "hold-a-job", mode, mpi.Name, mpi.Build(t, "stdin.c"))
				cmd.Stderr = os.Stderr
				cmd.Stdin = blockedReader(t)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				var id, dir, namespace string
				var guardPid int
				line, err := bufio.NewReader(out).ReadString('\n')
				if _, scanErr := fmt.Sscanf(line, "job %s %s namespace=%s guard=%d", &id, &dir, &namespace,
					&guardPid); err != nil || scanErr != nil {
					t.Fatalf("it said %q: %v %v", line, err, scanErr)
				}
				processes, err := marked.Find(id)
				if err != nil || len(processes) < 7 { // launcher, 3 agents, 3 ranks
					t.Fatalf("the job has %d processes (%v): %v", len(processes), err, processes)
				}
				gone := watchAll(t, append(processes, marked.Process{Pid: guardPid}))
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				gone()
				checkGone(t, id, dir)
				if left := segments(t, namespace); len(left) > 0 {
					t.Errorf("Open MPI's shared memory was left behind: %v", left)
				}
			})
		})
	}
}

// watchAll returns a function that waits until all the processes have ended.
func watchAll(t *testing.T, processes []marked.Process) func() {
	t.Helper()
	var fds []unix.PollFd
	for _, p := range processes {
		fd, err := unix.PidfdOpen(p.Pid, 0)
		if err != nil {
			continue // ended already
		}
		t.Cleanup(func() { unix.Close(fd) })
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return func() {
		deadline := time.Now().Add(endLimit)
		for _, fd := range fds {
			for {
				n, err := unix.Poll([]unix.PollFd{fd}, max(0, int(time.Until(deadline).Milliseconds())))
				if err == unix.EINTR {
					continue
				}
				if n == 0 {
					t.Errorf("a process of the job lives %v after cohort was killed", endLimit)
				}
				break
			}
		}
	}
}

// holdAJob is the process that TestKillCohort kills.
func holdAJob(mode, mpi, program string) int {
	take, ready := rankZero()
	o := Options{Ranks: 3, Program: program, MPI: mpi, Stdin: os.Stdin, Output: take}
	if mode == "debug" {
		o.Mode = Debug
	}
	s, err := Start(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hold-a-job:", err)
		return 1
	}
	wait := drain(s, func(rank int, event backend.Event) {
		if event.Output != nil {
			take(OutputChunk{Rank: rank, Data: event.Output.Data})
		}
	})
	if o.Mode == Debug {
		for _, rank := range s.Ranks() {
			if _, err := rank.Backend().Launch(context.Background(), backend.LaunchRequest{}); err != nil {
				fmt.Fprintln(os.Stderr, "hold-a-job:", err)
				return 1
			}
		}
	}
	<-ready
	fmt.Fprintf(os.Stdout, "job %s %s namespace=%s guard=%d\n", s.dir.ID, s.dir.Path, cmp.Or(s.ranks[0].job, "none"),
		s.guard.Pid())
	s.Wait()
	wait()
	return 0
}
