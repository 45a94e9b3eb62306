package prettyprint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
)

func TestParseAddress(t *testing.T) {
	type candidate struct {
		Expr string
		Addr string
	}
	for _, c := range []struct {
		in   string
		want []candidate
	}{
		{"t", []candidate{{"t", ""}}},
		{"t[2][5]", []candidate{{"t[2][5]", ""}, {"t[2]", "[5]"}, {"t", "[2][5]"}}},
		{"t(STRUCT)[2][5](CHAR)", []candidate{
			{"t(STRUCT)[2][5](CHAR)", ""},
			{"t(STRUCT)[2][5]", ""},
			{"t(STRUCT)[2]", "[5]"},
			{"t(STRUCT)", "[2][5]"},
			{"t", "[2][5]"},
		}},
		{"a[i] {3} [0]", []candidate{{"a[i] {3} [0]", ""}, {"a[i] {3}", "[0]"}, {"a[i]", "{3}[0]"}}},
		{"f(3)", []candidate{{"f(3)", ""}}},
		{"f(N)", []candidate{{"f(N)", ""}}},
		{"t{1}(2INT)", []candidate{{"t{1}(2INT)", ""}, {"t{1}", ""}, {"t", "{1}"}}},
		{"[3]", []candidate{{"[3]", ""}}},
		{"t{1}{2}", []candidate{{"t{1}{2}", ""}, {"t{1}", "{2}"}}},
		{"t[99999999999999999999]", []candidate{{"t[99999999999999999999]", ""}}},
	} {
		exprs, addrs := datatype.ParseAddress(c.in)
		var got []candidate
		for i := range exprs {
			got = append(got, candidate{exprs[i], addrs[i].String()})
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.in, diff)
		}
	}
}

// TestAddressErrors checks that a wrong address is told how far it fits and what there is.
func TestAddressErrors(t *testing.T) {
	r, vars, _ := demo(t)
	for _, c := range []struct{ line, want string }{
		{"types[1][7] &s", "The address [7] fits as far as types[1], which is STRUCT: indices there run from 0 to 4, " +
			"and [7] was asked for."},
		{"types[1][2][7] &s", "The address [2][7] fits as far as types[1][2], which is 7 × MPI_CHAR: indices there " +
			"run from 0 to 6, and [7] was asked for."},
		{"types[1][2][5][0] &s", "The address [2][5][0] continues below types[1][2][5], which is MPI_CHAR and has no " +
			"parts."},
		{
			"types[1](VECTOR)[2][5] &s",
			"The address [2][5] says (VECTOR) of types[1], which is STRUCT: it is an address of another datatype.",
		},
		{"types[1](STRUCT)[2][5](INT) &s", "says (INT) of types[1][2][5], which is MPI_CHAR"},
		{"types[1](STRUCT)[2](CHAR)[5] &s", "a kind is written where a datatype is"},
		{"types[1]{2}[0] &s 2", "names instance {2}; the buffer has 2"},
		{"--tree column[8]", "fits as far as column, which is VECTOR: indices there run from 0 to 7"},
		{"--layout column[2]", "mpipp --tree column[2] shows where that is"},
	} {
		_, err := command.Run(r, vars, c.line)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mpipp %s: %v; want %q", c.line, err, c.want)
		}
	}
}

// FuzzAddress selects whatever a user may type from a buffer: a part of it, or an error in whole sentences, never more
// than the buffer has.
func FuzzAddress(f *testing.F) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	ty := im.Struct([]int64{1, 2}, []int64{0, 64},
		[]*prettyprinttest.Type{im.Subarray([]int64{4, 4}, []int64{2, 3}, []int64{1, 0}, true,
			im.Named("MPI_SHORT_INT")), fig1(im)})
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		f.Fatal(err)
	}
	dt, err := r.DatatypeOfHandle(ty.Handle, false)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		"t", "t[0][0][1][2]", "t{2}(STRUCT)[1][1](STRUCT)[2][5](CHAR)",
		"t(STRUCT)[0][0](SUBARRAY)[1][2](SHORT_INT)", "t [ 1 ] {0}", "t{1}{1}", "t[-1]", "t[1", "t()", "{3}",
	} {
		f.Add(s, int64(1))
		f.Add(s, int64(3))
	}
	f.Fuzz(func(t *testing.T, s string, count int64) {
		b, err := r.Buffer("t", 0x1000, dt, count)
		if err != nil {
			return
		}
		exprs, addrs := datatype.ParseAddress(s)
		if len(exprs) == 0 || len(exprs) != len(addrs) || exprs[0] != strings.TrimSpace(s) || !addrs[0].IsZero() {
			t.Fatalf("%q: %q, %v", s, exprs, addrs)
		}
		for i, a := range addrs {
			if i > 0 && len(exprs[i]) >= len(exprs[i-1]) {
				t.Fatalf("%q: %q is no shorter than %q", s, exprs[i], exprs[i-1])
			}
			part, err := b.Select(a)
			if err != nil {
				if !fault.Is(err, fault.Address) || !strings.HasSuffix(err.Error(), ".") {
					t.Fatalf("%q: %v", s, err)
				}
				continue
			}
			if part.Len() > b.Len() {
				t.Fatalf("%q selects %d of %d elements", s, part.Len(), b.Len())
			}
			if n := part.Len(); n > 0 {
				if _, err := part.Elements(n-1, n); err != nil {
					t.Fatalf("%q: %v", s, err)
				}
			}
		}
	})
}
