package prettyprint_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

func TestShowCommands(t *testing.T) {
	r, vars, addr := demo(t)
	for _, c := range []struct{ line, want string }{
		{"", `
4 datatypes made by the program, 1 freed and still in use, 6 predefined
  0x8c000001  VECTOR: 8 MPI_DOUBLE, size 64, extent 568; created after event 0
  0x8c000006  STRUCT: 5 MPI_INT, 7 MPI_CHAR, 2 MPI_DOUBLE, size 43, extent 104; created after event 0
  0x8c0000aa  CONTIGUOUS "odd": 2 MPI_INT, size 8, extent 12, not committed; warning: The extent computed from the constructor is 8; MPICH reported 12.; created at heat.c:120 in main, after event 17
  ... 2 more
2 communicators
  0x44000000  intracommunicator MPI_COMM_WORLD of 4 ranks, this one is rank 2: 0-3
  0x84000001  Cartesian communicator grid of 4 ranks, this one is rank 2: 3,2,1,0 in this order
Requests and calls in progress are not tracked in this run: they cost time in every call. Start it with COHORT_KEEP=1 in its environment.
`},
		{"--tree types[1]", `
types[1](STRUCT) is STRUCT: 14 basic elements
  types[1](STRUCT)[0][0](LB)       MPI_LB at offset -4
  types[1](STRUCT)[1][0..4](INT)   MPI_INT at offset 0, 4 bytes apart
  types[1](STRUCT)[2][0..6](CHAR)  MPI_CHAR at offset 47, 1 byte apart
  ... 2 basic elements more; name a part, such as types[1][4], to see it
`},
		{"--tree types[1](STRUCT)[3]", `
types[1](STRUCT)[3] is 2 × MPI_DOUBLE: 2 basic elements
  types[1](STRUCT)[3][0..1](DOUBLE)  MPI_DOUBLE at offset 76, 8 bytes apart
`},
		{"--list 10 --tree column[7]", `
column(VECTOR)[7] is 1 × MPI_DOUBLE: 1 basic element
  column(VECTOR)[7][0](DOUBLE)  MPI_DOUBLE at offset 560
`},
		{"--tree odd", `
odd(CONTIGUOUS) is CONTIGUOUS "odd": 2 basic elements
  odd(CONTIGUOUS)[0..1](INT)  MPI_INT at offset 0, 4 bytes apart
warning: The datatype is not committed; using it in communication is an error.
warning: The extent computed from the constructor is 8; MPICH reported 12.
`},
		{"--layout odd", `
odd: CONTIGUOUS "odd", 8 bytes of data
lb 0, ub 12, extent 12; true lb 0, true extent 8
offset 0        8        16       24       32       40       48       56
     0 IiiiIiii ----
Ii MPI_INT, 8 bytes
A value begins at its capital letter.
-  within lb and ub, but before or after all data
warning: The datatype is not committed; using it in communication is an error.
warning: The extent computed from the constructor is 8; MPICH reported 12.
`},
		{"--width 40 --layout column", `
column: VECTOR, 64 bytes of data
lb 0, ub 568, extent 568; true lb 0, true extent 568
   all d...d...dd...d...dd...d...dd...d
       one letter for 18 bytes from 0 on, small where less than half is data
`},
		{"--from 6 column u", `
VECTOR at ADDR+0: 8 basic elements, 64 bytes of data
  column(VECTOR)[6][0](DOUBLE)  ADDR+480  30
  column(VECTOR)[7][0](DOUBLE)  ADDR+560  35
`},
		{"--list 1 --from 2 column u", `
VECTOR at ADDR+0: 8 basic elements, 64 bytes of data
  column(VECTOR)[2][0](DOUBLE)  ADDR+160  10
  ... 5 more, with --from 3
`},
		{"--match column 2 to MPI_DOUBLE 16", `
send     column: 2 × VECTOR, 16 entries, 128 bytes
         signature: 16 MPI_DOUBLE
receive  MPI_DOUBLE: 16 × MPI_DOUBLE, 16 entries, 128 bytes
         signature: 16 MPI_DOUBLE
They match: all 16 entries agree.
`},
		{"--match types[1] MPI_INT", `
send     types[1]: STRUCT, 14 entries, 43 bytes
         signature: 5 MPI_INT, 7 MPI_CHAR, 2 MPI_DOUBLE
receive  MPI_INT: MPI_INT, 1 entry, 4 bytes
         signature: MPI_INT
  entry  send                                               receive
      0  MPI_INT  types[1](STRUCT)[1][0](INT) at offset 0   MPI_INT  MPI_INT(INT) at offset 0
>     1  MPI_INT  types[1](STRUCT)[1][1](INT) at offset 4   (ends)
      2  MPI_INT  types[1](STRUCT)[1][2](INT) at offset 8   (ends)
      3  MPI_INT  types[1](STRUCT)[1][3](INT) at offset 12  (ends)
The message is truncated, which is an error: the receive ends after 1 entry, and the send has 13 more, from types[1](STRUCT)[1][1](INT) on.
`},
	} {
		res, err := command.Run(r, vars, "--list 3 "+c.line)
		if err != nil {
			t.Errorf("mpipp %s: %v", c.line, err)
			continue
		}
		got := "\n" + relative(res.Text, addr)
		if strings.Contains(c.line, "--width") {
			got = got[:min(len(got), len(c.want))]
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("mpipp %s (-want +got):\n%s", c.line, diff)
		}
		if err := res.Node.Text(io.Discard, view.Options{}); err != nil {
			t.Errorf("the tree of mpipp %s: %v", c.line, err)
		}
	}
	res, err := command.Run(r, vars, "--svg 'my picture.svg' types[1] 2")
	if err != nil || res.File == nil || res.File.Name != "my picture.svg" ||
		!strings.HasPrefix(string(res.File.Data), "<svg") {
		t.Errorf("--svg: %+v, %v", res, err)
	}
	if res, err = command.Run(r, vars, "--colour --layout types[1]"); err != nil ||
		!strings.Contains(res.Text, "\x1b[30;48;5;153mIiiiIiii\x1b[0m") {
		t.Errorf("--colour: %+v, %v", res, err)
	}
}

func TestShowErrors(t *testing.T) {
	r, vars, _ := demo(t)
	for _, c := range []struct {
		line string
		kind fault.Kind
		want string
	}{
		{"--layout", fault.Usage, "takes a datatype and a count; 0 arguments"},
		{"--layout column u 3", fault.Usage, "3 arguments"},
		{"--layout column neg", fault.Usage, "takes counts from 0 on"},
		{"--layout new", fault.NotDecoded, "MPI_Type_new"},
		{"--layout column 9223372036854775807", fault.TooLarge, "more than 2^62"},
		{"--layout --tree column", fault.Usage, "does one of them at a time"},
		{"--svg", fault.Usage, "--svg needs the name of the file"},
		{"--svg /tmp/x column", fault.Usage, "names end in .svg"},
		{"--width 5 --layout column", fault.Usage, "a number from 20 to 1000 is expected"},
		{"--from x column u", fault.Usage, "a number from 0"},
		{"--list 0 column", fault.Usage, "a number from 1"},
		{"--tree", fault.Usage, "takes one datatype"},
		{"--tree grid", fault.Usage, "is of type MPI_Comm"},
		{"--match column", fault.Usage, "takes SEND [COUNT] to RECV [COUNT]"},
		{"--match column 2 column 3", fault.Usage, "takes SEND [COUNT] to RECV [COUNT]"},
		{"--match to column", fault.Resolve, "The expression to cannot be evaluated"},
		{"--match column 1 2 to column", fault.Usage, "takes SEND [COUNT]"},
		{"--match column neg to column", fault.Usage, "counts from 0 on"},
		{"--match column[2] to column", fault.Usage, "a part of one"},
		{"--match [0] column to column", fault.Usage, "for one side only"},
		{"--match [x] column to [1] column", fault.Usage, "[x] is not a rank"},
		{"--match [0] column to [1] column", fault.Usage, "sees one rank"},
		{"--match column to nothing", fault.Resolve, "nothing"},
		{"--match column to new", fault.NotDecoded, "MPI_Type_new"},
	} {
		_, err := command.Run(r, vars, c.line)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mpipp %s: %v; want kind %d and %q", c.line, err, c.kind, c.want)
		}
	}
	if _, err := command.Run(r, vars, "--from 8 column u"); err == nil ||
		!strings.Contains(err.Error(), "there is no element 8") {
		t.Errorf("--from beyond the end: %v", err)
	}
}

// TestExportLine asks for a type with an expression that the splitting of arguments has stripped of its quotes.
func TestExportLine(t *testing.T) {
	r, vars, _ := demo(t)
	vars[`table["a b"]`] = vars["column"]
	send, recv, err := command.MatchSides(`[1] "table[\"a b\"]" 2 to [0] types[1]`)
	if err != nil || send.Rank != 1 || recv.Rank != 0 || !slices.Equal(send.Args, []string{`table["a b"]`, "2"}) {
		t.Fatalf("%+v, %+v, %v", send, recv, err)
	}
	line := strings.TrimPrefix(send.ExportLine(), "mpipp ")
	res, err := command.Run(r, vars, line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	side, err := datatype.Import(res.Text)
	if err != nil || side.Count != 2 || side.Type.Summary() != "VECTOR: 8 MPI_DOUBLE, size 64, extent 568" {
		t.Errorf("%+v, %v", side, err)
	}
}

// TestSignatures compresses what constructors repeat, and what only their arguments repeat.
func TestSignatures(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	i, c, d := im.Named("MPI_INT"), im.Named("MPI_CHAR"), im.Named("MPI_DOUBLE")
	list := func(types ...*prettyprinttest.Type) *prettyprinttest.Type {
		lengths, disps := make([]int64, len(types)), make([]int64, len(types))
		for k := range types {
			lengths[k], disps[k] = 1, int64(100*k)
		}
		return rawType(im, 10, append([]int64{int64(len(types))}, lengths...), disps, types...)
	}
	pair := im.Struct([]int64{1, 16}, []int64{0, 4}, []*prettyprinttest.Type{i, c})
	alternating := slices.Repeat([]*prettyprinttest.Type{i, d}, 50_000)
	doubled := list(i, c)
	for range 40 {
		doubled = list(doubled, doubled)
	}
	odd := list(i, c)
	for range 40 { // nothing repeats side by side
		odd = list(odd, d, odd, i)
	}
	for _, x := range []struct {
		t    *prettyprinttest.Type
		want string
	}{
		{im.Contiguous(3, pair), "3 (MPI_INT, 16 MPI_CHAR)"},
		{
			im.Contiguous(2, im.Struct([]int64{2, 1}, []int64{0, 80}, []*prettyprinttest.Type{pair, d})),
			"2 (2 (MPI_INT, 16 MPI_CHAR), MPI_DOUBLE)",
		},
		{list(alternating...), "50000 (MPI_INT, MPI_DOUBLE)"},
		{
			list(slices.Concat(alternating[:10], []*prettyprinttest.Type{c}, alternating[:6])...),
			"5 (MPI_INT, MPI_DOUBLE), MPI_CHAR, 3 (MPI_INT, MPI_DOUBLE)",
		},
		{list(pair, pair, d, pair, pair, d), "2 (2 (MPI_INT, 16 MPI_CHAR), MPI_DOUBLE)"},
		{doubled, "1099511627776 (MPI_INT, MPI_CHAR)"},
		{rawType(im, 3, []int64{100_000_000}, nil, i), "100000000 MPI_INT"},
		{im.Contiguous(0, i), "nothing"},
	} {
		_, dt := openType(t, im, x.t)
		if got := dt.Signature().Text(20); got != x.want {
			t.Errorf("%s, want %s", got, x.want)
		}
	}
	_, dt := openType(t, im, odd)
	if s := dt.Signature().Text(20); len(s) > 1000 {
		t.Errorf("a signature of %d characters", len(s))
	}
}
