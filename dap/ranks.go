package dap

import (
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/rankset"
)

func ranks(k *call, _ struct{}) (any, error) { return k.ranksBody() }

// ranksBody is all ranks as they stand now.
func (k *call) ranksBody() (protocol.RanksBody, error) {
	d := k.c.debuggee()
	status, err := d.Job.Status()
	if err != nil {
		return protocol.RanksBody{}, err
	}
	focus, err := d.Job.Focus()
	if err != nil {
		return protocol.RanksBody{}, err
	}
	idle, err := d.Job.Idle()
	if err != nil {
		return protocol.RanksBody{}, err
	}
	body := protocol.RanksBody{Focus: focus.String(), Idle: idle, Ranks: make([]protocol.RankStatus, len(status))}
	for i, s := range status {
		body.Ranks[i] = rankStatus(s, k.c.srv.callName)
	}
	return body, nil
}

func waitIdle(k *call, _ struct{}) (any, error) {
	if err := k.c.debuggee().Job.WaitIdle(k.ctx); err != nil {
		return nil, err
	}
	if err := k.catchUp(); err != nil {
		return nil, err
	}
	return k.ranksBody()
}

func setFocus(k *call, a protocol.FocusArguments) (any, error) {
	if a.Ranks == "" {
		return nil, refuse("%s needs `ranks`, a rank set such as \"0-3,7\" or \"all\"", k.asked)
	}
	return k.focusOn(a.Ranks)
}

func (k *call) focusOn(set string) (protocol.FocusBody, error) {
	d := k.c.debuggee()
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
	b, err := k.c.debuggee().Job.Backend(0)
	if err != nil {
		return nil, err
	}
	if err := b.Input(k.ctx, []byte(a.Data), a.EOF); err != nil {
		return nil, aboutRank(0, err)
	}
	return nil, nil
}
