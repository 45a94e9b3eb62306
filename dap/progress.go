package dap

import (
	"fmt"
	"time"

	godap "github.com/google/go-dap"
)

// progressDelay is how long something takes before its progress is shown.
const progressDelay = 2 * time.Second

// progress shows one slow thing to one client, if that can show it and once it has taken progressDelay. Its methods may
// be called from any goroutine; after end they do nothing.
type progress struct {
	c       *client
	id      string
	title   string
	request int // seq of the request that it belongs to, 0 none; such a one can be cancelled
	timer   *time.Timer

	// guarded by Server.mu:
	started    bool
	ended      bool
	text       string
	percentage int
}

// progressID names the request too: who cancels the progress cancels that.
const progressID = "cohort-%d-of-%d"

// newProgress begins; end must be called. It is nil, which is a progress too, if the client cannot show one.
func (c *client) newProgress(title string, request int) *progress {
	if !c.caps.progress {
		return nil
	}
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	c.progressBar++
	p := &progress{c: c, title: title, request: request, id: fmt.Sprintf(progressID, c.progressBar, request)}
	p.timer = time.AfterFunc(progressDelay, p.start)
	return p
}

func (p *progress) start() {
	p.c.srv.mu.Lock()
	defer p.c.srv.mu.Unlock()
	if p.ended || p.started {
		return
	}
	p.started = true
	p.c.event("progressStart", godap.ProgressStartEventBody{
		ProgressId: p.id, Title: p.title, RequestId: p.request, Cancellable: p.request != 0, Message: p.text,
		Percentage: p.percentage,
	})
}

func (p *progress) report(text string, done, total int64) {
	if p == nil {
		return
	}
	p.c.srv.mu.Lock()
	defer p.c.srv.mu.Unlock()
	percentage := 0
	if total > 0 {
		percentage = int(min(max(done, 0), total) * 100 / total)
	}
	if p.ended || (text == p.text && percentage == p.percentage) {
		return
	}
	p.text, p.percentage = text, percentage
	if p.started {
		p.c.event("progressUpdate",
			godap.ProgressUpdateEventBody{ProgressId: p.id, Message: text, Percentage: percentage})
	}
}

func (p *progress) end(text string) {
	if p == nil {
		return
	}
	p.c.srv.mu.Lock()
	defer p.c.srv.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	p.timer.Stop()
	if p.started {
		p.c.event("progressEnd", godap.ProgressEndEventBody{ProgressId: p.id, Message: text})
	}
}
