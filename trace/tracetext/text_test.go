package tracetext

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/tracetest"
)

func TestTextIsReadable(t *testing.T) {
	f := tracetest.Write(
		t,
		trace.Header{Mode: abi.ModeFull, Rank: 1, WorldSize: 2, MPI: abi.MPICH},
		[]trace.Record{
			tracetest.WorldComm(),
			&trace.Event{Index: 1, Op: mpispec.OpIrecv, Recv: trace.RecvArgs{AskedSource: -1, AskedTag: 7}},
			&trace.Event{
				Index: 2, Op: mpispec.OpWait, Gap: 10, Duration: 20,
				Completed: []trace.Completion{{Post: 1, Class: trace.RequestRecv, Source: 0, Tag: 7, Bytes: 8}},
			},
			&trace.Event{Index: 3, Op: mpispec.OpFinalize},
			&trace.End{How: 1},
		},
		true,
	)
	var text strings.Builder
	if err := Dump(&text, f.Reader(t)); err != nil {
		t.Fatal(err)
	}
	want := `cohort-trace 1
header mode=full flags=0 rank=1 size=2 mpi=1 closed=1 start=0 committed=4175 events=3 polls=0 incomplete=0 full_disk=0 incomplete_call="" incomplete_event=0 overtaken=0
comm index=0 id=0x1 parent=0x0 kind=intra rank=0 members=[0,1] remote=[]
event n=1 op=Irecv site=0 polls=0 gap=0 dur=0 rcomm=0 asked_source=-1 asked_tag=7
event n=2 op=Wait site=0 polls=0 gap=10 dur=20 done=[0:1:2:0:7:8]
event n=3 op=Finalize site=0 polls=0 gap=0 dur=0
end polls=0 how=1
`
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Error(d)
	}
}

func TestDumpOfADamagedTrace(t *testing.T) {
	f := tracetest.Write(
		t,
		trace.Header{Mode: abi.ModeFull},
		[]trace.Record{tracetest.WorldComm(), &trace.Event{Index: 1, Op: mpispec.OpFinalize}},
		false,
	)
	f.Bytes = f.Bytes[:len(f.Bytes)-1]
	var text strings.Builder
	if err := Dump(&text, f.Reader(t)); !errors.Is(err, trace.ErrTruncated) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(text.String(), "comm index=0") {
		t.Errorf("what could be read is missing:\n%s", text.String())
	}
}

func TestBadText(t *testing.T) {
	head := textVersion + "\n" + headerText(&trace.Header{Mode: abi.ModeFull}) + "\n"
	comm := "comm index=0 id=1 parent=0 kind=intra rank=0 members=[0] remote=[]\n"
	for _, c := range []struct{ text, want string }{
		{"", "line 1 of the text trace: expected a header line"},
		{"x", `expected "cohort-trace 1"`},
		{textVersion, "a header line"},
		{textVersion + "\nend polls=0 how=1", "expected the header"},
		{textVersion + "\nheader mode=off", "mode order, racing or full"},
		{head + "what a=1", "comm, module, site"},
		{head + "end polls=0", "line 3 of the text trace: expected a field how"},
		{head + "end polls=0 how=1 more=2", "no field more"},
		{head + "end polls=0 polls=1 how=1", "one polls, found two"},
		{head + "end polls=x how=1", "polls as a number of 64 bits"},
		{head + "end polls=0 how=256", "how as a number of 8 bits"},
		{head + "end polls", "key=value"},
		{head + `note event=1 call="x site=0`, "a quoted string"},
		{head + `note event=1 call="x"y site=0`, "a space after the value of call"},
		{head + "event n=1 op=Nope site=0 polls=0 gap=0 dur=0", "the name of an operation"},
		{head + "event n=2 op=Finalize site=0 polls=0 gap=0 dur=0", "expected event 1"},
		{
			head + "event n=1 op=Barrier site=0 polls=0 gap=0 dur=0 comm=0 root=-1 bytes=0",
			"a communicator that was declared",
		},
		{head + comm + "event n=1 op=Wait site=0 polls=0 gap=0 dur=0 done=[0:0]", "class in each element of done"},
		{head + comm + "event n=1 op=Wait site=0 polls=0 gap=0 dur=0 done=[0:0:2]", "source in each element of done"},
		{head + comm + "event n=1 op=Wait site=0 polls=0 gap=0 dur=0 done=[0:9:1]", "post before event 1"},
		{
			head + comm + "event n=1 op=Wait site=0 polls=0 gap=0 dur=0 done=[0:0:1:2]",
			`no more in an element of done, found "2"`,
		},
		{head + comm + "event n=1 op=Wait site=0 polls=0 gap=0 dur=0 done=0", "done in brackets"},
		{head + "match event=1 op=Recv source=0 tag=0 back=0", "EVENT records"},
	} {
		_, _, err := Parse(strings.NewReader(c.text))
		if !errors.As(err, new(*trace.RefusedError)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

// FuzzParse: no crash; what is accepted is written and printed again without loss.
func FuzzParse(f *testing.F) {
	f.Add(textVersion + "\n" + headerText(&trace.Header{Mode: abi.ModeFull}) + `
comm index=0 id=1 parent=0 kind=intra rank=0 members=[0] remote=[]
module index=0 bias=0x10 path="/a b" build_id="00ff"
site index=1 module=0 offset=0x4
event n=1 op=Recv_init site=1 polls=0 gap=0 dur=0 comm=0 dest=-1 tag=-1 bytes=0
event n=2 op=Startall site=0 polls=0 gap=0 dur=0 inits=[1]
event n=3 op=Testany site=0 polls=4 gap=0 dur=0 done=[0:1:2:0:1:8]
end polls=0 how=1
`)
	f.Add(textVersion + "\n" + headerText(&trace.Header{Mode: abi.ModeOrder}) + `
match event=1 op=Startall source=promise tag=0 back=0 which=1
poll event=2 op=Test failures=3
set event=2 op=Testsome indices=[1,2]
`)
	f.Fuzz(func(t *testing.T, text string) {
		h, records, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := Dump(&out, tracetest.Write(t, h, records, h.Closed).Reader(t)); err != nil {
			t.Fatal(err)
		}
		_, again, err := Parse(&out)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(records, again); d != "" {
			t.Fatal(d)
		}
	})
}
