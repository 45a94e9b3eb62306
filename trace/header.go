package trace

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

const (
	chunkHeaderSize = int64(unsafe.Sizeof(abi.Chunk{}))
	// A record that is larger than abi.ChunkMax is alone in a chunk of its own; beyond this bound a length is taken for
	// a lie.
	chunkLimit = 16 << 20
)

// Header is what the header page of a trace says (abi.TraceHeader and abi.Undecided).
type Header struct {
	Version         uint32
	Mode            abi.Mode
	Flags           abi.Flag
	Rank, WorldSize uint32
	MPI             abi.MPI   // 0: unknown
	Closed          bool      // closed after MPI_Finalize; else the file was cut short
	StartNS         uint64    // CLOCK_REALTIME at initialisation, nanoseconds
	Committed       uint64    // bytes of the file that are valid, header page included
	Events          uint64    // events completed; may be ahead of the last record in abi.ModeOrder
	Polls           uint64    // failed polls since the last event that is in the file
	Incomplete      uint32    // calls that record/replay does not cover
	Ended           abi.Ended // why the trace ends although its rank continued
	IncompleteCall  string    // name of the first of them, at most 47 bytes
	IncompleteEvent uint64
	Undecided       abi.Undecided // of other modes than abi.ModeRacing only Overtaken
	CurrentOp       mpispec.Op    // the call in progress, event Events + 1; OpNone: outside MPI
	Unrecorded      ValueKinds    // clocks and random numbers that the program asked, and that are not in the trace
}

// Pending returns the receives of ModeRacing of which it was not known, when the rank ended, whether they raced: they
// count as if they did.
func (h *Header) Pending() []abi.Pending {
	return slices.DeleteFunc(slices.Clone(h.Undecided.Pending[:]), func(p abi.Pending) bool { return p.Count == 0 })
}

// CheckUndecided returns the rule that one of the entries breaks; nil if none does.
func CheckUndecided(all []abi.Pending) *RuleError {
	for _, p := range all {
		op := mpispec.Op(p.Op)
		switch {
		case p.Event == 0 || !op.Known() || p.Count == 0:
			return broken("one undecided receive or more of a known operation", "%d of a %s of event %d", p.Count, op,
				p.Event)
		case p.Count > 1 && p.Stride == 0:
			return broken("undecided receives at different events", "%d at event %d", p.Count, p.Event)
		case p.Count > 1 && p.Event > abi.Never-uint64(p.Count)*uint64(p.Stride):
			return broken("undecided receives whose events fit 64 bits", "%d from event %d on", p.Count, p.Event)
		case p.Which != 0 && op != mpispec.OpStartall:
			return broken("which only with Startall", "%s", op)
		}
	}
	return nil
}

// encode returns the header page.
func (h *Header) encode() []byte {
	page := make([]byte, abi.TraceHeaderSize)
	out := abi.TraceHeader{
		Magic: abi.TraceMagic, Version: h.Version, Size: uint32(abi.Size[abi.TraceHeader]()), Mode: h.Mode,
		Flags: h.Flags, Rank: h.Rank, WorldSize: h.WorldSize, MPI: h.MPI, Closed: b2u(h.Closed), StartNS: h.StartNS,
		Committed: h.Committed, Events: h.Events, Polls: h.Polls, Incomplete: h.Incomplete, Ended: h.Ended,
		IncompleteEvent: h.IncompleteEvent, CurrentOp: uint32(h.CurrentOp),
		Unrecorded: uint32(h.Unrecorded),
	}
	copy(out.IncompleteCall[:len(out.IncompleteCall)-1], h.IncompleteCall)
	copy(page, abi.Bytes(&out))
	copy(page[abi.UndecidedOffset:], abi.Bytes(&h.Undecided))
	return page
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// decodeHeader reads the header from the first bytes of a file, which may be fewer than a page.
func decodeHeader(path string, page []byte) (Header, error) {
	bad := func(kind error, offset uintptr, want, got string) (Header, error) {
		return Header{}, &FormatError{
			Path: path, Offset: int64(offset), What: "header", Want: want, Got: got, Kind: kind,
		}
	}
	in := abi.Read[abi.TraceHeader](page)
	if len(page) < 12 || in.Magic != abi.TraceMagic {
		got := "another file"
		if len(page) < 12 {
			got = fmt.Sprintf("a file of %d bytes", len(page))
		}
		return bad(ErrNotTrace, 0, "the magic of a Cohort trace", got)
	}
	if in.Version != abi.TraceVersion {
		return Header{}, RefuseVersion("trace file", path, int64(in.Version), abi.TraceVersion)
	}
	if len(page) < abi.TraceHeaderSize {
		return bad(ErrTruncated, uintptr(len(page)), fmt.Sprintf("a header page of %d bytes", abi.TraceHeaderSize),
			fmt.Sprintf("%d bytes", len(page)))
	}
	if size := abi.Size[abi.TraceHeader](); int64(in.Size) != int64(size) {
		return bad(ErrMalformed, unsafe.Offsetof(in.Size), fmt.Sprintf("a header of %d bytes", size),
			fmt.Sprint(in.Size))
	}
	if !in.Ended.Known() {
		return bad(ErrMalformed, unsafe.Offsetof(in.Ended), fmt.Sprintf("a reason from 0 to %d why the trace ends",
			uint32(abi.EndedRepaired)), fmt.Sprint(uint32(in.Ended)))
	}
	if in.CurrentOp != uint32(mpispec.OpNone) && !mpispec.Op(in.CurrentOp).Known() {
		return bad(ErrMalformed, unsafe.Offsetof(in.CurrentOp), "an operation that is known", fmt.Sprint(in.CurrentOp))
	}
	if !in.Mode.IsRecorded() {
		return Header{}, RefuseMode(path, in.Mode.String())
	}
	h := Header{
		Version: in.Version, Mode: in.Mode, Flags: in.Flags, Rank: in.Rank, WorldSize: in.WorldSize, MPI: in.MPI,
		Closed: in.Closed != 0, StartNS: in.StartNS, Committed: in.Committed, Events: in.Events, Polls: in.Polls,
		Incomplete: in.Incomplete, Ended: in.Ended, IncompleteCall: abi.Text(in.IncompleteCall[:]),
		IncompleteEvent: in.IncompleteEvent, CurrentOp: mpispec.Op(in.CurrentOp),
		Unrecorded: ValueKinds(in.Unrecorded),
	}
	h.Undecided = abi.Read[abi.Undecided](page[abi.UndecidedOffset:])
	if h.Mode != abi.ModeRacing {
		h.Undecided = abi.Undecided{Overtaken: h.Undecided.Overtaken}
	}
	if b := CheckUndecided(h.Pending()); b != nil {
		return bad(ErrMalformed, abi.UndecidedOffset+unsafe.Offsetof(h.Undecided.Pending), b.Want, b.Got)
	}
	if h.WorldSize != 0 && h.Rank >= h.WorldSize {
		return bad(ErrMalformed, unsafe.Offsetof(in.Rank), fmt.Sprintf("a rank below the world size %d", h.WorldSize),
			fmt.Sprint(h.Rank))
	}
	if h.Committed < abi.TraceHeaderSize {
		return bad(ErrMalformed, unsafe.Offsetof(in.Committed),
			fmt.Sprintf("at least %d committed bytes", abi.TraceHeaderSize), fmt.Sprint(h.Committed))
	}
	return h, nil
}
