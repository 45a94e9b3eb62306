package trace_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/tracetest"
	"github.com/cohort-debugger/cohort/trace/tracetext"
)

// Binary to text to binary to text: the same records, and the same text apart from the number of committed bytes of an
// open chunk.
func TestTextRoundTrip(t *testing.T) {
	trace.BothModes(t, func(t *rapid.T, mode abi.Mode) {
		h := trace.GenHeader(mode).Draw(t, "header")
		want := trace.GenRecords(mode, 40).Draw(t, "records")
		f := tracetest.Write(t, h, want, true)
		var text bytes.Buffer
		if err := tracetext.Dump(&text, f.Reader(t)); err != nil {
			t.Fatal(err)
		}
		gh, got, err := tracetext.Parse(bytes.NewReader(text.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		if again := tracetest.Write(t, gh, got, gh.Closed); !bytes.Equal(again.Bytes, f.Bytes) {
			t.Fatalf("the file made from the text differs\n%s", text.String())
		}
	})
}
