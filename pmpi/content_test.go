package pmpi_test

import (
	"testing"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/trace"
)

// TestContents: what a full trace says of the content of messages tells equal ones from others, however they are
// described and sent.
func TestContents(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		const equal, none = 0, 2 // tags: of pairs of messages with one content, and of single ones
		j := newJob(t, mpi, 2, abi.ModeFull)
		j.run(testdata(t, mpi, "contents.c"))
		type message struct {
			send    trace.SendArgs
			content *trace.Content
		}
		var all []message
		first := 0 // of the last event
		persistent := map[uint64]trace.SendArgs{}
		for _, rec := range records(t, j.traceDir, 0) {
			switch rec := rec.(type) {
			case *trace.Event:
				first = len(all)
				switch rec.Op.Class() {
				case mpispec.ClassSend, mpispec.ClassSendrecv:
					all = append(all, message{send: rec.Send})
				case mpispec.ClassSendInit:
					persistent[rec.Index] = rec.Send
				case mpispec.ClassStart:
					for _, init := range rec.Inits {
						if send := persistent[init]; send.Dest != trace.ProcNull {
							all = append(all, message{send: send})
						}
					}
				}
			case *trace.Content:
				all[first+int(rec.Which)].content = rec
			}
		}
		const pairs, singles = 12, 5
		if len(all) != 2*pairs+singles {
			t.Fatalf("%d messages, want %d", len(all), 2*pairs+singles)
		}
		for i := 0; i < 2*pairs; i += 2 {
			a, b := all[i], all[i+1]
			if a.content == nil || b.content == nil || a.send.Bytes != b.send.Bytes || a.send.Tag != b.send.Tag {
				t.Errorf("pair %d: %+v and %+v", 1+i/2, a, b)
				continue
			}
			if same := a.content.Value == b.content.Value; same != (a.send.Tag == equal) {
				t.Errorf("pair %d: %+v and %+v", 1+i/2, *a.content, *b.content)
			}
		}
		if v := all[0].content; v != nil && v.Value != 5 {
			t.Errorf("the number 5 is %+v", v)
		}
		for _, m := range all[2*pairs:] {
			if m.send.Tag != none || m.content != nil {
				t.Errorf("%+v: want none", m)
			}
		}
	})
}

// TestChunksBeginAnywhere: a chunk may end between an EVENT and the CONTENT that follows it.
func TestChunksBeginAnywhere(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		const messages, bytes = 10 * 4000, 64 << 10 // of all rounds of selfmessages; a chunk holds so much
		j := newJob(t, mpi, 1, abi.ModeFull)
		j.run(testdata(t, mpi, "selfmessages.c"), "4000")
		if n := j.controls[0].Progress().TraceBytes; n < 20*bytes {
			t.Fatalf("the trace of %d bytes has too few chunks to tell", n)
		}
		contents := 0
		for _, rec := range records(t, j.traceDir, 0) {
			if _, ok := rec.(*trace.Content); ok {
				contents++
			}
		}
		if contents != messages {
			t.Errorf("%d contents of %d messages", contents, messages)
		}
	})
}
