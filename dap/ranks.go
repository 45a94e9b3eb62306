package dap

import (
	"cmp"
	"context"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

func ranks(k *call, _ struct{}) (any, error) { return k.ranksBody() }

// ranksBody is all ranks as they stand now. Those that run are asked where they are.
func (k *call) ranksBody() (protocol.RanksBody, error) {
	d := k.d
	if status, err := d.Job.Status(); err == nil {
		if running := inState(status, job.Running); !running.Empty() {
			k.look(running)
		}
	}
	status, err := d.Job.Status()
	focus, focusErr := d.Job.Focus()
	idle, idleErr := d.Job.Idle()
	if err := cmp.Or(err, focusErr, idleErr); err != nil {
		return protocol.RanksBody{}, err
	}
	body := protocol.RanksBody{Focus: focus.String(), Idle: idle, Ranks: make([]protocol.RankStatus, len(status))}
	for i, s := range status {
		body.Ranks[i] = rankStatus(s, k.c.srv.o.CallName)
	}
	return body, nil
}

func inState(status []job.RankStatus, state job.RankState) (ranks rankset.Set) {
	for _, s := range status {
		if s.State == state {
			ranks = ranks.With(s.Rank)
		}
	}
	return ranks
}

// catchUp returns when the client has been told all that was in the job's stream when it was called, so that an answer
// that follows does not overtake the events that led to it. It also returns when the job is over, as its stream then
// ends by itself.
func (k *call) catchUp() error {
	select {
	case <-k.c.sub.Mark():
		return nil
	case <-k.d.over:
		return nil
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
}

func setFocus(k *call, a protocol.FocusArguments) (any, error) {
	if a.Ranks == "" {
		return nil, refuse("%s needs `ranks`, a rank set such as \"0-3,7\" or \"all\"", k.asked)
	}
	return k.focusOn(a.Ranks)
}

func (k *call) focusOn(set string) (protocol.FocusBody, error) {
	d := k.d
	ranks, err := rankset.Parse(set, d.Job.Ranks())
	if err != nil {
		return protocol.FocusBody{}, err
	}
	if ranks.Empty() {
		return protocol.FocusBody{}, refuse("the rank set %s is empty: the focus needs at least one rank",
			quoteShort(set))
	}
	if err := d.Job.SetFocus(ranks); err != nil {
		return protocol.FocusBody{}, err
	}
	return protocol.FocusBody{Ranks: ranks.String()}, nil
}

func input(k *call, a protocol.InputArguments) (any, error) {
	if a.Data == "" && !a.EOF {
		return nil, refuse("%s needs `data`, or `eof`", k.asked)
	}
	return onRank(k, 0, func(b backend.Backend) (any, error) { return nil, b.Input(k.ctx, []byte(a.Data), a.EOF) })
}
