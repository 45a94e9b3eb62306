package dap

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/job"

	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
)

// matchEvent is `mpipp --match 2:17`: the two types of a message of the recording. They are not in the recording, so
// the ranks are brought to the ends of the two calls that were given them, and asked there.
func (k *call) matchEvent(q command.MatchEvent) (string, error) {
	d := k.d
	if d.Controller == nil {
		return "", refuse("mpipp --match %s is about an event of a recording and needs a replay, and %s. "+
			"Calls that two ranks are in or at are compared by `mpipp --match [0] to [1]`", q.At, d.notReplay())
	}
	found, err := d.Controller.Messages(k.ctx, q.At)
	if err != nil {
		return "", err
	}
	if len(found.Messages) == 0 {
		return "", refuse("%s", found.None)
	}
	m, err := choose(q, found)
	if err != nil {
		return "", err
	}
	if m.Receive.Event == 0 {
		return "", refuse("the message that %s sends to rank %d is received by no call that ended in the recording. "+
			"If rank %d was in its receive when the recording ended, run the ranks to the send with `runto %d:%d`, "+
			"let rank %d alone continue to the end of its recording (`focus %d`, continue), and compare the two calls "+
			"with `mpipp --match [%d] to [%d]`",
			m.Send, m.To, m.To, m.Send.Rank, m.Send.Event, m.To, m.To, m.Send.Rank, m.To)
	}
	d.cancelRun()
	text, err := k.matchRecorded(k.ctx, found.Call, m)
	if err != nil {
		return "", err
	}
	if err := k.catchUp(); err != nil {
		return "", err
	}
	return fmt.Sprintf("Event %s %s.\n%s", found.Call, m.line(), text), nil
}

// String is the call for people.
func (c RecordedCall) String() string { return fmt.Sprintf("%d:%d %s", c.Rank, c.Event, c.Name) }

func (c RecordedCall) is(rankOrEvent string) bool {
	rank, event, exact := strings.Cut(rankOrEvent, ":")
	return rank == strconv.Itoa(c.Rank) && (!exact || event == strconv.FormatUint(c.Event, 10))
}

// line is what an event has to do with a message, for people.
func (m *RecordedMessage) line() string {
	to := fmt.Sprintf("rank %d, which receives it in no call of the recording", m.To)
	if m.Receive.Event != 0 {
		to = m.Receive.String()
	}
	if m.Collective {
		return fmt.Sprintf("is of a collective in which %s gives data to %s", m.Send, to)
	}
	return fmt.Sprintf("%s the message of %s to %s, tag %d, %s", m.Part, m.Send, to, m.Tag,
		prose.Count(m.Bytes, "byte"))
}

// choose finds the message that is meant.
func choose(q command.MatchEvent, found RecordedMessages) (*RecordedMessage, error) {
	var left []int
	for i := range found.Messages {
		m := &found.Messages[i]
		if (q.From == "" || m.Send.is(q.From)) && (q.To == "" || m.Receive.is(q.To)) &&
			(q.Tag == nil || !m.Collective && *q.Tag == m.Tag) &&
			(q.Number == 0 || q.Number == i+1) {
			left = append(left, i)
		}
	}
	if len(left) == 1 {
		return &found.Messages[left[0]], nil
	}
	var b strings.Builder
	which, problem := left, "; say which is meant:"
	if len(left) == 0 {
		problem = ", none of which is meant:"
		for i := range found.Messages {
			which = append(which, i)
		}
	}
	fmt.Fprintf(&b, "event %s has a part in %s%s", found.Call, prose.Count(len(which), "message"), problem)
	const few = 32
	for n, i := range which {
		if n == few {
			fmt.Fprintf(&b, "\n  … and %d more; narrow them down by from RANK, to RANK or tag TAG", len(which)-few)
			break
		}
		m := &found.Messages[i]
		fmt.Fprintf(&b, "\n  mpipp --match %s message %-4d %s", q.At, i+1, m.line())
	}
	return nil, quietly("%s", b.String())
}

// matchRecorded obtains the two sides of a message, and compares them. of is the event that was asked about.
func (k *call) matchRecorded(ctx context.Context, of RecordedCall, m *RecordedMessage) (string, error) {
	calls := []RecordedCall{m.Send, m.Receive}
	sides := make([]datatype.Side, len(calls))
	ask := func(ctx context.Context, i int) error {
		c, other := calls[i], calls[1-i]
		got, err := k.sides(ctx, command.MatchSide{
			Rank: c.Rank, Peer: other.Rank, Receives: i == 1, Event: c.Event, Call: c.Name, Which: c.Which,
		})
		if err != nil {
			return err
		}
		sides[i] = got[0]
		sides[i].Where = fmt.Sprintf("rank %d, event %d:%d", c.Rank, c.Rank, c.Event)
		if e := got[0].Envelope; e != nil {
			sides[i].Where += " " + e.Name()
		}
		return nil
	}
	// What a rank knows that is in the call, or beyond it, needs no run.
	status, err := k.d.Job.Status()
	if err != nil {
		return "", err
	}
	var missing []int
	var visits []RecordedCall
	for i, c := range calls {
		if s := status[c.Rank]; s.State == job.Stopped && s.Control.Events+1 >= c.Event && ask(ctx, i) == nil {
			continue
		}
		missing, visits = append(missing, i), append(visits, c)
	}
	if len(visits) > 0 {
		err := k.visit(of, visits, func(ctx context.Context, index int) error { return ask(ctx, missing[index]) })
		if err != nil {
			return "", err
		}
	}
	text, err := matchText(sides[0], sides[1])
	if err != nil {
		return "", err
	}
	return text + m.contradictions(sides), nil
}

// visit brings the ranks to calls. The stop of the rank whose event was asked about takes the attention, else that of
// the first; if nothing moves it stays where it is.
func (k *call) visit(of RecordedCall, calls []RecordedCall, look func(ctx context.Context, index int) error) error {
	shown, lead := k.c.view.current().shown, calls[0]
	for _, c := range calls {
		if c.Rank == of.Rank {
			lead = c
		}
	}
	k.c.view.wantEvent(lead.Rank, lead.Event)
	bar := k.c.newProgress("Running to the calls", k.req.seq)
	defer bar.end("")
	err := k.through(k.d.Controller.Visit(calls, look))
	if err != nil {
		k.c.view.restore(shown)
	}
	return err
}

// contradictions says where the calls are not what the recording says of the message.
func (m *RecordedMessage) contradictions(sides []datatype.Side) string {
	out := ""
	if m.Doubt != "" {
		out += "\n" + m.Doubt
	}
	if m.Collective {
		return out
	}
	if size := sides[0].Bytes(); size != int64(m.Bytes) {
		out += fmt.Sprintf("\nBut the recording has %s for this message, and the send %d.",
			prose.Count(m.Bytes, "byte"), size)
	}
	for _, s := range sides {
		if s.Envelope != nil && s.Envelope.Comm != 0 && m.Comm != 0 && s.Envelope.Comm != m.Comm {
			out += fmt.Sprintf("\nBut the recording has another communicator for this message than the call of %s.",
				s.Where)
		}
	}
	return out
}
