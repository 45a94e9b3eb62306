package control

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

var size = abi.Size[abi.Control]() //nolint:gochecknoglobals // a constant that Go cannot have as one

// Block is a control block shared with one rank through a mapped file. Its methods may be called by several
// goroutines at once; Close must come after all of them have returned.
type Block struct {
	mem   []byte
	block *abi.Control
}

// Start is what Cohort tells a rank before its program starts.
type Start struct {
	Mode      abi.Mode
	Flags     abi.Flag
	Rank      int
	WorldSize int    // 0: unknown
	ParkAt    uint64 // abi.Never, or the position at which to park
	GuardAt   uint64 // abi.Never, or the position after which to stop
}

// Create makes the file (mode 0600; it must not exist), writes the block that the rank will find and maps it.
func Create(path string, start Start) (*Block, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the control block of rank %d: %w", start.Rank, err)
	}
	defer file.Close() //nolint:errcheck // the mapping stays; nothing was written through the descriptor
	if err := file.Truncate(int64(size)); err != nil {
		return nil, errors.Join(fmt.Errorf("sizing the control block %s: %w", path, err), os.Remove(path))
	}
	c, err := mapControl(file)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	b := c.block
	b.Version, b.Size = abi.ControlVersion, uint32(size)
	b.Mode, b.Flags = start.Mode, start.Flags
	b.Rank, b.WorldSize = uint32(start.Rank), uint32(start.WorldSize)
	b.ParkAt, b.GuardAt = start.ParkAt, start.GuardAt
	atomic.StoreUint64(&b.Magic, abi.ControlMagic)
	return c, nil
}

// Open maps a control block that Create made. It refuses a file that is not one, or is of another version.
func Open(path string) (*Block, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a control block: %w", err)
	}
	defer file.Close() //nolint:errcheck // the mapping stays; nothing was written through the descriptor
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening the control block %s: %w", path, err)
	}
	if info.Size() < int64(size) {
		return nil, fmt.Errorf("opening the control block %s: it has %d bytes, and needs %d: %w", path, info.Size(),
			size, io.ErrUnexpectedEOF)
	}
	c, err := mapControl(file)
	if err != nil {
		return nil, err
	}
	if err := check(c.block); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the control block %s: %w", path, err), c.Close())
	}
	return c, nil
}

func check(b *abi.Control) error {
	magic := atomic.LoadUint64(&b.Magic)
	if magic == abi.ControlMagic && b.Version == abi.ControlVersion {
		return nil
	}
	return fmt.Errorf("found magic %#x and version %d, expected %#x and %d", magic, b.Version,
		uint64(abi.ControlMagic), abi.ControlVersion)
}

func mapControl(file *os.File) (*Block, error) {
	mem, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the control block %s: %w", file.Name(), err)
	}
	block := (*abi.Control)(unsafe.Pointer(&mem[0])) //nolint:gosec // the mapping has the size of the block
	return &Block{mem: mem, block: block}, nil
}

// Close unmaps the block; the file stays. A second Close does nothing.
func (c *Block) Close() error {
	if c.mem == nil {
		return nil
	}
	err := unix.Munmap(c.mem)
	c.mem, c.block = nil, nil
	if err != nil {
		return fmt.Errorf("unmapping a control block: %w", err)
	}
	return nil
}

// State is the rank's state.
func (c *Block) State() abi.State { return abi.State(atomic.LoadUint32((*uint32)(&c.block.State))) }

// Events is how many events the rank has completed.
func (c *Block) Events() uint64 { return atomic.LoadUint64(&c.block.Events) }

// SetParkAt sets the position at which the rank parks. The rank sets it back to abi.Never when it parks. A position
// that the rank has already reached parks it at the end of its event in progress.
func (c *Block) SetParkAt(position uint64) { atomic.StoreUint64(&c.block.ParkAt, position) }

// ParkAt is the position at which the rank will park, or abi.Never.
func (c *Block) ParkAt() uint64 { return atomic.LoadUint64(&c.block.ParkAt) }

// SetGuardAt sets the position after which the rank must not begin another event without stopping first.
func (c *Block) SetGuardAt(position uint64) { atomic.StoreUint64(&c.block.GuardAt, position) }

// GuardAt is the guard position, or abi.Never.
func (c *Block) GuardAt() uint64 { return atomic.LoadUint64(&c.block.GuardAt) }

// Release lets a parked rank continue as told. A rank that is not parked yet remembers it: it acts at its next park on
// a release that it has not acted upon. So release once per park, after abi.StateParked.
func (c *Block) Release(how abi.Release) {
	for {
		old := atomic.LoadUint32(&c.block.Release)
		next := (old>>8+1)<<8 | uint32(how)
		if atomic.CompareAndSwapUint32(&c.block.Release, old, next) {
			break
		}
	}
	futexWake(&c.block.Release)
}

// Progress is what a rank has written about itself, read at one time but not atomically as a whole.
type Progress struct {
	State           abi.State
	StopReason      abi.StopReason // valid in abi.StateStopped
	Events          uint64         // completed
	Current         uint64         // number of the event in progress, 0 outside MPI
	CurrentOp       uint32         // package trace names it
	Polls           uint64         // failed polls since the last event
	Messages        uint64         // sent
	Bytes           uint64         // of payload sent
	Decisions       uint64         // recording: written; replay: consumed
	TraceBytes      uint64
	Incomplete      uint32 // calls that record/replay does not cover
	IncompleteCall  string // the first of them
	IncompleteEvent uint64
	Divergence      abi.Divergence         // valid in abi.StateDiverged
	Message         string                 // abi.StateRefused, or a trace that cannot be written: one sentence
	Recent          []abi.Recent           // the last calls that it began, in order
	Calls           [abi.Operations]uint64 // of Events, how many are of each operation
}

// Read reads a control block that was found in a rank's memory. It refuses bytes that are none, or of another
// version.
func Read(mem []byte) (rank, worldSize int, p Progress, err error) {
	if len(mem) < size {
		return 0, 0, Progress{}, fmt.Errorf("reading a control block: %d bytes, and it has %d: %w", len(mem),
			size, io.ErrUnexpectedEOF)
	}
	b := abi.Read[abi.Control](mem)
	if err := check(&b); err != nil {
		return 0, 0, Progress{}, fmt.Errorf("reading a control block: %w", err)
	}
	return int(b.Rank), int(b.WorldSize), (&Block{block: &b}).Progress(), nil
}

// Progress reads everything that the rank writes.
func (c *Block) Progress() Progress {
	b := c.block
	state := abi.State(atomic.LoadUint32((*uint32)(&b.State))) // first: what belongs to a state was written before it
	p := Progress{
		State:      state,
		StopReason: abi.StopReason(atomic.LoadUint32((*uint32)(&b.StopReason))),
		Events:     atomic.LoadUint64(&b.Events),
		Current:    atomic.LoadUint64(&b.Current),
		CurrentOp:  atomic.LoadUint32(&b.CurrentOp),
		Polls:      atomic.LoadUint64(&b.Polls),
		Messages:   atomic.LoadUint64(&b.Messages),
		Bytes:      atomic.LoadUint64(&b.Bytes),
		Decisions:  atomic.LoadUint64(&b.Decisions),
		TraceBytes: atomic.LoadUint64(&b.TraceBytes),
		Incomplete: atomic.LoadUint32(&b.Incomplete),
	}
	if p.Incomplete > 0 { // the name is written before the first count
		p.IncompleteCall = abi.Text(b.IncompleteCall[:])
		p.IncompleteEvent = atomic.LoadUint64(&b.IncompleteEvent)
	}
	if state == abi.StateDiverged {
		p.Divergence = b.Divergence
	}
	p.Message = abi.Text(b.Message[:])
	p.Recent = recentCalls(&b.Recent, p.Events)
	for op := range p.Calls {
		p.Calls[op] = atomic.LoadUint64(&b.Calls[op])
	}
	return p
}

// recentCalls brings the ring into order. The rank may be writing an entry: one that is of another round than its place
// says is left out.
func recentCalls(ring *[abi.RecentMax]abi.Recent, events uint64) []abi.Recent {
	var calls []abi.Recent
	for event := events - min(events, abi.RecentMax-2); event <= events+1; event++ {
		if call := ring[event%abi.RecentMax]; call.Event == event && event != 0 {
			calls = append(calls, call)
		}
	}
	return calls
}
