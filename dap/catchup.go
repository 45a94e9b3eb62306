package dap

import (
	"context"
	"fmt"

	"github.com/cohort-debugger/cohort/job"
)

// markPrefix begins the IDs of marks: entries in the job's stream that mean nothing but their place in it.
const markPrefix = "\x00mark "

// catchUp returns when the client has been told all that was in the job's stream when it was called, so that an answer
// that follows does not overtake the events that led to it. It also returns when the job is over, as its stream then
// ends by itself.
func (k *call) catchUp() error {
	c, d := k.c, k.c.debuggee()
	reached := make(chan struct{})
	c.mu.Lock()
	c.lastMark++
	id := fmt.Sprintf("%s%s %d", markPrefix, c.name, c.lastMark)
	if c.marks == nil {
		c.marks = map[string]chan struct{}{}
	}
	c.marks[id] = reached
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.marks, id)
		c.mu.Unlock()
	}()
	if err := d.Job.ReportProgress(job.Progress{ID: id, End: true}); err != nil {
		return err
	}
	select {
	case <-reached:
		return nil
	case <-d.over:
		return nil
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
}

// reachedMark is told of every mark in the stream, those of other clients included.
func (c *client) reachedMark(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reached := c.marks[id]; reached != nil {
		close(reached)
		delete(c.marks, id)
	}
}
