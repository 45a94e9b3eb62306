package mpispec_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/mpispec"
)

// TestNumbersAreStable has the numbers that recordings hold: a number that was given out keeps its meaning. "-" was
// never written.
func TestNumbersAreStable(t *testing.T) {
	given := strings.Fields(`
		- Send Bsend Ssend Rsend Isend Ibsend Issend Irsend Recv Irecv Sendrecv Sendrecv_replace Probe Iprobe Mprobe
		Improbe Mrecv Imrecv Send_init Bsend_init Ssend_init Rsend_init Recv_init Start Startall Wait Waitall Waitany
		Waitsome Test Testall Testany Testsome Request_get_status Cancel Request_free Test_cancelled Grequest_start
		Collective_init Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw
		Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan Neighbor_allgather Neighbor_allgatherv
		Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw Win_create Win_allocate Win_free Put Get Accumulate
		Get_accumulate Fetch_and_op Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall
		Ialltoallv Ialltoallw Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan Ineighbor_allgather
		Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw Compare_and_swap Win_fence
		Win_start Win_complete Win_post Win_wait - Win_lock Comm_dup Comm_split Comm_create Comm_split_type Cart_create
		Graph_create Dist_graph_create Dist_graph_create_adjacent Cart_sub Comm_free Comm_dup_with_info Comm_idup
		Comm_create_group Intercomm_create Intercomm_merge Comm_disconnect Win_unlock Win_lock_all Win_unlock_all
		Win_flush Finalize Abort Win_flush_all Win_flush_local Win_flush_local_all Win_sync - Other`)
	for i, name := range given {
		op := mpispec.Op(i)
		if name == "-" {
			if op.Known() {
				t.Errorf("operation %d is %s", i, op)
			}
			continue
		}
		if op.String() != name {
			t.Errorf("operation %d is %s, and was %s", i, op, name)
		}
		if back, ok := mpispec.ParseOp(name); !ok || back != op {
			t.Errorf("%s is operation %d", name, back)
		}
	}
	for _, op := range mpispec.Standard().Operations() {
		if int(op) >= len(given) {
			t.Errorf("operation %d, %s: add it to this test", op, op)
		}
	}
}

var update = flag.Bool("update", false, "write operations.go anew")

// TestConstants compares operations.go with the table.
func TestConstants(t *testing.T) {
	var want bytes.Buffer
	want.WriteString("// Code generated from functions.txt by go test ./mpispec -run TestConstants -update. DO NOT " +
		"EDIT.\n\npackage mpispec\n\n// The operations.\nconst (\n")
	for _, op := range mpispec.Standard().Operations() {
		name := "Op"
		for word := range strings.SplitSeq(op.String(), "_") {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		fmt.Fprintf(&want, "\t%s Op = %d\n", name, op)
	}
	want.WriteString(")\n")
	text, err := format.Source(want.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("operations.go", text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("operations.go"); err != nil || !bytes.Equal(got, text) {
		t.Errorf("operations.go is not what the table says (%v): run go test ./mpispec -run TestConstants -update", err)
	}
}

// text is the table as it is written.
func text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOneRow adds a function to a copy of the table.
func TestOneRow(t *testing.T) {
	table, err := mpispec.Parse(text(t) + `
[event=collective nonlocal fortran forms=I,init since=4.0]
Gossip=128/129: >sendbuf sendcount sendtype <recvbuf*n recvcounts[n] displs[n] recvtype root comm ; after=root
`)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := table.Lookup("pmpi_gossip")
	if !ok || table.Op(128) != f || table.Op(129) != f.Nonblocking || f.Class != mpispec.ClassCollective ||
		f.After != mpispec.AfterRoot || f.Nonblocking.Class != mpispec.ClassIcollective {
		t.Fatalf("%+v", f)
	}
	got := []string{f.Prototype(), f.Large.Nonblocking.Prototype(), f.Persistent.Op.String()}
	want := []string{
		"int MPI_Gossip(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, " +
			"const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)",
		"int MPI_Igossip_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, " +
			"const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, " +
			"MPI_Request *request)",
		"Collective_init",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// A large nonblocking call needs its arrays for longer than its wrapper has them.
	if f.Large.Coverage != mpispec.Recorded || f.Large.Nonblocking.Coverage != mpispec.Uncovered {
		t.Errorf("covered: %d, %d", f.Large.Coverage, f.Large.Nonblocking.Coverage)
	}
	if b := f.Buffers[1]; b != (mpispec.Buffer{
		Address: "recvbuf", Direction: mpispec.Receives, Count: "recvcounts", Type: "recvtype", Displs: "displs",
		Array: true, Times: mpispec.PerMember,
	}) {
		t.Errorf("%+v", b)
	}
}

// TestMistakes has rows that are refused.
func TestMistakes(t *testing.T) {
	for row, want := range map[string]string{
		"Recv: comm":                              "twice",
		"Gossip=9: comm ; event=recv":             "operation 9 is that of MPI_Recv",
		"Gossip: comm ; sometimes":                "no trait",
		"Gossip: comm ; event=message":            "no trait",
		"Gossip: comm ; event=send":               "operation 0 of class send",
		"Gossip=130: comm":                        "operation 130 of class none",
		"Gossip: comm ; forms=K":                  "no form",
		"Gossip comm":                             "names no functions",
		"Gossip=1e3: comm":                        "invalid syntax",
		"Gossip=130: comm ; event=recv uncovered": "two coverages",
	} {
		_, err := mpispec.Parse(text(t) + "\n[]\n" + row)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", row, err)
		}
	}
}

// TestLookup allocates nothing once the table is read.
func TestLookup(t *testing.T) {
	for name, want := range map[string]string{
		"MPI_Send": "MPI_Send", "PMPI_Send": "MPI_Send", "MPI_SEND": "MPI_Send", "mpi_ialltoallw": "MPI_Ialltoallw",
		"MPI_Send_c": "MPI_Send_c", "MPI_Rput": "MPI_Rput", "MPI_Allreduce_init": "MPI_Allreduce_init",
		"MPI_Wait_c": "", "Send": "", "": "", "PMPI_": "",
	} {
		f, ok := mpispec.Lookup(name)
		if ok != (want != "") || ok && f.Name != want {
			t.Errorf("%s: %+v, %v", name, f, ok)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		f, _ := mpispec.Lookup("PMPI_Waitall")
		_ = f.Op.Class()
		_ = mpispec.OpBcast.IsPoll()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
