package datatype

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
)

// An exported side carries the records that a datatype is made of to where another rank's are: the meta type-tree is as
// small as a type can be described (paper, X.B). The form is text in base64, for consoles:
//
//	"COHTYP2\n", u32 MPI, u32 handle size, i64 count, u32 length and name, u32 records; then per record u32 length and its bytes,
//	as in cohort_abi.h but that a type refers to an earlier record by its number; the last record is the type's own.
const exportMagic = "COHTYP2\n"

const (
	exportPrefix = "cohort-type:"
	maxExport    = 32 << 20 // bytes, before base64
	importBase   = uint64(1) << 20
)

// Export writes a side of a message for [Import], in another process.
func (s Side) Export() (string, error) {
	if s.Type.problem != nil {
		return "", s.Type.problem
	}
	number := map[*Type]uint64{}
	var records []byte
	var visit func(t *Type) error
	visit = func(t *Type) error {
		if _, ok := number[t]; ok {
			return nil
		}
		for _, sub := range t.types {
			if err := visit(sub); err != nil {
				return err
			}
		}
		b, err := t.record(number)
		if err != nil {
			return err
		}
		if len(records)+len(b) > maxExport {
			return fault.Errorf(fault.TooLarge, t.addr,
				"The datatype %s has more than %d bytes of arguments, too many to be sent to another rank.",
				s.Type.Title(), maxExport)
		}
		records = binary.LittleEndian.AppendUint32(records, uint32(len(b)))
		records = append(records, b...)
		number[t] = uint64(len(number))
		return nil
	}
	if err := visit(s.Type); err != nil {
		return "", err
	}
	out := []byte(exportMagic)
	out = binary.LittleEndian.AppendUint32(out, uint32(s.Type.reg.MPI()))
	out = binary.LittleEndian.AppendUint32(out, uint32(s.Type.reg.HandleSize()))
	out = binary.LittleEndian.AppendUint64(out, uint64(s.Count))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(s.Name)))
	out = append(out, s.Name...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(number)))
	out = append(out, records...)
	text := exportPrefix + base64.StdEncoding.EncodeToString(out)
	if s.Envelope != nil {
		e, err := json.Marshal(s.Envelope)
		if err != nil {
			return "", fault.Errorf(fault.Usage, 0, "The envelope of %s cannot be written: %v.", s.Name, err)
		}
		text += " " + string(e)
	}
	return text, nil
}

// record is the type's record with the numbers of its parts in place of their addresses, and its name after it.
func (t *Type) record(number map[*Type]uint64) ([]byte, error) {
	head, err := t.reg.Head(registry.ClassOf(registry.KindDatatype), t.addr)
	if err != nil {
		return nil, err
	}
	rec := abi.Read[abi.Datatype](head.Raw)
	rec.Size = uint32(datatypeSize + len(t.integers) + len(t.addrs) + 8*len(t.types))
	rec.Name = 0
	b := slices.Clone(abi.Bytes(&rec))
	b = append(b, t.integers...)
	b = append(b, t.addrs...)
	for _, sub := range t.types {
		b = binary.LittleEndian.AppendUint64(b, number[sub])
	}
	return append(b, t.name...), nil
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
	coded, around, has := strings.Cut(coded, " ")
	var envelope *Envelope
	if has {
		if err := json.Unmarshal([]byte(around), &envelope); err != nil {
			return bad("its envelope is not whole: " + err.Error())
		}
	}
	raw, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return bad(err.Error())
	}
	r := exportReader{b: raw}
	if string(r.take(len(exportMagic))) != exportMagic {
		return bad("it is of another version")
	}
	mpi, handleSize, count := r.u32(), r.u32(), int64(r.u64())
	name := string(r.take(int(r.u32())))
	n := int(r.u32())
	if r.short || n < 1 || n > len(raw)/datatypeSize || (abi.MPI(mpi) != abi.MPICH && abi.MPI(mpi) != abi.OpenMPI) ||
		(handleSize != 4 && handleSize != 8) {
		return bad("its head is not whole")
	}
	mem := &records{}
	for range n {
		rec := append([]byte(nil), r.take(int(r.u32()))...)
		if r.short || len(rec) < datatypeSize {
			return bad("its records are not whole")
		}
		if !mem.add(rec) {
			return bad("a record refers to one that does not come before it")
		}
	}
	reg := NewTypes(registry.Foreign(mem, abi.MPI(mpi), int(handleSize)))
	t, err := reg.DatatypeAt(mem.at[n-1])
	if err != nil {
		return Side{}, err
	}
	return Side{Name: name, Type: t, Count: count, Envelope: envelope}, nil
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

// exportReader takes fields; short is set once there are none left.
type exportReader struct {
	b     []byte
	short bool
}

func (r *exportReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.short = true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *exportReader) u32() uint32 {
	if b := r.take(4); !r.short {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *exportReader) u64() uint64 {
	if b := r.take(8); !r.short {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
