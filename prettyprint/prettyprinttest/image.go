package prettyprinttest

import (
	"encoding/binary"
	"math"

	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// The libraries of an Image.
const (
	MPICH   = uint32(abi.MPICH)
	OpenMPI = uint32(abi.OpenMPI)
)

// Unknown is a figure that the library did not report.
const Unknown = math.MinInt64

// States of a TypeRecord.
const (
	Committed = 1
	Freed     = 2
)

// TypeRecord is a struct cohort_datatype with its arguments. One that is NAMED is predefined.
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

// CommRecord is a struct cohort_comm with what follows. One without a call site is predefined.
type CommRecord struct {
	Kind                uint32
	Handle              uint64
	FHandle             int32
	Index               uint32
	GlobalID, ParentID  uint64
	Size, Rank          uint32
	State               abi.ObjectState
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
	text    uint64 // where the next name goes: not between the records
	types   []slot
	comms   []slot
	nextID  uint64
	named   map[string]*Type

	Features            abi.Feature // 0: datatypes and communicators, and what was laid out
	FirstCall, Detached uint64
	InPlace             uint64
	objects             [tables][]slot
}

type slot struct{ handle, record uint64 }

// NewImage returns an empty image for one of the two libraries.
func NewImage(mpi uint32) *Image {
	return &Image{
		MPI: mpi, Version: abi.RegistryVersion, Magic: abi.RegistryMagic, next: 0x7f0000001000,
		text: 0x7e0000001000, named: map[string]*Type{},
	}
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

// appendAll adds the arrays that follow a record.
func appendAll[T int32 | uint32 | int64 | uint64](b []byte, lists ...[]T) []byte {
	for _, list := range lists {
		for _, v := range list {
			b, _ = binary.Append(b, binary.LittleEndian, v)
		}
	}
	return b
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
	state := abi.ObjectState(0)
	if r.State&Committed != 0 {
		state |= abi.TypeCommitted
	}
	if r.State&Freed != 0 {
		state |= abi.ObjectFreed
	}
	if abi.Combiner(r.Combiner) == abi.CombinerNamed {
		state |= abi.ObjectPredefined
	}
	d := abi.Datatype{
		Object: im.object(ObjectRecord{
			Kind: r.Combiner, Handle: r.Handle, FHandle: r.FHandle, State: state, ID: r.ID, Event: r.Event,
			CallSite: r.CallSite, Name: r.Name,
		}),
		Basic: abi.Basic(r.Basic), Pair: abi.Basic(r.Pair), BasicSize: r.BasicSize,
		NIntegers:  pick(r.OverrideIntegers, uint32(len(r.Integers))),
		NAddresses: pick(r.OverrideAddresses, uint32(len(r.Addresses))),
		NTypes:     pick(r.OverrideN, uint32(len(r.Types))),
		TypeSize:   r.TypeSize, LB: r.LB, Extent: r.Extent, TrueLB: r.TrueLB, TrueExtent: r.TrueExtent,
	}
	d.FHandle, d.Refs = r.FHandle, r.Refs
	rest := appendAll(appendAll(nil, r.Integers, r.Addresses), r.Types)
	d.Size = pick(r.OverrideSize, uint32(abi.Size[abi.Datatype]()+len(rest)))
	at := im.Alloc(append(clone(&d), rest...))
	if r.Handle != 0 {
		im.types = append(im.types, slot{r.Handle, at})
	}
	return at
}

// Comm lays out a communicator's record and publishes it.
func (im *Image) Comm(r CommRecord) uint64 {
	if r.CallSite == 0 {
		r.State |= abi.ObjectPredefined
	}
	c := abi.Comm{
		Object: im.header(ObjectRecord{
			Kind: r.Kind, Handle: r.Handle, FHandle: r.FHandle, State: r.State, ID: r.ID, Event: r.Event,
			CallSite: r.CallSite, Name: r.Name,
		}),
		GlobalID: r.GlobalID, ParentID: r.ParentID, Index: r.Index, CommSize: r.Size, CommRank: r.Rank,
		NDims: uint32(len(r.Dims)), NMembers: uint32(len(r.Members)), NRemote: uint32(len(r.Remote)),
	}
	c.FHandle = r.FHandle
	at := place(im, &c, &c.Object, appendAll(appendAll(nil, r.Members, r.Remote), r.Dims, r.Periods, r.Coords))
	im.comms = append(im.comms, slot{r.Handle, at})
	return at
}

func clone[T abi.Struct](r *T) []byte { return append([]byte(nil), abi.Bytes(r)...) }

// place lays out a record whose size is not known yet, and what follows it.
func place[T abi.Struct](im *Image, r *T, o *abi.Object, rest []byte) uint64 {
	o.Size = uint32(abi.Size[T]() + len(rest))
	return im.Alloc(append(clone(r), rest...))
}

// Tombstone records that the handle was freed.
func (im *Image) Tombstone(handle uint64) { im.types = append(im.types, slot{handle, 1}) }

// Publish writes the tables and the registry and returns the address of cohort_registry. It is called last.
func (im *Image) Publish() uint64 {
	r := abi.Registry{
		Magic: im.Magic, Version: im.Version, Size: uint32(abi.Size[abi.Registry]()), MPI: abi.MPI(im.MPI),
		HandleSize: 4,
		Datatypes:  im.table(im.types), Comms: im.table(im.comms), Calls: im.FirstCall, Detached: im.Detached,
		Features: abi.FeatureDatatypes | abi.FeatureComms, InPlace: im.InPlace,
	}
	if im.MPI == OpenMPI {
		r.HandleSize = 8
	}
	tables := [tables]struct {
		at      *uint64
		feature abi.Feature
	}{
		{&r.Requests, abi.FeatureRequests},
		{&r.Groups, abi.FeatureGroups},
		{&r.Windows, abi.FeatureWindows},
		{&r.Files, abi.FeatureFiles},
		{&r.Ops, abi.FeatureOps},
		{&r.Errhandlers, abi.FeatureErrhandlers},
		{&r.Infos, abi.FeatureInfos},
	}
	for i, entries := range &im.objects {
		if len(entries) > 0 {
			*tables[i].at = im.table(entries)
			r.Features |= tables[i].feature
		}
	}
	if im.FirstCall != 0 {
		r.Features |= abi.FeatureCalls
	}
	if im.Features != 0 {
		r.Features = im.Features
	}
	return im.Alloc(clone(&r))
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
	b := appendAll(nil, []uint64{capacity})
	for _, s := range slots {
		b = appendAll(b, []uint64{s.handle, s.record})
	}
	return im.Alloc(b)
}
