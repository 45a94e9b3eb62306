package prettyprint_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// entriesOf expands a signature naively, pairs as their definition has them, with the path of each entry.
func entriesOf(want *prettyprinttest.Type, count int64) (names, paths []string) {
	for i := range count {
		for _, e := range want.Map {
			path := "t" + e.Path
			if count != 1 {
				path = fmt.Sprintf("t{%d}%s", i, e.Path)
			}
			parts := []string{e.Basic}
			switch e.Basic {
			case "MPI_SHORT_INT":
				parts = []string{"MPI_SHORT", "MPI_INT"}
			case "MPI_DOUBLE_INT":
				parts = []string{"MPI_DOUBLE", "MPI_INT"}
			}
			for _, n := range parts {
				names, paths = append(names, n), append(paths, path)
			}
		}
	}
	return names, paths
}

// TestRandomMatches compares pairs of random types, many of them alike, with their expanded signatures.
func TestRandomMatches(t *testing.T) {
	verdicts := map[datatype.Verdict]int{}
	rapid.Check(t, func(t *rapid.T) {
		im := prettyprinttest.NewImage(libraryOf(t))
		a := drawType(t, im, 3)
		b := a
		switch rapid.IntRange(0, 4).Draw(t, "other") {
		case 0:
			b = drawType(t, im, 3)
		case 1:
			b = im.Contiguous(rapid.Int64Range(1, 3).Draw(t, "n"), a)
		case 2: // the same signature from other constructors
			b = flattened(im, a, -1)
		case 3: // with one entry changed
			if len(a.Map) > 0 {
				b = flattened(im, a, rapid.IntRange(0, len(a.Map)-1).Draw(t, "changed"))
			}
		}
		ca, cb := rapid.Int64Range(0, 3).Draw(t, "send count"), rapid.Int64Range(0, 3).Draw(t, "receive count")
		r, da := openType(t, im, a)
		db, err := r.DatatypeOfHandle(b.Handle, false)
		if err != nil {
			t.Fatalf("%v", err)
		}
		m, err := datatype.Match(datatype.Side{Name: "t", Type: da, Count: ca},
			datatype.Side{Name: "t", Type: db, Count: cb})
		if err != nil {
			t.Fatalf("%v", err)
		}
		checkMatching(t, m, a, b)
		verdicts[m.Verdict]++
	})
	t.Logf("verdicts: %v", verdicts)
}

// flattened is a struct of the basic types of a's typemap; entry `changed` is of another type.
func flattened(im *prettyprinttest.Image, a *prettyprinttest.Type, changed int) *prettyprinttest.Type {
	lengths, disps, types := make([]int64, len(a.Map)), make([]int64, len(a.Map)),
		make([]*prettyprinttest.Type, len(a.Map))
	for i, e := range a.Map {
		lengths[i], disps[i], types[i] = 1, int64(32*i), im.Named(e.Basic)
		if i == changed {
			types[i] = im.Named("MPI_FLOAT")
		}
	}
	return im.Struct(lengths, disps, types)
}

func checkMatching(t *rapid.T, m *datatype.Matching, a, b *prettyprinttest.Type) {
	sn, sp := entriesOf(a, m.Send.Count)
	rn, rp := entriesOf(b, m.Recv.Count)
	at := 0
	for at < len(sn) && at < len(rn) && sn[at] == rn[at] {
		at++
	}
	want := datatype.MatchDifferent
	switch {
	case at == len(sn) && at == len(rn):
		want = datatype.MatchEqual
	case at == len(sn):
		want = datatype.MatchPartial
	case at == len(rn):
		want = datatype.MatchTruncated
	}
	if m.Verdict != want || m.At != int64(at) || m.Send.Total != int64(len(sn)) || m.Recv.Total != int64(len(rn)) {
		t.Fatalf("%s at %d of %d and %d; want %s at %d of %d and %d", m.Verdict, m.At, m.Send.Total, m.Recv.Total, want,
			at, len(sn), len(rn))
	}
	check := func(e *datatype.MatchEntry, names, paths []string) {
		switch {
		case at >= len(names) && e == nil:
		case at < len(names) && e != nil && e.Basic == names[at] && short(e.Address) == paths[at]:
		default:
			t.Fatalf("entry %d is %+v", at, e)
		}
	}
	check(m.Send.Entry(m.At), sn, sp)
	check(m.Recv.Entry(m.At), rn, rp)
	var s strings.Builder
	if err := m.Text(&s, 0); err != nil || !strings.HasSuffix(strings.SplitAfter(m.Explain(), ".")[0], ".") {
		t.Fatalf("%v: %s", err, m.Explain())
	}
}

// TestMatchTableI has the types of the paper's Table I.
func TestMatchTableI(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	i, d := im.Named("MPI_INT"), im.Named("MPI_DOUBLE")
	send := im.Struct([]int64{2, 1}, []int64{0, 8}, []*prettyprinttest.Type{i, d})
	recv := im.Struct([]int64{1, 2}, []int64{0, 8}, []*prettyprinttest.Type{d, i})
	r, ds := openType(t, im, send)
	dr, err := r.DatatypeOfHandle(recv.Handle, false)
	if err != nil {
		t.Fatal(err)
	}
	m, err := datatype.Match(datatype.Side{Name: "Type", Where: "rank 0", Type: ds, Count: 1},
		datatype.Side{Name: "Type", Where: "rank 1", Type: dr, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	if err := m.Text(&s, 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`
send     Type (rank 0): STRUCT, 3 entries, 16 bytes
         signature: 2 MPI_INT, MPI_DOUBLE
receive  Type (rank 1): STRUCT, 3 entries, 16 bytes
         signature: MPI_DOUBLE, 2 MPI_INT
  entry  send                                                receive
>     0  MPI_INT  Type(STRUCT)[0][0](INT) at offset 0        MPI_DOUBLE  Type(STRUCT)[0][0](DOUBLE) at offset 0
      1  MPI_INT  Type(STRUCT)[0][1](INT) at offset 4        MPI_INT  Type(STRUCT)[1][0](INT) at offset 8
      2  MPI_DOUBLE  Type(STRUCT)[1][0](DOUBLE) at offset 8  MPI_INT  Type(STRUCT)[1][1](INT) at offset 12
They do not match, which is an error: entry 0 is MPI_INT in the send, at Type(STRUCT)[0][0](INT), and MPI_DOUBLE in the receive, at Type(STRUCT)[0][0](DOUBLE). MPI libraries do not notice; the receiver misreads the bytes.
`, "\n"+s.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMatchLarge compares signatures of 10^8 and more entries whose only difference is deep inside.
func TestMatchLarge(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.OpenMPI)
	i, d, c := im.Named("MPI_INT"), im.Named("MPI_DOUBLE"), im.Named("MPI_CHAR")
	mixed := im.Struct([]int64{1, 16, 2}, []int64{0, 4, 24}, []*prettyprinttest.Type{i, c, d}) // 19 entries
	const n = 100_000
	lengths, disps, types := []int64{n}, []int64(nil), []*prettyprinttest.Type(nil)
	for k := range int64(n) {
		lengths, disps, types = append(lengths, 10), append(disps, k*400), append(types, mixed)
	}
	odd := im.Struct([]int64{1, 16, 2}, []int64{0, 4, 24}, []*prettyprinttest.Type{i, c, i})
	send := rawType(im, 3, []int64{100}, nil, rawType(im, 10, lengths, disps, types...))
	same := rawType(im, 4, []int64{n * 100, 10, 11}, nil, mixed)
	types[n-2] = odd
	other := rawType(im, 3, []int64{100}, nil, rawType(im, 10, lengths, disps, types...))
	r, ds := openType(t, im, send)
	side := func(ty *prettyprinttest.Type) datatype.Side {
		dt, err := r.DatatypeOfHandle(ty.Handle, false)
		if err != nil {
			t.Fatal(err)
		}
		return datatype.Side{Name: "t", Type: dt, Count: 1}
	}
	for _, c := range []struct {
		recv    datatype.Side
		verdict datatype.Verdict
		at      int64
		address string
	}{
		{side(same), datatype.MatchEqual, 1_900_000_000, ""},
		{side(other), datatype.MatchDifferent, 19*10*(n-2) + 17, "t[0][99998][0][2][0]"},
	} {
		begin := time.Now()
		m, err := datatype.Match(datatype.Side{Name: "t", Type: ds, Count: 1}, c.recv)
		if err != nil {
			t.Fatal(err)
		}
		if m.Verdict != c.verdict || m.At != c.at || m.Send.Total != 1_900_000_000 {
			t.Errorf("%s at %d of %d, want %s at %d", m.Verdict, m.At, m.Send.Total, c.verdict, c.at)
		}
		if e := m.Recv.Entry(m.At); c.address != "" && (e == nil || short(e.Address) != c.address) {
			t.Errorf("%+v, want %s", e, c.address)
		}
		t.Logf("compared in %v", time.Since(begin))
	}
	if s := ds.Signature().Text(9); s != "100000000 (MPI_INT, 16 MPI_CHAR, 2 MPI_DOUBLE)" {
		t.Errorf("signature %s", s)
	}
}

// TestMatchRules has what the standard treats apart.
func TestMatchRules(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	rec := func(r prettyprinttest.TypeRecord) {
		if r.Combiner == 0 {
			r.Combiner = 1
		}
		r.State = 1
		im.Datatype(r)
	}
	named := func(h uint64, name string, basic, size uint32) {
		rec(prettyprinttest.TypeRecord{
			Handle: h, Name: name, Basic: basic, BasicSize: size, TypeSize: int64(size),
			Extent: int64(size), TrueExtent: int64(size),
		})
	}
	named(1<<20, "MPI_PACKED", 9, 1)
	named(2<<20, "MPI_INT32_T", 2, 4)
	named(3<<20, "MPI_LONG_LONG", 2, 8)
	named(4<<20, "MPI_LONG_LONG_INT", 2, 8)
	named(5<<20, "MPI_BYTE", 8, 1)
	named(6<<20, "MPI_INT", 2, 4)
	f90 := func(h uint64, p, r int64) {
		rec(prettyprinttest.TypeRecord{
			Combiner: 14, Handle: h, BasicSize: 8, TypeSize: 8, Extent: 8, TrueExtent: 8,
			Integers: []int64{p, r},
		})
	}
	f90(7<<20, 15, 300)
	f90(8<<20, 15, 300)
	f90(9<<20, 14, 300)
	rec(prettyprinttest.TypeRecord{
		Combiner: 99, Handle: 10 << 20, Name: "MPI_Type_new", TypeSize: 4, Extent: 4,
		TrueExtent: 4,
	})
	rec(prettyprinttest.TypeRecord{
		Handle: 11 << 20, Name: "MPI_2INT", Basic: 10, Pair: 2, BasicSize: 4, TypeSize: 8,
		Extent: 8, TrueExtent: 8,
	})
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		send      uint64
		sendCount int64
		recv      uint64
		recvCount int64
		want      datatype.Verdict
		says      string
	}{
		{1, 100, 6, 25, datatype.MatchPacked, "cannot be seen here"},
		{6, 25, 1, 200, datatype.MatchPacked, "takes up to 200 bytes"},
		{6, 25, 1, 99, datatype.MatchTruncated, "100 bytes and the receive takes 99 bytes"},
		{6, 1, 2, 1, datatype.MatchDifferent, "stored alike here"},
		{5, 4, 6, 1, datatype.MatchDifferent, "MPI libraries do not notice"},
		{3, 1, 4, 1, datatype.MatchEqual, "all 1 entry agree"},
		{7, 2, 8, 2, datatype.MatchEqual, "match"},
		{7, 1, 9, 1, datatype.MatchDifferent, "create_f90_real(15,300)"},
		{10, 1, 10, 1, datatype.MatchUnknown, "does not decode"},
		{11, 3, 6, 6, datatype.MatchEqual, "all 6 entries"},
		{6, 6, 11, 4, datatype.MatchPartial, "2 more, from t{3}(2INT) on"},
		{6, 0, 5, 0, datatype.MatchEqual, "Nothing is sent"},
		{6, 0, 5, 4, datatype.MatchPartial, "ends after 0 entries"},
		{6, 4, 5, 0, datatype.MatchTruncated, "the receive ends after 0 entries"},
	} {
		side := func(h uint64, count int64) datatype.Side {
			dt, err := r.DatatypeOfHandle(h<<20, false)
			if err != nil {
				t.Fatal(err)
			}
			return datatype.Side{Name: "t", Type: dt, Count: count}
		}
		send, recv := side(c.send, c.sendCount), side(c.recv, c.recvCount)
		if c.send == 10 { // the same type on another rank
			text, err := send.Export()
			if err != nil {
				t.Fatal(err)
			}
			if recv, err = datatype.Import(text); err != nil {
				t.Fatal(err)
			}
		}
		m, err := datatype.Match(send, recv)
		if err != nil {
			t.Fatal(err)
		}
		if m.Verdict != c.want || !strings.Contains(m.Explain(), c.says) {
			t.Errorf("%d × %s and %d × %s: %s, %s; want %s, %q", c.sendCount, send.Type.Title(), c.recvCount,
				recv.Type.Title(), m.Verdict, m.Explain(), c.want, c.says)
		}
		if err := m.Text(new(strings.Builder), 3); err != nil {
			t.Error(err)
		}
	}
}

// TestRandomExports takes random types to another registry and back.
func TestRandomExports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		im := prettyprinttest.NewImage(libraryOf(t))
		want := drawType(t, im, 4)
		_, dt := openType(t, im, want)
		text, err := datatype.Side{Name: "a b", Type: dt, Count: 7}.Export()
		if err != nil {
			t.Fatalf("Export: %v", err)
		}
		got, err := datatype.Import(text)
		if err != nil || got.Name != "a b" || got.Count != 7 {
			t.Fatalf("Import: %+v, %v", got, err)
		}
		var a, b strings.Builder
		if dt.Text(&a, "t", view.Options{}) != nil ||
			got.Type.Text(&b, "t", view.Options{}) != nil || a.String() != b.String() {
			t.Fatalf("exported\n%s\nimported\n%s", a.String(), b.String())
		}
		m, err := datatype.Match(datatype.Side{Name: "t", Type: dt, Count: 2},
			datatype.Side{Name: "t", Type: got.Type, Count: 2})
		if err != nil || m.Verdict != datatype.MatchEqual {
			t.Fatalf("%+v, %v", m, err)
		}
	})
}

// TestImportErrors damages an exported type.
func TestImportErrors(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	_, dt := openType(t, im, im.Dup(im.Named("MPI_INT")))
	text, err := datatype.Side{Name: "t", Type: dt, Count: 1}.Export()
	if err != nil {
		t.Fatal(err)
	}
	var whole struct {
		MPI, HandleSize, Count int
		Records                [][]byte
	}
	const prefix = "cohort-type-4:"
	if err := json.Unmarshal([]byte(strings.TrimPrefix(text, prefix)), &whole); err != nil {
		t.Fatal(err)
	}
	changed := func(change func(last *[]byte)) string {
		damaged := whole
		damaged.Records = slices.Clone(whole.Records)
		last := slices.Clone(whole.Records[1])
		change(&last)
		damaged.Records[1] = last
		b, err := json.Marshal(damaged)
		if err != nil {
			t.Fatal(err)
		}
		return prefix + string(b)
	}
	refers := func(to byte) string { // the number of the type that it is made of is the last field
		return changed(func(last *[]byte) { (*last)[len(*last)-8] = to })
	}
	for _, c := range []struct{ text, want string }{
		{"", "does not begin with"},
		{prefix + "!", "invalid character"},
		{strings.Replace(text, prefix, "cohort-type:", 1), "does not begin with"},
		{strings.Replace(text, `"mpi":1`, `"mpi":9`, 1), "head is not whole"},
		{refers(1), "does not come before it"}, // the type is made of itself
		{refers(2), "does not come before it"},
		{changed(func(last *[]byte) { *last = (*last)[:9] }), "records are not whole"},
	} {
		if _, err := datatype.Import(c.text); !fault.Is(err, fault.Corrupt) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func FuzzImport(f *testing.F) {
	im := richImage(prettyprinttest.OpenMPI)
	r, err := handle.Open(im, im.Publish())
	if err != nil {
		f.Fatal(err)
	}
	types, err := datatypesOf(r)
	if err != nil {
		f.Fatal(err)
	}
	for _, dt := range types {
		text, err := datatype.Side{Name: "t", Type: dt, Count: 2}.Export()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := datatype.Import(text)
		if err != nil {
			if !isOurs(err) {
				t.Errorf("%T %v", err, err)
			}
			return
		}
		if m, err := datatype.Match(s, s); err == nil && m.Verdict != datatype.MatchEqual &&
			m.Verdict != datatype.MatchPacked && m.Verdict != datatype.MatchUnknown {
			t.Errorf("a type does not match itself: %s", m.Explain())
		}
	})
}
