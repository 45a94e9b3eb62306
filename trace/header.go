package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Sizes and magics of the mirror of cohort_abi.h.
const (
	HeaderSize = 4096 // bytes before the first chunk (COHORT_TRACE_HEADER_SIZE)
	ChunkMax   = 65536

	headerStructSize = 144
	chunkHeaderSize  = 24
	// A record that is larger than ChunkMax stands alone in a chunk of its own; beyond this bound a length is taken for
	// a lie.
	chunkLimit = 16 << 20

	traceMagic = 0x00435254484f43
	chunkMagic = 0x4b4e4843
)

// Never is the position that is never reached (COHORT_NEVER).
const Never = ^uint64(0)

// Mode says what the interposer wrote (enum cohort_mode).
type Mode uint32

// The modes. A replay that writes a trace writes it in ModeFull.
const (
	ModeOff    Mode = 0
	ModeOrder  Mode = 1
	ModeRacing Mode = 2
	ModeFull   Mode = 3
	ModeReplay Mode = 4
)

var modeNames = [...]string{"off", "order", "racing", "full", "replay"} //nolint:gochecknoglobals // constant table

// IsRecorded reports whether a recording can be of this mode.
func (m Mode) IsRecorded() bool { return m == ModeOrder || m == ModeRacing || m == ModeFull }

func (m Mode) String() string {
	if int64(m) < int64(len(modeNames)) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint32(m))
}

// ParseMode is the inverse of Mode.String.
func ParseMode(name string) (Mode, bool) {
	for m, n := range modeNames {
		if n == name {
			return Mode(m), true
		}
	}
	return ModeOff, false
}

// The MPI implementations by the number that the header has for them.
const (
	MPIUnknown = 0
	MPIMpich   = 1
	MPIOpenMPI = 2
)

// Ended says why a trace ends although its rank went on (enum cohort_ended).
type Ended uint32

// The reasons. From EndedDisk on the header is as it was when writing ended: the trace counts as that of a rank that
// was killed then.
const (
	EndedNot          Ended = 0
	EndedDiskCounting Ended = 1 // EndedDisk, as older libraries wrote it: the header's counters went on
	EndedDisk         Ended = 2
	EndedUnable       Ended = 3
	EndedRepaired     Ended = 4 // Repair left the rest out
	endedLast               = EndedRepaired
)

// Known reports whether this version of the format has the reason.
func (e Ended) Known() bool { return e <= endedLast }

func (e Ended) String() string {
	switch e {
	case EndedNot:
		return "the trace has its end"
	case EndedDiskCounting, EndedDisk:
		return "the disk was full"
	case EndedUnable:
		return "the trace could not be written on"
	case EndedRepaired:
		return "what came after was damaged"
	}
	return fmt.Sprintf("ended(%d)", uint32(e))
}

// Header is the mirror of struct cohort_trace_header.
type Header struct {
	Version         uint32
	Mode            Mode
	Flags           uint32 // enum cohort_flag as run
	Rank, WorldSize uint32
	MPI             uint32 // MPIMpich, MPIOpenMPI
	Closed          bool   // closed after MPI_Finalize; else the file was cut short
	StartNS         uint64 // CLOCK_REALTIME at initialisation, nanoseconds
	Committed       uint64 // bytes of the file that are valid, header page included
	Events          uint64 // events completed; may be ahead of the last record in ModeOrder
	Polls           uint64 // failed polls since the last event that is in the file
	Incomplete      uint32 // calls that record/replay does not cover
	Ended           Ended  // why the trace ends although its rank went on
	IncompleteCall  string // name of the first of them, at most 47 bytes
	IncompleteEvent uint64
	Undecided       Undecided  // of other modes than ModeRacing only Overtaken
	CurrentOp       mpispec.Op // the call in progress, event Events + 1; OpNone: outside MPI
}

// Start returns the time at which the rank's MPI was initialised.
func (h *Header) Start() time.Time {
	return time.Unix(int64(h.StartNS/1e9), int64(h.StartNS%1e9))
}

// encode returns the header page.
func (h *Header) encode() []byte {
	page := make([]byte, HeaderSize)
	le := binary.LittleEndian
	le.PutUint64(page[0:], traceMagic)
	le.PutUint32(page[8:], h.Version)
	le.PutUint32(page[12:], headerStructSize)
	le.PutUint32(page[16:], uint32(h.Mode))
	le.PutUint32(page[20:], h.Flags)
	le.PutUint32(page[24:], h.Rank)
	le.PutUint32(page[28:], h.WorldSize)
	le.PutUint32(page[32:], h.MPI)
	le.PutUint32(page[36:], b2u(h.Closed))
	le.PutUint64(page[40:], h.StartNS)
	le.PutUint64(page[48:], h.Committed)
	le.PutUint64(page[56:], h.Events)
	le.PutUint64(page[64:], h.Polls)
	le.PutUint32(page[72:], h.Incomplete)
	le.PutUint32(page[76:], uint32(h.Ended))
	copy(page[80:127], h.IncompleteCall)
	le.PutUint64(page[128:], h.IncompleteEvent)
	le.PutUint32(page[136:], uint32(h.CurrentOp))
	h.Undecided.encode(page)
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
	le := binary.LittleEndian
	bad := func(kind error, offset int64, want, got string) (Header, error) {
		return Header{}, &FormatError{Path: path, Offset: offset, What: "header", Want: want, Got: got, Kind: kind}
	}
	if len(page) < 12 || le.Uint64(page) != traceMagic {
		got := "another file"
		if len(page) < 12 {
			got = fmt.Sprintf("a file of %d bytes", len(page))
		}
		return bad(ErrNotTrace, 0, "the magic of a Cohort trace", got)
	}
	if v := le.Uint32(page[8:]); v != abi.TraceVersion {
		return Header{}, &VersionError{Path: path, What: "trace file", Found: int64(v), Supported: abi.TraceVersion}
	}
	if len(page) < HeaderSize {
		return bad(ErrTruncated, int64(len(page)), fmt.Sprintf("a header page of %d bytes", HeaderSize),
			fmt.Sprintf("%d bytes", len(page)))
	}
	if size := le.Uint32(page[12:]); size != headerStructSize {
		return bad(ErrMalformed, 12, fmt.Sprintf("a header of %d bytes", headerStructSize), fmt.Sprint(size))
	}
	h := Header{
		Version: le.Uint32(page[8:]), Mode: Mode(le.Uint32(page[16:])), Flags: le.Uint32(page[20:]),
		Rank: le.Uint32(page[24:]), WorldSize: le.Uint32(page[28:]), MPI: le.Uint32(page[32:]),
		Closed: le.Uint32(page[36:]) != 0, StartNS: le.Uint64(page[40:]), Committed: le.Uint64(page[48:]),
		Events: le.Uint64(page[56:]), Polls: le.Uint64(page[64:]), Incomplete: le.Uint32(page[72:]),
		Ended: Ended(le.Uint32(page[76:])), IncompleteEvent: le.Uint64(page[128:]),
	}
	name := page[80:128]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	h.IncompleteCall = string(name)
	if !h.Ended.Known() {
		return bad(ErrMalformed, 76, fmt.Sprintf("a reason from 0 to %d why the trace ends", endedLast),
			fmt.Sprint(uint32(h.Ended)))
	}
	current := le.Uint32(page[136:])
	if current != uint32(mpispec.OpNone) && !mpispec.Op(current).Known() {
		return bad(ErrMalformed, 136, "an operation that is known", fmt.Sprint(current))
	}
	h.CurrentOp = mpispec.Op(current)
	if !h.Mode.IsRecorded() {
		return Header{}, &ModeError{Path: path, Mode: h.Mode.String()}
	}
	if h.Mode == ModeRacing {
		var err error
		if h.Undecided, err = decodeUndecided(path, page); err != nil {
			return Header{}, err
		}
	} else {
		h.Undecided.Overtaken = le.Uint32(page[undecidedOffset+8:])
	}
	if h.WorldSize != 0 && h.Rank >= h.WorldSize {
		return bad(ErrMalformed, 24, fmt.Sprintf("a rank below the world size %d", h.WorldSize), fmt.Sprint(h.Rank))
	}
	if h.Committed < HeaderSize {
		return bad(ErrMalformed, 48, fmt.Sprintf("at least %d committed bytes", HeaderSize), fmt.Sprint(h.Committed))
	}
	return h, nil
}
