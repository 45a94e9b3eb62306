package prettyprint_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/backend"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"
	"github.com/cohort-debugger/cohort/prettyprint/registry"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// variables is a Resolver for a handful of expressions.
type variables map[string]backend.Value

func (variables) CallsOnLine(*handle.Rank) ([]*call.Call, error) { return nil, nil }
func (variables) CallAt(uint64, string) *mpicall.Call            { return nil }
func (variables) Thread() int32                                  { return 0 }

func (v variables) Resolve(expr string) (backend.Value, error) {
	if r, ok := v[expr]; ok {
		return r, nil
	}
	return backend.Value{}, errors.New(`No symbol "` + expr + `" in current context.`)
}

// locate knows one call.
func locate(pc uint64) string {
	if pc == 0x401000 {
		return "heat.c:120 in main"
	}
	return ""
}

func handleOf(h uint64, ctype string) backend.Value {
	return backend.Value{
		Number: h, HasNumber: true, HasAddr: true, Address: 0x7ffc0010, Type: ctype,
		Language: backend.C,
	}
}

func fortran(n uint64, ftype string) backend.Value {
	return backend.Value{
		Number: n, HasNumber: true, HasAddr: true, Address: 0x7ffc0020, Type: ftype,
		Language: backend.Fortran,
	}
}

// demo is a rank with a column of a matrix, the struct of Fig. 1, communicators, and variables that name them.
func demo(t *testing.T) (*handle.Rank, variables, uint64) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	column := im.Vector(8, 1, 10, im.Named("MPI_DOUBLE"))
	matrix := make([]byte, 8*10*8)
	for i := range 80 {
		binary.LittleEndian.PutUint64(matrix[8*i:], math.Float64bits(float64(i)/2))
	}
	addr := im.Alloc(matrix)
	s := fig1(im)
	sAddr := fig1Buffer(im)
	im.Named("MPI_BYTE")
	im.Datatype(prettyprinttest.TypeRecord{
		Combiner: 3, Handle: 0x8c0000aa, FHandle: 77, TypeSize: 8, LB: 0, Extent: 12, TrueLB: 0, TrueExtent: 8,
		CallSite: 0x401000,
		Event:    17, Name: "odd", Integers: []int64{2}, Types: []uint64{im.Named("MPI_INT").Record},
	})
	im.Datatype(prettyprinttest.TypeRecord{
		Combiner: 99, State: 1, Handle: 0x8c0000bb, Name: "MPI_Type_new",
		TypeSize: prettyprinttest.Unknown,
	})
	im.Datatype(prettyprinttest.TypeRecord{
		Combiner: 3, State: 3, Refs: 1, Handle: 0x8c0000cc, Integers: []int64{2},
		Types: []uint64{im.Named("MPI_INT").Record},
	})
	im.Tombstone(0x8c0000dd)
	im.Comm(prettyprinttest.CommRecord{
		Kind: 1, Handle: 0x44000000, GlobalID: 1, Size: 4, Rank: 2,
		Name: "MPI_COMM_WORLD", Members: []uint32{0, 1, 2, 3},
	})
	im.Comm(prettyprinttest.CommRecord{
		Kind: 3, Handle: 0x84000001, FHandle: 77, GlobalID: 5, ParentID: 1, Size: 4, Rank: 2, Name: "grid",
		Members: []uint32{3, 2, 1, 0},
		Dims:    []int32{2, 2}, Periods: []int32{0, 1}, Coords: []int32{1, 0},
	})
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		t.Fatal(err)
	}
	r.Env = registry.Surroundings{Locate: locate}
	return r, variables{
		"column":   handleOf(column.Handle, "MPI_Datatype"),
		"types[1]": handleOf(s.Handle, "MPI_Datatype"),
		"odd":      handleOf(0x8c0000aa, "MPI_Datatype"),
		"new":      handleOf(0x8c0000bb, "MPI_Datatype"),
		"kept":     handleOf(0x8c0000cc, "MPI_Datatype"),
		"gone":     handleOf(0x8c0000dd, "MPI_Datatype"),
		"zero":     handleOf(0, "MPI_Datatype"),
		"junk":     handleOf(0x12345, "MPI_Datatype"),
		"null":     handleOf(0x0c000000, "MPI_Datatype"),
		"nocomm":   handleOf(0x04000000, "MPI_Comm"),
		"grid":     handleOf(0x84000001, "MPI_Comm"),
		"f_type":   fortran(77, "integer(kind=4)"),
		"req":      handleOf(0x98000000, "MPI_Request"),
		"x":        {HasAddr: true, Address: addr, Type: "double", Language: backend.C},
		"i":        handleOf(3, "int"),
		"list[1]":  handleOf(0x0c000000, "MPI_Datatype"),
		"list[2]":  handleOf(0x8c0000dd, "MPI_Datatype"),
		"list[3]":  handleOf(0x12345, "MPI_Datatype"),
		"list":     {HasAddr: true, Address: 0x40, Array: true, Type: "MPI_Datatype [4]", Language: backend.C},
		"p_type": {
			Number: addr, HasNumber: true, Pointer: true, Type: "const MPI_Datatype *",
			Language: backend.C,
		},
		"&list[1]": {Number: 0x48, HasNumber: true, Pointer: true, Type: "MPI_Datatype *", Language: backend.C},
		"f_types": {
			HasAddr: true, Address: 0x50, Array: true, Type: "integer(kind=4) (4)",
			Language: backend.Fortran,
		},
		"statuses": {HasAddr: true, Address: 0x60, Array: true, Type: "MPI_Status [3]", Language: backend.C},
		"neg":      handleOf(math.MaxUint64, "int"),
		"u": {
			Number: addr, HasNumber: true, HasAddr: true, Address: 0x10, Pointer: true, Type: "double *",
			Language: backend.C,
		},
		"m":          {HasAddr: true, Address: addr, Array: true, Type: "double [8][10]", Language: backend.C},
		"&m[0][9]":   {Number: addr + 72, HasNumber: true, Pointer: true, Type: "double *", Language: backend.C},
		"u + 1":      {Number: addr + 8, HasNumber: true, Pointer: true, Type: "double *", Language: backend.C},
		"(char *) u": {Number: addr, HasNumber: true, Pointer: true, Type: "char *", Language: backend.C},
		"f(1,2)": {
			HasAddr: true, Address: addr, HasNumber: true, Number: 5, Type: "real(kind=8)",
			Language: backend.Fortran,
		},
		"&s":          {Number: sAddr, HasNumber: true, Pointer: true, Type: "struct s *", Language: backend.C},
		"register_db": {Type: "double", Language: backend.C},
		"f08": {
			HasAddr: true, Address: 0x30, Struct: true, Type: "Type mpi_comm",
			Language: backend.Fortran,
		},
		"f08%mpi_val": fortran(77, "integer(kind=4)"),
	}, addr
}

func TestCommand(t *testing.T) {
	r, vars, addr := demo(t)
	for _, c := range []struct{ line, want string }{
		{"column u", `
VECTOR at ADDR+0: 8 basic elements, 64 bytes of data
  column(VECTOR)[0][0](DOUBLE)  ADDR+0  0
  column(VECTOR)[1][0](DOUBLE)  ADDR+80  5
  column(VECTOR)[2][0](DOUBLE)  ADDR+160  10
  ... 5 more, with --from 3
`},
		{"column, u + 1, 1", `
VECTOR at ADDR+8: 8 basic elements, 64 bytes of data
  column(VECTOR)[0][0](DOUBLE)  ADDR+8  0.5
  column(VECTOR)[1][0](DOUBLE)  ADDR+88  5.5
  column(VECTOR)[2][0](DOUBLE)  ADDR+168  10.5
  ... 5 more, with --from 3
`},
		{"column[6] &m[0][9]", `
part [6] of VECTOR at ADDR+72: 1 basic element
  column(VECTOR)[6][0](DOUBLE)  ADDR+552  34.5
`},
		{"types[1](STRUCT)[2][5](CHAR) &s", `
part [2][5] of STRUCT at ADDR+49152: 1 basic element
  types[1](STRUCT)[2][5](CHAR)  ADDR+49204  'g'
`},
		{"types[1][3] &s", `
part [3] of STRUCT at ADDR+49152: 2 basic elements
  types[1](STRUCT)[3][0](DOUBLE)  ADDR+49228  0.1
  types[1](STRUCT)[3][1](DOUBLE)  ADDR+49236  -2
`},
		{"types[1][2][5]", `
types[1](STRUCT)[2][5](CHAR) is MPI_CHAR at offset 52: 1 basic element
`},
		{"MPI_DOUBLE m 80", `
80 × MPI_DOUBLE at ADDR+0: 80 basic elements, 640 bytes of data
  MPI_DOUBLE{0}(DOUBLE)  ADDR+0  0
  MPI_DOUBLE{1}(DOUBLE)  ADDR+8  0.5
  MPI_DOUBLE{2}(DOUBLE)  ADDR+16  1
  ... 77 more, with --from 3
`},
		{"MPI_INT f(1,2) i", `
3 × MPI_INT at ADDR+0: 3 basic elements, 12 bytes of data
  MPI_INT{0}(INT)  ADDR+0  0
  MPI_INT{1}(INT)  ADDR+4  0
  MPI_INT{2}(INT)  ADDR+8  0
`},
		{"MPI_BYTE (char *) u 2", `
2 × MPI_BYTE at ADDR+0: 2 basic elements, 2 bytes of data
  MPI_BYTE{0}(BYTE)  ADDR+0  0x00
  MPI_BYTE{1}(BYTE)  ADDR+1  0x00
`},
		{"odd", `
odd = {
    kind = CONTIGUOUS,
    count = 2,
    type = "MPI_INT"
}
size 8, extent 12 (lb 0, ub 12), true extent 8 (true lb 0)
2 basic elements, contiguous blocks: 1, gaps: none; depth 1
signature: 2 MPI_INT
not committed: it cannot be used in communication; created at heat.c:120 in main, after event 17; handle 0x8c0000aa (Fortran 77)
warning: The datatype is not committed; using it in communication is an error.
warning: The extent computed from the constructor is 8; MPICH reported 12.
`},
		{"grid", `
grid: Cartesian communicator grid of 4 ranks, this one is rank 2: 3,2,1,0 in this order
{
    kind = Cartesian communicator,
    name = "grid",
    size = 4,
    rank = 2,
    members = {rank 3 of MPI_COMM_WORLD, rank 2 of MPI_COMM_WORLD, rank 1 of MPI_COMM_WORLD, ... 1 more},
    dims = {2, 2},
    periods = {0, 1},
    coords = {1, 0},
    parent = MPI_COMM_WORLD,
    state = live,
    handle = 0x84000001 (Fortran 77)
}
`},
		{"--type f_type", `
f_type = {
    kind = CONTIGUOUS,
    count = 2,
    type = "MPI_INT"
}
size 8, extent 12 (lb 0, ub 12), true extent 8 (true lb 0)
2 basic elements, contiguous blocks: 1, gaps: none; depth 1
signature: 2 MPI_INT
not committed: it cannot be used in communication; created at heat.c:120 in main, after event 17; handle 0x8c0000aa (Fortran 77)
warning: The datatype is not committed; using it in communication is an error.
warning: The extent computed from the constructor is 8; MPICH reported 12.
`},
	} {
		res, err := command.Run(r, vars, "--list 3 "+c.line)
		if err != nil {
			t.Errorf("mpipp %s: %v", c.line, err)
			continue
		}
		if diff := cmp.Diff(c.want, "\n"+relative(res.Text, addr)); diff != "" {
			t.Errorf("mpipp %s (-want +got):\n%s", c.line, diff)
		}
		if err := res.Node.Text(io.Discard, view.Options{}); err != nil {
			t.Errorf("the tree of mpipp %s: %v", c.line, err)
		}
	}
	if res, err := command.Run(r, vars, "f08"); err != nil || res.Node.Type != "MPI_Comm" {
		t.Errorf("mpipp f08: %+v, %v", res, err)
	}
}

func TestCommandErrors(t *testing.T) {
	r, vars, _ := demo(t)
	for _, c := range []struct {
		line string
		kind fault.Kind
		want string
	}{
		{"--type", fault.Usage, "mpipp --type takes a datatype, and after it a buffer and a count; 0 arguments"},
		{"a b c d", fault.Usage, "at most three arguments"},
		{"--what x", fault.Usage, "no option --what"},
		{"--comm x y", fault.Usage, "takes one communicator"},
		{"column (u", fault.Usage, `end before the closing ")"`},
		{"nothing", fault.Resolve, `The expression nothing cannot be evaluated here: No symbol "nothing" in current context.`},
		{"gone", fault.Freed, "gone: The datatype handle 0x8c0000dd was freed"},
		{"kept", fault.Freed, "0x8c0000cc was freed"},
		{"zero", fault.NotFound, "may not be initialised"},
		{"junk u", fault.NotFound, "No datatype with the handle 0x12345 is known in this rank"},
		{"null u", fault.Null, "MPI_DATATYPE_NULL"},
		{"MPI_DATATYPE_NULL", fault.Null, "MPI_DATATYPE_NULL"},
		{"nocomm", fault.Null, "MPI_COMM_NULL"},
		{"MPI_COMM_NULL", fault.Null, "MPI_COMM_NULL"},
		{"new u", fault.NotDecoded, "created by MPI_Type_new, which Cohort does not decode yet"},
		{"req", fault.NotTracked, "Requests are not tracked in this run"},
		{"grid u", fault.Usage, "is of type MPI_Comm; mpipp TYPE BUFFER takes a datatype first"},
		{"x", fault.Usage, "is of type double; the handle of a datatype is expected"},
		{"list[1]", fault.Null, "list[1] is MPI_DATATYPE_NULL"},
		{"list[1] u", fault.Null, "list[1] is MPI_DATATYPE_NULL"},
		{"list[2]", fault.Freed, "list[2]: The datatype handle 0x8c0000dd was freed"},
		{"list[3]", fault.NotFound, "list[3]: No datatype with the handle 0x12345"},
		{"list", fault.Usage, "is of type MPI_Datatype [4]; the handle of a datatype is expected, a " +
			"variable of type MPI_Datatype. Write list[0] for the first of the array."},
		{"p_type", fault.Usage, "is of type const MPI_Datatype *, a pointer to a handle. Write *p_type."},
		{"&list[1]", fault.Usage, "Write *(&list[1])."},
		{"f_types", fault.Usage, "Write f_types(1) for the first"},
		{"statuses", fault.Usage, "several statuses. Write statuses[0] for the first."},
		{"i", fault.NotFound, "neither a datatype nor a communicator"},
		{"f_type", fault.Usage, "Write mpipp --type f_type or mpipp --comm f_type"},
		{"column x", fault.Usage, "neither a pointer nor an array. Write &x"},
		{"column i", fault.Usage, "Write &i"},
		{"column register_db", fault.Usage, "has no address in memory"},
		{"column u x", fault.Usage, "an integer is expected"},
		{"column u neg", fault.Usage, "takes counts from 0 on"},
		{"column u 9223372036854775807", fault.TooLarge, "more than 2^62"},
		{"column[8] u", fault.Address, "indices there run from 0 to 7"},
		{
			"column[1][0][0] u", fault.Address,
			"continues below column[1][0], which is MPI_DOUBLE and has no parts",
		},
		{"column{1} u", fault.Address, "names instance {1}; the buffer has 1"},
		{"column[1] u 2", fault.Address, "say which one, as in {0}[1]"},
		{"MPI_NO_SUCH u", fault.NotFound, "has no predefined datatype MPI_NO_SUCH"},
	} {
		_, err := command.Run(r, vars, c.line)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mpipp %s: %v; want kind %d and %q", c.line, err, c.kind, c.want)
		}
	}
}

func TestSplitArguments(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  t  ", []string{"t"}},
		{"t buf 10", []string{"t", "buf", "10"}},
		{"t,buf,10", []string{"t", "buf", "10"}},
		{"t , buf ,10", []string{"t", "buf", "10"}},
		{"t buf + 3 10", []string{"t", "buf + 3", "10"}},
		{"t buf +3", []string{"t", "buf", "+3"}},
		{"t *p", []string{"t", "*p"}},
		{"t &a[i + 1] n * 2", []string{"t", "&a[i + 1]", "n * 2"}},
		{"t (double *) p 2", []string{"t", "(double *) p", "2"}},
		{"t (struct x **)p", []string{"t", "(struct x **)p"}},
		{"t (a b) (c d)", []string{"t", "(a b)", "(c d)"}},
		{"f(a, b)[1] a(1:3, 2)", []string{"f(a, b)[1]", "a(1:3, 2)"}},
		{"t(STRUCT)[2][5](CHAR) &s", []string{"t(STRUCT)[2][5](CHAR)", "&s"}},
		{`"t x" 'b c'`, []string{"t x", "b c"}},
		{`'heat.c'::u 3`, []string{"'heat.c'::u", "3"}},
		{`f("a b", ',') x`, []string{`f("a b", ',')`, "x"}},
		{"t p -> x", []string{"t", "p -> x"}},
		{"t a ->x", []string{"t", "a ->x"}},
		{"t a == b", []string{"t", "a == b"}},
		{`"say \"t\""`, []string{`say "t"`}},
		{"t sizeof (x)", []string{"t", "sizeof (x)"}},
		{"t x%y", []string{"t", "x%y"}},
		{"t x % y", []string{"t", "x % y"}},
	} {
		got, err := call.SplitArguments(c.in)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got)\n%s", c.in, err, diff)
		}
	}
	for _, bad := range []string{",t", "t,,b", "t,", "(t", "t)", "t[1", "(a]", `"t`, "'t", `f("a`, `t "x\`} {
		if got, err := call.SplitArguments(bad); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}

func FuzzSplitArguments(f *testing.F) {
	for _, s := range []string{"t buf + 3 10", `"t x" 'b c'`, "t (double *) p 2", "f(a, b)[1],x", "((", `'\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args, err := call.SplitArguments(line)
		if err != nil {
			if !fault.Is(err, fault.Usage) {
				t.Errorf("%v", err)
			}
			return
		}
		for _, a := range args {
			if strings.TrimSpace(a) == "" && !strings.ContainsAny(line, `"'`) {
				t.Errorf("an empty argument in %q of %q", args, line)
			}
			exprs, addrs := datatype.ParseAddress(a)
			if len(exprs) == 0 || len(exprs) != len(addrs) {
				t.Errorf("ParseAddress(%q): %q, %v", a, exprs, addrs)
			}
		}
	})
}

// TestCommParents: a parent is named, or described with its handle, or said to be gone.
func TestCommParents(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	im.Comm(prettyprinttest.CommRecord{
		Kind: 1, Handle: 0x44000000, GlobalID: 1, Size: 1, Name: "MPI_COMM_WORLD",
		Members: []uint32{0},
	})
	im.Comm(prettyprinttest.CommRecord{
		Kind: 1, Handle: 0x84000001, GlobalID: 5, ParentID: 1, Size: 1,
		Members: []uint32{0},
	})
	im.Comm(prettyprinttest.CommRecord{
		Kind: 1, Handle: 0x84000002, GlobalID: 6, ParentID: 5, Size: 1,
		Members: []uint32{0},
	})
	im.Comm(prettyprinttest.CommRecord{
		Kind: 1, Handle: 0x84000003, GlobalID: 7, ParentID: 99, Size: 1,
		Members: []uint32{0},
	})
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		t.Fatal(err)
	}
	for rawHandle, want := range map[string]string{
		"0x84000001": "parent = MPI_COMM_WORLD,",
		"0x84000002": "parent = intracommunicator of 1 rank (handle 0x84000001),",
		"0x84000003": "parent = a communicator that is not live any more,",
	} {
		res, err := command.Run(r, variables{}, "--comm "+rawHandle)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(res.Text, want) {
			t.Errorf("%s without %q", res.Text, want)
		}
	}
}
