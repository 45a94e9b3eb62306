package abi

import (
	"fmt"
	"slices"
	"strconv"
)

// The names of modes, states and other numbers, as recordings in text and messages to people have them.

//nolint:gochecknoglobals // constant tables
var (
	modes       = []string{"off", "order", "racing", "full", "replay"}
	states      = []string{"new", "running", "parked", "stopped", "diverged", "end", "finalized", "refused"}
	stopReasons = []string{"none", "parked", "guard", "divergence", "end of recording"}
	commKinds   = []string{"0", "intra", "inter", "cart", "graph", "null", "dist-graph"}
	ends        = []string{
		"the trace has its end", "the disk was full", "the disk was full", "the trace could not be written on",
		"what came after was damaged",
	}
	combiners = []string{ // from CombinerNamed on
		"NAMED", "DUP", "CONTIGUOUS", "VECTOR", "HVECTOR", "INDEXED", "HINDEXED", "INDEXED_BLOCK",
		"HINDEXED_BLOCK", "STRUCT",
		"SUBARRAY", "DARRAY", "RESIZED", "F90_REAL", "F90_COMPLEX", "F90_INTEGER",
	}
	valueKinds = map[ValueKind]string{
		ValueWtime: "MPI_Wtime", ValueWtick: "MPI_Wtick", ValueClockGettime: "clock_gettime",
		ValueGettimeofday: "gettimeofday", ValueTime: "time", ValueClock: "clock", ValueArc4random: "arc4random",
		ValueRandomDevice: "std::random_device", ValueRandom: "getrandom", ValueRusage: "getrusage",
		ValueTimes:   "times",
		ValueFetched: "fetched", ValueWindow: "window",
	}
)

func (m Mode) String() string { return name("mode", m, modes) }

// ParseMode is the inverse of Mode.String.
func ParseMode(name string) (Mode, bool) { return parse[Mode](name, modes) }

// IsRecorded reports whether a recording can be of this mode.
func (m Mode) IsRecorded() bool { return m == ModeOrder || m == ModeRacing || m == ModeFull }

func (s State) String() string { return name("state", s, states) }

func (r StopReason) String() string { return name("reason", r, stopReasons) }

func (k CommKind) String() string { return name("communicator", k, commKinds) }

// ParseCommKind is the inverse of CommKind.String.
func ParseCommKind(name string) (CommKind, bool) { return parse[CommKind](name, commKinds) }

// Known reports whether there is such a combiner.
func (c Combiner) Known() bool { return c.String() != "UNKNOWN" || c == CombinerUnknown }

// String is the combiner's name as MPI has it, without MPI_COMBINER_.
func (c Combiner) String() string {
	if i := int(c) - int(CombinerNamed); 0 <= i && i < len(combiners) {
		return combiners[i]
	}
	return "UNKNOWN"
}

// Known reports whether this version of the format has the kind.
func (k ValueKind) Known() bool { return valueKinds[k] != "" }

// IsBytes reports whether values of the kind are bytes rather than a number.
func (k ValueKind) IsBytes() bool { return k >= ValueRandom }

// String returns the name of the function, as programs write it, or what the value is of.
func (k ValueKind) String() string {
	if name := valueKinds[k]; name != "" {
		return name
	}
	return fmt.Sprintf("value(%d)", uint32(k))
}

// ParseValueKind is the inverse of ValueKind.String.
func ParseValueKind(name string) (ValueKind, bool) {
	for k, n := range valueKinds {
		if n == name {
			return k, true
		}
	}
	return 0, false
}

// Known reports whether this version of the format has the reason.
func (e Ended) Known() bool { return e <= EndedRepaired }

func (e Ended) String() string { return name("ended", e, ends) }

func name[T ~uint32](what string, v T, names []string) string {
	if uint64(v) < uint64(len(names)) {
		return names[v]
	}
	return what + " " + strconv.FormatUint(uint64(v), 10)
}

func parse[T ~uint32](name string, names []string) (T, bool) {
	i := slices.Index(names, name)
	return T(max(i, 0)), i >= 0
}

// String is the library's name as its makers write it.
func (m MPI) String() string {
	switch m {
	case MPICH:
		return "MPICH"
	case OpenMPI:
		return "Open MPI"
	}
	return "an unknown MPI"
}
