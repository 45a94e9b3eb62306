package job

import (
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/rankset"
)

// A rank that answers at once, because it runs, does not end the wait for the others.
func TestEvaluateWaitsForAllThoughTheFirstRuns(t *testing.T) {
	b := launched(t, 3, Options{}, func(w *jobtest.World) {
		for _, f := range w.Ranks() {
			f.Values = map[string]string{"x": "5"}
		}
	})
	if _, err := b.j.Resume(b.ctx, rankset.New(0), backend.ResumeRequest{Kind: backend.Continue}); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	b.w.Rank(1).On(jobtest.Evaluate, b.w.Rank(1).SlowUntil(ready))
	go close(ready)
	got, err := b.j.Evaluate(b.ctx, b.j.All(), backend.EvaluateRequest{Expression: "x", Context: backend.ContextWatch})
	if err != nil || len(got) != 2 || got[0].Err == "" || got[1].Text != "5" || !got[1].Ranks.Equal(rankset.New(1, 2)) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestResumeInstruction(t *testing.T) {
	b := launched(t, 2, Options{}, nil)
	if _, err := b.j.Resume(b.ctx, b.j.All(), backend.ResumeRequest{
		Kind:        backend.Next,
		Instruction: true,
	}); err != nil {
		t.Fatal(err)
	}
	for _, f := range b.w.Ranks() {
		calls := f.Calls()
		req, ok := calls[len(calls)-1].Request.(backend.ResumeRequest)
		if !ok || !req.Instruction || req.Kind != backend.Next {
			t.Errorf("rank %d was asked %+v", f.Rank, calls[len(calls)-1])
		}
	}
}
