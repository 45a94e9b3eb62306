package recording

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// Version is the version of recording.json that this package writes, and the only one that it reads.
const Version = 2

const recordingFormat = "cohort-recording"

// Meta is what recording.json says about a run.
type Meta struct {
	Format  string `json:"format"`  // "cohort-recording"; set by this package
	Version int    `json:"version"` // Version; set by this package
	Cohort  string `json:"cohort"`  // version of cohort that recorded

	Command []string `json:"command"` // the program as given, and its arguments
	Cwd     string   `json:"cwd"`
	Env     []string `json:"env,omitempty"` // "NAME=value": what was set for the run, and what the MPI reads
	Ranks   int      `json:"ranks"`

	MPI  MPI    `json:"mpi"`
	Mode string `json:"mode"` // "order" or "full"
	// blocking calls were turned into test and yield: it changes timing
	Yield      bool    `json:"yield"`
	RecordTime bool    `json:"recordTime,omitempty"` // the C library's clocks and random numbers were recorded too
	Program    Program `json:"program"`
	Interposer string  `json:"interposer"` // hash of the library's sources and the MPI it was built for

	Start   time.Time         `json:"start"`
	Elapsed time.Duration     `json:"elapsedNs"`
	PerRank []RankMeta        `json:"perRank"` // index is the rank
	Labels  map[string]string `json:"labels,omitempty"`
}

// MPI is the MPI library of a run.
type MPI struct {
	Kind    string `json:"kind"` // "mpich" or "openmpi"
	Version string `json:"version"`
}

// RankMeta is what recording.json says about one rank.
type RankMeta struct {
	Rank       int             `json:"rank"`
	Host       string          `json:"host"`
	PID        int             `json:"pid"`
	End        RankEnd         `json:"end"`
	Events     uint64          `json:"events"`
	Polls      uint64          `json:"polls"`    // failed polls of the whole run
	Messages   uint64          `json:"messages"` // sent
	Bytes      uint64          `json:"bytes"`    // of payload, sent
	Decisions  uint64          `json:"decisions"`
	Incomplete *IncompleteCall `json:"incomplete,omitempty"`
	// Unrecorded are the functions that gave the program a time or random numbers that are not recorded.
	Unrecorded []string `json:"unrecorded,omitempty"`
	// Repaired: the trace is what Repair left of a damaged one.
	Repaired *Repaired `json:"repaired,omitempty"`
	// Calls says of the completed events how many are of each operation, by its name without "MPI_".
	Calls map[string]uint64 `json:"calls,omitempty"`
	// Last is the last MPI call of a rank that did not end well.
	Last *LastCall `json:"lastCall,omitempty"`
}

// LastCall is what a rank did last.
type LastCall struct {
	Event    uint64 `json:"event"`    // its number
	Call     string `json:"call"`     // "MPI_Recv"
	Within   bool   `json:"within"`   // the rank ended within the call; else after it
	Function string `json:"function"` // that made the call; what is not known is empty or 0
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// IncompleteCall is a call that record/replay does not cover.
type IncompleteCall struct {
	Call  string `json:"call"`            // the first of them
	Event uint64 `json:"event"`           // its event
	Count uint64 `json:"count"`           // how many there were
	Place string `json:"place,omitempty"` // where the first is: "heat.c:12 in main"
}

// How a rank ended.
const (
	EndUnknown   = "unknown"
	EndFinalized = "finalized"
	EndExited    = "exited" // without MPI_Finalize, or with a code that is not 0
	EndSignal    = "signal"
)

// RankEnd says how a rank ended. Its text form is "finalized", "exited 3", "signal SIGSEGV" or "unknown"; the zero
// value is unknown.
type RankEnd struct {
	How    string // EndFinalized, ...; "" is EndUnknown
	Code   int    // EndExited
	Signal string // EndSignal: "SIGSEGV"
}

func (e RankEnd) String() string {
	switch e.How {
	case EndFinalized:
		return EndFinalized
	case EndExited:
		return EndExited + " " + strconv.Itoa(e.Code)
	case EndSignal:
		return EndSignal + " " + e.Signal
	}
	return EndUnknown
}

// Unknown tells whether it is not known how the rank ended: cohort was killed before it could say.
func (e RankEnd) Unknown() bool { return e.How == "" || e.How == EndUnknown }

// MarshalText implements encoding.TextMarshaler.
func (e RankEnd) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *RankEnd) UnmarshalText(text []byte) error {
	how, rest, _ := strings.Cut(string(text), " ")
	switch {
	case how == EndFinalized && rest == "", how == EndUnknown && rest == "":
		*e = RankEnd{How: how}
	case how == EndExited:
		code, err := strconv.Atoi(rest)
		if err != nil {
			return fmt.Errorf("the end of a rank: expected an exit code after %q, found %q", EndExited, rest)
		}
		*e = RankEnd{How: EndExited, Code: code}
	case how == EndSignal && rest != "":
		*e = RankEnd{How: EndSignal, Signal: rest}
	default:
		return fmt.Errorf("the end of a rank: expected finalized, exited N, signal NAME or unknown, found %q", text)
	}
	return nil
}

// decodeMeta reads recording.json. dir is for messages.
func decodeMeta(dir string, content []byte) (Meta, error) {
	var stamp struct {
		Format  string `json:"format"`
		Version int64  `json:"version"`
	}
	if err := json.Unmarshal(content, &stamp); err != nil {
		return Meta{}, noRecording(dir, fmt.Sprintf("its %s cannot be read: %v", metaName, err))
	}
	if stamp.Format != recordingFormat {
		return Meta{}, noRecording(dir, fmt.Sprintf("its %s has the format %q, not %q", metaName, stamp.Format,
			recordingFormat))
	}
	if stamp.Version != Version {
		return Meta{}, trace.RefuseVersion("recording", dir, stamp.Version, Version)
	}
	var m Meta
	if err := json.Unmarshal(content, &m); err != nil {
		return Meta{}, noRecording(dir, fmt.Sprintf("its %s cannot be read: %v", metaName, err))
	}
	if err := checkMeta(dir, &m); err != nil {
		return Meta{}, err
	}
	return m, nil
}

func checkMeta(dir string, m *Meta) error {
	if mode, ok := abi.ParseMode(m.Mode); !ok || !mode.IsRecorded() {
		return trace.RefuseMode(dir, m.Mode)
	}
	if m.Ranks < 1 {
		return noRecording(dir, fmt.Sprintf("it says that it has %d ranks", m.Ranks))
	}
	if len(m.PerRank) != m.Ranks {
		return otherRanks(dir+"/"+metaName+" (perRank)", len(m.PerRank), m.Ranks)
	}
	for i := range m.PerRank {
		if m.PerRank[i].Rank != i {
			return noRecording(dir, fmt.Sprintf("perRank[%d] of its %s is about rank %d", i, metaName,
				m.PerRank[i].Rank))
		}
	}
	return nil
}

// Repaired says what Repair left of one rank's trace.
type Repaired struct {
	Rank   int    `json:"rank"`
	Events uint64 `json:"events"` // kept: 1 to this one
	Of     uint64 `json:"of"`     // recorded; 0: not known
	Fault  string `json:"fault"`  // what is wrong with the trace
}
