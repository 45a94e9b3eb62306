package wire

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cohort-debugger/cohort/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scriptedConn reads from a script and remembers what was written.
type scriptedConn struct {
	net.Conn
	io.Reader
	written bytes.Buffer
}

func (c *scriptedConn) Read(p []byte) (int, error)       { return c.Reader.Read(p) }
func (c *scriptedConn) Write(p []byte) (int, error)      { return c.written.Write(p) }
func (c *scriptedConn) SetDeadline(time.Time) error      { return nil }
func (c *scriptedConn) SetWriteDeadline(time.Time) error { return nil }
func (c *scriptedConn) Close() error                     { return nil }

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func everything(backend.Event) bool { return true }

// connect gives two ends of a unix socket.
func connect(t *testing.T) (job, agent net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if agent, err = net.Dial("unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if job, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return job, agent
}

type handlerFunc func(ctx context.Context, expression string) (any, error)

// Handle gives f what is to be evaluated, or the name of another request.
func (f handlerFunc) Handle(ctx context.Context, request any) (any, error) {
	switch r := request.(type) {
	case backend.EvaluateRequest:
		return f(ctx, r.Expression)
	case Command:
		return f(ctx, string(r))
	}
	return f(ctx, fmt.Sprintf("%T", request))
}
func (f handlerFunc) Taken(int) {}

// serve runs an agent's end and returns both; the cleanup checks that both end.
func serve(t *testing.T, handle handlerFunc) (*Client, *Server) {
	t.Helper()
	jobConn, agentConn := connect(t)
	server := NewServer(agentConn)
	served := make(chan error, 1)
	go func() { served <- server.Serve(handle) }()
	client := NewClient(jobConn, "the agent of rank 2", everything)
	t.Cleanup(func() {
		client.Close()
		for range client.Events() {
		}
		<-served
	})
	return client, server
}

func evaluate(expression string) any { return backend.EvaluateRequest{Expression: expression} }

func result(text string) backend.EvaluateResult { return backend.EvaluateResult{Text: text} }

func TestHandshake(t *testing.T) {
	good := Hello{Version: "v1", Token: "secret", Rank: 1, Size: 2, Host: "h", Pid: 7}
	for name, c := range map[string]struct {
		change func(*Hello)
		want   string
	}{
		"good":          {func(*Hello) {}, ""},
		"no size":       {func(h *Hello) { h.Size = 0 }, ""},
		"token":         {func(h *Hello) { h.Token = "secreT" }, "token"},
		"no token":      {func(h *Hello) { h.Token = "" }, "token"},
		"long token":    {func(h *Hello) { h.Token = "secretsecret" }, "token"},
		"version":       {func(h *Hello) { h.Version = "v2" }, "of version v2"},
		"both":          {func(h *Hello) { h.Version, h.Token = "v2", "x" }, "token"},
		"rank":          {func(h *Hello) { h.Rank = 2 }, "started rank 2"},
		"negative rank": {func(h *Hello) { h.Rank = -1 }, "started rank -1"},
		"size":          {func(h *Hello) { h.Size = 3 }, "started 3 ranks"},
	} {
		t.Run(name, func(t *testing.T) {
			jobConn, agentConn := connect(t)
			defer jobConn.Close()
			defer agentConn.Close()
			hello := good
			c.change(&hello)
			introduced := make(chan error, 1)
			go func() { introduced <- Introduce(agentConn, hello) }()
			got, err := Receive(jobConn, Expect{Token: "secret", Version: "v1", Ranks: 2})
			if err == nil {
				err = Accept(jobConn)
			}
			theirs := <-introduced
			if c.want == "" {
				if err != nil || theirs != nil || got.Host != "h" || got.Pid != 7 {
					t.Errorf("job: %+v %v, agent: %v", got, err, theirs)
				}
				return
			}
			for who, e := range map[string]error{"job": err, "agent": theirs} {
				if e == nil || !strings.Contains(e.Error(), c.want) {
					t.Errorf("%s: %v, want a refusal with %q", who, e, c.want)
				}
			}
			// Who has not shown the token learns nothing about this version.
			if c.want == "token" && strings.Contains(theirs.Error(), "v1") {
				t.Errorf("the refusal tells the version: %v", theirs)
			}
		})
	}
}

func TestCallsAreCarriedOutInOrderAndSomeOvertake(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	var order []string
	client, _ := serve(t, func(ctx context.Context, request string) (any, error) {
		switch {
		case request == string(Interrupt):
			close(release)
			return nil, nil
		case request == "block":
			<-release
		}
		mu.Lock()
		defer mu.Unlock()
		order = append(order, request)
		return result(request), nil
	})
	ctx := testContext(t)
	var group sync.WaitGroup
	// The first is sent before the others; they are sent from one goroutine each, in turn.
	for _, e := range []string{"block", "a", "b", "c"} {
		sent := len(callsInFlight(client))
		group.Go(func() {
			if r, err := client.Call(ctx, evaluate(e)); err != nil || r != any(result(e)) {
				t.Errorf("%s: %+v, %v", e, r, err)
			}
		})
		awaitCalls(t, client, sent+1)
	}
	if _, err := client.Call(ctx, Interrupt); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if got := fmt.Sprint(order); got != "[block a b c]" {
		t.Errorf("order %s", got)
	}
}

func callsInFlight(c *Client) map[uint64]chan *Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

// awaitCalls waits until n calls are in flight: a call is entered and queued under one lock, and no event tells of it.
func awaitCalls(t *testing.T, c *Client, n int) {
	t.Helper()
	for ctx := testContext(t); len(callsInFlight(c)) < n; {
		if ctx.Err() != nil {
			t.Fatalf("%d calls did not get under way", n)
		}
	}
}

func TestErrorsKeepTheirTypes(t *testing.T) {
	sent := map[string]error{
		"ended": &backend.EndedError{Why: "it crashed"}, "state": &backend.StateError{Asked: "step", State: "running"},
		"launch":      &backend.LaunchError{Program: "p", Reason: "It is not there."},
		"unsupported": &backend.UnsupportedError{What: "This"},
		"wrapped":     fmt.Errorf("while doing it: %w", &backend.StateError{Asked: "step", State: "running"}),
		"plain":       errors.New("plain"), "canceled": context.Canceled,
		"deadline": fmt.Errorf("x: %w", context.DeadlineExceeded),
	}
	client, _ := serve(t, func(_ context.Context, request string) (any, error) {
		return nil, sent[request]
	})
	for name, want := range sent {
		_, err := client.Call(testContext(t), evaluate(name))
		if err == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", name, err, want)
			continue
		}
		var ended *backend.EndedError
		var state *backend.StateError
		var launch *backend.LaunchError
		var unsupported *backend.UnsupportedError
		is := map[string]bool{
			"ended": errors.As(err, &ended) && ended.Why == "it crashed", "state": errors.As(err, &state) &&
				state.State == "running", "wrapped": errors.As(err, &state) && state.Asked == "step",
			"launch": errors.As(err, &launch) && launch.Program == "p", "unsupported": errors.As(err, &unsupported) &&
				unsupported.What == "This",
			"plain": true, "canceled": errors.Is(err, context.Canceled),
			"deadline": errors.Is(err, context.DeadlineExceeded),
		}
		if !is[name] {
			t.Errorf("%s: %T lost its type", name, err)
		}
	}
}

func TestCancelReachesTheAgent(t *testing.T) {
	started, canceled := make(chan struct{}), make(chan struct{})
	client, _ := serve(t, func(ctx context.Context, request string) (any, error) {
		if request == "long" {
			close(started)
			<-ctx.Done()
			close(canceled)
			return nil, ctx.Err()
		}
		return result("next"), nil
	})
	ctx, cancel := context.WithCancel(testContext(t))
	done := make(chan error, 1)
	go func() {
		_, err := client.Call(ctx, evaluate("long"))
		done <- err
	}()
	<-started
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	<-canceled
	// The connection is as good as before.
	if r, err := client.Call(testContext(t), evaluate("other")); err != nil || r != any(result("next")) {
		t.Errorf("after a cancelled call: %+v, %v", r, err)
	}
}

func TestQueuedCallCanBeCanceled(t *testing.T) {
	release := make(chan struct{})
	seen := make(chan error, 1)
	client, _ := serve(t, func(ctx context.Context, request string) (any, error) {
		switch {
		case request == string(Interrupt):
			close(release)
		case request == "block":
			<-release
		default:
			seen <- ctx.Err()
		}
		return result(""), nil
	})
	var group sync.WaitGroup
	group.Go(func() { _, _ = client.Call(testContext(t), evaluate("block")) })
	awaitCalls(t, client, 1)
	ctx, cancel := context.WithCancel(testContext(t))
	group.Go(func() { _, _ = client.Call(ctx, evaluate("queued")) })
	awaitCalls(t, client, 2)
	cancel()
	// Interrupt is sent after the cancellation, so the agent has that when it comes.
	for n := len(callsInFlight(client)); n > 1; n = len(callsInFlight(client)) {
		if testContext(t).Err() != nil {
			t.Fatal("the call continues")
		}
	}
	if _, err := client.Call(testContext(t), Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-seen; !errors.Is(err, context.Canceled) {
		t.Errorf("the queued call ran with %v", err)
	}
	group.Wait()
}

func TestInputHoldsUpNothing(t *testing.T) {
	release := make(chan struct{})
	client, _ := serve(t, func(_ context.Context, request string) (any, error) {
		if request == "wire.Input" {
			<-release
		}
		return nil, nil
	})
	var group sync.WaitGroup
	group.Go(func() { _, _ = client.Call(testContext(t), Input{EOF: true}) })
	awaitCalls(t, client, 1)
	if _, err := client.Call(testContext(t), evaluate("x")); err != nil {
		t.Error(err)
	}
	close(release)
	group.Wait()
}

func TestEventsAndAnswersKeepTheirOrder(t *testing.T) {
	var server *Server
	ready := make(chan struct{})
	client, s := serve(t, func(_ context.Context, request string) (any, error) {
		<-ready
		server.Send(backend.Event{Output: &backend.Output{Data: []byte(request)}})
		return nil, nil
	})
	server = s
	close(ready)
	go func() {
		for i := range 100 {
			if _, err := client.Call(testContext(t), evaluate(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		}
		server.Send(backend.Event{Ended: &backend.Ended{}})
		server.Finish(time.Second)
	}()
	n := 0
	for event := range client.Events() {
		switch {
		case event.Output != nil:
			if string(event.Output.Data) != fmt.Sprint(n) {
				t.Errorf("event %d is %q", n, event.Output.Data)
			}
			n++
		case event.Ended != nil && event.Ended.Err != "":
			t.Errorf("ended with %q", event.Ended.Err)
		}
	}
	if n != 100 {
		t.Errorf("%d events came", n)
	}
}

func TestCutConnection(t *testing.T) {
	jobConn, agentConn := connect(t)
	client := NewClient(jobConn, "the agent of rank 2", everything)
	failed := make(chan error, 1)
	go func() {
		_, err := client.Call(testContext(t), evaluate("x"))
		failed <- err
	}()
	awaitCalls(t, client, 1)
	agentConn.Close()
	var ended *backend.EndedError
	if err := <-failed; !errors.As(err, &ended) || !strings.Contains(err.Error(), "the agent of rank 2 was cut") {
		t.Errorf("the call under way: %v", err)
	}
	if _, err := client.Call(testContext(t), evaluate("x")); !errors.As(err, &ended) {
		t.Errorf("a call after it: %v", err)
	}
	var events []backend.Event
	for event := range client.Events() {
		events = append(events, event)
	}
	if len(events) != 1 || events[0].Ended == nil ||
		!strings.Contains(events[0].Ended.Err, "the agent of rank 2 was cut") {
		t.Errorf("events %+v", events)
	}
}

// A peer that sends rubbish after the handshake loses its connection, and nothing else happens.
func TestRubbishEndsTheConnection(t *testing.T) {
	jobConn, agentConn := connect(t)
	defer agentConn.Close()
	client := NewClient(jobConn, "the agent of rank 2", everything)
	if _, err := agentConn.Write([]byte{4, 0, 0, 0, 1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	var last backend.Event
	for event := range client.Events() {
		last = event
	}
	if last.Ended == nil || !strings.Contains(last.Ended.Err, "cannot be decoded") {
		t.Errorf("last event %+v", last)
	}
}

func TestServerEndsWhenTheJobGoes(t *testing.T) {
	jobConn, agentConn := connect(t)
	server := NewServer(agentConn)
	served := make(chan error, 1)
	blocked := make(chan struct{})
	go func() {
		served <- server.Serve(handlerFunc(func(ctx context.Context, _ string) (any, error) {
			close(blocked)
			<-ctx.Done() // Serve must end what is under way
			return nil, nil
		}))
	}()
	client := NewClient(jobConn, "the agent of rank 2", everything)
	go func() { _, _ = client.Call(testContext(t), evaluate("x")) }()
	<-blocked
	client.Close()
	if err := <-served; !errors.Is(err, io.EOF) && err == nil {
		t.Errorf("Serve returned %v", err)
	}
	for range client.Events() {
	}
}

// takenHandler counts what the job has taken.
type takenHandler struct {
	handlerFunc
	taken chan int
}

func (h takenHandler) Taken(bytes int) { h.taken <- bytes }

// The agent is told what was taken, but not while output is held; answers and other events come all the same.
func TestHeldOutput(t *testing.T) {
	jobConn, agentConn := connect(t)
	server := NewServer(agentConn)
	handler := takenHandler{
		func(context.Context, string) (any, error) { return nil, nil },
		make(chan int, 10),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(handler) }()
	client := NewClient(jobConn, "the agent of rank 2", everything)
	output := func() {
		server.Send(backend.Event{Output: &backend.Output{Data: make([]byte, Window/2)}})
		if event := <-client.Events(); event.Output == nil {
			t.Errorf("%+v came", event)
		}
	}
	output()
	if n := <-handler.taken; n != Window/2 {
		t.Errorf("%d bytes were taken", n)
	}
	client.HoldOutput(true)
	output()
	output()
	server.Send(backend.Event{Resumed: true})
	if event := <-client.Events(); !event.Resumed { // by now the output before it has been counted
		t.Errorf("%+v came", event)
	}
	if _, err := client.Call(testContext(t), evaluate("x")); err != nil {
		t.Error(err)
	}
	if n := len(handler.taken); n != 0 {
		t.Errorf("the agent was told %d times, though output is held", n)
	}
	client.HoldOutput(false)
	if n := <-handler.taken; n != Window {
		t.Errorf("%d bytes were taken", n)
	}
	client.Close()
	for range client.Events() {
	}
	<-served
}

// A job that does not read what an agent floods it with gives up the connection: its stream ends, and every call with
// it.
func TestFloodEndsTheConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 200 MiB")
	}
	client, server := serve(t, func(context.Context, string) (any, error) { return nil, nil })
	const piece = 32 << 20
	for range mostQueued/piece + 2 {
		server.link.out.Below(testContext(t), 1) // the agent's own queue is bounded, too
		server.Send(backend.Event{Output: &backend.Output{Data: make([]byte, piece)}})
	}
	select {
	case <-client.Gone():
	case <-testContext(t).Done():
		t.Fatal("the connection continues")
	}
	var bytes int
	for event := range client.Events() {
		if event.Output != nil {
			bytes += len(event.Output.Data)
		}
	}
	if bytes == 0 || bytes > mostQueued {
		t.Errorf("%d bytes came", bytes)
	}
	if _, err := client.Call(testContext(t), evaluate("x")); err == nil {
		t.Error("a request was carried out")
	}
}

// heldConn reads nothing before it may.
type heldConn struct {
	net.Conn
	may chan struct{}
}

func (c *heldConn) Read(p []byte) (int, error) {
	<-c.may
	return c.Conn.Read(p)
}

// TestLastWordsAreHeard: an agent has said how its rank ended, and gone, before the job has read that. A request that
// the job sends meanwhile fails, and must not take the last words with it.
func TestLastWordsAreHeard(t *testing.T) {
	job, agent := connect(t)
	encoder := gob.NewEncoder(agent)
	for _, event := range []backend.Event{{Exited: &backend.Exited{Code: 0}}, {Ended: &backend.Ended{}}} {
		if err := encoder.Encode(&Message{Event: &event}); err != nil {
			t.Fatal(err)
		}
	}
	if err := agent.Close(); err != nil {
		t.Fatal(err)
	}
	held := &heldConn{Conn: job, may: make(chan struct{})}
	c := NewClient(held, "the agent of rank 0", everything)
	defer c.Close()
	called := make(chan error, 1)
	go func() {
		_, err := c.Call(testContext(t), Kill)
		called <- err
	}()
	<-c.link.written // the request could not be sent
	close(held.may)
	exited := false
	for event := range c.Events() {
		exited = exited || event.Exited != nil
		if event.Ended != nil && event.Ended.Err != "" {
			t.Errorf("the rank is lost: %s", event.Ended.Err)
		}
	}
	if !exited {
		t.Error("how the rank ended was not heard")
	}
	if err := <-called; err == nil {
		t.Error("a request to an agent that has gone was carried out")
	}
}
