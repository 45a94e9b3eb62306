package dap

import (
	"fmt"
	"sync"
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

	mu         sync.Mutex // guards the fields below
	started    bool
	ended      bool
	text       string
	percentage int
}

// newProgress begins; end must be called. It is nil, which is a progress too, if the client cannot show one.
func (c *client) newProgress(title string, request int) *progress {
	if !c.capabilities().progress {
		return nil
	}
	p := &progress{c: c, title: title, request: request, id: fmt.Sprintf("cohort-%d", c.progressNumber.Add(1))}
	if request != 0 {
		c.mu.Lock()
		if c.bars == nil {
			c.bars = map[string]int{}
		}
		c.bars[p.id] = request
		c.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(progressDelay, p.start)
	return p
}

func (p *progress) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
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
	p.mu.Lock()
	defer p.mu.Unlock()
	percentage := 0
	if total > 0 {
		percentage = int(min(max(done, 0), total) * 100 / total)
	}
	if p.ended || (text == p.text && percentage == p.percentage) {
		return
	}
	p.text, p.percentage = text, percentage
	if p.started {
		p.c.event("progressUpdate", godap.ProgressUpdateEventBody{
			ProgressId: p.id, Message: text,
			Percentage: percentage,
		})
	}
}

func (p *progress) end(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	p.timer.Stop()
	p.c.mu.Lock()
	delete(p.c.bars, p.id)
	p.c.mu.Unlock()
	if p.started {
		p.c.event("progressEnd", godap.ProgressEndEventBody{ProgressId: p.id, Message: text})
	}
}

// progressRequest is the seq of the request that a progress belongs to; 0 if there is none.
func (c *client) progressRequest(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bars[id]
}
