package causal

import (
	"strconv"
	"strings"
)

// EventID names one event: the Index-th MPI call of a rank, from 1. Index 0 means the position before the first
// event, after MPI_Init.
type EventID struct {
	Rank  int    `json:"rank"`
	Index uint64 `json:"event"`
}

// String returns the form that is used everywhere: "3:17".
func (e EventID) String() string { return strconv.Itoa(e.Rank) + ":" + strconv.FormatUint(e.Index, 10) }

// IsZero reports whether e is the zero value, which means "none": a rank's events begin at 1.
func (e EventID) IsZero() bool { return e == EventID{} }

// ParseEventID is the inverse of EventID.String. Whether a run has the event is for the Graph to say. The error is a
// *RefusedError.
func ParseEventID(text string) (EventID, error) {
	rank, index, ok := strings.Cut(text, ":")
	r, err := strconv.ParseUint(rank, 10, 31)
	i, err2 := strconv.ParseUint(index, 10, 64)
	if !ok || err != nil || err2 != nil || i == 0 {
		return EventID{}, refuse("%q is not an event: expected RANK:EVENT, such as 3:17, with a rank from 0 and an "+
			"event from 1", text)
	}
	return EventID{Rank: int(r), Index: i}, nil
}
