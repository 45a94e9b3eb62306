package mpicall

import (
	"slices"
	"strings"
	"sync"
)

// Direction says what a call does with a buffer.
type Direction int

// The directions.
const (
	Sends    Direction = iota + 1 // reads it
	Receives                      // writes it
	Both                          // reads it, then writes it
	BcastBuf                      // the root reads it, the others write it
)

// Times says how often a buffer's count applies.
type Times int

// How often a count applies.
const (
	Once Times = iota // count instances
	// count instances for each member of the communicator (of an intercommunicator: of its remote group)
	PerMember
	PerSource  // for each neighbour from which the rank receives, in the topology of the communicator
	PerTarget  // for each neighbour to which it sends
	OwnOf      // the entry of an array of counts that this rank has
	SumOf      // the sum of an array of counts
	Partitions // count instances in each of as many parts as another argument says
)

// Buffer is a buffer argument of a function. Arguments are named as the MPI standard names them.
type Buffer struct {
	Address   string
	Direction Direction
	Count     string // "" for 1
	Type      string // "" for MPI_PACKED
	Displs    string // "" if there are none
	Array     bool   // Count is an array with an entry for each part (Times says of what), and Displs another
	ByType    bool   // Type is an array likewise, and Displs are in bytes
	Times     Times
	AtRoot    bool   // means something at the root only
	Parts     string // with Partitions: the argument that says how many
}

// Function is an MPI function.
type Function struct {
	Name       string   // MPI_Send; of the forms with large counts too
	Parameters []string // in order; without Fortran's ierror
	Buffers    []Buffer
	verbs      string
}

// Large reports whether the function, by the name it was called by, has the counts and displacements of MPI_Count
// ("_c").
func Large(name string) bool { return strings.HasSuffix(name, "_c") }

// Has reports whether the function has a parameter of that name.
func (f *Function) Has(parameter string) bool { return slices.Contains(f.Parameters, parameter) }

// Verb says what a call does with its buffers of a direction: sends, receives, writes, packs.
func (f *Function) Verb(d Direction) string {
	out, in, _ := strings.Cut(f.verbs, "/")
	switch d {
	case Receives:
		return in
	case Both, BcastBuf:
		return out + " and " + in
	case Sends:
	}
	return out
}

// Lookup finds a function by its name in C, MPI_Send or PMPI_Send or MPI_Send_c; Fortran's may be in any case.
func Lookup(name string) (*Function, bool) {
	lower := strings.ToLower(name)
	lower = strings.TrimPrefix(lower, "p")
	if !strings.HasPrefix(lower, "mpi_") {
		return nil, false
	}
	if f, ok := functions()[lower]; ok {
		return f, true
	}
	f, ok := functions()[strings.TrimSuffix(lower, "_c")]
	return f, ok && f.hasCount()
}

// hasCount reports whether there is a form with large counts.
func (f *Function) hasCount() bool {
	return slices.ContainsFunc(f.Buffers, func(b Buffer) bool { return b.Count != "" })
}

// Functions are all functions of the table, by name.
func Functions() []*Function {
	var all []*Function
	for _, f := range functions() {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *Function) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// functions maps names in lower case.
var functions = sync.OnceValue(func() map[string]*Function {
	all := map[string]*Function{}
	add := func(names, parameters, buffers, verbs string) {
		for name := range strings.FieldsSeq(names) {
			f := &Function{Name: "MPI_" + name, Parameters: strings.Fields(parameters), verbs: verbs}
			for b := range strings.SplitSeq(buffers, ";") {
				if b = strings.TrimSpace(b); b != "" {
					f.Buffers = append(f.Buffers, parseBuffer(b))
				}
			}
			all["mpi_"+strings.ToLower(name)] = f
		}
	}
	for _, row := range plain {
		add(row[0], row[1], row[2], "sends/receives")
	}
	for _, row := range collectives {
		add(row[0], row[1], row[2], "sends/receives")
		add("I"+strings.ToLower(row[0][:1])+row[0][1:], row[1]+" request", row[2], "sends/receives")
		add(row[0]+"_init", row[1]+" info request", row[2], "sends/receives")
	}
	for _, row := range oneSided {
		add(row[0], row[1], row[2], row[3])
		add("R"+strings.ToLower(row[0][:1])+row[0][1:], row[1]+" request", row[2], row[3])
	}
	for _, row := range packing {
		add(row[0], row[1], row[2], row[3])
	}
	for _, row := range files {
		add(row[0], row[1], row[2], "writes/reads")
	}
	return all
})

// parseBuffer reads "<recvbuf recvcounts[n] displs[] recvtype @root": a sign for the direction, then address, count,
// displacements, type. In brackets is what an array has an entry for: n members, in or out neighbours; without, "*n" is
// what the count is multiplied by.
func parseBuffer(s string) Buffer {
	var b Buffer
	words := strings.Fields(s)
	b.Direction = map[byte]Direction{'>': Sends, '<': Receives, '=': Both, '~': BcastBuf}[words[0][0]]
	b.Address = words[0][1:]
	for _, w := range words[1:] {
		name, of, array := strings.Cut(strings.TrimSuffix(w, "]"), "[")
		times := ""
		if !array {
			name, times, _ = strings.Cut(w, "*")
		}
		switch {
		case w == "@root":
			b.AtRoot = true
		case strings.HasSuffix(name, "displs"):
			b.Displs = name
		case strings.Contains(name, "type"):
			b.Type, b.ByType = name, array
		case name == "1":
		case array:
			b.Count, b.Times, b.Array = name, timesOf[of], of != "me" && of != "sum"
		default:
			b.Count = name
			if b.Times = timesOf[times]; b.Times == Partitions {
				b.Parts = times
			}
		}
	}
	return b
}

var timesOf = map[string]Times{
	"": Once, "n": PerMember, "in": PerSource, "out": PerTarget, "me": OwnOf, "sum": SumOf, "partitions": Partitions,
}
