package handles_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// outline writes the MPI calls among the locals of a frame as indented text, opened to a depth.
func (r *rank) outline(level, depth int) string {
	r.t.Helper()
	scopes, err := r.Scopes(ctxOf(r.t), backend.FrameID{Thread: 1, Level: level})
	if err != nil {
		r.t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range scopes {
		if s.Name != "Locals" {
			continue
		}
		got, err := r.Variables(ctxOf(r.t), backend.VariablesRequest{Ref: s.Ref})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(got.Variables) != s.Named {
			r.t.Errorf("the scope announces %d variables, and has %d", s.Named, len(got.Variables))
		}
		for _, v := range got.Variables {
			if v.Type == "MPI call" {
				r.write(&b, v, 0, depth)
			}
		}
	}
	return b.String()
}

func (r *rank) write(b *strings.Builder, v backend.Variable, indent, depth int) {
	r.t.Helper()
	fmt.Fprintf(b, "%s%s = %s\n", strings.Repeat("  ", indent), v.Name, v.Value)
	if v.Ref == 0 || depth == 0 {
		return
	}
	got, err := r.Variables(ctxOf(r.t), backend.VariablesRequest{Ref: v.Ref})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(got.Variables) != v.Named+v.Indexed {
		r.t.Errorf("%s announces %d and %d children, and has %d", v.Name, v.Named, v.Indexed, len(got.Variables))
	}
	for _, k := range got.Variables {
		r.write(b, k, indent+1, depth-1)
	}
}

var hex = regexp.MustCompile(`0x[0-9a-f]{5,}`)

// sees checks the calls that are shown at the frame, with addresses as ADDR.
func (r *rank) sees(level, depth int, want string) {
	r.t.Helper()
	got := hex.ReplaceAllString(r.outline(level, depth), "ADDR")
	if !strings.Contains(got, want) {
		r.t.Errorf("the locals have\n%s\nwithout\n%s", got, want)
	}
}

// levelOf is the level of the innermost frame of a function.
func (r *rank) levelOf(function string) int {
	r.t.Helper()
	got, err := r.StackTrace(ctxOf(r.t), backend.StackTraceRequest{Thread: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	for i, f := range got.Frames {
		if f.Function == function {
			return i
		}
	}
	r.t.Fatalf("there is no %s in %+v", function, got.Frames)
	return 0
}

// seesRequest checks a pending receive, and the MPI_Wait that is to wait for it.
func (r *rank) seesRequest() {
	r.t.Helper()
	const pending = "pending MPI_Irecv: receives up to 4 × MPI_DOUBLE from rank 0, tag 7, MPI_COMM_WORLD"
	r.says("mpipp request", "^request: "+pending+`; posted at calls\.c:\d+ in exchange, after event 0, .* ago\n`,
		"receives 4 × MPI_DOUBLE at 0x[0-9a-f]+ \\(not complete yet\\)")
	r.says("mpipp --buffer request", `MPI_DOUBLE\{3\}\(DOUBLE\)  0x[0-9a-f]+  `)
	r.says("mpipp", "^1 request, 1 pending\n  0x[0-9a-f]+  "+pending)
	r.says("mpipp --call", `^MPI_Wait is about to be called at calls\.c:\d+: `+pending)
	r.shows("request", pending)
	r.sees(0, 1, "MPI_Wait = "+pending+"\n  request = "+pending+"\n")
}

func TestCallsInLocals(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		r := started(t, mpi, "calls.c", true)
		for _, step := range []struct {
			mark  string
			depth int
			want  string
		}{
			{"breakpoint: irecv", 2, `MPI_Irecv = receives up to 4 × MPI_DOUBLE from rank 0, tag 7, comm (MPI_COMM_WORLD): not received yet: the call has not run
  receives = 4 × MPI_DOUBLE at ADDR (not received yet: the call has not run): {-1, -1, -1, -1}
    {0} = -1
`},
			{"MPI_Send(&u", 2, `MPI_Send = sends 1 × column (VECTOR: 4 MPI_DOUBLE) to rank 0, tag 7, comm (MPI_COMM_WORLD): {2, 12, 22, 32}
  sends = 1 × column at ADDR: {2, 12, 22, 32}
    [0][0] = 2
    [1][0] = 12
    [2][0] = 22
    [3][0] = 32
  dest = rank 0
  tag = 7
  comm = comm: intracommunicator MPI_COMM_WORLD of 1 rank, this one is rank 0: 0
`},
			{"breakpoint: wait", 0, "MPI_Wait = "},
			{"breakpoint: sendrecv", 1, `MPI_Sendrecv = sends 2 × particle (STRUCT: MPI_INT, 4 MPI_CHAR, MPI_DOUBLE) to rank 0, receives up to 2 × particle (STRUCT: MPI_INT, 4 MPI_CHAR, MPI_DOUBLE) from any rank, tag 1 and any tag, MPI_COMM_WORLD
  sends = 2 × particle at ADDR: {7, 'o', 'n', 'e', …}
  receives = 2 × particle at ADDR (not received yet: the call has not run): {0, '\0', '\0', '\0', …}
  dest = rank 0
  sendtag = 1
  source = any rank
  recvtag = any tag
`},
			{"breakpoint: inplace", 1, `MPI_Allreduce = sends and receives 1 × MPI_INT, MPI_SUM, MPI_COMM_WORLD
  sends = in place: what it sends is in the receive buffer
  sends and receives = 1 × MPI_INT at ADDR (not received yet: the call has not run): 5
  op = MPI_SUM
`},
			{"breakpoint: gatherv", 2, `  sends = 2 × MPI_INT at ADDR: {10, 20}
    {0} = 10
    {1} = 20
  receives = 1 part, 2 basic elements (not received yet: the call has not run)
    [0] = 2 × MPI_INT: {1, 2}
`},
			{"breakpoint: bcast", 0, "MPI_Bcast = sends 3 × MPI_INT, root (this rank), MPI_COMM_WORLD: {10, 20, 3}\n"},
			{
				"breakpoint: called", 1,
				"  sends = not evaluated: count() calls count, and Cohort calls no function of the program.\n",
			},
			{"breakpoint: pack", 1, `  packs = 1 × particle at ADDR: {7, 'o', 'n', 'e', …}
  packs into = 64 × MPI_PACKED at ADDR (not written yet: the call has not run)`},
			{"breakpoint: operation", -1, `MPI_Reduce_local = takes 2 × MPI_INT, takes and gives 2 × MPI_INT, op (operation of the program's, commutative, function calls.c:13 in add)
  takes = 2 × MPI_INT at ADDR: {10, 20}
  takes and gives = 2 × MPI_INT at ADDR (not received yet): {10, 20}
  op = op (operation of the program's, commutative, function calls.c:13 in add)
`},
			{"breakpoint: nowhere", 1, `MPI_Send = sends 3 × MPI_INT to rank 5 (no such rank: the communicator has 1 rank), tag 1, MPI_COMM_WORLD: {unmapped at 0x10, unmapped at 0x14, unmapped at 0x18}
`},
		} {
			r.goTo(step.mark)
			if step.depth < 0 { // a function that MPI calls: the call is that of main
				r.sees(r.levelOf("main"), 1, step.want)
				continue
			}
			r.sees(0, step.depth, step.want)
			if step.mark == "breakpoint: wait" {
				r.seesRequest()
			}
		}
		if got, err := r.console("mpipp --call"); err != nil ||
			!strings.Contains(got, "MPI_Send is about to be called at calls.c:") ||
			!strings.Contains(got, "unmapped at 0x18") {
			t.Errorf("mpipp --call: %v\n%s", err, got)
		}
		if v := r.locals()["called"]; v.Value != "" {
			t.Errorf("called is among the locals: %+v", v)
		}
		r.says("p called", "^1$") // by the program, once
	})
}

func TestCallsInLocalsOfFortran(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		r := started(t, mpi, "calls_f08.f90", true)
		r.goTo("breakpoint: sendrecv") // over three lines, with keywords
		r.sees(0, 1, `MPI_Sendrecv = sends 1 × row (VECTOR: 4 MPI_DOUBLE_PRECISION) to rank 0, receives up to 4 × MPI_DOUBLE_PRECISION from rank 0, tag 5, MPI_COMM_WORLD
  sends = 1 × row at ADDR: {301, 302, 303, 304}
  receives = 4 × MPI_DOUBLE_PRECISION at ADDR (not received yet: the call has not run): {0, 0, 0, 0}
  dest = rank 0
`)
		r.goTo("breakpoint: section")
		r.sees(0, 1, "  sends = 10 × MPI_DOUBLE_PRECISION at ADDR: {102, 202, 302, 402, …}\n")
		r.goTo("breakpoint: strided")
		r.sees(0, 1,
			"  sends = not evaluated: matrix(2, :) is an array section whose elements may not lie side by side")
		r.goTo("breakpoint: status")
		r.shows("status", "from rank 0, tag 5, 32 bytes")
		r.says("mpipp status", "^status: from rank 0, tag 5, 32 bytes")
	})
}
