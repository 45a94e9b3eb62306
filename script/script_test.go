package script

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/client"
	"github.com/cohort-debugger/cohort/dap/protocol"
)

// server is a DAP server of a job of two ranks. It answers at once unless the test says otherwise.
type server struct {
	mu      sync.Mutex
	asked   []string                        // requests, with what was evaluated, for which ranks was waited, or who was paused
	refuses map[string]string               // what is evaluated, and why it is refused
	hold    map[string]chan struct{}        // requests that are answered when this is closed
	reached chan string                     // each request, if not nil
	ranks   func() []protocol.RankStatus    // as they are now
	console map[string]protocol.ConsoleBody // answers
}

// run carries out a script, and returns what it has printed.
func (s *server) run(t *testing.T, o Options) (string, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() { s.serve(theirs) })
	defer served.Wait()
	defer theirs.Close() //nolint:errcheck // the script has closed its end
	var out strings.Builder
	o.Conn, o.Out = ours, &out
	err := Run(t.Context(), o)
	return out.String(), err
}

func (s *server) serve(conn net.Conn) {
	r := bufio.NewReader(conn)
	var group sync.WaitGroup
	defer group.Wait()
	var writing sync.Mutex
	for {
		raw, err := dap.ReadBaseMessage(r)
		if err != nil {
			return
		}
		var m client.Message
		if json.Unmarshal(raw, &m) != nil {
			return
		}
		group.Go(func() {
			answer := s.answer(m)
			writing.Lock()
			defer writing.Unlock()
			raw, _ := json.Marshal(answer)      // of strings and numbers
			_ = dap.WriteBaseMessage(conn, raw) // the script may have gone
		})
	}
}

func (s *server) answer(m client.Message) client.Message {
	var args struct {
		Expression string `json:"expression"`
		Ranks      string `json:"ranks"`
		ThreadID   int    `json:"threadId"`
	}
	_ = json.Unmarshal(m.Arguments, &args) // others have other arguments
	name := m.Command
	switch {
	case args.Expression != "":
		name = args.Expression
	case args.Ranks != "":
		name += " " + args.Ranks
	case m.Command == "pause":
		rank, _ := protocol.RankThread(args.ThreadID)
		name += " " + string(rune('0'+rank))
	}
	s.mu.Lock()
	s.asked = append(s.asked, name)
	why, refused := s.refuses[name]
	hold := s.hold[name]
	s.mu.Unlock()
	if s.reached != nil {
		s.reached <- name
	}
	if hold != nil {
		<-hold
	}
	out := client.Message{Type: "response", RequestSeq: m.Seq, Command: m.Command, Success: !refused, Message: why}
	var body any
	switch m.Command {
	case protocol.RequestCommands:
		body = protocol.CommandsBody{Commands: []protocol.Command{
			{Name: "continue", Resumes: true}, {Name: "runto", Resumes: true}, {Name: "ranks", AllRanks: true},
		}}
	case protocol.RequestRanks, protocol.RequestWaitIdle:
		body = protocol.RanksBody{Ranks: s.ranks()}
	case "evaluate":
		body = s.console[name]
	}
	out.Body, _ = json.Marshal(body) // of strings and numbers
	return out
}

// lines are the requests that the commands have led to.
func (s *server) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.asked), func(name string) bool {
		return slices.Contains([]string{
			"initialize", protocol.RequestCommands, "launch", "configurationDone", protocol.RequestWaitIdle, "stackTrace",
			"disconnect",
		}, name)
	})
}

func twoStopped() []protocol.RankStatus {
	return []protocol.RankStatus{{Rank: 0, State: "stopped"}, {Rank: 1, State: "stopped"}}
}

// After a command that resumes ranks a script waits for those that the answer names, and nothing comes before.
func TestWaitsForTheRanksThatRun(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"continue", "runto 1:5"} {
		held := make(chan struct{})
		s := &server{
			ranks: twoStopped, reached: make(chan string),
			console: map[string]protocol.ConsoleBody{line: {Confirms: true, Ranks: "0-1"}},
			hold:    map[string]chan struct{}{protocol.RequestWaitIdle + " 0-1": held},
		}
		go func() {
			for name := range s.reached {
				if name == protocol.RequestWaitIdle+" 0-1" {
					close(held)
				}
			}
		}()
		text, err := s.run(t, Options{Commands: []string{line, "p x"}})
		close(s.reached)
		if err != nil || strings.Count(text, "rank 1") != 1 {
			t.Errorf("%v:\n%s", err, text)
		}
		want := []string{line, protocol.RequestWaitIdle + " 0-1", "p x"}
		if got := s.lines(); !slices.Equal(got, want) {
			t.Errorf("the requests are %q, not %q", got, want)
		}
	}
}

// Of a rank that runs it is said in which call it is.
func TestShowsTheCallOfARankThatRuns(t *testing.T) {
	t.Parallel()
	s := &server{ranks: func() []protocol.RankStatus {
		return []protocol.RankStatus{{Rank: 0, State: "running", Call: "MPI_Recv"}, {Rank: 1, State: "running"}}
	}}
	text, err := s.run(t, Options{Commands: []string{"ranks"}})
	if err != nil || !strings.Contains(text, "in MPI_Recv\n") || !strings.Contains(text, "running\n") {
		t.Errorf("%v:\n%s", err, text)
	}
}

// A refused command ends the script; with KeepGoing the others are carried out, and it has failed all the same.
func TestKeepGoing(t *testing.T) {
	t.Parallel()
	for _, keepGoing := range []bool{false, true} {
		s := &server{ranks: twoStopped, refuses: map[string]string{"p a": "no a", "p c": "no c"}}
		text, err := s.run(t, Options{Commands: []string{"p a", "p b", "p c"}, KeepGoing: keepGoing})
		want, says := []string{"p a"}, `the command "p a" failed: no a`
		if keepGoing {
			want, says = []string{"p a", "p b", "p c"}, `2 commands failed; the command "p a" failed: no a`
		}
		if got := s.lines(); err == nil || err.Error() != says || !slices.Equal(got, want) {
			t.Errorf("keep going %v: %v, after %q", keepGoing, err, got)
		}
		if keepGoing != strings.Contains(text, "error: no c\n") {
			t.Errorf("keep going %v:\n%s", keepGoing, text)
		}
	}
}

// An interrupt pauses the ranks that run, also outside the focus, and the rest of the script is carried out.
func TestInterruptCarriesOutTheRest(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	s := &server{
		reached: make(chan string),
		ranks: func() []protocol.RankStatus {
			return []protocol.RankStatus{
				{Rank: 0, State: "stopped", ThreadID: protocol.ThreadID(0, 1)},
				{Rank: 1, State: "running", ThreadID: protocol.ThreadID(1, 1)},
			}
		},
		console: map[string]protocol.ConsoleBody{"continue": {Confirms: true, Ranks: "0-1"}},
		hold:    map[string]chan struct{}{protocol.RequestWaitIdle + " 0-1": held},
	}
	interrupts := make(chan struct{})
	go func() {
		for name := range s.reached {
			switch name {
			case protocol.RequestWaitIdle + " 0-1":
				go func() { interrupts <- struct{}{} }()
			case "pause 1":
				close(held) // the rank has stopped
			}
		}
	}()
	_, err := s.run(t, Options{Commands: []string{"continue", "bt"}, Interrupts: interrupts})
	close(s.reached)
	want := []string{"continue", protocol.RequestWaitIdle + " 0-1", protocol.RequestRanks, "pause 1", "bt"}
	if got := s.lines(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: the requests are %q, not %q", err, got, want)
	}
}

// A script that is ended while it waits ends the session.
func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := &server{
		ranks: twoStopped, hold: map[string]chan struct{}{"p x": make(chan struct{})}, reached: make(chan string),
	}
	ctx, cancel := context.WithCancel(t.Context())
	ours, theirs := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() { s.serve(theirs) })
	go func() {
		for name := range s.reached {
			if name == "p x" {
				cancel()
			}
		}
	}()
	err := Run(ctx, Options{Conn: ours, Out: &strings.Builder{}, Commands: []string{"p x", "p y"}, KeepGoing: true})
	close(s.hold["p x"])
	served.Wait()
	close(s.reached)
	if err == nil || slices.Contains(s.lines(), "p y") {
		t.Errorf("%v, after %q", err, s.lines())
	}
}
