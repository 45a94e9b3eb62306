package dap_test

import (
	"testing"
	"testing/synctest"
	"time"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/job"
)

// What takes longer than two seconds shows its progress; the time here is synctest's.
func TestProgressOfALaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		b, c, launch := launching(t, ready)
		<-time.After(1900 * time.Millisecond)
		synctest.Wait()
		if got := c.Seen("progressStart"); len(got) != 0 {
			t.Errorf("progress was shown too early: %v", got)
		}
		e := c.Expect(daptest.Named("progressStart"))[0]
		var body godap.ProgressStartEventBody
		if err := e.Decode(&body); err != nil || body.RequestId != launch.Seq || !body.Cancellable ||
			body.Title == "" ||
			body.Message != "waiting for the ranks" {
			t.Errorf("progressStart: %s (%v)", e, err)
		}
		close(ready)
		c.Expect(daptest.Named("progressEnd"))
		if err := launch.Wait(b.ctx, nil); err != nil {
			t.Error(err)
		}
		c.Disconnect()
	})
}

// The user presses cancel on the progress.
func TestCancelByProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c, launch := launching(t, make(chan struct{}))
		var body godap.ProgressStartEventBody
		if err := c.Expect(daptest.Named("progressStart"))[0].Decode(&body); err != nil {
			t.Fatal(err)
		}
		c.Do("cancel", godap.CancelArguments{ProgressId: body.ProgressId}, nil)
		c.Expect(daptest.Named("progressEnd"))
		var refusal *daptest.RequestError
		if err := launch.Wait(b.ctx, nil); !asRefusal(err, &refusal) || refusal.Message != "cancelled" {
			t.Errorf("launch: %v", err)
		}
		c.Disconnect()
	})
}

// Progress of the job itself, such as a scout run, goes to every client.
func TestProgressOfTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, c, started := replayed(t, endless)
		report := func(p job.Progress) {
			if err := started.Job.ReportProgress(p); err != nil {
				t.Fatal(err)
			}
		}
		report(job.Progress{
			ID: "scout", Title: "Replaying once for the event graph", Text: "event 10", Done: 10,
			Total: 100,
		})
		c.Expect(daptest.Named("progressStart"))
		report(job.Progress{ID: "scout", Text: "event 50", Done: 50, Total: 100})
		var body godap.ProgressUpdateEventBody
		e := c.Expect(daptest.Named("progressUpdate"))[0]
		if err := e.Decode(&body); err != nil || body.Percentage != 50 || body.Message != "event 50" {
			t.Errorf("progressUpdate: %s", e)
		}
		report(job.Progress{ID: "scout", Text: "done", End: true})
		c.Expect(daptest.Named("progressEnd"))
		c.Disconnect()
	})
}
