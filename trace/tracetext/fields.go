package tracetext

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// textVersion is in the first line of the text form.
const textVersion = "cohort-trace 1"

// noSource is the source of a MATCH that has none: of one that says that a receive was posted, or cancelled.
const noSource = "promise"

//nolint:gochecknoglobals // constant tables
var (
	hexNumbers = map[string]bool{
		"id": true, "parent": true, "bias": true, "offset": true, "value": true,
		"unrecorded": true,
	}
	hexStrings = map[string]bool{"build_id": true, "bytes": true} // of bytes that are no text
)

// fields is trace.Fields with what only the text form has.
type fields interface {
	trace.Fields
	// word is one of a few words.
	word(key, v string) string
	// has tells whether a field that may be missing is there; some: to be written.
	has(key string, some bool) bool
}

// header goes through the fields of the header line.
func header(f fields, h *trace.Header) {
	name := f.word("mode", h.Mode.String())
	mode, ok := abi.ParseMode(name)
	if !ok || !mode.IsRecorded() {
		f.Fail("mode order, racing or full", strconv.Quote(name))
	}
	h.Version, h.Mode = abi.TraceVersion, mode
	trace.Number(f, "flags", &h.Flags)
	trace.Number(f, "rank", &h.Rank)
	trace.Number(f, "size", &h.WorldSize)
	trace.Number(f, "mpi", &h.MPI)
	closed := uint64(0)
	if h.Closed {
		closed = 1
	}
	h.Closed = f.Uint("closed", 1, closed) == 1
	trace.Number(f, "start", &h.StartNS)
	trace.Number(f, "committed", &h.Committed)
	trace.Number(f, "events", &h.Events)
	trace.Number(f, "polls", &h.Polls)
	trace.Number(f, "incomplete", &h.Incomplete)
	if trace.Number(f, "full_disk", &h.Ended); !h.Ended.Known() {
		f.Fail("a known value of full_disk", fmt.Sprint(uint32(h.Ended)))
	}
	h.IncompleteCall = f.String("incomplete_call", h.IncompleteCall)
	if len(h.IncompleteCall) > 47 || strings.ContainsRune(h.IncompleteCall, 0) {
		f.Fail("incomplete_call of at most 47 bytes", strconv.Quote(h.IncompleteCall))
	}
	trace.Number(f, "incomplete_event", &h.IncompleteEvent)
	if f.has("current_op", h.CurrentOp != mpispec.OpNone) { // the rank was not outside MPI
		h.CurrentOp = f.Op("current_op", h.CurrentOp)
	}
	if f.has("unrecorded", h.Unrecorded != 0) {
		trace.Number(f, "unrecorded", &h.Unrecorded)
	}
	if h.Mode == abi.ModeRacing {
		trace.Number(f, "whole", &h.Undecided.Whole)
	}
	trace.Number(f, "overtaken", &h.Undecided.Overtaken)
	if h.Mode == abi.ModeRacing {
		undecided(f, h)
	}
}

func undecided(f fields, h *trace.Header) {
	all := h.Pending()
	trace.List(f, "undecided", &all, func(p *abi.Pending) {
		trace.Number(f, "event", &p.Event)
		trace.Number(f, "count", &p.Count)
		trace.Number(f, "stride", &p.Stride)
		p.Op = uint32(f.Op("op", mpispec.Op(p.Op)))
		p.Source, p.Tag = f.Int("source", p.Source), f.Int("tag", p.Tag)
		trace.Number(f, "which", &p.Which)
	})
	if most := len(h.Undecided.Pending); len(all) > most {
		f.Fail(fmt.Sprintf("at most %d undecided receives", most), strconv.Itoa(len(all)))
	}
	if b := trace.CheckUndecided(all); b != nil {
		f.Fail(b.Want, b.Got)
	}
	h.Undecided.Pending = [abi.PendingMax]abi.Pending{}
	copy(h.Undecided.Pending[:], all)
}

// record goes through the fields of a record.
func record(f fields, r trace.Record) {
	if v, ok := r.(*trace.Value); ok {
		value(f, v)
	} else {
		trace.Walk(r, f)
	}
}

func value(f fields, v *trace.Value) {
	trace.Number(f, "thread", &v.Thread)
	name := f.word("what", v.What.String())
	what, ok := abi.ParseValueKind(name)
	if !ok {
		f.Fail("the kind of a value", strconv.Quote(name))
	}
	if v.What = what; what.IsBytes() {
		v.Bytes = f.String("bytes", v.Bytes)
		return
	}
	trace.Number(f, "number", &v.Number)
	// For people: what is read is not looked at.
	if seconds := what == abi.ValueWtime || what == abi.ValueWtick; f.has("seconds", seconds) {
		f.word("seconds", strconv.FormatFloat(math.Float64frombits(v.Number), 'g', -1, 64))
	}
}
