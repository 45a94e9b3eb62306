package prettyprint_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"

	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// linesOf is what Text is to write of a page of elements, made from their values.
func linesOf(vals []datatype.Value, width *int) string {
	group := func(v datatype.Value) (prefix string, last int64, ok bool) {
		if v.Type.Name != "MPI_CHAR" || len(v.Bytes) != 1 {
			return "", 0, false
		}
		at := strings.LastIndexAny(short(v.Address), "[{")
		if at < 0 {
			return "", v.Index, true
		}
		_, err := fmt.Sscanf(short(v.Address)[at+1:], "%d", &last)
		return short(v.Address)[:at], last, err == nil
	}
	type row struct{ name, text string }
	var rows []row
	for i := 0; i < len(vals); {
		text := ""
		j := i
		for ; j < len(vals); j++ {
			prefix, last, ok := group(vals[j])
			if !ok {
				break
			}
			if j > i {
				before, number, _ := group(vals[j-1])
				if prefix != before || last != number+1 || vals[j].Memory != vals[j-1].Memory+1 {
					break
				}
			}
			text += string(vals[j].Bytes)
		}
		r := row{vals[i].Address, fmt.Sprintf("0x%012x  %s", vals[i].Memory, vals[i].Text)}
		if j > i+1 {
			at := strings.LastIndexAny(r.name, "]}")
			_, last, _ := group(vals[j-1])
			r = row{
				fmt.Sprintf("%s..%d%s", r.name[:at], last, r.name[at:]),
				fmt.Sprintf("0x%012x  %s", vals[i].Memory, datatype.QuoteBytes([]byte(text))),
			}
		}
		*width = max(*width, utf8.RuneCountInString(r.name))
		rows = append(rows, r)
		i = max(j, i+1)
	}
	var out strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&out, "  %-*s  %s\n", *width, r.name, r.text)
	}
	return out.String()
}

// TestTextIsOfElements compares the text of random buffers with the values of their elements: the text is made without
// them.
func TestTextIsOfElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		im := prettyprinttest.NewImage(libraryOf(t))
		want := drawType(t, im, 3)
		count := rapid.Int64Range(0, 3).Draw(t, "count")
		data := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "data")
		addr := im.Alloc(data) + uint64(len(data)/2)
		r, dt := openType(t, im, want)
		b, err := r.Buffer("größe", addr, dt, count)
		if err != nil {
			t.Fatalf("Buffer: %v", err)
		}
		vals, err := b.Elements(0, b.Len())
		if err != nil {
			t.Fatalf("Elements: %v", err)
		}
		var got strings.Builder
		if err := b.Text(&got, view.Options{MaxList: 1 << 20}); err != nil {
			t.Fatalf("Text: %v", err)
		}
		width := 0
		if diff := cmp.Diff(linesOf(vals, &width), got.String()); diff != "" {
			t.Fatalf("text (-of the elements +as written):\n%s", diff)
		}
	})
}

// TestTextOfPages has more elements than one page of text: characters are joined within one, and a column once wide
// stays so.
func TestTextOfPages(t *testing.T) {
	const n = 20000
	for _, basic := range []string{"MPI_CHAR", "MPI_INT", "MPI_LONG_DOUBLE"} {
		im := prettyprinttest.NewImage(prettyprinttest.MPICH)
		want := im.Contiguous(n, im.Named(basic))
		data := make([]byte, 16*n)
		for i := range data {
			data[i] = byte(i * 7)
		}
		addr := im.Alloc(data)
		r, dt := openType(t, im, want)
		b, err := r.Buffer("t", addr, dt, 1)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := b.Text(&got, view.Options{MaxList: n}); err != nil {
			t.Fatal(err)
		}
		var expected strings.Builder
		width := 0
		for from := int64(0); from < n; from += 8192 {
			vals, err := b.Elements(from, min(from+8192, n))
			if err != nil {
				t.Fatal(err)
			}
			expected.WriteString(linesOf(vals, &width))
		}
		if got.String() != expected.String() {
			t.Errorf("%s: %d bytes of text, not %d", basic, got.Len(), expected.Len())
		}
	}
}

// A text that is too long for one answer ends after some page of elements, and says where it continues.
func TestTextIsBounded(t *testing.T) {
	const n = 1 << 18
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	want := im.Contiguous(n, im.Named("MPI_INT"))
	addr := im.Alloc(make([]byte, 4*n))
	r, dt := openType(t, im, want)
	b, err := r.Buffer("t", addr, dt, 1)
	if err != nil {
		t.Fatal(err)
	}
	var from int64
	for pages := 1; ; pages++ {
		var got strings.Builder
		if err := b.Text(&got, view.Options{MaxList: n, From: from, MaxText: 2 << 20}); err != nil {
			t.Fatal(err)
		}
		lines := int64(strings.Count(got.String(), "\n"))
		if got.Len() > 3<<20 {
			t.Errorf("%d bytes of text", got.Len())
		}
		text := strings.TrimSuffix(got.String(), "\n")
		last := text[strings.LastIndex(text, "\n")+1:]
		if !strings.HasPrefix(last, "  ... ") {
			if from+lines != n || pages < 3 {
				t.Errorf("%d texts, the last from %d with %d lines", pages, from, lines)
			}
			return
		}
		next := from + lines - 1
		if !strings.HasSuffix(last, fmt.Sprintf(" more, with --from %d", next)) || next <= from {
			t.Fatalf("%d lines from %d, and then %q", lines, from, last)
		}
		from = next
	}
}
