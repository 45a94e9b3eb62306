package handles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/command"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// A Decoder decodes the MPI objects of the rank behind one debugger. What it has read of the registry serves until
// Forget. Its methods may be called from any goroutine; all but Forget are carried out one at a time. The nodes that it
// gives out are opened by Children, and not after the rank has resumed.
type Decoder struct {
	rank backend.Inspector
	// NoRegistry says why a rank has no registry, where somebody knows better than this package.
	NoRegistry string

	forgotten atomic.Uint64 // how often

	turn     chan struct{}   // holds one token; who has it may use what follows
	ctx      context.Context //nolint:containedctx // of the request that has the turn
	registry *handle.Rank    // nil: to be opened
	read     uint64          // forgotten, when it was opened
	places   map[uint64]string
}

// New returns the decoder of a rank.
func New(rank backend.Inspector) *Decoder { return &Decoder{rank: rank, turn: make(chan struct{}, 1)} }

// Forget says that the rank's memory may have changed. It waits for nobody.
func (d *Decoder) Forget() { d.forgotten.Add(1) }

// ReadMemory implements registry.MemoryReader, for the request that has the turn.
func (d *Decoder) ReadMemory(addr uint64, p []byte) (int, error) {
	data, err := d.rank.ReadMemory(d.ctx, addr, len(p))
	n := copy(p, data)
	if err == nil && n < len(p) {
		err = fmt.Errorf("unmapped at 0x%x", addr+uint64(n))
	}
	return n, err
}

// with lets f use the decoder when its turn has come.
func (d *Decoder) with(ctx context.Context, f func() error) error {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.turn }()
	d.ctx = ctx
	err := f()
	if ctx.Err() != nil { // what could not be read in time must not count as unreadable
		d.registry = nil
	}
	return err
}

// open gives the registry as it is since the last Forget.
func (d *Decoder) open() (*handle.Rank, error) {
	now := d.forgotten.Load()
	if d.registry != nil && d.read == now {
		return d.registry, nil
	}
	addr, err := d.rank.SymbolAddress(d.ctx, "cohort_registry")
	if err != nil {
		var state *backend.StateError
		if errors.As(err, &state) || d.ctx.Err() != nil {
			return nil, err
		}
		return nil, errors.New(cmp.Or(d.NoRegistry, "This rank runs without Cohort's library libcohort.so, so MPI "+
			"handles cannot be decoded. It is loaded when the program is linked to an MPI library dynamically and was "+
			"started by cohort, without noInterpose."))
	}
	d.registry = nil
	r, err := handle.Open(d, addr)
	if err != nil {
		return nil, err
	}
	r.Env = registry.Surroundings{Locate: d.locate, Symbol: d.symbol, Machine: d.machine, Now: d.now}
	d.registry, d.read, d.places = r, now, map[uint64]string{}
	return r, nil
}

// Children opens a page of a node.
func (d *Decoder) Children(ctx context.Context, n *view.Node, from, to int) (kids []view.Node, err error) {
	err = d.with(ctx, func() error {
		kids, err = n.Children(from, to)
		return err
	})
	return kids, err
}

// Run runs a line of the mpipp command, without the word mpipp. The node has the answer's name, value and type.
func (d *Decoder) Run(ctx context.Context, frame backend.FrameID, args string) (out backend.EvaluateResult,
	node view.Node, err error,
) {
	err = d.with(ctx, func() error {
		r, err := d.open()
		if err != nil {
			return err
		}
		result, err := command.Run(r, &resolver{Decoder: d, frame: frame}, args)
		switch {
		case err != nil:
			return err
		case len(result.Text) > maxText:
			return fmt.Errorf("the answer has %d bytes of text, and at most %d are sent; "+
				"ask for less with --list, and for the rest with --from", len(result.Text), maxText)
		}
		node = result.Node
		out = backend.EvaluateResult{Text: result.Text, Variable: node.Variable, File: result.File}
		out.Name = "mpipp " + args
		return nil
	})
	return out, node, err
}

// maxText bounds an answer: it travels in one frame (launch/wire), and somebody is to read it.
const maxText = 48 << 20

// Describe returns the meaning of a handle of the MPI type that typeName names ("MPI_Datatype", "const MPI_Comm", ...;
// "Type MPI_Datatype" in Fortran). An error leaves the variable as the debugger shows it.
func (d *Decoder) Describe(ctx context.Context, typeName string, handle uint64) (node view.Node, err error) {
	fortran := strings.HasPrefix(typeName, "Type ") // TYPE(MPI_Datatype) of mpi_f08 holds the Fortran handle
	err = d.with(ctx, func() error {
		r, err := d.open()
		if err == nil {
			node, err = call.Describe(r, typeName, handle, fortran)
		}
		return err
	})
	return node, err
}

// symbol is the address of a symbol of the MPI library.
func (d *Decoder) symbol(name string) (uint64, bool) {
	addr, err := d.rank.SymbolAddress(d.ctx, name)
	return addr, err == nil
}

func (d *Decoder) machine() string {
	target, err := d.rank.Target(d.ctx)
	if err != nil {
		return ""
	}
	return target.Machine
}

// now is the time by the clock that the rank's times are of.
func (d *Decoder) now() (int64, bool) {
	if target, err := d.rank.Target(d.ctx); err != nil || !target.Living {
		return 0, false
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, false
	}
	return t.Nano(), true
}

// locate names the line of a call by its return address. Each is asked about once: types are made in loops.
func (d *Decoder) locate(pc uint64) string {
	if where, known := d.places[pc]; known || pc == 0 {
		return where
	}
	at, err := d.rank.LineAt(d.ctx, pc-1)
	if err != nil {
		return ""
	}
	where := at.Function // of C that cgo writes, nothing else is known
	if at.Line != 0 {
		where = fmt.Sprintf("%s:%d", filepath.Base(at.File), at.Line)
		if at.Function != "" {
			where += " in " + at.Function
		}
	}
	d.places[pc] = where
	return where
}
