package session

import (
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/job/jobtest"
	"github.com/cohort-debugger/cohort/rankset"
)

// A rank that leaves its recording under a debugger: what was not recorded is named, once, as a replay without one
// does.
func TestHintAtADivergence(t *testing.T) {
	w := jobtest.New(2)
	defer w.Close()
	for _, rank := range w.Ranks() {
		rank.Program = []jobtest.Step{
			jobtest.Init(), jobtest.Diverge(backend.Divergence{Event: 2, ActualOp: "MPI_Recv"}),
		}
	}
	j := job.New(job.Options{Ranks: 2})
	seen := j.Subscribe(job.Everything)
	defer seen.Close()
	for i, rank := range w.Ranks() {
		if err := j.Attach(i, rank, job.Info{Host: "host"}); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan struct{})
	sub := j.Subscribe(job.WithoutOutput)
	go func() {
		defer close(ended)
		sayAtDivergence(j, sub, "time gave the program what is not recorded.")
	}()
	if err := j.Launch(t.Context(), backend.LaunchRequest{Program: "./p"}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Resume(t.Context(), rankset.All(2), backend.ResumeRequest{Kind: backend.Continue}); err != nil {
		t.Fatal(err)
	}
	// The sentence comes after the first divergence, maybe before the second.
	diverged, said, closed := map[int]bool{}, 0, false
	for e := range seen.Events() {
		if r := e.RankChanged; r != nil && r.Stop != nil && job.Diverged(r.Stop.Control) {
			diverged[r.Rank] = true
		}
		if e.Output != nil && e.Output.Text == "time gave the program what is not recorded.\n" {
			said++
		}
		if len(diverged) == 2 && !closed {
			<-ended // one divergence was enough
			j.Close()
			closed = true
		}
	}
	if said != 1 {
		t.Errorf("it was said %d times", said)
	}
}
