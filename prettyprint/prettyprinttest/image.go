package prettyprinttest

import (
	"encoding/binary"
	"math"
)

// Numbers of cohort_abi.h.
const (
	MPICH   = 1
	OpenMPI = 2

	Unknown = math.MinInt64 // a figure that the library did not report

	Committed = 1
	Freed     = 2
	LongName  = 4 // Datatype sets it itself
)

// TypeRecord is a struct cohort_datatype with its arguments.
type TypeRecord struct {
	Combiner, State, Refs                          uint32
	Handle                                         uint64
	FHandle                                        int32
	Basic, Pair, BasicSize                         uint32
	TypeSize, LB, Extent, TrueLB, TrueExtent       int64
	ID, Event, CallSite                            uint64
	Name                                           string
	Integers, Addresses                            []int64
	Types                                          []uint64
	OverrideSize                                   uint32 // instead of the true size of the record
	OverrideIntegers, OverrideAddresses, OverrideN uint32 // instead of the true counts
}

// CommRecord is a struct cohort_comm with what follows.
type CommRecord struct {
	Kind                uint32
	Handle              uint64
	FHandle             int32
	Index               uint32
	GlobalID, ParentID  uint64
	Size, Rank, State   uint32
	ID, Event, CallSite uint64
	Name                string
	Members, Remote     []uint32
	Dims, Periods       []int32
	Coords              []int32
}

// Image is a registry in a fake memory.
type Image struct {
	Memory
	MPI     uint32
	Version uint32
	Magic   uint64
	Compact bool // records side by side instead of each in a page of its own, with nothing mapped between
	next    uint64
	types   []slot
	comms   []slot
	nextID  uint64
	named   map[string]*Type

	Features            uint32 // 0: datatypes and communicators, and what was laid out
	FirstCall, Detached uint64
	InPlace             uint64
	objects             [tables][]slot
}

type slot struct{ handle, record uint64 }

// NewImage returns an empty image for one of the two libraries.
func NewImage(mpi uint32) *Image {
	return &Image{MPI: mpi, Version: 3, Magic: 0x00474552484f43, next: 0x7f0000001000, named: map[string]*Type{}}
}

// Alloc maps data somewhere, with unmapped memory around it unless the image is Compact, and returns its address.
func (im *Image) Alloc(data []byte) uint64 {
	at := im.next
	im.Map(at, data)
	if im.Compact {
		im.next += (uint64(len(data)) + 15) / 16 * 16
		return at
	}
	im.next += (uint64(len(data))+4095)/4096*4096 + 4096
	return at
}

type writer []byte

func (w *writer) u32(v uint32) { *w = binary.LittleEndian.AppendUint32(*w, v) }
func (w *writer) u64(v uint64) { *w = binary.LittleEndian.AppendUint64(*w, v) }
func (w *writer) i64(v int64)  { w.u64(uint64(v)) }
func (w *writer) name(s string, room int) {
	f := make([]byte, room)
	copy(f[:room-1], s)
	*w = append(*w, f...)
}

// pick returns the override if there is one.
func pick(override, v uint32) uint32 {
	if override != 0 {
		return override
	}
	return v
}

// Datatype lays out a record and publishes it under its handle, unless the handle is 0. It returns the record's
// address.
func (im *Image) Datatype(r TypeRecord) uint64 {
	im.nextID++
	if r.ID == 0 {
		r.ID = im.nextID
	}
	size := uint32(160 + 8*(len(r.Integers)+len(r.Addresses)+len(r.Types)))
	var w writer
	long := uint64(0)
	if len(r.Name) > 31 {
		r.State |= LongName
		long = im.Alloc(append([]byte(r.Name), 0))
	}
	w.u32(pick(r.OverrideSize, size))
	w.u32(r.Combiner)
	w.u32(r.State)
	w.u32(r.Refs)
	w.u64(r.Handle)
	w.u32(uint32(r.FHandle))
	w.u32(r.Basic)
	w.u32(r.Pair)
	w.u32(r.BasicSize)
	for _, v := range []int64{r.TypeSize, r.LB, r.Extent, r.TrueLB, r.TrueExtent} {
		w.i64(v)
	}
	w.u64(r.ID)
	w.u64(r.Event)
	w.u64(r.CallSite)
	if long != 0 {
		w.name(r.Name, 24)
		w.u64(long)
	} else {
		w.name(r.Name, 32)
	}
	w.u64(0) // stack
	w.u32(pick(r.OverrideIntegers, uint32(len(r.Integers))))
	w.u32(pick(r.OverrideAddresses, uint32(len(r.Addresses))))
	w.u32(pick(r.OverrideN, uint32(len(r.Types))))
	w.u32(0)
	for _, v := range r.Integers {
		w.i64(v)
	}
	for _, v := range r.Addresses {
		w.i64(v)
	}
	for _, v := range r.Types {
		w.u64(v)
	}
	at := im.Alloc(w)
	if r.Handle != 0 {
		im.types = append(im.types, slot{r.Handle, at})
	}
	return at
}

// Comm lays out a communicator's record and publishes it.
func (im *Image) Comm(r CommRecord) uint64 {
	size := 168 + 4*(len(r.Members)+len(r.Remote)+3*len(r.Dims))
	var w writer
	w.u32(uint32(size))
	w.u32(r.Kind)
	w.u64(r.Handle)
	w.u32(uint32(r.FHandle))
	w.u32(r.Index)
	w.u64(r.GlobalID)
	w.u64(r.ParentID)
	w.u32(r.Size)
	w.u32(r.Rank)
	w.u32(r.State)
	w.u32(uint32(len(r.Dims)))
	w.u64(r.ID)
	w.u64(r.Event)
	w.u64(r.CallSite)
	w.name(r.Name, 64)
	w.u64(0) // stack
	w.u32(1) // refs
	w.u32(1) // holds
	w.u32(uint32(len(r.Members)))
	w.u32(uint32(len(r.Remote)))
	for _, l := range [][]uint32{r.Members, r.Remote} {
		for _, v := range l {
			w.u32(v)
		}
	}
	for _, l := range [][]int32{r.Dims, r.Periods, r.Coords} {
		for _, v := range l {
			w.u32(uint32(v))
		}
	}
	at := im.Alloc(w)
	im.comms = append(im.comms, slot{r.Handle, at})
	return at
}

// Tombstone records that the handle was freed.
func (im *Image) Tombstone(handle uint64) { im.types = append(im.types, slot{handle, 1}) }

// Publish writes the tables and the registry and returns the address of cohort_registry. It is called last.
func (im *Image) Publish() uint64 {
	types, comms := im.table(im.types), im.table(im.comms)
	handle := uint32(4)
	if im.MPI == OpenMPI {
		handle = 8
	}
	var w writer
	w.u64(im.Magic)
	w.u32(im.Version)
	w.u32(176)
	w.u32(im.MPI)
	w.u32(handle)
	w.u64(types)
	w.u64(comms)
	features := uint32(3) // datatypes and communicators
	bits := [tables]uint32{1 << 2, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8, 1 << 9}
	for i, entries := range &im.objects {
		at := uint64(0)
		if len(entries) > 0 {
			at = im.table(entries)
			features |= bits[i]
		}
		w.u64(at)
	}
	if im.FirstCall != 0 {
		features |= FeatureCalls
	}
	if im.Features != 0 {
		features = im.Features
	}
	w.u64(im.FirstCall)
	w.u64(im.Detached)
	w.u64(0) // dropped
	w.u64(0) // lost
	w.u32(features)
	w.u32(0) // mode
	w.u64(im.InPlace)
	for range 4 {
		w.u64(0)
	}
	return im.Alloc(w)
}

// table lays out an open-addressing hash table as the interposer does.
func (im *Image) table(entries []slot) uint64 {
	capacity := uint64(8)
	for capacity < 2*uint64(len(entries)) {
		capacity *= 2
	}
	slots := make([]slot, capacity)
	for _, e := range entries {
		i := (e.handle * 0x9E3779B97F4A7C15 >> 20) & (capacity - 1)
		for slots[i].record != 0 {
			i = (i + 1) & (capacity - 1)
		}
		slots[i] = e
	}
	var w writer
	w.u64(capacity)
	for _, s := range slots {
		w.u64(s.handle)
		w.u64(s.record)
	}
	return im.Alloc(w)
}
