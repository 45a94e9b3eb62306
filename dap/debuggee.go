package dap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/job"
)

// debuggee is a job from the claim of the client that launches it until nothing is left of it. Several clients share
// it.
//
// Its life: claimed -> started (or failed) -> ranks launched -> over -> done. Channels are closed at each step, so that
// anyone can wait for it.
type debuggee struct {
	srv *Server

	ready chan struct{} // started, or start failed
	over  chan struct{} // the job's end has been seen, or someone wants it to end
	done  chan struct{} // all processes are gone, and result is set

	// after ready, if startErr is nil:
	Started
	breakpoints *breakpointTable

	// after done:
	exitCode int
	stopErr  error

	// guarded by Server.mu:
	startErr error
	clients  map[*client]bool
	// the user wants to see the stops at entry, or the ranks did not get further
	entryStop bool
	launched  bool // every rank has been launched and resumed from its entry as asked
	isOver    bool
	overWhy   string
	stopped   bool // ranks were ended on request, not by themselves
	steered   *steeredRun
	pauses    int // how often somebody has asked for one
}

func newDebuggee(s *Server) *debuggee {
	d := &debuggee{
		srv: s, ready: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}),
		clients: map[*client]bool{},
	}
	d.breakpoints = newBreakpointTable(d)
	return d
}

// failed: the start did not succeed; the server may launch another.
func (d *debuggee) failed(err error) {
	d.srv.mu.Lock()
	d.startErr = err
	d.srv.mu.Unlock()
	d.srv.release(d)
	close(d.ready)
}

// begin takes over what was started, with its first client.
func (d *debuggee) begin(started Started, owner *client, stopOnEntry bool) {
	d.srv.mu.Lock()
	d.Started, d.entryStop = started, stopOnEntry
	d.clients[owner] = true
	d.launched = started.Running
	d.srv.mu.Unlock()
	close(d.ready)
	go d.watch(d.Job.Subscribe(job.WithoutOutput))
}

// add takes another client in. It waits while the job is being started.
func (d *debuggee) add(ctx context.Context, c *client) error {
	select {
	case <-d.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	switch {
	case d.startErr != nil:
		return refuse("attach failed: the job that was being started by another client did not start (%v)", d.startErr)
	case d.isOver:
		return refuse("attach failed: the job has ended (%s); launch another", d.overWhy)
	}
	d.clients[c] = true
	return nil
}

// remove takes a client out and ends the job if terminate says so or nobody is left. It returns when all that it ends
// is gone.
func (d *debuggee) remove(c *client, terminate bool) {
	d.srv.mu.Lock()
	member, last := d.clients[c], len(d.clients) == 1
	d.srv.mu.Unlock()
	if !member {
		return
	}
	if terminate || last {
		d.stop("the client that it belonged to has disconnected")
	} else {
		d.breakpoints.forget(c)
	}
	d.srv.mu.Lock()
	delete(d.clients, c)
	last = len(d.clients) == 0
	d.srv.mu.Unlock()
	if last {
		d.stop("its last client has disconnected") // another may have left at the same moment
		d.Job.Close()
		d.srv.release(d)
	}
}

// everyone is a snapshot of the clients.
func (d *debuggee) everyone() []*client {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	return slices.Collect(maps.Keys(d.clients))
}

// say shows text to the users of all clients.
func (d *debuggee) say(category, text string) {
	for _, c := range d.everyone() {
		c.say(category, text)
	}
}

// end marks the job as over, once.
func (d *debuggee) end(why string) {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	if !d.isOver {
		d.isOver, d.overWhy = true, why
		close(d.over)
	}
}

// terminate ends ranks that would be left running.
func (d *debuggee) terminate() {
	if d.Terminate != nil {
		d.Terminate()
	}
}

// ended tells whether the job is over, and why.
func (d *debuggee) ended() (bool, string) {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	return d.isOver, d.overWhy
}

// stop ends the job and returns when everything of it is gone.
func (d *debuggee) stop(why string) {
	d.end(why)
	<-d.done
}

// steeredEnd bounds how long a causal run may take to see that all ranks have ended.
const steeredEnd = 2 * time.Second

// watch waits for the job's end, by itself or on request, and clears up after it.
func (d *debuggee) watch(sub *job.Subscription) {
	defer close(d.done)
	defer sub.Close()
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		if d.Wait == nil {
			return
		}
		err := d.Wait()
		if over, _ := d.ended(); err != nil && !over {
			d.say("important", sentence(err.Error())+"\n")
		}
	}()
	byItself := d.awaitEnd(sub)
	d.srv.mu.Lock()
	d.stopped = !byItself
	d.srv.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if byItself {
		settle, cancel := context.WithTimeout(ctx, steeredEnd)
		d.tellUnmet(settle)
		cancel()
	}
	if d.Controller != nil {
		d.Controller.Close()
	}
	code := d.exitStatus()
	err := errors.Join(d.Job.Kill(ctx), d.Stop(ctx))
	select {
	case <-waited:
	case <-ctx.Done():
		err = errors.Join(err, fmt.Errorf("the launcher had not ended %v after it was asked to", stopTime))
	}
	if err != nil {
		d.srv.o.Log.Warn("dap: ending the job", "error", err)
	}
	d.exitCode, d.stopErr = code, err
}

// awaitEnd tells whether the job has ended by itself.
func (d *debuggee) awaitEnd(sub *job.Subscription) bool {
	for {
		select {
		case e, ok := <-sub.Events():
			if !ok {
				d.end("it was closed")
				return true
			}
			if e.Ended != nil {
				d.end(e.Ended.Summary)
				return true
			}
		case <-d.over:
			return false
		}
	}
}

// notReplay says why what needs a replay cannot be done, and what to do.
func (d *debuggee) notReplay() string {
	if d.Cores {
		return "these are core files: debug a recording of such a run (cohort record)"
	}
	return "this job is live: record it with cohort record, and debug the recording"
}

// wasStopped tells whether the ranks were ended on request.
func (d *debuggee) wasStopped() bool {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	return d.stopped
}

func (d *debuggee) pausesAsked() int {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	return d.pauses
}

// exitStatus is what the job's end means as one number: that of the lowest rank that did not exit with 0, 128 and the
// signal's number for a signal as shells have it, 1 for a lost rank; 0 also for ranks that are only now going to be
// killed on request.
func (d *debuggee) exitStatus() int {
	if d.Cores {
		return 0 // how the processes ended is what is looked at, not how this session does
	}
	ranks, err := d.Job.Status()
	if err != nil {
		return 1
	}
	for _, r := range ranks {
		switch {
		case r.State == job.Lost && d.Attached: // another's
		case r.State == job.Lost:
			return 1
		case r.State == job.Exited && r.Exit.Signal != "":
			return 128 + int(unix.SignalNum(r.Exit.Signal)) // 0 if it is unknown
		case r.State == job.Exited && r.Exit.Code != 0:
			return r.Exit.Code
		}
	}
	return 0
}
