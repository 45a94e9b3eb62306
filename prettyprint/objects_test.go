package prettyprint_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/pmpi/abi"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// send and receive are sides with one type.
func side(buffer uint64, count int64, t uint64, peer, tag int32) abi.Side {
	return abi.Side{Buffer: buffer, Count: count, Datatype: t, Flags: 1, Peer: peer, Tag: tag}
}

// action is what a call asks: the parts that are not given are not there.
func action(op uint32, comm uint64, change func(a *prettyprinttest.Action)) prettyprinttest.Action {
	a := prettyprinttest.Action{Action: abi.Action{
		Op: op, Root: prettyprinttest.None32, Comm: comm, Offset: prettyprinttest.None64,
		Send: prettyprinttest.NoSide, Receive: prettyprinttest.NoSide, Target: prettyprinttest.NoSide,
	}}
	change(&a)
	return a
}

// objectsImage has a handle of every kind, and a thread in MPI_Waitall.
func objectsImage(im *prettyprinttest.Image) (buffer uint64) {
	data := make([]byte, 8*8)
	for i := range 8 {
		binary.LittleEndian.PutUint64(data[8*i:], math.Float64bits(float64(i)))
	}
	buffer = im.Alloc(data)
	world := im.Comm(prettyprinttest.CommRecord{
		Kind: 1, Handle: 0x44000000, GlobalID: 1, Size: 4, Rank: 2,
		Name: "MPI_COMM_WORLD", Members: []uint32{0, 1, 2, 3},
	})
	sub := im.Comm(prettyprinttest.CommRecord{
		Kind: 1, Handle: 0x84000001, GlobalID: 9, Size: 2, Rank: 0,
		Members: []uint32{2, 1},
	})
	double := im.Named("MPI_DOUBLE").Record
	column := im.Vector(2, 1, 3, im.Named("MPI_DOUBLE")).Record
	obj := func(rawHandle uint64, site, event uint64) prettyprinttest.ObjectRecord {
		return prettyprinttest.ObjectRecord{Handle: rawHandle, CallSite: site, Event: event}
	}
	group := im.Group(obj(0x88000001, 0x401000, 3), 1, 0, 2, 3)
	im.Group(prettyprinttest.ObjectRecord{
		Handle: 0x48000000, State: abi.ObjectPredefined,
		Name: "MPI_GROUP_EMPTY",
	}, math.MaxUint32)
	im.Window(prettyprinttest.ObjectRecord{Kind: 1, Handle: 0xa0000001, Name: "ghosts"}, sub, buffer, 64, 8, 4, 0,
		group, 1, 1<<31|3)
	im.File(prettyprinttest.ObjectRecord{Handle: 0x5000, Name: "/data/out.bin"}, world, 5, 16, double, column, "native")
	sum := im.Op(prettyprinttest.ObjectRecord{
		Kind: 1, Handle: 0x58000003, State: abi.ObjectPredefined,
		Name: "MPI_SUM",
	}, 0, 1)
	im.Op(prettyprinttest.ObjectRecord{Kind: 2, Handle: 0x98000001}, 0x401000, 0)
	im.Errhandler(prettyprinttest.ObjectRecord{
		Kind: 1, Handle: 0x54000000, State: abi.ObjectPredefined,
		Name: "MPI_ERRORS_ARE_FATAL",
	}, 0)
	im.Errhandler(prettyprinttest.ObjectRecord{Kind: 3, Handle: 0x94000001}, 0x401000)
	im.Info(prettyprinttest.ObjectRecord{Handle: 0x9c000001, State: abi.ObjectTruncated}, 3, "cb_nodes", "2",
		"path", "/tmp/x")
	pending := prettyprinttest.RequestRecord{
		ObjectRecord: prettyprinttest.ObjectRecord{
			Handle: 0x98000010, State: abi.RequestActive, Event: 11,
			CallSite: 0x401000, FHandle: 77,
		},
		Since: 1_000_000_000, Tid: 4242,
		Action: action(10, world, func(a *prettyprinttest.Action) { a.Receive = side(buffer, 2, column, -1, 7) }),
	}
	im.Request(pending)
	second := pending
	second.Handle, second.State = 0x98000011, abi.RequestActive|abi.RequestComplete
	second.Action = action(5, sub, func(a *prettyprinttest.Action) { a.Send = side(buffer, 3, double, 1, 9) })
	im.Request(second)
	third := pending
	third.Handle, third.State = 0x98000012, abi.RequestPersistent
	third.Action = action(19, world, func(a *prettyprinttest.Action) { a.Send = side(buffer, 1, double, -2, 9) })
	im.Request(third)
	reduce := pending
	reduce.Handle = 0x98000013
	reduce.Action = action(82, world, func(a *prettyprinttest.Action) {
		a.Send, a.Receive = prettyprinttest.NoSide,
			side(buffer, 2, double, prettyprinttest.None32, prettyprinttest.None32)
		a.Send.Flags, a.Reduction = 3, sum
	})
	im.Request(reduce)
	detached := second
	detached.Handle = 0
	im.Detached = im.Request(detached)
	handles := make([]byte, 12)
	binary.LittleEndian.PutUint32(handles, 0x98000010)
	binary.LittleEndian.PutUint32(handles[4:], 0x2c000000)
	binary.LittleEndian.PutUint32(handles[8:], 0x98000012)
	array := im.Alloc(handles)
	im.Call(prettyprinttest.CallRecord{
		Tid: 4242, Active: 1, Event: 12, CallSite: 0x401000, Since: 2_000_000_000, Requests: array, NRequests: 3,
		Action: action(27, 0, func(*prettyprinttest.Action) {}),
	})
	return buffer
}

func objects(t *testing.T) (*handle.Rank, variables, uint64) {
	t.Helper()
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	buffer := objectsImage(im)
	status := make([]byte, 20)
	for i, v := range []uint32{96, 0, 3, 7, 0} {
		binary.LittleEndian.PutUint32(status[4*i:], v)
	}
	at := im.Alloc(status)
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		t.Fatal(err)
	}
	r.Env = registry.Surroundings{Locate: locate, Now: func() (int64, bool) { return 3_500_000_000, true }}
	return r, variables{
		"req": handleOf(0x98000010, "MPI_Request"), "done": handleOf(0x98000011, "MPI_Request"),
		"idle": handleOf(0x98000012, "MPI_Request"),
		"red":  handleOf(0x98000013, "MPI_Request"), "nothing": handleOf(0x2c000000, "MPI_Request"),
		"stale": handleOf(0x98000099, "MPI_Request"),
		"g":     handleOf(0x88000001, "MPI_Group"), "w": handleOf(0xa0000001, "MPI_Win"),
		"fh":     handleOf(0x5000, "MPI_File"),
		"closed": handleOf(0, "MPI_File"), "op": handleOf(0x98000001, "MPI_Op"),
		"eh":   handleOf(0x94000001, "MPI_Errhandler"),
		"info": handleOf(0x9c000001, "MPI_Info"), "freq": fortran(77, "integer(kind=4)"),
		"st":   {HasAddr: true, Address: at, Struct: true, Type: "MPI_Status", Language: backend.C},
		"stp":  {HasNumber: true, Number: at, Pointer: true, Type: "MPI_Status *", Language: backend.C},
		"fst":  {HasAddr: true, Address: at, Array: true, Type: "integer(kind=4) (5)", Language: backend.Fortran},
		"lost": {HasAddr: true, Address: 16, Struct: true, Type: "MPI_Status", Language: backend.C},
	}, buffer
}

func TestObjects(t *testing.T) {
	r, vars, buffer := objects(t)
	for _, c := range []struct{ line, want string }{
		{"req", `req: pending MPI_Irecv: receives up to 2 × VECTOR (2 MPI_DOUBLE) from any rank, tag 7, MPI_COMM_WORLD; posted at heat.c:120 in main, after event 11, 2.5s ago
receives 2 × VECTOR at ADDR+0 (not complete yet): {0, 3, 4, 7}
handle 0x98000010 (Fortran 77)`},
		{"--buffer req", `req: pending MPI_Irecv: receives up to 2 × VECTOR (2 MPI_DOUBLE) from any rank, tag 7, MPI_COMM_WORLD; posted at heat.c:120 in main, after event 11, 2.5s ago
receives 2 × VECTOR at ADDR+0 (not complete yet)
  VECTOR{0}(VECTOR)[0][0](DOUBLE)  ADDR+0  0
  VECTOR{0}(VECTOR)[1][0](DOUBLE)  ADDR+24  3
  VECTOR{1}(VECTOR)[0][0](DOUBLE)  ADDR+32  4
  VECTOR{1}(VECTOR)[1][0](DOUBLE)  ADDR+56  7
handle 0x98000010 (Fortran 77)`},
		{"done", `done: complete MPI_Isend: sends 3 × MPI_DOUBLE to rank 1, tag 9, intracommunicator of ranks 2,1 in this order, id 00000009; posted at heat.c:120 in main, after event 11
complete, not waited for yet
sends 3 × MPI_DOUBLE at ADDR+0: {0, 1, 2}
handle 0x98000011 (Fortran 77)`},
		{"idle", `idle: inactive MPI_Send_init: sends 1 × MPI_DOUBLE to MPI_PROC_NULL, tag 9, MPI_COMM_WORLD; posted at heat.c:120 in main, after event 11
inactive, never started, persistent
sends 1 × MPI_DOUBLE at ADDR+0: 0
handle 0x98000012 (Fortran 77)`},
		{"red", `red: pending MPI_Iallreduce: sends and receives 2 × MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD; posted at heat.c:120 in main, after event 11, 2.5s ago
sends in place: what it sends is in the receive buffer
sends and receives 2 × MPI_DOUBLE at ADDR+0 (not complete yet): {0, 1}
handle 0x98000013 (Fortran 77)`},
		{"g", `g: group of 3 ranks, this one is rank 1: 0,2-3
{
    size = 3,
    rank = 1,
    members = {rank 0 of MPI_COMM_WORLD, rank 2 of MPI_COMM_WORLD, rank 3 of MPI_COMM_WORLD},
    state = live,
    created = at heat.c:120 in main, after event 3,
    handle = 0x88000001
}`},
		{"fh", `fh: file "/data/out.bin", MPI_MODE_WRONLY | MPI_MODE_CREATE, over MPI_COMM_WORLD, view of VECTOR`},
		{"w", `w: window "ghosts" of 64 bytes at ADDR+0 over intracommunicator of 2 ranks, open epoch: exposure (MPI_Win_post) to 0,2-3, shared lock of rank 1, exclusive lock of rank 3`},
		{"op", "op: operation of the program's, not commutative"},
		{"MPI_SUM", "MPI_SUM: MPI_SUM"},
		{"eh", "eh: error handler of the program's for communicators"},
		{"MPI_ERRORS_ARE_FATAL", "MPI_ERRORS_ARE_FATAL: MPI_ERRORS_ARE_FATAL"},
		{"MPI_GROUP_EMPTY", "MPI_GROUP_EMPTY: MPI_GROUP_EMPTY without members"},
		{"info", `info: info {cb_nodes="2", path="/tmp/x", 1 more that are not recorded}`},
		{"st", "st: from rank 3, tag 7, 96 bytes"},
		{"stp", "stp: from rank 3, tag 7, 96 bytes"},
		{"--status fst", "fst: from rank 3, tag 7, 96 bytes"},
		{"--request freq", "freq: pending MPI_Irecv"},
		{"--match done to req", "They match: the receive is partial."},
	} {
		got := consoleText(t, r, vars, c.line, buffer)
		if !strings.HasPrefix(got, c.want) && !strings.Contains(got, c.want) {
			t.Errorf("mpipp %s (-want +got):\n%s", c.line, cmp.Diff(c.want, got))
		}
	}
	for _, c := range []struct {
		line string
		kind fault.Kind
		want string
	}{
		{"nothing", fault.Null, "nothing is MPI_REQUEST_NULL: nothing is pending"},
		{"closed", fault.Null, "closed is MPI_FILE_NULL: it was closed or never opened"},
		{"MPI_REQUEST_NULL", fault.Null, "nothing is pending"},
		{
			"stale", fault.NotFound,
			"stale: No request with the handle 0x98000099 is known in this rank. It may be complete",
		},
		{"lost", fault.Unreadable, "unmapped at 0x10"},
		{"--status req", fault.Usage, "an MPI_Status"},
		{"--group req", fault.NotFound, "No group with the handle"},
		{"--stack req", fault.NotTracked, "COHORT_STACKS=1"},
		{"--match 2:17", fault.Usage, "write `mpipp --match 2:17` in its console, without a rank before it"},
		{"MPI_NONE_SUCH", fault.NotFound, "no predefined handle MPI_NONE_SUCH"},
	} {
		_, err := command.Run(r, vars, c.line)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mpipp %s: %v; want kind %d and %q", c.line, err, c.kind, c.want)
		}
	}
}

func consoleText(t *testing.T, r *handle.Rank, vars variables, line string, base uint64) string {
	t.Helper()
	res, err := command.Run(r, vars, line)
	if err != nil {
		t.Errorf("mpipp %s: %v", line, err)
		return ""
	}
	return relative(res.Text, base)
}

// TestEverything is mpipp alone: the call in progress and pending requests come first.
func TestEverything(t *testing.T) {
	r, vars, buffer := objects(t)
	want := `1 call in progress
  thread 4242  MPI_Waitall: 3 requests; called at heat.c:120 in main, after event 12, 1.5s ago
4 requests, 2 pending
  0x98000010  pending MPI_Irecv: receives up to 2 × VECTOR (2 MPI_DOUBLE) from any rank, tag 7, MPI_COMM_WORLD; posted at heat.c:120 in main, after event 11, 2.5s ago
  0x98000013  pending MPI_Iallreduce: sends and receives 2 × MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD; posted at heat.c:120 in main, after event 11, 2.5s ago
  0x98000011  complete MPI_Isend: sends 3 × MPI_DOUBLE to rank 1, tag 9, intracommunicator of ranks 2,1 in this order, id 00000009; posted at heat.c:120 in main, after event 11
  0x98000012  inactive MPI_Send_init: sends 1 × MPI_DOUBLE to MPI_PROC_NULL, tag 9, MPI_COMM_WORLD; posted at heat.c:120 in main, after event 11
1 active request whose handle the program has freed
  0x0  complete MPI_Isend: sends 3 × MPI_DOUBLE to rank 1, tag 9, intracommunicator of ranks 2,1 in this order, id 00000009; posted at heat.c:120 in main, after event 11
1 datatype made by the program, 1 predefined
  0x8c000001  VECTOR: 2 MPI_DOUBLE, size 16, extent 32; created after event 0
2 communicators
  0x44000000  intracommunicator MPI_COMM_WORLD of 4 ranks, this one is rank 2: 0-3
  0x84000001  intracommunicator of 2 ranks, this one is rank 0: 2,1 in this order
1 group
  0x88000001  group of 3 ranks, this one is rank 1: 0,2-3; created at heat.c:120 in main, after event 3
1 window
  0xa0000001  window "ghosts" of 64 bytes at ADDR+0 over intracommunicator of 2 ranks, open epoch: exposure (MPI_Win_post) to 0,2-3, shared lock of rank 1, exclusive lock of rank 3; created after event 0
1 file
  0x5000  file "/data/out.bin", MPI_MODE_WRONLY | MPI_MODE_CREATE, over MPI_COMM_WORLD, view of VECTOR; opened after event 0
1 operation
  0x98000001  operation of the program's, not commutative; created after event 0
1 error handler
  0x94000001  error handler of the program's for communicators; created after event 0
1 info
  0x9c000001  info {cb_nodes="2", path="/tmp/x", 1 more that are not recorded}; created after event 0
`
	if diff := cmp.Diff(want, consoleText(t, r, vars, "", buffer)); diff != "" {
		t.Error(diff)
	}
}

// TestDescribe is what Variables shows.
func TestDescribe(t *testing.T) {
	r, _, _ := objects(t)
	for _, c := range []struct {
		declared string
		handle   uint64
		fortran  bool
		want     string
	}{
		{
			"MPI_Request", 0x98000010, false,
			"pending MPI_Irecv: receives up to 2 × VECTOR (2 MPI_DOUBLE) from any rank, tag 7, MPI_COMM_WORLD",
		},
		{"const MPI_Request", 0x2c000000, false, "MPI_REQUEST_NULL"},
		{
			"Type mpi_request", 77, true,
			"pending MPI_Irecv: receives up to 2 × VECTOR (2 MPI_DOUBLE) from any rank, tag 7, MPI_COMM_WORLD",
		},
		{"MPI_Comm", 0x04000000, false, "MPI_COMM_NULL"},
		{"struct ompi_group_t *", 0x88000001, false, "group of 3 ranks, this one is rank 1: 0,2-3"},
		{"MPI_File", 0, false, "MPI_FILE_NULL"},
		{"MPI_Datatype", 0x0c000000, false, "MPI_DATATYPE_NULL"},
	} {
		n, err := call.Describe(r, c.declared, c.handle, c.fortran)
		if err != nil || n.Value != c.want {
			t.Errorf("%s 0x%x: %q, %v; want %q", c.declared, c.handle, n.Value, err, c.want)
		}
	}
	for _, declared := range []string{"int", "MPI_Message", "MPI_Requests"} {
		if _, err := call.Describe(r, declared, 1, false); err == nil {
			t.Errorf("%s is described", declared)
		}
	}
}

// TestNotKept says by name what a run does not keep, and what to do.
func TestNotKept(t *testing.T) {
	for _, c := range []struct {
		features abi.Feature
		want     string
	}{
		{3, "Start it with COHORT_KEEP=1"},
		{3 | abi.FeatureControl, "`cohort debug` tracks them"},
		{3 | abi.FeatureControl | abi.FeatureAsked, "COHORT_KEEP=0"},
		{0, "has not returned from MPI_Init"},
	} {
		im := prettyprinttest.NewImage(prettyprinttest.MPICH)
		im.Named("MPI_INT")
		im.Comm(prettyprinttest.CommRecord{
			Kind: 1, Handle: 0x44000000, GlobalID: 1, Size: 1, Name: "MPI_COMM_WORLD",
			Members: []uint32{0},
		})
		im.Features = c.features
		addr := im.Publish()
		if c.features == 0 {
			patch32(im, addr+128, 0)
		}
		r, err := handle.Open(im, addr)
		if err != nil {
			t.Fatal(err)
		}
		vars := variables{"req": handleOf(0x98000010, "MPI_Request"), "g": handleOf(0x88000001, "MPI_Group")}
		if _, err := command.Run(r, vars, "req"); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "Requests are not ") {
			t.Errorf("features 0x%x: %v; want %q", c.features, err, c.want)
		}
		if _, err := command.Run(r, vars, "g"); err == nil ||
			!strings.Contains(err.Error(), "Groups are not ") {
			t.Errorf("features 0x%x: %v", c.features, err)
		}
		if n, err := call.Describe(r, "MPI_Request", 0x98000010, false); c.features != 0 &&
			(err != nil || n.Value != "0x98000010 (requests are not tracked in this run)") {
			t.Errorf("%q, %v", n.Value, err)
		}
	}
}

func patch32(im *prettyprinttest.Image, at uint64, v uint32) {
	b := binary.LittleEndian.AppendUint32(nil, v)
	im.Write(at, b)
}

// TestCorruptObjects: cycles, huge counts, records of other kinds.
func TestCorruptObjects(t *testing.T) {
	const h = 0x98000010
	req := func(im *prettyprinttest.Image, change func(r *prettyprinttest.RequestRecord)) uint64 {
		r := prettyprinttest.RequestRecord{ObjectRecord: prettyprinttest.ObjectRecord{
			Handle: h,
			State:  abi.RequestActive,
		}, Action: action(10, 0, func(*prettyprinttest.Action) {})}
		change(&r)
		return im.Request(r)
	}
	for _, c := range []struct {
		name string
		make func(im *prettyprinttest.Image)
		line string
		want string
	}{
		{"a circle of requests", func(im *prettyprinttest.Image) {
			at := req(im, func(*prettyprinttest.RequestRecord) {})
			im.Write(at+96, binary.LittleEndian.AppendUint64(nil, at))
		}, "", "go round in a circle"},
		{"a circle of calls", func(im *prettyprinttest.Image) {
			at := im.Call(prettyprinttest.CallRecord{Tid: 1, Action: action(27, 0, func(*prettyprinttest.Action) {})})
			im.Write(at, binary.LittleEndian.AppendUint64(nil, at))
		}, "", "the records of calls go round in a circle"},
		{"a short record", func(im *prettyprinttest.Image) {
			at := req(im, func(*prettyprinttest.RequestRecord) {})
			patch32(im, at, 12)
		}, "req", fmt.Sprintf("has 12 bytes, and at least %d are needed", abi.Size[abi.RequestRecord]())},
		{"a negative count", func(im *prettyprinttest.Image) {
			d := im.Named("MPI_DOUBLE").Record
			req(im, func(r *prettyprinttest.RequestRecord) { r.Action.Receive = side(0x1000, -5, d, 0, 0) })
		}, "req", "has the count -5"},
		{"a datatype that is none", func(im *prettyprinttest.Image) {
			req(im, func(r *prettyprinttest.RequestRecord) { r.Action.Receive = side(0x1000, 1, 0x10, 0, 0) })
		}, "req", "The record of a datatype cannot be there"},
		{"no datatype", func(im *prettyprinttest.Image) {
			req(im, func(r *prettyprinttest.RequestRecord) { r.Action.Receive = side(0x1000, 1, 0, 0, 0) })
		}, "req", "is not known"},
		{"parts without end", func(im *prettyprinttest.Image) {
			req(im, func(r *prettyprinttest.RequestRecord) {
				r.Action.Receive = abi.Side{Buffer: 0x1000, Flags: 1 | 4, Counts: 0x1000, N: math.MaxUint32}
			})
		}, "req", "the buffer has parts of 4294967295 ranks"},
		{"another handle", func(im *prettyprinttest.Image) {
			at := req(im, func(*prettyprinttest.RequestRecord) {})
			patch32(im, at+8, 7)
		}, "req", "the record says 0x7"},
		{"an info without texts", func(im *prettyprinttest.Image) {
			im.Info(prettyprinttest.ObjectRecord{Handle: h}, 70, "a", "b")
			at := im.Info(prettyprinttest.ObjectRecord{Handle: h + 1}, 70, "a", "b")
			patch32(im, at+76, 60)
		}, "--info 0x98000011", "claims 60 entries and has"},
		{"a group of all", func(im *prettyprinttest.Image) {
			at := im.Group(prettyprinttest.ObjectRecord{Handle: h}, 0, 1, 2)
			patch32(im, at+76, math.MaxUint32)
		}, "--group 0x98000010", "claims 4294967295 members"},
		{"a stack of all", func(im *prettyprinttest.Image) {
			at := req(im, func(r *prettyprinttest.RequestRecord) { r.Stack = []uint64{1, 2} })
			_ = at
		}, "--stack req", "was made by\n  #0 0x1\n  #1 0x2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer endless().Stop()
			im := prettyprinttest.NewImage(prettyprinttest.MPICH)
			im.Named("MPI_INT")
			im.Comm(prettyprinttest.CommRecord{
				Kind: 1, Handle: 0x44000000, GlobalID: 1, Size: 1,
				Name: "MPI_COMM_WORLD", Members: []uint32{0},
			})
			c.make(im)
			r, err := handle.Open(im, im.Publish())
			if err != nil {
				t.Fatal(err)
			}
			res, err := command.Run(r, variables{"req": handleOf(h, "MPI_Request")}, c.line)
			got := fmt.Sprint(err)
			if err == nil {
				got = res.Text
			}
			if !strings.Contains(strings.ToLower(got), strings.ToLower(c.want)) {
				t.Errorf("mpipp %s says\n%s\nwithout %q", c.line, got, c.want)
			}
		})
	}
}
