package handles_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/handles"
	"github.com/cohort-debugger/cohort/prettyprint/prettyprinttest"
)

// image is a rank that is an image of memory; it counts what is read.
type image struct {
	backend.Inspector
	*prettyprinttest.Image
	registry uint64
	reads    int
}

func (i *image) ReadMemory(ctx context.Context, addr uint64, n int) ([]byte, error) {
	i.reads++
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	b := make([]byte, n)
	n, _ = i.Image.ReadMemory(addr, b) // less is how an image says that there is no more
	return b[:n], nil
}

func (i *image) SymbolAddress(context.Context, string) (uint64, error) { return i.registry, nil }

func (i *image) LineAt(context.Context, uint64) (backend.SourceLine, error) {
	return backend.SourceLine{}, errors.New("no line")
}

// TestOneRegistryForAStop describes many handles at one stop, and reads the registry once; after the rank has resumed
// it is read again, and so it is when a request was given up in the middle.
func TestOneRegistryForAStop(t *testing.T) {
	im := prettyprinttest.NewImage(prettyprinttest.MPICH)
	column := im.Vector(8, 1, 10, im.Named("MPI_DOUBLE"))
	rank := &image{Image: im, registry: im.Publish()}
	d := handles.New(rank)
	reads := func(ctx context.Context) (n int, err error) {
		before := rank.reads
		_, err = d.Describe(ctx, "MPI_Datatype", column.Handle)
		return rank.reads - before, err
	}
	first, err := reads(t.Context())
	if err != nil || first < 4 {
		t.Fatalf("%d reads, %v", first, err)
	}
	const again = 2 // the table's size and a part of it, to find the handle
	if n, err := reads(t.Context()); n != again || err != nil {
		t.Errorf("the second time: %d reads, %v; want %d", n, err, again)
	}
	d.Forget()
	if n, err := reads(t.Context()); n != first || err != nil {
		t.Errorf("after the rank resumed: %d reads, %v; want %d", n, err, first)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	d.Forget()
	cancel()
	if _, err := reads(cancelled); err == nil {
		t.Error("a request that was given up gives an answer")
	}
	if n, err := reads(t.Context()); n != first || err != nil {
		t.Errorf("after a request that was given up: %d reads, %v; want %d", n, err, first)
	}
}
