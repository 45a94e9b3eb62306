package job

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job/jobtest"
)

// numbered gives frames their levels.
func numbered(frames ...backend.Frame) []backend.Frame {
	for i := range frames {
		frames[i].ID = backend.FrameID{Thread: 1, Level: i}
	}
	return frames
}

func ours(name string) backend.Frame {
	return backend.Frame{Function: name, Internal: true, Module: "/c/libcohort.so"}
}

func inMPI(name string) backend.Frame {
	return backend.Frame{Function: name, Module: "/l/libmpi.so.40", NoSource: true}
}

func users(name string) backend.Frame {
	return backend.Frame{Function: name, Module: "/p", File: "/p.c", Line: 7, User: true}
}

func TestFold(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []backend.Frame
		want   string // function@level, ! a Call
	}{
		{"nothing of ours", numbered(inMPI("poll"), inMPI("PMPI_Recv"), users("main")), "poll@0 PMPI_Recv@1 main@2 "},
		{
			"a call", numbered(inMPI("poll"), inMPI("PMPI_Recv"), ours("MPI_Recv"), ours("MPI_Recv"), ours("MPI_Recv"),
				users("f"), users("main")),
			"poll@0 PMPI_Recv@1 MPI_Recv@4! f@5 main@6 ",
		},
		{
			"a call within a callback of another", numbered(inMPI("a"), ours("MPI_Send"), ours("MPI_Send"), users("op"),
				inMPI("b"), ours("x"), ours("MPI_Reduce"), users("main")),
			"a@0 MPI_Send@2! op@3 b@4 MPI_Reduce@6! main@7 ",
		},
		{"a call of the library's", numbered(ours("MPI_Bcast"), inMPI("ADIO_Open"), ours("MPI_File_open"),
			users("main")), "MPI_Bcast@0 ADIO_Open@1 MPI_File_open@2! main@3 "},
		{
			"Fortran, in the library", numbered(inMPI("a"), ours("MPI_Recv"), inMPI("mpi_recv_"), users("main")),
			"a@0 MPI_Recv@1 mpi_recv_@2 main@3 ",
		},
		{
			"Fortran, ours", numbered(inMPI("a"), ours("MPI_Recv"), ours("mpi_recv_f08_"), users("main")),
			"a@0 mpi_recv_f08_@2! main@3 ",
		},
		{"Fortran, both", numbered(ours("MPI_Recv"), ours("MPI_Recv"), inMPI("pmpi_recv__"), ours("mpi_recv_"),
			users("main")), "MPI_Recv@1 pmpi_recv__@2 mpi_recv_@3! main@4 "},
		{"no call of MPI", numbered(ours("helper"), ours("clock_gettime"), users("main")), "clock_gettime@1 main@2 "},
		{"the end of what is known", numbered(inMPI("a"), ours("MPI_Recv"), ours("MPI_Recv")), "a@0 MPI_Recv@2 "},
		{"none", nil, ""},
	} {
		got := ""
		for _, f := range fold(c.frames) {
			mark := ""
			if f.Call {
				mark = "!"
			}
			got += fmt.Sprintf("%s@%d%s ", f.Function, f.ID.Level, mark)
		}
		if got != c.want {
			t.Errorf("%s: %s, and it should be %s", c.name, got, c.want)
		}
	}
}

// TestStackTracePages: pages of any size are pieces of the whole, whatever the stack, and whether or not the debugger
// knows its depth.
func TestStackTracePages(t *testing.T) {
	b := launched(t, 1, Options{}, func(w *jobtest.World) {
		w.Rank(0).Program = []jobtest.Step{jobtest.Enter("exchange"), jobtest.Block("MPI_Recv", nil)}
	})
	b.resume(b.j.All(), backend.Continue)
	b.must(b.w.Rank(0).WaitIn(b.ctx, "MPI_Recv"))
	b.must(b.j.Interrupt(b.ctx, b.j.All()))
	b.idle()
	names := []string{"MPI_Recv", "MPI_Send", "mpi_recv_", "PMPI_Recv", "cohort_x", "f"}
	rapid.Check(t, func(rt *rapid.T) {
		var frames []backend.Frame
		for range rapid.IntRange(0, 60).Draw(rt, "frames") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			frames = append(frames, rapid.SampledFrom([]func(string) backend.Frame{ours, ours, inMPI, users}).Draw(rt,
				"owner")(name))
		}
		frames = numbered(frames...)
		knows := rapid.Bool().Draw(rt, "depth is known at once")
		asked := 0
		b.w.Rank(0).OnStackTrace = func(r backend.StackTraceRequest) (backend.StackTraceResult, error) {
			asked++
			rest := frames[min(r.Start, len(frames)):]
			res := backend.StackTraceResult{Frames: rest, Total: len(frames)}
			if r.Count > 0 && r.Count <= len(rest) {
				res.Frames = rest[:r.Count]
				if !knows {
					res.Total = -1
				}
			}
			return res, nil
		}
		const thread = 7 // not the one that has stopped, so its frames at the top are asked for
		visible, _ := HideInternal(frames)
		whole := fold(visible)
		start, count := rapid.IntRange(0, 70).Draw(rt, "start"), rapid.IntRange(0, 70).Draw(rt, "count")
		got, err := b.j.StackTrace(b.ctx, 0, backend.StackTraceRequest{Thread: thread, Start: start, Count: count})
		if err != nil {
			rt.Fatal(err)
		}
		end := len(whole)
		if count > 0 {
			end = min(start+count, len(whole))
		}
		want := whole[min(start, end):end]
		if diff := cmp.Diff(want, got.Frames); diff != "" && len(want)+len(got.Frames) > 0 {
			rt.Errorf("frames %d to %d:\n%s", start, end, diff)
		}
		if got.Total >= 0 && (got.Total < len(whole) || got.Total > len(visible)) || got.Total < 0 &&
			(knows || end == len(whole) && count == 0) {
			rt.Errorf("the total is %d; there are %d", got.Total, len(whole))
		}
		if asked > 16 {
			rt.Errorf("it took %d questions", asked)
		}
	})
}
