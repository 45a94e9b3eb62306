package trace

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
)

// Fields is one way through the fields of a record (Walk): they are read or written, as bytes or as text. Methods with
// a value return what was read, or what they were given to write. A key is the field's name in the text form. Of
// several faults the first counts; what is read after it is zero.
type Fields interface {
	Uint(key string, bits int, v uint64) uint64   // a varint; bits: how many it may have
	Int(key string, v int32) int32                // a zigzag varint
	Fixed(key string, bytes int, v uint64) uint64 // of 1, 4 or 8 bytes
	String(key, v string) string
	Op(key string, v mpispec.Op) mpispec.Op
	CommKind(key string, v abi.CommKind) abi.CommKind
	// Index is the number of an EVENT: counted, and written in the text form only.
	Index(key string, v uint64) uint64
	// Event is the event of an order-mode record: the distance from that of the record before.
	Event(key string, v uint64) uint64
	// Back is an earlier event than another: the distance to it, or 0 if there is none, which is event 0.
	Back(key string, event, v uint64) uint64
	// Count is the length of a list whose elements have at least so many bytes. The text form has no such field.
	Count(key string, size, n int) int
	// List begins a list of n elements, and returns its length; Next begins an element, End comes after the last.
	List(key string, n int) int
	Next()
	End()
	// Fail says that the field before is at fault.
	Fail(want, got string)
}

// Walk goes through the fields of a record.
func Walk(r Record, f Fields) { r.fields(f) }

// Number is an unsigned field of a type of its own.
func Number[T ~uint32 | ~uint64](f Fields, key string, v *T) {
	*v = T(f.Uint(key, 8*int(unsafe.Sizeof(*v)), uint64(*v)))
}

// List is a list of which the length is known: each goes through the fields of an element.
func List[T any](f Fields, key string, all *[]T, each func(*T)) {
	if n := f.List(key, len(*all)); n != len(*all) {
		*all = make([]T, n)
	}
	for i := range *all {
		f.Next()
		each(&(*all)[i])
	}
	f.End()
}

// count is the length of a list; what is read gets its elements.
func count[T any](f Fields, key string, size int, all *[]T) {
	if n := f.Count(key, size, len(*all)); n != len(*all) {
		*all = make([]T, n)
	}
}

func numbers(f Fields, key string, all *[]uint32) {
	List(f, key, all, func(v *uint32) { Number(f, key, v) })
}

func back(f Fields, key string, event uint64, v *uint64) {
	if *v = f.Back(key, event, *v); *v >= event {
		f.Fail(fmt.Sprintf("%s before event %d", key, event), fmt.Sprintf("event %d", *v))
	}
}

// kinds has what kinds of records there are. Their names in small letters begin the lines of the text form.
//
//nolint:gochecknoglobals // a constant table
var kinds = [...]struct {
	name string
	make func() Record
}{
	abi.RecordComm:    {"COMM", zero[Comm]},
	abi.RecordModule:  {"MODULE", zero[Module]},
	abi.RecordSite:    {"SITE", zero[Site]},
	abi.RecordNote:    {"NOTE", zero[Note]},
	abi.RecordEvent:   {"EVENT", zero[Event]},
	abi.RecordEnd:     {"END", zero[End]},
	abi.RecordValue:   {"VALUE", zero[Value]},
	abi.RecordThread:  {"THREAD", zero[Thread]},
	abi.RecordTurn:    {"TURN", zero[Turn]},
	abi.RecordContent: {"CONTENT", zero[Content]},
	abi.RecordMatch:   {"MATCH", zero[Match]},
	abi.RecordPoll:    {"POLL", zero[Poll]},
	abi.RecordSet:     {"SET", zero[Set]},
	abi.RecordCheck:   {"CHECK", zero[Check]},
	abi.RecordRace:    {"RUN", zero[Run]},
}

func zero[T any, P interface {
	*T
	Record
}]() Record {
	return P(new(T))
}

// Name is what the text form calls a record of this kind: "match".
func Name(r Record) string { return strings.ToLower(kinds[r.kind()].name) }

// New makes an empty record of the kind that the text form calls so.
func New(name string) (Record, *RuleError) {
	var known []string
	for _, k := range kinds {
		switch strings.ToLower(k.name) {
		case "":
		case name:
			return k.make(), nil
		default:
			known = append(known, strings.ToLower(k.name))
		}
	}
	return nil, &RuleError{"one of " + strings.Join(known, ", "), strconv.Quote(name)}
}
