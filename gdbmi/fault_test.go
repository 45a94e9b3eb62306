package gdbmi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cohort-debugger/cohort/gdbmi"
	"github.com/cohort-debugger/cohort/gdbmi/gdbmitest"
)

var version = gdbmi.Cmd("gdb-version")

func TestGdbDiesInTheMiddleOfARecord(t *testing.T) {
	p := scripted(t, `< (gdb)
> 1-gdb-version
< =thread-group-added,id="i1"
2> Fatal signal: Segmentation fault
<| 1^done,bkpt={number="1",
! signal 9`)
	_, err := p.Send(deadline(t), version)
	// The half of a record that was written is the answer; gdb's death follows as an event.
	if err == nil || !strings.Contains(err.Error(), "is broken") || !strings.Contains(err.Error(), "bkpt") {
		t.Fatalf("got %v", err)
	}
	e := exitEvent(t, p)
	if e.Asked || !strings.Contains(e.State, "killed") || !strings.Contains(e.Stderr, "Segmentation fault") ||
		len(e.Last) != 2 {
		t.Errorf("got %+v", e)
	}
}

func TestGdbDiesUnderCommands(t *testing.T) {
	p := scripted(t, `< (gdb)
> 1-gdb-version
> 2-gdb-version
< ~"last words\n"
2> internal error
! exit 3`)
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := p.Send(deadline(t), version)
			errs <- err
		}()
	}
	for range 2 {
		err := <-errs
		dead, ok := errors.AsType[*gdbmi.DeadError](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		if len(dead.Last) != 1 || strings.Contains(err.Error(), "last words") {
			t.Errorf("the last records %q are for the log, and not for %q", dead.Last, err)
		}
		for _, want := range []string{
			"-gdb-version was not answered", "exit status 3", "internal error",
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
		}
	}
}

func TestAnswersOutOfOrder(t *testing.T) {
	p := scripted(t, `< (gdb)
> 7-x
> 8-x
< 8^done,value="8"
< 7^done,value="7"`)
	type answer struct {
		token uint64
		value string
		err   error
	}
	answers := make(chan answer, 2)
	for range 2 {
		go func() {
			r, err := p.Send(deadline(t), gdbmi.Cmd("x"))
			answers <- answer{r.Token, r.Fields().OptString("value"), err}
		}()
	}
	for range 2 {
		// Our first token is 1 and the script calls it 7.
		if a := <-answers; a.err != nil || a.value != map[uint64]string{1: "7", 2: "8"}[a.token] {
			t.Errorf("got %+v", a)
		}
	}
}

func TestErrorAfterRunning(t *testing.T) {
	p := scripted(t, `< (gdb)
> 1-exec-run
< 1^running
< *running,thread-id="all"
< 1^error,msg="During startup program exited with code 127."
< (gdb)`)
	if r := send(t, p, gdbmi.Cmd("exec-run")); r.Class != gdbmi.ClassRunning {
		t.Fatalf("got %v", r)
	}
	late := next(t, p, "the late error", func(r gdbmi.Record) bool { return r.Kind == gdbmi.ResultKind })
	if late.Class != gdbmi.ClassError || late.Fields().String("msg") == "" {
		t.Errorf("got %v", late)
	}
}

func TestErrorAfterOutput(t *testing.T) {
	p := scripted(t, `< (gdb)
> 1-exec-run
< &"warning: Cannot exec\n"
< some output of the program 1^error,msg="no"`)
	_, err := p.Send(deadline(t), gdbmi.Cmd("exec-run"))
	var ce *gdbmi.CommandError
	if !errors.As(err, &ce) || ce.Msg != "no" {
		t.Errorf("got %v", err)
	}
}

func TestGarbageIsHandedOn(t *testing.T) {
	p := scripted(t, "< (gdb)\n> 1-gdb-version\n< \x00\xff garbage\n< 99^done\n< ^done\n< 1^done")
	send(t, p, version)
	next(t, p, "the garbage", func(r gdbmi.Record) bool { return r.Kind == gdbmi.Text && r.Text == "\x00\xff garbage" })
	next(t, p, "the stray result", func(r gdbmi.Record) bool { return r.Token == 99 })
	next(t, p, "the result without a token", func(r gdbmi.Record) bool {
		return r.Kind == gdbmi.ResultKind && r.Token == 0
	})
}

func TestSendEndsWithItsContext(t *testing.T) {
	p := scripted(t, "< (gdb)\n> 1-gdb-version\n< =seen\n> 2-late\n< 1^done\n< 2^done")
	ctx, cancel := context.WithCancelCause(deadline(t))
	reason := errors.New("the user gave up")
	answer := make(chan error, 1)
	go func() {
		_, err := p.Send(ctx, version)
		answer <- err
	}()
	next(t, p, "the command's arrival", func(r gdbmi.Record) bool { return r.Class == "seen" })
	cancel(reason)
	if err := <-answer; !errors.Is(err, reason) || !strings.Contains(err.Error(), "-gdb-version") {
		t.Fatalf("got %v", err)
	}
	send(t, p, gdbmi.Cmd("late"))
	next(t, p, "the result that came too late", func(r gdbmi.Record) bool { return r.Token == 1 })
}

// soon is the patience with a gdb that will not end by itself.
const soon = 200 * time.Millisecond

func TestCloseKillsAGdbThatNeverAnswers(t *testing.T) {
	for _, act := range []string{"hang", "close"} {
		t.Run(act, func(t *testing.T) {
			p := scriptedFor(t, "< (gdb)\n! "+act, soon)
			began := time.Now()
			if err := p.Close(deadline(t)); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d > time.Minute {
				t.Errorf("took %v", d)
			}
			_, err := p.Send(deadline(t), version)
			var dead *gdbmi.DeadError
			if !errors.As(err, &dead) || !dead.Asked {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCloseWithAnEndedContextKillsAtOnce(t *testing.T) {
	p := scripted(t, "< (gdb)\n! hang")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestGdbThatClosesItsOutputIsKilled(t *testing.T) {
	p := scriptedFor(t, "< (gdb)\n> 1-gdb-version\n! close", soon)
	_, err := p.Send(deadline(t), version)
	var dead *gdbmi.DeadError
	if !errors.As(err, &dead) || dead.Asked {
		t.Errorf("got %v", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	path, env := gdbmitest.Command(t, "2> started\n! hang")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := gdbmi.Start(ctx, gdbmi.Options{Path: path, Env: env})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestOffScriptIsSaid(t *testing.T) {
	p := scripted(t, "< (gdb)\n> 1-exec-run")
	_, err := p.Send(deadline(t), version)
	var dead *gdbmi.DeadError
	if !errors.As(err, &dead) || !strings.Contains(dead.Stderr, "gdbmitest: the script has \"-exec-run\" here") {
		t.Errorf("got %v", err)
	}
}
