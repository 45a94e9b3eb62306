package debug

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// waitsBody is what the tests read of the answer to cohort/waits.
type waitsBody struct {
	Deadlock, Likely string
	Unless, Unsure   []string
	Text             string
}

// Who waits for whom, and whether that is a deadlock, in a dozen kinds of hang.
func TestWaits(t *testing.T) {
	t.Parallel()
	barrier := func(set, missing string) string {
		return "[" + set + "] waiting in MPI_Barrier (hang.c:END in main) for [" + missing + "] to call MPI_Barrier."
	}
	const ended = "something that a rank did before it ended is still on its way"
	for _, hang := range []struct {
		kind, mpi        string // no kind is another one with the other MPI; each MPI has some of each kind of call
		deadlock, likely string
		text             []string // lines; END is the last barrier
	}{
		{"tag", "mpich", "0-2", "", []string{
			"[0] waiting in MPI_Recv (hang.c:RECV in receive) for a message of 1 with tag 7.", barrier("1-2", "0"),
			"[1] has sent [0] 1 message with tag 6 that no receive of it takes; its MPI_Recv (hang.c:RECV in receive) " +
				"waits for tag 7.",
			"Deadlock: [0-2] can never go on. They wait for each other: 0 → 1 → 0.",
		}},
		{"comm", "openmpi", "0-2", "", []string{
			"[0] waiting in MPI_Recv (hang.c:RECV in receive) for a message of 1 with tag 5.", barrier("1-2", "0"),
			"[1] has sent [0] 1 message with tag 5 in other that no receive of it takes; its MPI_Recv " +
				"(hang.c:RECV in receive) waits for one in MPI_COMM_WORLD.",
			"Deadlock: [0-2] can never go on. They wait for each other: 0 → 1 → 0.",
		}},
		{"nosend", "mpich", "0-2", "", []string{
			"[0] waiting in MPI_Recv (hang.c:RECV in receive) for a message of 1 with tag 5.", barrier("1-2", "0"),
			"Deadlock: [0-2] can never go on. They wait for each other: 0 → 1 → 0.",
		}},
		{"noreceive", "openmpi", "0-2", "", []string{
			barrier("0-1", "2"), "[2] waiting in MPI_Ssend (hang.c:SSEND in main) for a receive of 1 that takes tag 5.",
			"Deadlock: [0-2] can never go on. They wait for each other: 1 → 2 → 1.",
		}},
		{"rendezvous", "mpich", "", "0-2", []string{
			"[0] waiting in MPI_Send (hang.c:LARGE in main) for a receive of 1 that takes tag 5.",
			"[1] waiting in MPI_Send (hang.c:LARGE in main) for a receive of 2 that takes tag 5.",
			"[2] waiting in MPI_Send (hang.c:LARGE in main) for a receive of 0 that takes tag 5.",
			"Deadlock: [0-2] can never go on, unless MPI buffers what is being sent. " +
				"They wait for each other: 0 → 1 → 2 → 0.",
		}},
		{"mismatch", "mpich", "0-2", "", []string{
			"[0] waiting in MPI_Bcast (hang.c:BCAST in main) for [1] to call MPI_Bcast.",
			"[1-2] waiting in MPI_Allreduce (hang.c:ALLREDUCE in main) for [0] to call MPI_Allreduce.",
			"Ranks are in different collectives: [0] MPI_Bcast with root [1] (hang.c:BCAST in main), " +
				"[1-2] MPI_Allreduce (hang.c:ALLREDUCE in main).",
			"Deadlock: [0-2] can never go on. They wait for each other: 0 → 1 → 0.",
		}},
		{"wildcard", "openmpi", "0-2", "", []string{
			"[0-2] waiting in MPI_Recv (hang.c:RECV in receive) for a message of any rank with any tag.",
			"Deadlock: [0-2] can never go on. They wait for each other: 0 → 1 → 0.",
		}},
		{"waitall", "mpich", "0-2", "", []string{
			barrier("0,2", "1"), "[1] waiting in MPI_Waitall (hang.c:WAITALL in main) for a message of 2 with tag 6 in other.",
			"Deadlock: [0-2] can never go on. They wait for each other: 1 → 2 → 1.",
		}},
		{"waitany", "openmpi", "0-2", "", []string{
			"[0] waiting in MPI_Waitany (hang.c:WAITANY in main) for a message of 2 with tag 5 or a message of 1 with tag 6 in other.",
			"[1] waiting in MPI_Waitany (hang.c:WAITANY in main) for a message of 0 with tag 5 or a message of 2 with tag 6 in other.",
			"[2] waiting in MPI_Waitany (hang.c:WAITANY in main) for a message of 1 with tag 5 or a message of 0 with tag 6 in other.",
			"Deadlock: [0-2] can never go on. They wait for each other: 0 → 2 → 0.",
		}},
		{"probe", "openmpi", "0-2", "", []string{
			barrier("0,2", "1"), "[1] waiting in MPI_Probe (hang.c:PROBE in main) for a message of 0 with tag 9.",
			"Deadlock: [0-2] can never go on. They wait for each other: 0 → 1 → 0.",
		}},
		{"ended", "mpich", "", "0,2", []string{
			"[0] waiting in MPI_Recv (hang.c:RECV in receive) for a message of 1 with tag 7.", "[1] ended: exit code 0.",
			barrier("2", "0-1"), "Deadlock: [0,2] can never go on, unless " + ended + ".",
		}},
		{"compute", "mpich", "", "", []string{
			barrier("0-1", "2"), "[2] waiting for nobody: stopped in main at hang.c:COMPUTE.",
			"No deadlock: every rank that waits waits for one that can go on.",
		}},
		{"lock", "mpich", "", "", []string{
			barrier("0,2", "1"), "[1] in MPI_Win_lock (hang.c:LOCK in main); what it waits for is not known.",
			"No deadlock is certain.", "What the call of [1] waits for is not known.",
		}},
	} {
		t.Run(hang.kind, func(t *testing.T) {
			t.Parallel()
			mpi := mpitest.Need(t, hang.mpi)
			var places []string
			for name, text := range map[string]string{
				"END": "/* the last */", "RECV": "MPI_Recv(&x, 1, MPI_INT, source", "SSEND": "MPI_Ssend(",
				"LARGE": "MPI_Send(many", "BCAST": "MPI_Bcast(&x, 1, MPI_INT, 1, MPI_COMM_WORLD); /* hangs */",
				"ALLREDUCE": "MPI_Allreduce(", "WAITALL": "MPI_Waitall(2, q, MPI_STATUSES_IGNORE); /* hangs */",
				"WAITANY": "MPI_Waitany(", "PROBE": "MPI_Probe(", "COMPUTE": "volatile long",
				"LOCK": "window); /* hangs */",
			} {
				places = append(places, ":"+name, ":"+strconv.Itoa(mpitest.Line(t, "hang.c", text)))
			}
			e := newDAPPlace(t, mpi).editor()
			e.Launch(protocol.LaunchArguments{Program: mpi.Build(t, "hang.c"), Args: []string{hang.kind}, Ranks: 3})
			e.SetBreakpoints(mpitest.Source(t, "hang.c"), mpitest.Line(t, "hang.c", `strcmp(kind, "tag")`))
			e.ConfigurationDone()
			e.Expect(stops("breakpoint", 0, 1, 2)...)
			e.Continue(0)
			want := strings.NewReplacer(places...).Replace(strings.Join(hang.text, "\n"))
			// That ranks get on no more can only be seen after a time, which may be too short on a busy machine.
			var body waitsBody
			const enough = 10
			for same := 0; body.Text != want && same < enough; {
				before := body.Text
				e.Do(protocol.RequestWaitStall, protocol.StallArguments{Seconds: 0.5}, nil)
				e.Do("pause", map[string]any{"threadId": 1}, nil)
				e.WaitIdle()
				e.Do(protocol.RequestWaits, nil, &body)
				if same++; body.Text != before {
					same = 0
				}
				if body.Text != want && same < enough {
					e.Continue(0)
				}
			}
			if diff := gocmp.Diff(want, body.Text); diff != "" {
				t.Errorf("who waits for whom (-want +got):\n%s", diff)
			}
			if body.Deadlock != cmp.Or(hang.deadlock, "none") || body.Likely != cmp.Or(hang.likely, "none") {
				t.Errorf("the deadlock is of [%s], perhaps of [%s]; want [%s], [%s]", body.Deadlock, body.Likely,
					hang.deadlock, hang.likely)
			}
			if got := e.Console("waits", 0); got != want {
				t.Errorf("the console says:\n%s\nwant:\n%s", got, want)
			}
			if got := e.Console("waits dot", 0); !strings.HasPrefix(got, "digraph waits {\n") {
				t.Errorf("the graph is:\n%s", got)
			}
		})
	}
}
