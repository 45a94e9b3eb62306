package mpicall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
)

// found writes the calls that cover a line, each as "MPI_Send(a | b) 1-2".
func found(source string, language mpicall.Language, line int) []string {
	var out []string
	for _, c := range mpicall.Find(source, language, line) {
		var args []string
		for _, a := range c.Arguments {
			s := a.Text
			if a.Keyword != "" {
				s = a.Keyword + ": " + s
			}
			args = append(args, s)
		}
		out = append(out, fmt.Sprintf("%s(%s) %d-%d", c.Name, strings.Join(args, " | "), c.First, c.Last))
	}
	return out
}

type findCase struct {
	name, source string
	line         int
	want         []string
}

func checkFind(t *testing.T, language mpicall.Language, cases []findCase) {
	t.Helper()
	for _, c := range cases {
		if diff := cmp.Diff(c.want, found(c.source, language, c.line)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestFindC(t *testing.T) {
	plain := []string{"MPI_Send(b | 1 | t | 0 | 7 | c) 1-1"}
	checkFind(t, mpicall.C, []findCase{
		{"plain", "  MPI_Send(b, 1, t, 0, 7, c);", 1, plain},
		{"another line", "  MPI_Send(b, 1, t, 0, 7, c);\n x();", 2, nil},
		{"profiling", "PMPI_Send(b,1,t,0,7,c);", 1, []string{"PMPI_Send(b | 1 | t | 0 | 7 | c) 1-1"}},
		{"of several lines", "x();\nrc = MPI_Send(&u[0][1], /* one, */ 1,\n // nothing, here\n   column,\n  0, 7, " +
			"c);\n", 4, []string{"MPI_Send(&u[0][1] | 1 | column | 0 | 7 | c) 2-5"}},
		{
			"nested brackets", "MPI_Send(f(a, b)[g(1, 2)], n > 1 ? (1, 2) : 3, t[i, j], 0, 7, c);", 1,
			[]string{"MPI_Send(f(a, b)[g(1, 2)] | n > 1 ? (1, 2) : 3 | t[i, j] | 0 | 7 | c) 1-1"},
		},
		{
			"strings", `MPI_Send("a,b\")", 1, ',' , ')', '\'', c);`, 1,
			[]string{`MPI_Send("a,b\")" | 1 | ',' | ')' | '\'' | c) 1-1`},
		},
		{"within a macro", "CHECK(MPI_Send(b, 1, t, 0, 7, c));", 1, plain},
		{"two on a line", "if (r) MPI_Send(b, 1, t, 0, 7, c); else MPI_Recv(b, 1, t, 0, 7, c, &s);", 1, []string{
			"MPI_Send(b | 1 | t | 0 | 7 | c) 1-1", "MPI_Recv(b | 1 | t | 0 | 7 | c | &s) 1-1",
		}},
		{"returned", "return MPI_Send(b, 1, t, 0, 7, c);", 1, plain},
		{"cast away", "(void)MPI_Send(b, 1, t, 0, 7, c);", 1, plain},
		{"in a comment", "// MPI_Send(b, 1, t, 0, 7, c);", 1, nil},
		{"in a comment of lines", "/*\n MPI_Send(b, 1, t, 0, 7, c);\n*/", 2, nil},
		{"in a string", `puts("MPI_Send(b, 1, t, 0, 7, c)");`, 1, nil},
		{
			"in a raw string", "auto s = R\"x(\nMPI_Send(b, 1, t, 0, 7, c) \" )x\"; MPI_Wait(&r, &s);", 2,
			[]string{"MPI_Wait(&r | &s) 2-2"},
		},
		{"in a directive", "#define SEND MPI_Send(b, 1, t, 0, 7, c)\n", 1, nil},
		{"in a continued directive", "#define SEND \\\n  MPI_Send(b, 1, t, 0, 7, c)\n", 2, nil},
		{"a prototype", "int MPI_Send(const void *b, int n, MPI_Datatype t, int d, int g, MPI_Comm c);", 1, nil},
		{"a definition", "int\nMPI_Send(b, n, t, d, g, c)\n{ }", 2, nil},
		{"a method", "x.MPI_Send(b, 1, t, 0, 7, c); p->MPI_Send(b, 1, t, 0, 7, c);", 1, nil},
		{"a directive within", "MPI_Send(b,\n#ifdef X\n1,\n#else\n2,\n#endif\n t, 0, 7, c);", 1, nil},
		{"too few", "MPI_Send(b, 1, t, 0, 7);", 1, nil},
		{"unclosed", "MPI_Send(b, 1, t, 0, 7", 1, nil},
		{"unclosed and a statement", "MPI_Send(b, 1, t, 0, 7; x(c);", 1, nil},
		{"the name alone", "f = MPI_Send;", 1, nil},
		{"not in the table", "MPI_Type_commit(&t);", 1, nil},
		{"upper case", "MPI_SEND(b, 1, t, 0, 7, c);", 1, []string{"MPI_SEND(b | 1 | t | 0 | 7 | c) 1-1"}},
		{"lower case", "mpi_send(b, 1, t, 0, 7, c);", 1, nil},
		{"a continued line", "MPI_Send(b, 1, \\\n t, 0, 7, c);", 1, []string{"MPI_Send(b | 1 | t | 0 | 7 | c) 1-2"}},
		{"separators", "MPI_Send(b, 1'000, t, 0, '7', c);", 1, []string{"MPI_Send(b | 1'000 | t | 0 | '7' | c) 1-1"}},
		{
			"after a broken quote", "x = 1; // don't\nMPI_Send(b, 1, t, 0, 7, c);", 2,
			[]string{"MPI_Send(b | 1 | t | 0 | 7 | c) 2-2"},
		},
		{
			"after a comment that names another", "x = 1; // see /* y\nMPI_Send(b, 1, t, 0, 7, c);", 2,
			[]string{"MPI_Send(b | 1 | t | 0 | 7 | c) 2-2"},
		},
		{
			"two calls in one", "MPI_Send(b, MPI_Wait(&r, &s), t, 0, 7, c);", 1,
			[]string{"MPI_Send(b | MPI_Wait(&r, &s) | t | 0 | 7 | c) 1-1", "MPI_Wait(&r | &s) 1-1"},
		},
		{"beyond the text", "MPI_Send(b, 1, t, 0, 7, c);", 9, nil},
		{"line 0", "MPI_Send(b, 1, t, 0, 7, c);", 0, nil},
		{"windows", "MPI_Send(b, 1,\r\n t, 0, 7, c);\r\n", 2, []string{"MPI_Send(b | 1 | t | 0 | 7 | c) 1-2"}},
	})
}

func TestFindFortran(t *testing.T) {
	plain := []string{"MPI_Send(b | 1 | t | 0 | 7 | c | ierr) 1-1"}
	checkFind(t, mpicall.FortranFree, []findCase{
		{"plain", "  call MPI_Send(b, 1, t, 0, 7, c, ierr)", 1, plain},
		{
			"upper case", "  CALL MPI_SEND (b, 1, t, 0, 7, c, ierr) ! done", 1,
			[]string{"MPI_SEND(b | 1 | t | 0 | 7 | c | ierr) 1-1"},
		},
		{"without ierror", "call MPI_Send(b, 1, t, 0, 7, c)", 1, []string{"MPI_Send(b | 1 | t | 0 | 7 | c) 1-1"}},
		{
			"keywords", "call MPI_Send(b, datatype=t, count = n, dest=0, tag=7, comm=c)", 1,
			[]string{"MPI_Send(b | datatype: t | count: n | dest: 0 | tag: 7 | comm: c) 1-1"},
		},
		{"another keyword", "call MPI_Send(b, type=t, count = n, dest=0, tag=7, comm=c)", 1, nil},
		{"continued", "if (r == 0) &\n  call MPI_Send(b(1, j), & ! the column\n\n  ! another comment\n    &1, t, 0, " +
			"7, c, ierr)\nx = 1", 5, []string{"MPI_Send(b(1, j) | 1 | t | 0 | 7 | c | ierr) 1-5"}},
		{"a string", "print *, 'call MPI_Send(b, 1, t, 0, 7, c)'", 1, nil},
		{
			"a quote in a string", "call MPI_Send('it''s, here', 1, t, 0, 7, c)", 1,
			[]string{"MPI_Send('it''s, here' | 1 | t | 0 | 7 | c) 1-1"},
		},
		{"a comment", "! call MPI_Send(b, 1, t, 0, 7, c)", 1, nil},
		{"semicolons", "a = 1; call MPI_Send(b, 1, t, 0, 7, c, ierr); d = 2", 1, plain},
		{"a directive within", "call MPI_Send(b, &\n#ifdef X\n 1, &\n#endif\n t, 0, 7, c)", 1, nil},
		{"an interface", "subroutine MPI_Send(b, 1, t, 0, 7, c)", 1, nil},
		{"a component", "x%call = MPI_Send(b, 1, t, 0, 7, c)", 1, nil},
		{
			"sections", "call MPI_Send(b(:, 2), n*(m+1), t, merge(1, 2, x), 7, c, ierr)", 1,
			[]string{"MPI_Send(b(:, 2) | n*(m+1) | t | merge(1, 2, x) | 7 | c | ierr) 1-1"},
		},
		{"an unknown line", "call MPI_Send(b, 1, t, 0, 7, c)", 7, nil},
	})
	checkFind(t, mpicall.FortranFixed, []findCase{
		{
			"plain", "      CALL MPI_SEND(B, 1, T, 0, 7, C, IERR)", 1,
			[]string{"MPI_SEND(B | 1 | T | 0 | 7 | C | IERR) 1-1"},
		},
		{
			"continued", "      CALL MPI_SEND(B,\nC a comment\n     &   1, T, 0, 7,\n     1   C, IERR)\n      X = 1", 4,
			[]string{"MPI_SEND(B | 1 | T | 0 | 7 | C | IERR) 1-4"},
		},
		{
			"a comment", "C     CALL MPI_SEND(B, 1, T, 0, 7, C, IERR)\n*     CALL MPI_SEND(B, 1, T, 0, 7, C, IERR)", 2,
			nil,
		},
		{
			"a label", "10    CALL MPI_SEND(B, 1, T, 0, 7, C, IERR)", 1,
			[]string{"MPI_SEND(B | 1 | T | 0 | 7 | C | IERR) 1-1"},
		},
		{
			"beyond column 72", "      CALL MPI_SEND(B, 1, T, 0, 7, C, IERR)                             ,SEQ00010", 1,
			[]string{"MPI_SEND(B | 1 | T | 0 | 7 | C | IERR) 1-1"},
		},
		{
			"a tab", "\tCALL MPI_SEND(B, 1,\n\t1 T, 0, 7, C, IERR)", 2,
			[]string{"MPI_SEND(B | 1 | T | 0 | 7 | C | IERR) 1-2"},
		},
		{
			"an exclamation mark", "      CALL MPI_SEND(B, 1, T, 0, 7, C, IERR) ! done", 1,
			[]string{"MPI_SEND(B | 1 | T | 0 | 7 | C | IERR) 1-1"},
		},
	})
}

func TestArgument(t *testing.T) {
	calls := mpicall.Find("call MPI_Send(b, datatype=t, count = n, dest=0, tag=7, comm=c)", mpicall.FortranFree, 1)
	if len(calls) != 1 {
		t.Fatal(calls)
	}
	for parameter, want := range map[string]string{
		"buf": "b", "datatype": "t", "count": "n", "status": "",
		"comm": "c",
	} {
		if got, ok := calls[0].Argument(parameter); got != want || ok != (want != "") {
			t.Errorf("%s is %q, %v", parameter, got, ok)
		}
	}
}

func TestConstants(t *testing.T) {
	source := `#define N 100 /* many */
#define M (N * 2) // more
#define TAG \
  7
#define CALL f(1)
#define F(x) x
#define TWICE 1
#define TWICE 2
#ifdef X
#define MAYBE 1
#endif
#define GONE 1
#undef GONE
#define TEXT "N"
#define LOOP (LOOP)
#define BYTES sizeof(double)
// #define COMMENT 1
#define EMPTY
`
	constants := mpicall.Constants(source)
	want := map[string]string{"N": "100", "M": "(N * 2)", "TAG": "7", "LOOP": "(LOOP)", "BYTES": "sizeof(double)"}
	if diff := cmp.Diff(want, constants); diff != "" {
		t.Error(diff)
	}
	for expr, want := range map[string]string{
		"M + n": "(((100) * 2)) + n", "x.N": "x.N", "p->N": "p->N", "'N'": "'N'", "n": "n", "NN": "NN",
		"MAYBE": "MAYBE", "&a[N]": "&a[(100)]",
	} {
		if got := mpicall.Substitute(expr, constants); got != want {
			t.Errorf("%s is %s; want %s", expr, got, want)
		}
	}
	if got := mpicall.Substitute("LOOP", constants); len(got) > 1<<13 {
		t.Errorf("%d bytes", len(got))
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{
		"MPI_Send(b, 1, t, 0, 7, c);", "R\"x(", "R\"", "/*", "'", "\"", "#", "#define N", "MPI_Send(", "MPI_Send((",
		"call MPI_Send(b, & \n & 1, t", "\\\n", "     &\t", "call MPI_Wait('", "a'b'c",
	} {
		f.Add(s, 1)
		f.Add(s+"\n"+s, 2)
	}
	f.Fuzz(func(t *testing.T, source string, line int) {
		for _, l := range []mpicall.Language{mpicall.C, mpicall.FortranFree, mpicall.FortranFixed} {
			for _, c := range mpicall.Find(source, l, line) {
				if c.First > line || c.Last < line || len(c.Arguments) == 0 {
					t.Errorf("line %d of %q: %+v", line, source, c)
				}
			}
		}
		constants := mpicall.Constants(source)
		for name := range constants {
			mpicall.Substitute(name, constants)
		}
	})
}
