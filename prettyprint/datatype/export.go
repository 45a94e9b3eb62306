package datatype

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// exported carries the records that a datatype is made of to where another rank's are: the meta type-tree is as small
// as a type can be described (paper, X.B). Its JSON is a line of text, for consoles.
type exported struct {
	MPI        abi.MPI `json:"mpi"`
	HandleSize uint32  `json:"handleSize"`
	Count      int64   `json:"count"`
	Name       string  `json:"name"`
	// Records are as in cohort_abi.h, each followed by its name, but that a type refers to an earlier record by its
	// number. The last is the type's own.
	Records  [][]byte  `json:"records"`
	Envelope *Envelope `json:"envelope,omitempty"`
}

const (
	exportPrefix = "cohort-type-4:"
	maxExport    = 32 << 20 // bytes of records
	importBase   = uint64(1) << 20
)

// Export writes a side of a message for [Import], in another process.
func (s Side) Export() (string, error) {
	if s.Type.Problem != nil {
		return "", s.Type.Problem
	}
	reg := s.Type.reg
	out := exported{reg.MPI(), reg.Header.HandleSize, s.Count, s.Name, nil, s.Envelope}
	number, size := map[*Type]uint64{}, 0
	var visit func(t *Type) error
	visit = func(t *Type) error {
		if _, ok := number[t]; ok {
			return nil
		}
		for _, sub := range t.Types {
			if err := visit(sub); err != nil {
				return err
			}
		}
		b := t.record(number)
		if size += len(b); size > maxExport {
			return fault.Errorf(fault.TooLarge, t.Address,
				"The datatype %s has more than %d bytes of arguments, too many to be sent to another rank.",
				s.Type.Title(), maxExport)
		}
		out.Records = append(out.Records, b)
		number[t] = uint64(len(number))
		return nil
	}
	if err := visit(s.Type); err != nil {
		return "", err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return "", fault.Errorf(fault.Usage, 0, "The datatype %s cannot be written: %v.", s.Name, err)
	}
	return exportPrefix + string(text), nil
}

// record is the type's record with the numbers of its parts in place of their addresses, and its name after it.
func (t *Type) record(number map[*Type]uint64) []byte {
	rec := t.Record
	rec.Size = uint32(datatypeSize + len(t.Integers) + len(t.Addresses) + 8*len(t.Types))
	rec.Name = 0
	b := slices.Concat(abi.Bytes(&rec), t.Integers, t.Addresses)
	for _, sub := range t.Types {
		b = binary.LittleEndian.AppendUint64(b, number[sub])
	}
	return append(b, t.Name...)
}

// Import reads what Export wrote. Nothing in it is trusted: it is decoded like a registry.
func Import(text string) (Side, error) {
	bad := func(what string) (Side, error) {
		return Side{}, fault.Errorf(fault.Corrupt, 0,
			"The description of a datatype that came from another rank is damaged: %s.", what)
	}
	coded, ok := strings.CutPrefix(strings.TrimSpace(text), exportPrefix)
	if !ok {
		return bad("it does not begin with " + exportPrefix)
	}
	var in exported
	if err := json.Unmarshal([]byte(coded), &in); err != nil {
		return bad(err.Error())
	}
	if len(in.Records) == 0 || in.MPI != abi.MPICH && in.MPI != abi.OpenMPI ||
		in.HandleSize != 4 && in.HandleSize != 8 {
		return bad("its head is not whole")
	}
	mem := &records{}
	for _, rec := range in.Records {
		if len(rec) < datatypeSize {
			return bad("its records are not whole")
		}
		if !mem.add(rec) {
			return bad("a record refers to one that does not come before it")
		}
	}
	reg := NewTypes(registry.Foreign(mem, in.MPI, int(in.HandleSize)))
	t, err := reg.DatatypeAt(mem.at[len(mem.at)-1])
	if err != nil {
		return Side{}, err
	}
	return Side{Name: in.Name, Type: t, Count: in.Count, Envelope: in.Envelope}, nil
}

// records is the memory of an imported type: its records, one after another.
type records struct {
	data bytes.Buffer
	at   []uint64 // addresses
}

// add appends a record and turns the numbers of its parts into addresses; what follows them is its name.
func (m *records) add(rec []byte) bool {
	h := abi.Read[abi.Datatype](rec)
	args := int64(datatypeSize) + 8*(int64(h.NIntegers)+int64(h.NAddresses))
	end := args + 8*int64(h.NTypes)
	if end > int64(len(rec)) || int64(h.Size) != end {
		return false
	}
	if h.Name = 0; end < int64(len(rec)) {
		h.Name = importBase + uint64(m.data.Len()) + uint64(end)
		rec = append(rec, 0)
	}
	copy(rec, abi.Bytes(&h))
	for p := rec[args:end]; len(p) > 0; p = p[8:] {
		k := binary.LittleEndian.Uint64(p)
		if k >= uint64(len(m.at)) {
			return false
		}
		binary.LittleEndian.PutUint64(p, m.at[k])
	}
	m.at = append(m.at, importBase+uint64(m.data.Len()))
	m.data.Write(rec)
	return true
}

var errNotImported = errors.New("no such memory")

func (m *records) ReadMemory(addr uint64, p []byte) (int, error) {
	if addr < importBase || addr-importBase >= uint64(m.data.Len()) {
		return 0, errNotImported
	}
	if n := copy(p, m.data.Bytes()[addr-importBase:]); n < len(p) {
		return n, errNotImported
	}
	return len(p), nil
}
