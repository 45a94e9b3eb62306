package dap_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

// patience bounds every wait of a test; nothing waits that long unless it is broken.
const patience = 2 * time.Minute

// bench is a server over scripted ranks.
type bench struct {
	t      *testing.T
	src    string // a source file that exists
	world  *jobtest.World
	starts *starter
	server *dap.Server
	ctx    context.Context //nolint:containedctx // ends with the test
	wg     sync.WaitGroup
}

// starter is a dap.Starter of scripted ranks.
type starter struct {
	mu      sync.Mutex
	ranks   int
	world   func() *jobtest.World
	asked   []protocol.LaunchArguments
	fail    error
	wait    <-chan struct{} // Start waits for it
	begun   chan struct{}   // gets a value when Start has begun
	change  func(*dap.Started)
	stopped int
}

func (s *starter) Start(ctx context.Context, a protocol.LaunchArguments, report dap.Progress) (dap.Started, error) {
	s.mu.Lock()
	s.asked = append(s.asked, a)
	s.mu.Unlock()
	select {
	case s.begun <- struct{}{}:
	default:
	}
	report("waiting for the ranks", 0, int64(s.ranks))
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return dap.Started{}, ctx.Err()
		}
	}
	if s.fail != nil {
		return dap.Started{}, s.fail
	}
	w := s.world()
	j := job.New(job.Options{Ranks: s.ranks, MergeWindow: -1})
	for i, f := range w.Ranks() {
		if err := j.Attach(i, f, job.Info{Host: "host"}); err != nil {
			return dap.Started{}, err
		}
	}
	gone := make(chan struct{})
	var once sync.Once
	started := dap.Started{
		Job:    j,
		Launch: backend.LaunchRequest{Program: a.Program, Args: a.Args, Cwd: "/"},
		Notes:  []string{"this is a scripted job"},
		Stop: func(context.Context) error {
			s.mu.Lock()
			s.stopped++
			s.mu.Unlock()
			once.Do(func() { w.Close(); close(gone) })
			return nil
		},
		Wait: func() error { <-gone; return nil },
	}
	if s.change != nil {
		s.change(&started)
	}
	return started, nil
}

func (s *starter) stops() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// newBench makes a server whose next job has n ranks that run the program. setup may change the ranks.
func newBench(t *testing.T, n int, program func(src string) []jobtest.Step, setup func(*bench)) *bench {
	t.Helper()
	t.Cleanup(func() {
		goleak.VerifyNone(t, // synctest's own goroutines end after the test's; it looks for leaks itself
			goleak.IgnoreAnyFunction("internal/synctest.Run"),
			goleak.IgnoreAnyFunction("testing/synctest.testingSynctestTest"))
	})
	dir := t.TempDir()
	src := filepath.Join(dir, "prog.c")
	if err := os.WriteFile(src, []byte("int main(void)\n{\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	b := &bench{t: t, src: src, ctx: ctx}
	t.Cleanup(func() { cancel(); b.wg.Wait() })
	b.starts = &starter{ranks: n, begun: make(chan struct{}, 8)}
	b.starts.world = func() *jobtest.World { return b.world }
	b.fresh(n, program)
	if setup != nil {
		setup(b)
	}
	b.server = dap.NewServer(dap.Options{Starter: b.starts, Token: "secret", Version: "test"})
	return b
}

// fresh gives the next job new ranks.
func (b *bench) fresh(n int, program func(src string) []jobtest.Step) {
	b.world = jobtest.New(n)
	b.t.Cleanup(b.world.Close)
	for _, f := range b.world.Ranks() {
		if program != nil {
			f.Program = program(b.src)
		}
		f.Values = map[string]string{"x": "5"}
	}
}

// client connects a client over a pipe, as on stdio.
func (b *bench) client() *daptest.Client { return b.connect(false) }

func (b *bench) connect(needToken bool) *daptest.Client {
	b.t.Helper()
	ours, theirs := net.Pipe()
	b.wg.Go(func() { _ = b.server.ServeConn(b.ctx, theirs, needToken) })
	return daptest.New(b.t, ours)
}

// running is a client whose job runs.
func (b *bench) running() *daptest.Client {
	b.t.Helper()
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	c.ConfigurationDone()
	return c
}

// launching is a client whose launch request continues until ready is closed, for ever if nobody does.
func launching(t *testing.T, ready <-chan struct{}) (*bench, *daptest.Client, *daptest.Call) {
	t.Helper()
	b := newBench(t, 2, endless, func(b *bench) { b.starts.wait = ready })
	c := b.client()
	c.Initialize()
	launch, err := c.Send("launch", protocol.LaunchArguments{Program: "/bin/prog"})
	if err != nil {
		t.Fatal(err)
	}
	return b, c, launch
}

// atLine is a client whose ranks have all stopped at a breakpoint on line 10.
func (b *bench) atLine() *daptest.Client {
	b.t.Helper()
	c := b.client()
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	c.SetBreakpoints(b.src, 10)
	c.ConfigurationDone()
	var all []daptest.Expectation
	for r := range b.starts.ranks {
		all = append(all, daptest.Stopped(r, "breakpoint"))
	}
	c.Expect(append(all, daptest.Idle())...)
	return c
}

// loop is a program that passes lines 10 to 13 and then ends.
func loop(src string) []jobtest.Step {
	return []jobtest.Step{
		jobtest.Line(src, 10), jobtest.Line(src, 11), jobtest.Line(src, 12), jobtest.Line(src, 13), jobtest.Exit(0),
	}
}

// endless is a program that passes line 10 and then waits.
func endless(src string) []jobtest.Step {
	return []jobtest.Step{jobtest.Line(src, 10), jobtest.Line(src, 11), jobtest.Block("MPI_Recv", nil)}
}

var errTest = errors.New("the launcher said no")
