package dap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/rankset"
)

// sideText is what a rank answers to mpipp --export: count integers or doubles.
func sideText(t *testing.T, name string, count int64, e *datatype.Envelope) string {
	t.Helper()
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	rawHandle := im.Named(name).Handle
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		t.Fatal(err)
	}
	dt, err := r.DatatypeOfHandle(rawHandle, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := datatype.Side{Name: name, Type: dt, Count: count, Envelope: e}.Export()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func envelope(call string, self, peer, tag int64) *datatype.Envelope {
	return &datatype.Envelope{Call: call, Comm: 1, Self: self, Peer: peer, Tag: tag}
}

// answers makes the ranks answer the lines of mpipp --export that begin so; all else is an error. known is asked first,
// and may refuse.
func (b *bench) answers(rank int, known func() bool, answers map[string]string) {
	b.world.Rank(rank).OnEvaluate = func(req backend.EvaluateRequest) (backend.EvaluateResult, error) {
		for line, text := range answers {
			if strings.HasPrefix(req.Expression, line) && (known == nil || known()) {
				return backend.EvaluateResult{Text: text + "\n"}, nil
			}
		}
		return backend.EvaluateResult{}, fmt.Errorf("rank %d knows nothing of %s", rank, req.Expression)
	}
}

func theMessage() dap.RecordedMessages {
	return dap.RecordedMessages{
		Call: dap.RecordedCall{Rank: 1, Event: 7, Name: "MPI_Wait"},
		Messages: []dap.RecordedMessage{{
			Part: "completes the receive of", Send: dap.RecordedCall{Rank: 0, Event: 4, Name: "MPI_Send"},
			Receive: dap.RecordedCall{Rank: 1, Event: 5, Name: "MPI_Startall", Which: 2},
			Comm:    1, Tag: 3, Bytes: 8,
		}},
	}
}

// The ranks are brought to both calls, asked there, and compared.
func TestMatchOfARecordedEvent(t *testing.T) {
	b, s, c, _ := replayed(t, endless)
	s.messages = func(string) (dap.RecordedMessages, error) { return theMessage(), nil }
	b.answers(0, nil, map[string]string{command.MatchSide{
		Rank: 0, Peer: 1, Event: 4,
		Call: "MPI_Send",
	}.ExportLine(): sideText(t,
		"MPI_INT", 2, envelope("MPI_Send", 0, 1, 3))})
	b.answers(
		1,
		nil,
		map[string]string{
			command.MatchSide{Receives: true, Rank: 1, Event: 5, Call: "MPI_Startall", Which: 2}.ExportLine(): sideText(
				t,
				"MPI_INT",
				5,
				envelope("MPI_Recv_init", 1, -1, 3),
			),
		},
	)
	var visited []dap.RecordedCall
	s.visit = func(ctx context.Context, calls []dap.RecordedCall, look func(context.Context, int) error) error {
		visited = calls
		if err := look(ctx, 1); err != nil { // in whatever order
			return err
		}
		return look(ctx, 0)
	}
	const head = `Event 1:7 MPI_Wait completes the receive of the message of 0:4 MPI_Send to 1:5 MPI_Startall, tag 3, 8 bytes.
send     MPI_INT (rank 0, event 0:4 MPI_Send): 2 × MPI_INT, 2 entries, 8 bytes
         signature: 2 MPI_INT
receive  MPI_INT (rank 1, event 1:5 MPI_Recv_init): 5 × MPI_INT, 5 entries, 20 bytes
         signature: 5 MPI_INT
`
	got := c.Console("mpipp  --match 1:7", 0)
	for _, part := range []string{
		head, ">     2  (ends)", "They match: the receive is partial. The send ends after 2 entries, and the receive " +
			"could take 3 more, from MPI_INT{2}(INT) on.",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("the answer lacks %q:\n%s", part, got)
		}
	}
	if strings.Contains(got, "But") || strings.Contains(got, "collective") {
		t.Errorf("the answer has doubts:\n%s", got)
	}
	if len(visited) != 2 || visited[0].Rank != 0 || visited[1].Which != 2 {
		t.Errorf("the visits are %+v", visited)
	}
	c.Disconnect()
}

// What is not as recorded is said.
func TestMatchOfARecordedEventContradicts(t *testing.T) {
	b, s, c, _ := replayed(t, endless)
	m := theMessage()
	m.Messages[0].Bytes, m.Messages[0].Comm, m.Messages[0].Doubt = 12, 5, "It may be another."
	s.messages = func(string) (dap.RecordedMessages, error) { return m, nil }
	b.answers(0, nil, map[string]string{`mpipp --export {"Receives":false`: sideText(t, "MPI_INT", 2,
		envelope("MPI_Send", 0, 1, 3))})
	b.answers(1, nil, map[string]string{`mpipp --export {"Receives":true`: sideText(t, "MPI_INT", 2,
		envelope("MPI_Recv", 1, 3, 4))})
	s.visit = func(ctx context.Context, calls []dap.RecordedCall, look func(context.Context, int) error) error {
		return errors.Join(look(ctx, 0), look(ctx, 1))
	}
	got := c.Console("mpipp --match 1:7", 0)
	for _, part := range []string{
		"If it were, by their types: They match: all 2 entries agree.",
		"This receive does not match this send: the receive is from rank 3 of MPI_COMM_WORLD",
		"its tag is 3, and the receive's 4.",
		"\nIt may be another.\n", "But the recording has 12 bytes for this message, and the send 8.",
		"But the recording has another communicator for this message than the call of rank 0, event 0:4 MPI_Send.",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("the answer lacks %q:\n%s", part, got)
		}
	}
	c.Disconnect()
}

// Refusals: each says what to do, and moves nothing.
func TestMatchOfARecordedEventIsRefused(t *testing.T) {
	b, s, c, _ := replayed(t, endless)
	b.answers(0, nil, nil)
	b.answers(1, nil, nil)
	several := theMessage()
	for i := range 40 {
		m := several.Messages[0]
		m.Send.Event, m.Tag = uint64(10+i), i%20
		several.Messages = append(several.Messages, m)
	}
	unreceived := theMessage()
	unreceived.Messages[0].Receive, unreceived.Messages[0].To = dap.RecordedCall{}, 1
	answers := map[string]dap.RecordedMessages{
		"1:1": several, "1:2": unreceived,
		"1:3": {None: "Event 1:3 (MPI_Barrier) has no message."}, "1:4": theMessage(),
	}
	s.messages = func(at string) (dap.RecordedMessages, error) {
		if m, ok := answers[at]; ok {
			return m, nil
		}
		return dap.RecordedMessages{}, errors.New("there is no event " + at)
	}
	s.visit = func(context.Context, []dap.RecordedCall, func(context.Context, int) error) error {
		return errors.New("rank 0 has left the call already: start anew")
	}
	for line, says := range map[string][]string{
		"mpipp --match 1:99": {"here is no event 1:99"},
		"mpipp --match 1:3":  {"Event 1:3 (MPI_Barrier) has no message."},
		"mpipp --match 1:2": {
			"to rank 1 is received by no call that ended in the recording", "`runto 0:4`",
			"`focus 1`", "`mpipp --match [0] to [1]`",
		},
		"mpipp --match 1:4": {"Rank 0 has left the call already: start anew."},
		"mpipp --match 1:4 from 3": {
			"none of which is meant", "mpipp --match 1:4 message 1",
			"0:4 MPI_Send to 1:5 MPI_Startall, tag 3",
		},
		"mpipp --match 1:1": {
			"has a part in 41 messages; say which is meant",
			"mpipp --match 1:1 message 32 ", "and 9 more; narrow them down",
		},
		"mpipp --match 1:1 tag 7": {
			"has a part in 2 messages; say which is meant", "message 9 ",
			"0:17 MPI_Send to", "message 29", "0:37 MPI_Send to",
		},
		"mpipp --match 1:1 message 42":   {"none of which is meant"},
		"mpipp --match 1:1 from 0:12 up": {`nothing follows "up"`},
		"mpipp --match 1:1 message 3":    {"start anew"},
		"mpipp --match 1:1 from 0:12":    {"start anew"},
	} {
		c.Refused("evaluate", godap.EvaluateArguments{Expression: line, Context: "repl"}, says...)
	}
	c.Disconnect()

	b = newBench(t, 2, endless, nil)
	c = b.running()
	c.Refused("evaluate", godap.EvaluateArguments{Expression: "mpipp --match 1:2", Context: "repl"}, "needs a replay",
		"cohort record", "mpipp --match [0] to [1]")
	c.Disconnect()
}

// Who pauses gives the run up, and the console is free again.
func TestPauseEndsAMatch(t *testing.T) {
	program := func(string) []jobtest.Step { return []jobtest.Step{jobtest.Block("MPI_Recv", nil)} }
	_, s, c, started := replayed(t, program)
	s.messages = func(string) (dap.RecordedMessages, error) { return theMessage(), nil }
	begun := make(chan struct{}, 1)
	s.visit = func(ctx context.Context, _ []dap.RecordedCall, _ func(context.Context, int) error) error {
		_, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue})
		begun <- struct{}{}
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	}
	call, err := c.Send("evaluate", godap.EvaluateArguments{Expression: "mpipp --match 1:7", Context: "repl"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	c.Pause(0)
	var refusal *daptest.RequestError
	if err := call.Wait(context.Background(), nil); !asRefusal(err, &refusal) ||
		!strings.Contains(refusal.Text, "Causal run cancelled") {
		t.Errorf("the match ended with %v", err)
	}
	c.Expect(all(2, "pause")...)
	if got := c.Console("ranks", 0); !strings.Contains(got, "[0-1] stopped (pause)") {
		t.Errorf("the ranks are %q", got)
	}

	// So does cancel.
	call, err = c.Send("evaluate", godap.EvaluateArguments{Expression: "mpipp --match 1:7", Context: "repl"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	c.Do("cancel", godap.CancelArguments{RequestId: call.Seq}, nil)
	if err := call.Wait(context.Background(), nil); !asRefusal(err, &refusal) || refusal.Message != "cancelled" {
		t.Errorf("the cancelled match ended with %v", err)
	}
	c.Disconnect()
}

// What is wrong between two ranks' calls is told by what they do instead.
func TestMatchOfCallsThatDoNotMeet(t *testing.T) {
	b, _, c, _ := replayed(t, endless)
	send, recv := `mpipp --export {"Receives":false`, `mpipp --export {"Receives":true`
	one, other, err := command.MatchSides("[0] to [1]")
	if err != nil {
		t.Fatal(err)
	}
	one.Envelope, other.Envelope = true, true
	calls := [2]string{one.ExportLine(), other.ExportLine()}
	for _, k := range []struct {
		name  string
		ranks [2]map[string]string
		says  []string
	}{
		{"a deadlock", [2]map[string]string{
			{recv: sideText(t, "MPI_INT", 1, envelope("MPI_Recv", 0, 1, 3))},
			{recv: sideText(t, "MPI_INT", 1, envelope("MPI_Recv", 1, 0, 3))},
		}, []string{
			"[0] rank 0 knows nothing of " + send,
			"rank 0 waits for a message of rank 1, and rank 1 for one of rank 0, which is a deadlock",
		}},
		{"of any rank", [2]map[string]string{
			{recv: sideText(t, "MPI_INT", 1, envelope("MPI_Recv", 0, 1, 3))},
			{recv: sideText(t, "MPI_INT", 1, envelope("MPI_Recv", 1, -1, 3))},
		}, []string{"Both ranks receive, and neither sends."}},
		{"the other way", [2]map[string]string{
			{recv: sideText(t, "MPI_INT", 1, envelope("MPI_Recv", 0, 1, 3))},
			{send: sideText(t, "MPI_INT", 1, envelope("MPI_Send", 1, 0, 3))},
		}, []string{"The other way round there is a send and a receive: mpipp --match [1] to [0]."}},
		{"two sends", [2]map[string]string{
			{send: sideText(t, "MPI_INT", 1, envelope("MPI_Send", 0, 1, 3))},
			{send: sideText(t, "MPI_INT", 1, envelope("MPI_Send", 1, 0, 3))},
		}, []string{
			"[1] rank 1 knows nothing of " + recv,
			"Both ranks send, and neither receives: a send whose message is not buffered waits for its receive.",
		}},
		{"two roots that are none", [2]map[string]string{
			{calls[0]: `{"call":"MPI_Bcast","collective":true,"comm":1,"self":0,"peer":-3,"tag":-3,"root":0}`},
			{calls[1]: `{"call":"MPI_Bcast","collective":true,"comm":1,"self":1,"peer":-3,"tag":-3,"root":1}`},
		}, []string{
			"These calls are not of one collective: the root is rank 0 of MPI_COMM_WORLD in rank 0, and rank 1",
		}},
		{"a barrier", [2]map[string]string{
			{calls[0]: `{"call":"MPI_Barrier","collective":true,"comm":1,"commName":"MPI_COMM_WORLD","self":0,"root":-3}`},
			{calls[1]: `{"call":"MPI_Barrier","collective":true,"comm":1,"commName":"MPI_COMM_WORLD","self":1,"root":-3}`},
		}, []string{
			"Both ranks call MPI_Barrier in MPI_COMM_WORLD: they are of one collective, in which nothing goes from rank 0 to " +
				"rank 1, so there is no send and receive to compare.",
		}},
		{"nothing at all", [2]map[string]string{{}, {}}, []string{"[0] rank 0 knows nothing"}},
	} {
		for r, a := range k.ranks {
			b.answers(r, nil, a)
		}
		c.Refused("evaluate", godap.EvaluateArguments{Expression: "mpipp --match [0] to [1]", Context: "repl"},
			k.says...)
	}
	two := sideText(t, "MPI_INT", 1, envelope("MPI_Isend", 0, 1, 3)) + "\n" +
		sideText(t, "MPI_DOUBLE", 2, envelope("MPI_Isend", 0, 1, 4))
	b.answers(0, nil, map[string]string{send: two})
	b.answers(1, nil, map[string]string{recv: sideText(t, "MPI_DOUBLE", 2, envelope("MPI_Recv", 1, 0, 4))})
	if got := c.Console("mpipp --match [0] to [1]", 0); !strings.Contains(got,
		"send     MPI_DOUBLE (rank 0, MPI_Isend): 2") || !strings.Contains(got, "They match: all 2 entries agree.") {
		t.Errorf("of two requests it compares\n%s", got)
	}
	c.Disconnect()
}

// What the ranks know where they stand needs no run, though one be beyond the call.
func TestMatchWithoutARun(t *testing.T) {
	b, s, c, started := replayed(t, func(string) []jobtest.Step {
		return []jobtest.Step{jobtest.Init(), jobtest.Events(6), jobtest.Block("MPI_Barrier", nil)}
	})
	s.run = func(ctx context.Context) error {
		_, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue})
		return err
	}
	s.messages = func(string) (dap.RecordedMessages, error) { return theMessage(), nil }
	b.answers(0, nil, map[string]string{`mpipp --export {"Receives":false`: sideText(t, "MPI_INT", 2,
		envelope("MPI_Isend", 0, 1, 3))})
	b.answers(1, nil, map[string]string{`mpipp --export {"Receives":true`: sideText(t, "MPI_INT", 2,
		envelope("MPI_Irecv", 1, 0, 3))})
	c.Do("continue", godap.ContinueArguments{ThreadId: 1}, nil)
	for r := range 2 {
		if err := b.world.Rank(r).WaitIn(b.ctx, "MPI_Barrier"); err != nil {
			t.Fatal(err)
		}
	}
	c.Pause(0)
	c.Expect(all(2, "pause")...)
	s.visit = func(_ context.Context, calls []dap.RecordedCall, _ func(context.Context, int) error) error {
		return fmt.Errorf("%v are visited", calls)
	}
	if got := c.Console("mpipp --match 1:7", 0); !strings.Contains(got, "They match: all 2 entries agree.") {
		t.Errorf("the match says %s", got)
	}
	c.Disconnect()
}
