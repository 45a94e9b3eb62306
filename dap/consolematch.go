package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/backend"

	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/rankset"
)

// consoleMatch is `mpipp --match [0] SEND [COUNT] to [3] RECV [COUNT]`: types of two ranks, each evaluated where its
// rank stands; or `mpipp --match 2:17`, see matchEvent. A line that begins with neither is not ours: the rank that it
// is about answers it.
func (k *call) consoleMatch(line string) (text string, ours bool, err error) {
	rest, ok := strings.CutPrefix(line, "mpipp")
	if !ok {
		return "", false, nil
	}
	rest, ok = strings.CutPrefix(strings.TrimSpace(rest), "--match")
	if !ok {
		return "", false, nil
	}
	rest = strings.TrimSpace(rest)
	if q, ours, err := command.ParseMatchEvent(rest); ours {
		if err == nil {
			text, err = k.matchEvent(q)
		}
		return text, true, err
	}
	if !strings.HasPrefix(rest, "[") {
		return "", false, nil
	}
	send, recv, err := command.MatchSides(rest)
	if err == nil {
		text, err = k.matchRanks(send, recv)
	}
	return text, true, err
}

func (k *call) matchRanks(send, recv command.MatchSide) (string, error) {
	sends, err := k.sides(k.ctx, send)
	if err != nil {
		return "", k.whyNot(send, recv, err)
	}
	recvs, err := k.sides(k.ctx, recv)
	if err != nil {
		return "", k.whyNot(send, recv, err)
	}
	s, r, note, err := datatype.PickMatch(sends, recvs)
	if err != nil {
		return "", quietly("%v", err)
	}
	for _, side := range []*datatype.Side{&s, &r} {
		if side.Envelope != nil {
			side.Where += ", " + side.Envelope.Name()
		}
	}
	text, err := matchText(s, r)
	if err == nil && note != "" {
		text += "\n" + note
	}
	return text, err
}

func matchText(send, recv datatype.Side) (string, error) {
	m, err := datatype.Match(send, recv)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := m.Text(&b, 0); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// whyNot adds to the reason why a side is not there what is there instead, where calls are compared and no types are
// named.
func (k *call) whyNot(send, recv command.MatchSide, err error) error {
	if len(send.Args)+len(recv.Args) > 0 || send.Rank == recv.Rank {
		return err
	}
	ask := func(s command.MatchSide, receives bool) []datatype.Side {
		s.Receives = receives
		sides, err := k.sides(k.ctx, s)
		if err != nil {
			return nil
		}
		return sides
	}
	if add := k.collectives(send, recv); add != "" {
		return quietly("%s %s", sentence(err.Error()), add)
	}
	add := ""
	switch received, sent := ask(send, true), ask(recv, false); {
	case received != nil && sent != nil:
		add = fmt.Sprintf("The other way round there is a send and a receive: mpipp --match [%d] to [%d].", recv.Rank,
			send.Rank)
	case received != nil:
		if got := ask(recv, true); got != nil && waitsFor(received, recv.Rank) && waitsFor(got, send.Rank) {
			add = fmt.Sprintf(
				"Both ranks receive, and neither sends: rank %d waits for a message of rank %d, and rank %d "+
					"for one of rank %d, which is a deadlock if they wait in these calls.",
				send.Rank,
				recv.Rank,
				recv.Rank,
				send.Rank,
			)
		} else if got != nil {
			add = "Both ranks receive, and neither sends."
		}
	case sent != nil && ask(send, false) != nil:
		add = "Both ranks send, and neither receives: a send whose message is not buffered waits for its receive."
	}
	if add == "" {
		return err
	}
	return quietly("%s %s", sentence(err.Error()), add)
}

// collectives says, of two calls of which one is collective, why they are not one collective, or that no data goes
// from the one rank to the other in it; "" if neither is, or that is not known.
func (k *call) collectives(send, recv command.MatchSide) string {
	s, known := k.envelope(send)
	r, other := k.envelope(recv)
	if !known || !other || !s.Collective && !r.Collective {
		return ""
	}
	if apart := s.Apart(&r); len(apart) > 0 {
		return strings.Join(apart, " ")
	}
	text := fmt.Sprintf("Both ranks call %s in %s", s.Call, s.CommName)
	if s.Root >= 0 {
		text += fmt.Sprintf(", with rank %d of MPI_COMM_WORLD as the root", s.Root)
	}
	if s.Op != "" {
		text += ", with " + s.Op
	}
	return text + fmt.Sprintf(
		": they are of one collective, in which nothing goes from rank %d to rank %d, so there is "+
			"no send and receive to compare.",
		send.Rank,
		recv.Rank,
	)
}

// envelope asks a side's rank for that of its call.
func (k *call) envelope(s command.MatchSide) (e datatype.Envelope, known bool) {
	s.Envelope = true
	results, err := k.d.Job.Evaluate(k.ctx, rankset.New(s.Rank), backend.EvaluateRequest{
		Expression: s.ExportLine(), Context: backend.ContextREPL,
	})
	result, err := oneAnswer(s.Rank, results, err)
	if err != nil || json.Unmarshal([]byte(result.Text), &e) != nil {
		return e, false
	}
	if e.Self < 0 {
		e.Self = int64(s.Rank)
	}
	return e, e.Call != ""
}

// waitsFor reports whether each of the receives takes messages of that rank only.
func waitsFor(receives []datatype.Side, rank int) bool {
	for _, r := range receives {
		if r.Envelope == nil || r.Envelope.Collective || r.Envelope.Peer != int64(rank) {
			return false
		}
	}
	return true
}

// sides asks the side's rank for its type; for several types if it is in a call that waits for several requests.
func (k *call) sides(ctx context.Context, s command.MatchSide) ([]datatype.Side, error) {
	if n := k.d.Job.Ranks(); s.Rank >= n {
		return nil, refuse("mpipp --match names rank %d; the job has the ranks 0 to %d", s.Rank, n-1)
	}
	results, err := k.d.Job.Evaluate(ctx, rankset.New(s.Rank), backend.EvaluateRequest{
		Expression: s.ExportLine(), Context: backend.ContextREPL,
	})
	result, err := oneAnswer(s.Rank, results, err)
	if err != nil {
		return nil, quietly("[%d] %v", s.Rank, err)
	}
	var sides []datatype.Side
	for line := range strings.Lines(strings.TrimSpace(result.Text)) {
		side, err := datatype.Import(line)
		if err != nil {
			return nil, quietly("[%d] %v", s.Rank, err)
		}
		side.Where = fmt.Sprintf("rank %d", s.Rank)
		sides = append(sides, side)
	}
	if len(sides) == 0 {
		return nil, refuse("[%d] the rank answered nothing to `%s`", s.Rank, s.ExportLine())
	}
	return sides, nil
}
