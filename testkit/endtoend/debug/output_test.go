package debug

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// idleReader is a connection whose client can stop reading for a while.
type idleReader struct {
	io.ReadWriteCloser
	reading sync.RWMutex // locked for writing: not now
}

func (c *idleReader) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	c.reading.RLock()
	defer c.reading.RUnlock()
	return n, err
}

// stop stops reading until the function that it returns is called.
func (c *idleReader) stop(t *testing.T) (resume func()) {
	c.reading.Lock()
	resume = sync.OnceFunc(c.reading.Unlock)
	t.Cleanup(resume)
	return resume
}

// resident is how many KiB of memory a process uses.
func resident(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmRSS:\s*(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("process %d tells no VmRSS", pid)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	printers    = 4
	linesOfEach = 45_000
	// mostGrowth is below the 54 MiB that the ranks print in all, and above what a Go process may add by chance.
	mostGrowth = 40 << 10 // KiB
)

// printed reads how far each rank has come.
func printed(progress string) (all [printers]uint32) {
	for r := range all {
		if data, err := os.ReadFile(fmt.Sprintf("%s.%d", progress, r)); err == nil && len(data) == 4 {
			all[r] = binary.LittleEndian.Uint32(data)
		}
	}
	return all
}

// stalled waits until no rank has printed anything for a while, and fails if one comes to its end.
func stalled(t *testing.T, progress string) [printers]uint32 {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for before := printed(progress); ; {
		select {
		case <-time.After(2 * time.Second): // that nothing happens can only be seen after a time
		case <-deadline:
			t.Fatalf("the ranks print on and on, although nobody reads: %v", before)
		}
		now := printed(progress)
		for r, n := range now {
			if n >= linesOfEach-1 {
				t.Fatalf("rank %d has printed all its lines, although nobody reads: %v", r, now)
			}
		}
		if now == before && now != ([printers]uint32{}) {
			return now
		}
		before = now
	}
}

// Ranks that print faster than their client reads wait for it; what they print is in no process's memory meanwhile, and
// all of it arrives afterwards, in order.
func TestDAPOutputThatNobodyReads(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	program := mpi.BuildFile(t, "testdata/printer.c")
	p := newDAPPlace(t, mpi)
	conn, cohort := p.DAP()
	idle := &idleReader{ReadWriteCloser: conn}
	e := &editor{Client: daptest.New(t, idle), t: t, p: p}
	progress := p.Path("progress")
	e.Launch(protocol.LaunchArguments{
		Program: program, Args: []string{strconv.Itoa(linesOfEach), progress}, Ranks: printers, StopOnEntry: true,
	})
	e.ConfigurationDone()
	e.Expect(stops("entry", 0, 1, 2, 3)...)
	pids := map[string]int{"cohort": cohort.Process.Pid}
	for r := range printers {
		pids[fmt.Sprintf("the agent of rank %d", r)] = p.Part(cohort.Process.Pid, "agent", r)
	}
	before := map[string]int{}
	for name, pid := range pids {
		before[name] = resident(t, pid)
	}

	resume := idle.stop(t)
	if _, err := e.Send("continue", godap.ContinueArguments{ThreadId: protocol.ThreadID(0, 1)}); err != nil {
		t.Fatal(err)
	}
	at := stalled(t, progress)
	for name, pid := range pids {
		now := resident(t, pid)
		t.Logf("%s: %d KiB, and %d KiB while nobody reads", name, before[name], now)
		if now-before[name] > mostGrowth {
			t.Errorf("%s has grown from %d to %d KiB, while nobody reads what the ranks print", name, before[name],
				now)
		}
	}
	// It may still ask for something: the answer is behind what it has not read.
	pause, err := e.Send("pause", godap.PauseArguments{ThreadId: protocol.ThreadID(0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	resume()
	if err := pause.Wait(p.Ctx, nil); err != nil {
		t.Fatal(err)
	}
	e.Expect(stops("pause", 0, 1, 2, 3)...)
	t.Logf("stalled at %v, paused at %v", at, printed(progress))
	e.Continue(0)
	e.Expect(daptest.Terminated())

	// The client is given lines; one that was cut by the pause is given in two pieces.
	next, left := [printers]int{}, [printers]string{}
	for _, event := range e.Seen("output") {
		var body godap.OutputEventBody
		if err := event.Decode(&body); err != nil {
			t.Fatal(err)
		}
		if body.Category != "stdout" {
			continue
		}
		for line := range strings.Lines(body.Output) {
			label, text, _ := strings.Cut(strings.TrimPrefix(line, "["), "] ")
			ranks, err := rankset.Parse(label, printers) // the ends of two lines may be equal
			if err != nil {
				t.Fatalf("%.30q…: %v", line, err)
			}
			for rank := range ranks.Each {
				left[rank] += strings.TrimSuffix(text, "\n")
				want := fmt.Sprintf("%d %d %s", rank, next[rank], strings.Repeat(".", 300))
				if left[rank] == want {
					left[rank] = ""
					next[rank]++
				} else if !strings.HasPrefix(want, left[rank]) {
					t.Fatalf("line %d of rank %d is %q", next[rank], rank, left[rank])
				}
			}
		}
	}
	if next != [printers]int{linesOfEach, linesOfEach, linesOfEach, linesOfEach} {
		t.Errorf("%v lines arrived", next)
	}
	e.Disconnect()
}

// A client that reads nothing does not keep another from pausing, looking and ending the job.
func TestDAPOneOfTwoClientsReadsNothing(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	program := mpi.BuildFile(t, "testdata/printer.c")
	p := newDAPPlace(t, mpi)
	path := p.Path("c.sock")
	server := p.Listen(path)
	idle := &idleReader{ReadWriteCloser: server.Dial("unix", path)}
	first := &editor{Client: daptest.New(t, idle), t: t, p: p}
	first.Launch(protocol.LaunchArguments{
		Program: program, Args: []string{strconv.Itoa(1 << 30), p.Path("progress")}, Ranks: printers,
		StopOnEntry: true,
	})
	first.ConfigurationDone()
	first.Expect(stops("entry", 0, 1, 2, 3)...)
	second := &editor{Client: daptest.New(t, server.Dial("unix", path)), t: t, p: p}
	second.Initialize()
	second.Do("attach", protocol.AttachArguments{}, nil)
	second.ConfigurationDone()
	second.Expect(stops("entry", 0, 1, 2, 3)...)

	resume := idle.stop(t)
	second.Continue(0)
	second.Expect(daptest.Output("stdout", ""))
	second.Pause(0)
	second.Expect(stops("pause", 0, 1, 2, 3)...)
	second.user(2)
	second.Continue(0)
	second.Do("terminate", struct{}{}, nil)
	second.Expect(daptest.Terminated())
	resume()
	second.Disconnect()
	first.Expect(daptest.Terminated())
	first.Disconnect()
}
