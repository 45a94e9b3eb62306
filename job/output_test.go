package job

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

func lines(out []Output) string {
	var b strings.Builder
	for _, o := range out {
		fmt.Fprintf(&b, "[%s] %q", o.Ranks, o.Text)
		if o.Category != "stdout" {
			b.WriteString(" " + o.Category)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestMergerByHand(t *testing.T) {
	const window = 100 * time.Millisecond
	type step struct {
		at   int // ms
		rank int
		cat  string
		data string
	}
	out := func(at, rank int, data string) step { return step{at, rank, "stdout", data} }
	for _, c := range []struct {
		name  string
		ranks int
		steps []step // an empty cat: time passes
		want  string
	}{
		{
			"all ranks print the same", 3,
			[]step{out(0, 2, "a\nb\n"), out(10, 0, "a\nb\n"), out(20, 1, "a\nb\n")},
			"[0-2] \"a\\n\"\n[0-2] \"b\\n\"\n",
		},
		{
			"log points of several ranks", 3,
			[]step{{0, 2, "console", "x is 1\n"}, {2, 0, "console", "x is 1\n"}, {3, 1, "console", "x is 1\n"}},
			"[0-2] \"x is 1\\n\" console\n",
		},
		{"a late one comes alone", 3, []step{
			out(0, 0, "a\n"), out(10, 1, "a\n"),
			{at: 100},
			out(110, 2, "a\n"),
			{at: 210},
		}, "[0-1] \"a\\n\"\n[2] \"a\\n\"\n"},
		{"nothing comes early", 3, []step{out(0, 0, "a\n"), {at: 99}}, ""},
		{
			"one rank's order is kept", 2,
			[]step{out(0, 0, "x\ny\n"), out(1, 1, "y\nx\n"), {at: 200}},
			"[0] \"x\\n\"\n[0-1] \"y\\n\"\n[1] \"x\\n\"\n",
		},
		{
			"one rank repeats itself", 2,
			[]step{out(0, 0, "x\n"), out(0, 0, "x\n"), out(1, 1, "x\n"), {at: 200}},
			"[0-1] \"x\\n\"\n[0] \"x\\n\"\n",
		},
		{"a prompt", 2, []step{out(0, 0, "name? "), {at: 99}, {at: 100}}, "[0] \"name? \"\n"},
		{"a prompt of all", 2, []step{out(0, 0, "name? "), out(50, 1, "name? "), {at: 100}}, "[0-1] \"name? \"\n"},
		{"a line in pieces", 2, []step{out(0, 0, "he"), out(50, 0, "llo\n"), {at: 150}}, "[0] \"hello\\n\"\n"},
		{"stdout and stderr of one rank", 2, []step{
			out(0, 0, "he"),
			{1, 0, "stderr", "oops\n"},
			out(2, 0, "llo\n"),
			{at: 200},
		}, "[0] \"he\"\n[0] \"oops\\n\" stderr\n[0] \"llo\\n\"\n"},
		{
			"a character in pieces", 2,
			[]step{out(0, 0, "gr\xc3"), {at: 100}, out(110, 0, "\xb6\xc3\x9fe\n"), {at: 220}},
			"[0] \"gr\"\n[0] \"öße\\n\"\n",
		},
		{"not a character", 2, []step{out(0, 0, "\xc3"), {at: 100}}, "[0] \"\\xc3\"\n"},
		{
			"an equal prompt of a rank with lines before it", 2,
			[]step{out(0, 0, "? "), out(90, 1, "x\n? "), {at: 100}, {at: 190}},
			"[0] \"? \"\n[1] \"x\\n\"\n[1] \"? \"\n",
		},
		{"everything ends", 2, []step{out(0, 0, "x\n"), {at: -1}}, "[0] \"x\\n\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMerger(window, c.ranks)
			start := time.Unix(0, 0)
			var got []Output
			for _, s := range c.steps {
				now := start.Add(time.Duration(s.at) * time.Millisecond)
				switch {
				case s.cat != "":
					got = append(got, m.add(now, s.rank, s.cat, []byte(s.data))...)
				case s.at < 0:
					got = append(got, m.flush()...)
				default:
					got = append(got, m.expired(now)...)
				}
			}
			if lines(got) != c.want {
				t.Errorf("got\n%swant\n%s", lines(got), c.want)
			}
		})
	}
}

// Per rank, what comes out, in its order, is what went in; nothing waits longer than the window; deadline tells when
// something is due.
func TestMergerLosesAndReordersNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		window := time.Duration(rapid.IntRange(0, 50).Draw(t, "window"))
		m := newMerger(window, ranks)
		now := time.Unix(0, 0)
		type span struct{ cat, text string }
		in, out := map[int][]span{}, map[int][]span{}
		push := func(to map[int][]span, rank int, cat, data string) {
			if l := to[rank]; len(l) > 0 && l[len(l)-1].cat == cat {
				l[len(l)-1].text += data
				return
			}
			to[rank] = append(to[rank], span{cat, data})
		}
		take := func(got []Output) {
			for _, o := range got {
				if o.Ranks.Empty() || o.Text == "" {
					t.Fatalf("an empty output %+v", o)
				}
				if i := strings.IndexByte(o.Text, '\n'); i >= 0 && i != len(o.Text)-1 {
					t.Fatalf("several lines in %q", o.Text)
				}
				for r := range o.Ranks.Each {
					push(out, r, o.Category, o.Text)
				}
			}
		}
		piece := rapid.SampledFrom([]string{
			"a", "b\n", "a\n", "\n", "xyz", "a\nb\n", "ö", "\xc3", "\xb6", "? ",
			strings.Repeat("w", mergedPartial), strings.Repeat("l\n", 30),
		})
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "later")))
				take(m.expired(now))
				if at, ok := m.deadline(); ok && !at.After(now) {
					t.Fatalf("due at %v, and still there at %v", at, now)
				}
				if at, ok := m.deadline(); ok && at.Sub(now) > window {
					t.Fatalf("something waits %v, longer than the window", at.Sub(now))
				}
			case 1:
				take(m.end(now, rapid.IntRange(0, ranks-1).Draw(t, "ends")))
			case 2:
				take(m.flush())
			default:
				r := rapid.IntRange(0, ranks-1).Draw(t, "rank")
				cat := rapid.SampledFrom([]string{"stdout", "stdout", "stderr"}).Draw(t, "category")
				data := piece.Draw(t, "data")
				push(in, r, cat, data)
				take(m.add(now, r, cat, []byte(data)))
			}
		}
		take(m.flush())
		if _, ok := m.deadline(); ok || len(m.equal)+len(m.waiting)+len(m.partial) > 0 {
			t.Fatal("something is left after flush")
		}
		for r := range ranks {
			if fmt.Sprint(in[r]) != fmt.Sprint(out[r]) {
				t.Fatalf("rank %d: in %q, out %q", r, in[r], out[r])
			}
		}
	})
}

// Successive lines of the same ranks are one output, and nothing else is.
func TestJoined(t *testing.T) {
	m := newMerger(time.Hour, 3)
	now := time.Unix(0, 0)
	for _, print := range []struct {
		rank           int
		category, text string
	}{
		{0, "stdout", "a\n"},
		{1, "stdout", "a\n"},
		{0, "stdout", "b\n"},
		{1, "stdout", "b\n"},
		{2, "stdout", "c\nd\n"},
		{2, "stderr", "e\n"},
		{2, "stderr", strings.Repeat("l", longestPartial)}, // a piece, without its end
		{2, "stderr", "m\n"},
		{2, "stderr", strings.Repeat("n", mostJoined/2) + "\n" + strings.Repeat("o", mostJoined/2) + "\n"},
	} {
		m.add(now, print.rank, print.category, []byte(print.text))
	}
	got := joined(m.flush())
	for i, o := range got {
		if len(o.Text) > 100 {
			got[i].Text = fmt.Sprintf("%.1s, %d bytes", o.Text, len(o.Text))
		}
	}
	want := `[0-1] "a\nb\n"
[2] "c\nd\n"
[2] "e\n" stderr
[2] "l, 65536 bytes" stderr
[2] "m, 32771 bytes" stderr
[2] "o, 32769 bytes" stderr
`
	if lines(got) != want {
		t.Errorf("got\n%swant\n%s", lines(got), want)
	}
}

func TestMergerIsBounded(t *testing.T) {
	m := newMerger(time.Hour, 2)
	now := time.Unix(0, 0)
	var out []Output
	for i := range 3 * mostWaitingLines {
		out = append(out, m.add(now, 0, "stdout", fmt.Appendf(nil, "line %d\n", i))...)
	}
	if len(m.waiting) > mostWaitingLines {
		t.Errorf("%d lines wait", len(m.waiting))
	}
	endless := strings.Repeat("x", longestPartial/4)
	for range 200 {
		out = append(out, m.add(now, 1, "stdout", []byte(endless))...)
	}
	if m.bytes > mostWaitingBytes {
		t.Errorf("%d bytes wait", m.bytes)
	}
	bytes := map[int]int{}
	for _, o := range append(out, m.flush()...) {
		bytes[o.Ranks.Min()] += len(o.Text)
	}
	if bytes[1] != 200*len(endless) || bytes[0] < 3*mostWaitingLines*len("line 0\n") {
		t.Errorf("bytes were lost: %v", bytes)
	}
}

// The time is synctest's.
func TestOutputOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := launched(t, 3, Options{}, nil)
		b.resume(b.j.All(), backend.Continue)
		b.drain()
		b.w.Rank(0).Print("stdout", "hello\n")
		<-time.After(DefaultMergeWindow - time.Millisecond)
		b.w.Rank(2).Print("stdout", "hello\nname? ")
		isOutput := func(e Event) bool { return e.Output != nil }
		first, second := b.until("output", isOutput).Output, b.until("output", isOutput).Output
		if got := lines([]Output{*first, *second}); got != "[0,2] \"hello\\n\"\n[2] \"name? \"\n" {
			t.Error(got)
		}
	})
}

// sync returns when every event that the scripted ranks have sent so far has been taken in.
func (b *bench) sync() {
	b.t.Helper()
	for _, f := range b.w.Ranks() {
		f.Emit(backend.Event{Control: &backend.ControlState{Message: "sync"}})
	}
	for range b.w.Ranks() {
		b.until("the mark", func(e Event) bool {
			return e.RankChanged != nil && e.RankChanged.Control.Message == "sync"
		})
	}
}

func TestOutputComesBeforeIdleAndTheEnd(t *testing.T) {
	b := launched(t, 2, Options{MergeWindow: time.Hour},
		each(jobtest.Print("stdout", "step\n"), jobtest.Line(src, 2), jobtest.Print("stdout", "bye"), jobtest.Exit(0)))
	b.resume(b.j.All(), backend.Next)
	b.idle()
	b.drain()
	if got := b.order(); got != `output [0-1] "step\n", idle` {
		t.Error(got)
	}
	b.seen = nil
	b.resume(b.j.All(), backend.Continue)
	b.until("the end", func(e Event) bool { return e.Ended != nil })
	b.idle()
	if got := strings.TrimSuffix(b.order(), ", idle"); got != `output [0-1] "bye", ended` {
		t.Error(got)
	}
}

// order is the kinds of the events seen, but for changes of ranks, and idle where nothing happened.
func (b *bench) order() string {
	var out []string
	for _, e := range b.seen {
		switch {
		case e.Output != nil:
			out = append(out, fmt.Sprintf("output [%s] %q", e.Output.Ranks, e.Output.Text))
		case e.Ended != nil:
			out = append(out, "ended")
		case e.Idle && len(out) > 0:
			out = append(out, "idle")
		}
	}
	return strings.Join(out, ", ")
}

func TestOutputIsNotLostByClose(t *testing.T) {
	b := launched(t, 2, Options{MergeWindow: time.Hour}, nil)
	b.resume(b.j.All(), backend.Continue)
	b.w.Rank(1).Print("stderr", "last words")
	b.sync()
	b.j.Close()
	for e := range b.sub.Events() {
		if e.Output != nil && e.Output.Text == "last words" && e.Output.Category == "stderr" {
			return
		}
	}
	t.Error("the output was lost")
}

func BenchmarkMerger1000Ranks(b *testing.B) {
	const ranks = 1000
	m := newMerger(DefaultMergeWindow, ranks)
	now := time.Unix(0, 0)
	data := []byte("iteration 17: residual 0.0312\n")
	for b.Loop() {
		now = now.Add(time.Second)
		for r := range ranks {
			m.add(now, r, "stdout", data)
		}
	}
}

// While a subscriber is far behind, the ranks' output is held; what happens besides still reaches the others, and the
// subscriber loses nothing.
func TestOutputIsHeldForASlowSubscriber(t *testing.T) {
	b := launched(t, 1, Options{MergeWindow: -1}, nil)
	rank := b.w.Rank(0)
	held := make(chan bool, 10)
	if err := b.j.call(func() { b.j.ranks[0].info.HoldOutput = func(hold bool) { held <- hold } }); err != nil {
		t.Fatal(err)
	}
	slow := b.j.Subscribe(Everything)
	defer slow.Close()
	states := b.j.Subscribe(WithoutOutput)
	defer states.Close()
	const lines = 3000
	for i := range lines {
		rank.Emit(backend.Event{Output: &backend.Output{
			Category: "stdout", Data: fmt.Appendf(nil, "%d %s\n", i, strings.Repeat(".", 1000)),
		}})
	}
	read := 0
	last := fmt.Sprintf("%d ", lines-1)
	b.until("the last line", func(e Event) bool { return e.Output != nil && strings.HasPrefix(e.Output.Text, last) })
	if !<-held {
		t.Fatal("the output was let go before it was held")
	}
	b.drain()
	for e := range states.Events() {
		if e.Output != nil {
			t.Fatalf("output came: %q", e.Output.Text)
		}
		if e.Progress != nil {
			break
		}
	}
	for e := range slow.Events() {
		if e.Output != nil {
			if !strings.HasPrefix(e.Output.Text, fmt.Sprintf("%d ", read)) {
				t.Fatalf("line %d is %.20q", read, e.Output.Text)
			}
			read++
		}
		if e.Progress != nil {
			break
		}
	}
	if read != lines {
		t.Errorf("%d lines came", read)
	}
	for now := range held { // the test's own subscription may have been behind, too
		if !now && slow.queue.Weight() == 0 {
			break
		}
	}
}

// A subscriber that leaves far too much unread loses the rest, and is told so; the others continue.
func TestSubscriptionOverflows(t *testing.T) {
	b := launched(t, 1, Options{MergeWindow: -1}, nil)
	stuck := b.j.Subscribe(Everything)
	defer stuck.Close()
	for range mostQueued>>20 + 2 {
		b.must(b.j.ReportOutput(Output{Text: strings.Repeat(".", 1<<20)}))
		b.until("the output", func(e Event) bool { return e.Output != nil })
	}
	n := 0
	for range stuck.Events() {
		n++
	}
	if n == 0 || !stuck.Overflowed() || b.sub.Overflowed() {
		t.Errorf("%d events came; overflowed: %v, the other: %v", n, stuck.Overflowed(), b.sub.Overflowed())
	}
}
