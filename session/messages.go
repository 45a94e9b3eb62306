package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/replayctl"
)

// Messages implements dap.Controller.
func (s *controller) Messages(ctx context.Context, at string) (dap.RecordedMessages, error) {
	event, err := causal.ParseEventID(at)
	if err != nil {
		return dap.RecordedMessages{}, refusedCut(err)
	}
	graph, err := s.loadGraph(ctx)
	if err != nil {
		return dap.RecordedMessages{}, err
	}
	out, err := messagesOf(graph, event)
	return out, refusedCut(err)
}

// Visit implements dap.Controller.
func (s *controller) Visit(calls []dap.RecordedCall, look func(ctx context.Context, index int) error) *replayctl.Run {
	events := make([]causal.EventID, len(calls))
	for i, c := range calls {
		events[i] = causal.EventID{Rank: c.Rank, Index: c.Event}
	}
	return s.Controller.Visit(events, look)
}

// messagesOf are the messages that an event has a part in, or what it gives other ranks and takes of them in a
// collective.
func messagesOf(graph *causal.Graph, event causal.EventID) (dap.RecordedMessages, error) {
	all, err := graph.Exchanges(event)
	if err != nil {
		return dap.RecordedMessages{}, err
	}
	call := func(e causal.EventID, which uint32) dap.RecordedCall {
		if e.IsZero() {
			return dap.RecordedCall{}
		}
		op, _ := graph.Op(e) // events of the graph have one
		return dap.RecordedCall{Rank: e.Rank, Event: e.Index, Name: op.Call(), Which: int(which)}
	}
	out := dap.RecordedMessages{Call: call(event, 0)}
	doubts := doubtsOf(graph)
	for _, x := range all {
		out.Messages = append(out.Messages, dap.RecordedMessage{
			Part: string(x.Part), Send: call(x.Send, x.SendWhich), Receive: call(x.Start, x.StartWhich), To: x.To,
			Comm: x.Comm, Tag: int(x.Tag), Bytes: x.Bytes, Doubt: doubts.of(x),
		})
	}
	if len(all) > 0 {
		return out, nil
	}
	c, member := graph.CollectiveOf(event)
	if !member {
		out.None = noMessage(graph, event)
		return out, nil
	}
	for _, pair := range pairs(c, event.Rank) {
		out.Messages = append(out.Messages, dap.RecordedMessage{
			Send: call(pair[0], 0), Receive: call(pair[1], 0), To: pair[1].Rank, Comm: c.Comm, Collective: true,
		})
	}
	if len(out.Messages) == 0 {
		out.None = fmt.Sprintf("Event %s (%s) is part of %s, a collective of which Cohort compares no types between "+
			"ranks.", event, out.Call.Name, c.Op.Call())
		if c.Inter {
			out.None = fmt.Sprintf("Event %s (%s) is part of %s over an intercommunicator, of which the recording "+
				"does not tell who gives data to whom.",
				event, out.Call.Name, c.Op.Call())
		}
	}
	return out, nil
}

// noMessage says why an event that has no message has none.
func noMessage(graph *causal.Graph, event causal.EventID) string {
	op, _ := graph.Op(event) // it was looked for before
	for _, p := range graph.Problems() {
		if p.Event == event {
			return fmt.Sprintf("Event %s (%s) has a message of which the recording has one end only (%s: %s).", event,
				op.Call(), p.Kind, p.Note)
		}
	}
	switch op.Class() {
	case mpispec.ClassSend, mpispec.ClassRecv, mpispec.ClassIrecv, mpispec.ClassSendrecv, mpispec.ClassStart,
		mpispec.ClassProbe:
		return fmt.Sprintf("Event %s (%s) has no message in the recording: it names MPI_PROC_NULL, or it was "+
			"cancelled.", event, op.Call())
	default:
		return fmt.Sprintf("Event %s (%s) has no part in a message: it neither sends nor receives one, nor completes "+
			"either.", event, op.Call())
	}
}

// pairs are, of a collective, who gives data to whom with that rank among them: the calls of giver and taker.
func pairs(c causal.Collective, rank int) [][2]causal.EventID {
	after := c.Op.Function().After
	toAll, toRoot := after == mpispec.AfterRoot, after == mpispec.RootAfterAll
	rooted := toAll || toRoot
	// of an intercommunicator groups and root are not known
	if c.Inter || !rooted && after != mpispec.AfterExchange ||
		rooted && (c.Root < 0 || int(c.Root) >= len(c.Members)) {
		return nil
	}
	me := slices.IndexFunc(c.Members, func(m causal.Member) bool { return m.Rank == rank })
	var out [][2]causal.EventID
	add := func(from, to int) {
		if g, t := c.Members[from].Entry, c.Members[to].Entry; from != to && !g.IsZero() && !t.IsZero() {
			out = append(out, [2]causal.EventID{g, t})
		}
	}
	root := int(c.Root)
	switch {
	case toAll && me != root:
		add(root, me)
	case toRoot && me != root:
		add(me, root)
	default: // the root, or all with all
		for other := range c.Members {
			if !rooted || toAll {
				add(me, other)
			}
			if !rooted || toRoot {
				add(other, me)
			}
		}
	}
	return out
}

// doubts are what a graph says of messages that may have been matched wrongly.
type doubts struct {
	at  map[causal.EventID]string // sizes that differ, by the completion
	all string                    // of any message
}

func doubtsOf(graph *causal.Graph) doubts {
	d := doubts{at: map[causal.EventID]string{}}
	others := slices.DeleteFunc(graph.Doubts(), func(p causal.Problem) bool {
		if p.Kind == causal.ProblemSize {
			d.at[p.Event] = p.Note
		}
		return p.Kind == causal.ProblemSize
	})
	if n := len(others); n > 0 {
		d.all = "The recording does not settle everything, so it may be another message: " + others[0].String()
		if n > 1 {
			d.all += fmt.Sprintf(" (and %d more)", n-1)
		}
		d.all += "."
	}
	return d
}

func (d doubts) of(x causal.Exchange) string {
	text := d.all
	if note := d.at[x.Receive]; note != "" {
		if text != "" {
			text += " "
		}
		text += fmt.Sprintf("What %s received is not as long as what was sent: %s.", x.Receive, note)
	}
	return text
}
