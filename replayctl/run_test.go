package replayctl

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestRuns(t *testing.T) {
	defer goleak.VerifyNone(t)
	var runs Runs
	runs.Cancel() // there is none
	boom := errors.New("boom")
	first := runs.Start(func(context.Context) error { return boom })
	<-first.Done()
	if !errors.Is(first.Err(), boom) || errors.Is(first.Err(), ErrCancelled) {
		t.Errorf("an error of its own: %v", first.Err())
	}
	first.Cancel() // too late
	if errors.Is(first.Err(), ErrCancelled) {
		t.Error("cancelled after its end")
	}

	// A second run begins when the one before has been cancelled, and is over.
	var over atomic.Bool
	begun := make(chan struct{})
	before := runs.Start(func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		over.Store(true)
		return ctx.Err()
	})
	<-begun
	after := runs.Start(func(context.Context) error {
		if !over.Load() {
			t.Error("two runs at a time")
		}
		return nil
	})
	<-after.Done()
	if !errors.Is(before.Err(), ErrCancelled) || after.Err() != nil {
		t.Errorf("%v, %v", before.Err(), after.Err())
	}

	// What gets where it was to go although it is cancelled has got there.
	begun = make(chan struct{})
	arrives := runs.Start(func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return nil
	})
	<-begun
	runs.Cancel()
	if arrives.Err() != nil {
		t.Error(arrives.Err())
	}

	runs.Close()
	late := runs.Start(func(context.Context) error {
		t.Error("a run after Close")
		return nil
	})
	<-late.Done()
	if !errors.Is(late.Err(), ErrCancelled) {
		t.Errorf("after Close: %v", late.Err())
	}
}
