package prettyprint_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/picture"
)

// byteMap is the oracle: what count instances of a type select, byte by byte.
type byteMap struct {
	used  map[int64]int    // how often
	basic map[int64]string // by whom last
	start map[int64]bool
}

func mapOf(want *prettyprinttest.Type, count int64) byteMap {
	m := byteMap{map[int64]int{}, map[int64]string{}, map[int64]bool{}}
	for i := range count {
		for _, e := range want.Map {
			for _, p := range e.Parts {
				at := i*want.Extent() + e.Disp + p[0]
				m.start[at] = true
				for b := at; b < at+p[1]; b++ {
					m.used[b]++
					m.basic[b] = e.Basic
				}
			}
		}
	}
	return m
}

// TestRandomPictures draws random types and compares every byte that is drawn, every remark, and the overview with the
// byte map.
func TestRandomPictures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		im := prettyprinttest.NewImage(libraryOf(t))
		want := drawType(t, im, 4)
		_, dt := openType(t, im, want)
		count := rapid.Int64Range(0, 4).Draw(t, "count")
		p, err := picture.New(dt, "t", count, picture.Options{
			BytesPerRow: rapid.SampledFrom([]int{8, 16, 32, 64}).Draw(t, "row"),
			MaxLines:    rapid.IntRange(4, 60).Draw(t, "lines"),
		})
		if err != nil {
			t.Fatalf("Picture: %v", err)
		}
		if !p.Complete {
			t.Fatalf("the picture is not complete")
		}
		m := mapOf(want, count)
		checkPicture(t, p, m)
		var text strings.Builder
		if err := errors.Join(p.Text(&text, false), p.Text(io.Discard, true)); err != nil {
			t.Fatalf("%v", err)
		}
		for line := range strings.Lines(text.String()) {
			if n := len([]rune(line)) - 1; n > 160 {
				t.Fatalf("a line of %d columns: %s", n, line)
			}
		}
		checkXML(t, p)
	})
}

func checkPicture(t require, p *picture.Picture, m byteMap) {
	seen := map[int64]bool{}
	end := int64(0)
	for i, l := range p.Lines {
		if i > 0 && l.Offset != end {
			t.Fatalf("line %d begins at %d, the one before ended at %d", i, l.Offset, end)
		}
		end = l.Offset + l.Rows*int64(p.BytesPerRow)
		data := int64(0)
		for b := l.Offset; b < end; b++ {
			seen[b] = true
			data += int64(m.used[b])
			if l.Kind == picture.LineBytes || l.Kind == picture.LineSame {
				checkCell(t, p, l.Cells[(b-l.Offset)%int64(p.BytesPerRow)], m, b)
			}
		}
		switch {
		case l.Kind == picture.LineEmpty && data != 0:
			t.Fatalf("%d bytes of data in a line that is said to be empty: %+v", data, l)
		case l.Kind == picture.LineElided && l.Data != data:
			t.Fatalf("%d bytes of data in a line that is said to have %d", data, l.Data)
		}
	}
	for b := range m.used {
		if !seen[b] || b < p.From || b >= p.To {
			t.Fatalf("byte %d is in no line, or not in %d to %d", b, p.From, p.To)
		}
	}
	for i, c := range p.Overview {
		used := int64(0)
		from := p.From + int64(i)*p.OverviewBytes
		for b := from; b < min(from+p.OverviewBytes, p.To); b++ {
			used += int64(m.used[b])
		}
		if c.Used != used {
			t.Fatalf("the overview's cell %d has %d bytes, want %d", i, c.Used, used)
		}
	}
}

func checkCell(t require, p *picture.Picture, c picture.Cell, m byteMap, b int64) {
	switch n := m.used[b]; {
	case n == 0 && (c.Kind == picture.CellGap || c.Kind == picture.CellPadding ||
		c.Kind == picture.CellOutside):
	case n == 1 && c.Kind == picture.CellData && p.Legend[c.Legend].Type.Name == m.basic[b] &&
		c.Start == m.start[b]:
	case n > 1 && c.Kind == picture.CellOverlap && p.Overlaps:
	default:
		t.Fatalf("byte %d is selected %d times, and drawn as %+v", b, n, c)
	}
}

func checkXML(t require, p *picture.Picture) {
	var svg strings.Builder
	if err := p.SVG(&svg); err != nil {
		t.Fatalf("SVG: %v", err)
	}
	d := xml.NewDecoder(strings.NewReader(svg.String()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the SVG is no XML: %v\n%s", err, svg.String())
		}
	}
}

func pictureText(t *testing.T, dt *datatype.Type, count int64, width int) string {
	t.Helper()
	p, err := picture.ForWidth(dt, "t", count, width)
	if err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	if err := p.Text(&s, false); err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// TestPictures shows what users see.
func TestPictures(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	d, i := im.Named("MPI_DOUBLE"), im.Named("MPI_INT")
	//nolint:dupword // bytes look like words
	for _, c := range []struct {
		t     *prettyprinttest.Type
		count int64
		width int
		want  string
	}{
		{fig1(im), 1, 80, `
t: STRUCT, 43 bytes of data
lb -4, ub 100, extent 104; true lb 0, true extent 92
offset 0        8        16       24       32       40       48       56
   -64                                                                    ----
     0 IiiiIiii IiiiIiii Iiii.... ........ ........ .......C CCCCCC.. ........
    64 ........ ....Dddd ddddDddd dddd---- ----
Ii MPI_INT, 20 bytes
Cc MPI_CHAR, 7 bytes
Dd MPI_DOUBLE, 16 bytes
A value begins at its capital letter.
.  gap between data
-  within lb and ub, but before or after all data
`},
		{im.Struct([]int64{2, 1}, []int64{0, 4}, []*prettyprinttest.Type{i, im.Named("MPI_SHORT_INT")}), 1, 40, `
t: STRUCT, 14 bytes of data
lb 0, ub 12, extent 12; true lb 0, true extent 12
offset 0        8
     0 Iiii##ii Ssss
Ii MPI_INT, 8 bytes
Ss MPI_SHORT_INT, 6 bytes
A value begins at its capital letter.
#  selected more than once, first at offset 4: a receive into such memory is an error
`},
		{rawType(im, 13, nil, []int64{0, 8}, rawType(im, 4, []int64{100_000, 1, 1000}, nil, d)), 1000, 80, `
t: 1000 × RESIZED, 800,000,000 bytes of data
lb 0, ub 8, extent 8; true lb 0, true extent 799992008
      all DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD
          one letter for 12,500,000 bytes from 0 on, small where less than half is data
   offset 0        8        16       24
        0 Dddddddd Dddddddd Dddddddd Dddddddd
        ⋮ 820 rows (26,240 bytes) like the one above
        ⋮ 24,999,171 rows (799,973,472 bytes, 799,973,472 bytes of data) not drawn
799999744 Dddddddd Dddddddd Dddddddd Dddddddd
        ⋮ 7 rows (224 bytes) like the one above
Dd MPI_DOUBLE, 800,000,000 bytes
A value begins at its capital letter.
`},
		{rawType(im, 4, []int64{100_000, 1, 1000}, nil, d), 1, 80, `
t: VECTOR, 800,000 bytes of data
lb 0, ub 799992008, extent 799992008; true lb 0, true extent 799992008
      all dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd
          one letter for 12,499,876 bytes from 0 on, small where less than half is data
   offset 0        8        16       24
        0 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
     8000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
    16000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
    24000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
    32000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
    40000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
    48000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
    56000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
        ⋮ 24,996,751 rows (799,896,032 bytes, 799,904 bytes of data) not drawn
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
799968000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
799976000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
799984000 Dddddddd ........ ........ ........
        ⋮ 249 rows (7,968 bytes) in which nothing is selected
799992000 Dddddddd
Dd MPI_DOUBLE, 800,000 bytes
A value begins at its capital letter.
.  gap between data
`},
		{rawType(im, 3, []int64{100_000_000}, nil, i), 1, 80, `
t: CONTIGUOUS, 400,000,000 bytes of data
lb 0, ub 400000000, extent 400000000; true lb 0, true extent 400000000
      all IIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII
          one letter for 6,250,000 bytes from 0 on, small where less than half is data
   offset 0        8        16       24
        0 IiiiIiii IiiiIiii IiiiIiii IiiiIiii
        ⋮ 4,095 rows (131,040 bytes) like the one above
        ⋮ 12,495,896 rows (399,868,672 bytes, 399,868,672 bytes of data) not drawn
399999744 IiiiIiii IiiiIiii IiiiIiii IiiiIiii
        ⋮ 7 rows (224 bytes) like the one above
Ii MPI_INT, 400,000,000 bytes
A value begins at its capital letter.
`},
		{im.Contiguous(0, i), 1, 80, `
t: CONTIGUOUS, 0 bytes of data
lb 0, ub 0, extent 0; true lb 0, true extent 0
`},
	} {
		_, dt := openType(t, im, c.t)
		got := "\n" + pictureText(t, dt, c.count, c.width)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestLongBlockUnderShortOnes: a long block that begins before many short ones is seen behind them.
func TestLongBlockUnderShortOnes(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	ty := im.Indexed([]int64{200, 1, 1, 1, 1, 1, 1, 1}, []int64{0, 1, 3, 5, 7, 9, 11, 13}, im.Named("MPI_INT"))
	_, dt := openType(t, im, ty)
	p, err := picture.New(dt, "t", 1, picture.Options{BytesPerRow: 8, MaxLines: 200})
	if err != nil {
		t.Fatal(err)
	}
	checkPicture(t, p, mapOf(ty, 1))
}

// TestPicturesAreFast draws types whose data is far more than can be looked at.
func TestPicturesAreFast(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.OpenMPI)
	for name, ty := range hugeTypes(im) {
		_, dt := openType(t, im, ty)
		begin := time.Now()
		counts := []int64{1, 1000}
		if strings.HasPrefix(name, "interleaved") { // both are as slow as the budget lets them be
			counts = counts[:1]
		}
		for _, count := range counts {
			p, err := picture.New(dt, "t", count, picture.Options{})
			if err != nil {
				if !fault.Is(err, fault.TooLarge) {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err := errors.Join(p.Text(io.Discard, true), p.SVG(io.Discard)); err != nil {
				t.Error(err)
			}
			if !p.Complete && !strings.HasPrefix(name, "interleaved") {
				t.Errorf("%s: not complete", name)
			}
		}
		if took := time.Since(begin); took > time.Minute { // a hundredth of it here, but the machine may be busy
			t.Errorf("%s: drawn in %v", name, took)
		} else {
			t.Logf("%s: drawn in %v", name, took)
		}
	}
}

// rawType is a type without an oracle.
func rawType(im *prettyprinttest.Image, combiner uint32, ints, addrs []int64,
	types ...*prettyprinttest.Type,
) *prettyprinttest.Type {
	r := unknownFigures(prettyprinttest.TypeRecord{Combiner: combiner, State: 1, Handle: 0x9c000000 +
		uint64(len(im.Regions())), Integers: ints, Addresses: addrs})
	for _, k := range types {
		r.Types = append(r.Types, k.Record)
	}
	return &prettyprinttest.Type{Record: im.Datatype(r), Handle: r.Handle}
}

// hugeTypes are small to describe and large to expand: they have no oracle.
func hugeTypes(im *prettyprinttest.Image) map[string]*prettyprinttest.Type {
	d := im.Named("MPI_DOUBLE")
	raw := func(combiner uint32, ints, addrs []int64, types ...*prettyprinttest.Type) *prettyprinttest.Type {
		return rawType(im, combiner, ints, addrs, types...)
	}
	const n = 100_000
	ints, disps := []int64{n}, []int64(nil)
	for i := range int64(n) {
		ints = append(ints, 1+i%7)
		disps = append(disps, (i*7919%n)*16) // every place once, out of order
	}
	row := raw(4, []int64{1000, 1, 1000}, nil, d)
	column := raw(13, nil, []int64{0, 8}, row)
	deep := d
	for range 50 {
		deep = raw(4, []int64{2, 1, 3}, nil, deep)
		if deep.Handle == 0 {
			panic("no handle")
		}
		deep = raw(13, nil, []int64{0, 24}, deep)
	}
	return map[string]*prettyprinttest.Type{
		"10^5 blocks out of order":      raw(7, ints, disps, d),
		"10^8 doubles":                  raw(3, []int64{100_000_000}, nil, d),
		"column of 10^6":                raw(4, []int64{1_000_000, 1, 1000}, nil, d),
		"transposed matrix 1000 x 1000": raw(3, []int64{1000}, nil, column),
		"all at one place":              raw(5, []int64{100_000_000, 1}, []int64{0}, d),
		"every byte 8 times":            raw(5, []int64{100_000_000, 1}, []int64{1}, d),
		"interleaved 10^4 columns of 10^6": raw(3, []int64{10_000}, nil,
			raw(13, nil, []int64{0, 8}, raw(4, []int64{1_000_000, 1, 10_007}, nil, d))),
		"interleaved, 50 deep": deep,
		"far bounds":           raw(13, nil, []int64{-1 << 50, 1 << 51}, d),
	}
}
