package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/launch/marked"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

func lockThread() func() { runtime.LockOSThread(); return runtime.UnlockOSThread }

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// collector gathers output.
type collector struct {
	mu   sync.Mutex
	text map[int]*strings.Builder
}

func (c *collector) take(chunk OutputChunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text == nil {
		c.text = map[int]*strings.Builder{}
	}
	if c.text[chunk.Rank] == nil {
		c.text[chunk.Rank] = &strings.Builder{}
	}
	c.text[chunk.Rank].Write(chunk.Data)
}

func (c *collector) of(rank int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text[rank] == nil {
		return ""
	}
	return c.text[rank].String()
}

// start starts a session and reads the events of its ranks.
func start(t *testing.T, mpi mpitest.MPI, o Options) *Session {
	t.Helper()
	if o.MPI == "" {
		o.MPI = mpi.Name
	}
	if mpi.Name == "openmpi" {
		o.LauncherArgs = append(o.LauncherArgs, "--bind-to", "none")
	}
	s, err := Start(testContext(t), o)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() { nothingLeft(t, s) })
	return s
}

// segments lists Open MPI's shared memory of a job.
func segments(t *testing.T, namespace string) []string {
	t.Helper()
	job, err := strconv.ParseUint(namespace, 10, 32)
	if err != nil {
		return nil // another MPI
	}
	paths, err := filepath.Glob(fmt.Sprintf("/dev/shm/*_segment.*.%x.*", job))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// nothingLeft checks the invariant of the package: no process, no directory.
func nothingLeft(t *testing.T, s *Session) {
	t.Helper()
	s.Stop(testContext(t))
	checkGone(t, s.dir.ID, s.dir.Path)
	if left := segments(t, s.ranks[0].job); len(left) > 0 {
		t.Errorf("Open MPI's shared memory was left behind: %v", left)
	}
}

func checkGone(t *testing.T, id, dir string) {
	t.Helper()
	left, err := marked.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range left {
		t.Errorf("process %d was left behind: %s", p.Pid, p.Command)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		t.Errorf("the directory %s was left behind (%v), with %v", dir, err, files)
	}
}

// drain reads all events of all ranks and calls each for them, until they end. It returns a function that waits for
// that.
func drain(s *Session, each func(rank int, event backend.Event)) func() {
	var group sync.WaitGroup
	for i, rank := range s.Ranks() {
		group.Go(func() {
			for event := range rank.Backend().Events() {
				if each != nil {
					each(i, event)
				}
			}
		})
	}
	return group.Wait
}
