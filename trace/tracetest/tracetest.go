// Package tracetest makes traces and recordings for tests.
package tracetest

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/decisions"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// Meta is what recording.json says of a run of an order-mode recording.
func Meta(ranks int) recording.Meta {
	return recording.Meta{
		Cohort:     "v0",
		Command:    []string{"./p", "a b"},
		Cwd:        "/tmp",
		Env:        []string{"OMP_NUM_THREADS=1"},
		Ranks:      ranks,
		MPI:        recording.MPI{Kind: "mpich", Version: "4.0.2"},
		Mode:       "order",
		Program:    recording.Program{Path: "/tmp/p", ID: "00ff", IDKind: recording.IDBuild},
		Interposer: "abc",
		Start:      time.Unix(1, 2).UTC(),
	}
}

// Fill writes traces of a tiny execution: rank 0 receives from anyone what the others send.
func Fill(t *testing.T, dir string, mode abi.Mode, ranks int) {
	t.Helper()
	for rank := range ranks {
		var events uint64
		switch {
		case rank == 0:
			events = uint64(max(ranks-1, 1))
		case mode == abi.ModeOrder:
			events = 1
		}
		w, err := trace.CreateFile(filepath.Join(dir, recording.RankFile(rank)), trace.Header{
			Mode: mode, Rank: uint32(rank), WorldSize: uint32(ranks),
			Events: events,
		})
		if err != nil {
			t.Fatal(err)
		}
		put := func(r trace.Record) {
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		world := &trace.Comm{GlobalID: trace.WorldID, CommKind: abi.CommIntra, MyRank: uint32(rank)}
		for i := range ranks {
			world.Members = append(world.Members, uint32(i))
		}
		put(world)
		for source := 1; source < ranks; source++ {
			event := uint64(source)
			switch {
			case rank == 0 && mode == abi.ModeOrder:
				put(&trace.Match{Event: event, Op: mpispec.OpRecv, Source: int32(source), Tag: 1})
			case rank == 0:
				put(&trace.Event{Index: event, Op: mpispec.OpRecv, Recv: trace.RecvArgs{
					AskedSource: -1, AskedTag: 1, Source: int32(source),
					Tag: 1, Bytes: 4,
				}})
			case rank == source && mode == abi.ModeFull:
				put(&trace.Event{Index: 1, Op: mpispec.OpSend, Send: trace.SendArgs{Dest: 0, Tag: 1, Bytes: 4}})
			}
		}
		put(&trace.End{How: 1})
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
	}
}

// Recording is one of the execution of Fill.
func Recording(t *testing.T, ranks int) *recording.Recording {
	t.Helper()
	rec, err := recording.Create(filepath.Join(t.TempDir(), "run.cohort"), Meta(ranks), recording.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	Fill(t, rec.Dir, abi.ModeOrder, ranks)
	return rec
}

// WorldComm is MPI_COMM_WORLD of two ranks.
func WorldComm() *trace.Comm {
	return &trace.Comm{Index: 0, GlobalID: trace.WorldID, CommKind: abi.CommIntra, MyRank: 0, Members: []uint32{0, 1}}
}

// Buffer is a trace file in memory.
type Buffer struct{ Bytes []byte }

// WriteAt implements io.WriterAt.
func (f *Buffer) WriteAt(p []byte, at int64) (int, error) {
	if end := int(at) + len(p); end > len(f.Bytes) {
		f.Bytes = append(f.Bytes, make([]byte, end-len(f.Bytes))...)
	}
	return copy(f.Bytes[at:], p), nil
}

// Reader reads the file from its beginning.
func (f *Buffer) Reader(t Fataler) *trace.Reader {
	r, err := trace.NewReader(bytes.NewReader(f.Bytes), int64(len(f.Bytes)), "memory")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Fataler is *testing.T, or *rapid.T.
type Fataler interface{ Fatal(args ...any) }

// Write makes a file of records; closed says how it ends.
func Write(t Fataler, h trace.Header, records []trace.Record, closed bool) *Buffer {
	f := &Buffer{}
	w := trace.NewWriter(f, h)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	end := w.Cut
	if closed {
		end = w.Finish
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	return f
}

// NewSim makes one of an execution of no calls, of rank 1 of 2.
func NewSim(t *rapid.T) *Sim { return &Sim{t: t, Want: decisions.Plan{Rank: 1, WorldSize: 2}} }
