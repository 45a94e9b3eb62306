package debug

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/dap/daptest"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/cohorttest"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// graphOf is the event graph of a recording, which the debugger has left in it.
func graphOf(t *testing.T, recorded string) *causal.Graph {
	t.Helper()
	rec, err := recording.Open(recorded)
	if err != nil {
		t.Fatal(err)
	}
	traces, err := rec.Graph()
	if err != nil {
		t.Fatal(err)
	}
	graph, err := causal.Load(traces, causal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

// reaches expects a cut, and returns it. The expectation fails at once when a run to a cut is said to have failed.
func (e *editor) reaches(more ...daptest.Expectation) protocol.CutBody {
	e.t.Helper()
	reached := daptest.That("the cut is reached", func(event daptest.Event) (daptest.Verdict, string) {
		var out godap.OutputEventBody
		switch {
		case event.Name == protocol.EventCut:
			return daptest.Met, ""
		case event.Name == "terminated":
			return daptest.Impossible, "the session has terminated"
		case event.Name == "output" && event.Decode(&out) == nil && out.Category == "important":
			return daptest.Impossible, out.Output
		}
		return daptest.NotYet, ""
	})
	var body protocol.CutBody
	if err := e.Expect(append([]daptest.Expectation{reached}, more...)...)[0].Decode(&body); err != nil {
		e.t.Fatal(err)
	}
	return body
}

// counters are the ranks' own counts of their events.
func (e *editor) counters() []uint64 {
	e.t.Helper()
	var list []uint64
	for _, r := range e.WaitIdle().Ranks {
		if r.State != "stopped" {
			e.t.Errorf("rank %d is %s at a cut: %s", r.Rank, r.State, r.Text)
		}
		list = append(list, r.Event)
	}
	return list
}

func TestDAPCausalBreakpoint(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		p := newDAPPlace(t, mpi)
		program, source := cohorttest.Steps(t, mpi), cohorttest.StepsSource(t)
		recorded := p.record("r.cohort", 3, nil, program)
		e := p.editor()
		e.Launch(protocol.LaunchArguments{Recording: recorded})
		answer := markLine(t, source, "hash = hash * 33")
		b := at(answer)
		b.Mode, b.Condition = protocol.ModeCausal, "i % 5 == 4"
		if set := e.SetBreakpointsWith(source, b); set[0].Message != "" && !set[0].Verified &&
			!strings.Contains(set[0].Message, "will be set") {
			t.Errorf("the breakpoint is %+v", set)
		}
		e.ConfigurationDone()
		var graph *causal.Graph
		var before []uint64
		for hit := range 3 {
			if hit > 0 {
				e.Continue(0)
			}
			body := e.reaches(daptest.Stopped(0, "breakpoint"), daptest.Stopped(1, "stop point"),
				daptest.Stopped(2, "stop point"))
			if graph == nil {
				graph = graphOf(t, recorded)
			}
			// The leader stands behind the receive of round i: two calls a round, MPI_Init is no event.
			wantEvent := uint64(2*(5*hit+4) + 1)
			if want := fmt.Sprintf("0:%d", wantEvent); body.At != want {
				t.Errorf("hit %d is at %s, want %s: %s", hit, body.At, want, body.Text)
			}
			id, err := causal.ParseEventID(body.At)
			if err != nil {
				t.Fatal(err)
			}
			want, err := graph.CausalCut(id.Rank, id.Index)
			if err != nil {
				t.Fatal(err)
			}
			counters := e.counters()
			if !slices.Equal(body.Positions, want) || !slices.Equal(counters, want) || !body.Consistent {
				t.Errorf("the cut of %s is %v, the positions told are %v, and the ranks count %v", body.At, want,
					body.Positions, counters)
			}
			if slices.Equal(counters, before) {
				t.Errorf("the ranks have not moved from %v", before)
			}
			before = counters
			e.stands("main", answer, 0)
			e.says("[0] p i", 0, fmt.Sprintf("[0] %d", 5*hit+4))
			if text := e.Console("ranks", 0); !strings.Contains(text,
				fmt.Sprintf("[0] stopped (breakpoint) in main at %s:%d after event %d", source, answer, wantEvent)) ||
				!strings.HasSuffix(text, "The focus is [0-2].") {
				t.Errorf("the console says of the ranks\n%s", text)
			}
			for _, r := range []int{1, 2} {
				if f := e.user(r); f.Name != "main" {
					t.Errorf("rank %d stands in %+v", r, f)
				}
			}
		}
		// A rank that stands at its position can be stepped, and continues as if nothing were.
		e.SetBreakpoints(source)
		e.says("focus 1-2", 0, "The focus is [1-2].")
		e.says("focus", 0, "The focus is [1-2].")
		line := e.user(1).Line
		e.step("next", 0, true)
		e.Expect(daptest.Stopped(0, "step"))
		e.stands("main", answer+1, 0)
		e.step("next", 1, true)
		e.Expect(daptest.Stopped(1, "step"))
		if f := e.user(1); f.Name != "main" || f.Line == line {
			t.Errorf("rank 1 has stepped from line %d to %+v", line, f)
		}
		e.says("focus all", 0, "The focus is [0-2].")
		e.Continue(0)
		e.Expect(daptest.Output("stdout", "steps: hash"))
		e.ends(0)
	})
}

// A causal breakpoint that the program has no place for stays unverified, with the reason, and the job runs without it.
func TestDAPCausalBreakpointElsewhere(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	p := newDAPPlace(t, mpi)
	recording := p.record("r.cohort", 2, nil, cohorttest.Steps(t, mpi))
	elsewhere := filepath.Join(t.TempDir(), "other.c")
	e := p.editor()
	e.Launch(protocol.LaunchArguments{Recording: recording})
	b := at(10)
	b.Mode = protocol.ModeCausal
	e.SetBreakpointsWith(elsewhere, b)
	e.ConfigurationDone()
	unverified := daptest.That("the breakpoint is unverified", func(event daptest.Event) (daptest.Verdict, string) {
		var body godap.BreakpointEventBody
		if event.Name != "breakpoint" || event.Decode(&body) != nil || body.Breakpoint.Verified ||
			!strings.Contains(body.Breakpoint.Message, "other.c") {
			return daptest.NotYet, ""
		}
		return daptest.Met, ""
	})
	e.Expect(unverified,
		daptest.Output("console", "The causal breakpoint at "+elsewhere+":10 cannot be set: "),
		daptest.Output("console", "The causal breakpoint is not reached again in the rest of this recording. "+
			"Ranks [0-1] continue"),
		daptest.Output("stdout", "steps: hash"))
	e.ends(0)
	p.NothingLeft()
}

func TestDAPRunTo(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		p := newDAPPlace(t, mpi)
		program, source := cohorttest.Steps(t, mpi), cohorttest.StepsSource(t)
		recorded := p.record("r.cohort", 3, nil, program)
		e := p.editor()
		e.Launch(protocol.LaunchArguments{Recording: recorded, StopOnEntry: true})
		e.ConfigurationDone()
		e.Expect(stops("entry", 0, 1, 2)...)

		text := e.Console("cut 2:5", 0)
		graph := graphOf(t, recorded)
		want, err := graph.CausalCut(2, 5)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "Causal cut of event 2:5 (MPI_Send)") ||
			!strings.HasSuffix(text, fmt.Sprintf("0:%d 1:%d 2:%d", want[0], want[1], want[2])) {
			t.Errorf("the console says of the cut %v\n%s", want, text)
		}
		var answer protocol.CutBody
		e.Do(protocol.RequestCut, protocol.CutArguments{At: "2:5"}, &answer)
		if !slices.Equal(answer.Positions, want) || !answer.Consistent {
			t.Errorf("the cut is told as %+v, want %v", answer, want)
		}
		for line, says := range map[string]string{
			"cut 2:5000": "here is no event 2:5000", "cut 7:1": "ranks 0 to 2", "cut": "RANK:INDEX",
			"runto 2:5000": "o event 2:5000", "runto x": "RANK:INDEX",
		} {
			if refusal := e.Refused("evaluate",
				godap.EvaluateArguments{Expression: line, Context: "repl"}); !strings.Contains(refusal.Text, says) {
				t.Errorf("%q is refused with %q, want %q", line, refusal.Text, says)
			}
		}

		// To an event.
		e.Do(protocol.RequestRunTo, protocol.CutArguments{At: "2:5"}, nil)
		body := e.reaches(stops("stop point", 0, 1, 2)...)
		if counters := e.counters(); body.At != "2:5" || !slices.Equal(body.Positions, want) ||
			!slices.Equal(counters, want) {
			t.Errorf("the cut is %v, told %+v, and the ranks count %v", want, body, counters)
		}
		for r := range 3 {
			if f := e.user(r); f.Name != "main" || f.Source == nil || f.Source.Path != source {
				t.Errorf("rank %d stands in %+v", r, f)
			}
		}

		// To positions of one's own. Rank 0's next receive without its send: its message is that of an event of rank 1
		// or 2 that is behind the cut.
		impossible := slices.Clone(want)
		impossible[0] += 12
		below, above, err := graph.NearestConsistent(impossible)
		if err != nil || slices.Equal(below, impossible) {
			t.Fatalf("the cut %v should not be consistent: %v, %v", impossible, below, err)
		}
		e.Refused(protocol.RequestRunTo, protocol.CutArguments{Cut: impossible},
			"the cut is not consistent: it holds 0:", "(MPI_Recv)", "its message is sent by",
			"The nearest consistent cuts are "+fmt.Sprint(below)+", earlier, and "+fmt.Sprint(above)+", later.")
		e.Refused(protocol.RequestRunTo, protocol.CutArguments{Cut: []uint64{1, 2}}, "2 positions", "3 ranks")
		e.Refused(protocol.RequestRunTo, protocol.CutArguments{Cut: []uint64{1, 2, 100_000}}, "no event 2:100000")
		e.Refused(protocol.RequestRunTo, protocol.CutArguments{Cut: above, At: "2:5"}, "both")
		if counters := e.counters(); !slices.Equal(counters, want) {
			t.Errorf("what was refused has moved the ranks from %v to %v", want, counters)
		}
		e.Do(protocol.RequestRunTo, protocol.CutArguments{Cut: above}, nil)
		e.reaches(daptest.Stopped(0, "stop point"))
		if counters := e.counters(); !slices.Equal(counters, above) {
			t.Errorf("the ranks stand at %v, want %v", counters, above)
		}
		// Not backwards.
		e.Refused(protocol.RequestRunTo, protocol.CutArguments{At: "2:5"}, "Cannot run to the cut",
			"does not run backwards")
		if text := e.Console("runto 2:38", 0); !strings.Contains(text, "2:38") {
			t.Errorf("runto says %q", text)
		}
		e.reaches()
		want, err = graph.CausalCut(2, 38)
		if err != nil {
			t.Fatal(err)
		}
		if counters := e.counters(); !slices.Equal(counters, want) {
			t.Errorf("the ranks stand at %v, want %v", counters, want)
		}
		e.Disconnect()
		p.NothingLeft()
	})
}

// A rank that leaves the recording stops there, and says what it did and what was recorded.
func TestDAPDivergence(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich") // no MPI knows of what happens here
	p := newDAPPlace(t, mpi)
	program, source := cohorttest.Steps(t, mpi), cohorttest.StepsSource(t)
	recorded := p.record("r.cohort", 2, nil, program)
	e := p.editor()
	e.Launch(protocol.LaunchArguments{Recording: recorded, Env: map[string]string{"DIVERGE": "1"}})
	e.ConfigurationDone()
	line := markLine(t, source, "diverges here")
	before := fmt.Sprintf("0:14 MPI_Send (peer 1, tag 2) at steps.c:%d in main\n  0:15 MPI_Probe at steps.c:%d "+
		"in main\n", markLine(t, source, "status.MPI_SOURCE, 2"), line)
	stopped := e.stoppedBody(e.Expect(daptest.Stopped(0, "stop point"), daptest.Output("important", before))[0])
	for _, part := range []string{
		fmt.Sprintf("Rank 0 left the recording in main (steps.c:%d)", line), "its event 15 is MPI_Probe",
		"but the recording has MPI_Recv",
	} {
		if !strings.Contains(stopped.Text, part) {
			t.Errorf("the stop says %q, without %q", stopped.Text, part)
		}
	}
	if stopped.Description != "Left the recording" {
		t.Errorf("the stop is described as %q", stopped.Description)
	}
	e.stands("main", line, 0)
	e.says("[0] p i", 0, "[0] 7")
	e.awaitCall(1, "MPI_Recv")
	e.Do("pause", map[string]any{"threadId": protocol.ThreadID(1, 1)}, nil)
	e.Expect(daptest.Stopped(1, "pause"))
	e.stands("main", markLine(t, source, "MPI_Recv(&value, 1, MPI_INT, 0, 2"), 1)
	e.Do("terminate", struct{}{}, nil)
	e.Expect(daptest.Terminated())
	e.Disconnect()
}

// A recording that was cut short replays to its end, where the ranks stop and say so.
func TestDAPRecordingCutShort(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "openmpi") // no MPI knows of what happens here
	p := newDAPPlace(t, mpi)
	program, source := cohorttest.Steps(t, mpi), cohorttest.StepsSource(t)
	recorded := p.record("r.cohort", 2, []string{"DIE=1"}, program) // this environment is not recorded
	e := p.editor()
	e.Launch(protocol.LaunchArguments{Recording: recorded})
	e.ConfigurationDone()
	got := e.Expect(stops("stop point", 0, 1)...)
	stopped := e.stoppedBody(got[1])
	if !strings.Contains(stopped.Text, "Rank 1 has come to the end of its recording, after event 20") ||
		!strings.Contains(stopped.Text, "cut short") ||
		stopped.Description != "At the end of the recording" {
		t.Errorf("the stop says %+v", stopped)
	}
	e.stands("main", markLine(t, source, "MPI_Send(&value, 1, MPI_INT, 0, 1"), 1)
	e.says("[1] p i", 0, "[1] 10")
	stopped = e.stoppedBody(got[0])
	if !strings.Contains(stopped.Text, "has come to the end of its recording") {
		t.Errorf("the stop of rank 0 says %+v", stopped)
	}
	e.Disconnect()
	p.NothingLeft()
}
