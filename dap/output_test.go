package dap_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
)

// idleReader is a connection whose client reads nothing while reading is locked.
type idleReader struct {
	io.ReadWriteCloser
	reading sync.RWMutex
}

func (c *idleReader) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	c.reading.RLock()
	defer c.reading.RUnlock()
	return n, err
}

// printed are the bytes of stdout in an event.
func printed(t *testing.T, e daptest.Event) string {
	t.Helper()
	var body godap.OutputEventBody
	if err := e.Decode(&body); err != nil {
		t.Fatal(err)
	}
	if e.Name != "output" || body.Category != "stdout" {
		return ""
	}
	return body.Output
}

// However much output a client has not read, the answer to pause and the stops are behind a little of it only. The
// output comes afterwards, whole and in order, and idleness after the output before it, unless the job is busy again.
func TestStopsOvertakeOutput(t *testing.T) {
	const most = 256 << 10 // what may come before: some messages
	var j *job.Job
	b := newBench(t, 2, endless, func(b *bench) {
		b.starts.change = func(s *dap.Started) { j = s.Job }
	})
	ours, theirs := net.Pipe()
	b.wg.Go(func() { _ = b.server.ServeConn(b.ctx, theirs, false) })
	idle := &idleReader{ReadWriteCloser: ours}
	c := daptest.New(t, idle)
	c.Launch(protocol.LaunchArguments{Program: "/bin/prog"})
	c.ConfigurationDone()
	c.Expect(daptest.RankIs(0, "running"), daptest.RankIs(1, "running"))
	c.Expect(daptest.Idle())

	states := j.Subscribe(job.WithoutOutput)
	defer states.Close()
	awaitJob := func(cond func(job.Event) bool) {
		t.Helper()
		for e := range states.Events() {
			if cond(e) {
				return
			}
		}
		t.Fatal("the job has ended")
	}
	idle.reading.Lock() // one message may be read yet
	resume := sync.OnceFunc(idle.reading.Unlock)
	defer resume()
	const chunks, lines = 500, 16
	filler := strings.Repeat(".", 500)
	for i := range chunks {
		var text strings.Builder
		for l := range lines {
			fmt.Fprintf(&text, "%d %s\n", i*lines+l, filler)
		}
		b.world.Rank(0).Print("stdout", text.String())
	}
	pause, err := c.Send("pause", godap.PauseArguments{ThreadId: protocol.ThreadID(0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	awaitJob(func(e job.Event) bool { return e.Idle })
	busy, err := j.Busy()
	if err != nil {
		t.Fatal(err)
	}
	b.world.Rank(1).Emit(backend.Event{Control: &backend.ControlState{Message: "later than the idleness"}})
	awaitJob(func(e job.Event) bool { return e.RankChanged != nil && e.RankChanged.Control.Message != "" })
	before := len(c.Events())

	resume()
	if err := pause.Wait(b.ctx, nil); err != nil {
		t.Fatal(err)
	}
	c.Expect(all(2, "pause")...)
	last := fmt.Sprintf("[0] %d %s\n", chunks*lines-1, filler)
	c.Expect(daptest.That("the last line", func(e daptest.Event) (daptest.Verdict, string) {
		if strings.HasSuffix(printed(t, e), last) {
			return daptest.Met, ""
		}
		return daptest.NotYet, ""
	}))
	busy()
	c.Expect(daptest.Idle())

	var text strings.Builder
	stopped, answered, idles := -1, -1, 0
	for _, e := range c.Events()[before:] {
		switch {
		case e.Name == "stopped":
			stopped = text.Len()
		case e.Name == protocol.EventIdle:
			idles++
		}
		if e.Seq < pause.AnswerSeq() {
			answered = text.Len()
		}
		text.WriteString(printed(t, e))
	}
	if stopped > most || stopped < 0 || answered > most {
		t.Errorf("%d bytes of output came before the stops, %d before the answer to pause", stopped, answered)
	}
	if idles != 1 {
		t.Errorf("idleness was told %d times, want once: when the job was busy again it was over", idles)
	}
	got := strings.SplitAfter(text.String(), "\n")
	if len(got) != chunks*lines+1 {
		t.Errorf("%d lines came", len(got)-1)
	}
	for i, line := range got[:len(got)-1] {
		if want := fmt.Sprintf("[0] %d %s\n", i, filler); line != want {
			t.Fatalf("line %d is %.40q", i, line)
		}
	}
	c.Disconnect()
}
