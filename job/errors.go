package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/rankset"
)

// ErrClosed is returned by every method after Close.
var ErrClosed = errors.New("the job has been closed")

// A RanksError says which ranks could not do what was asked, and why. Error merges ranks with equal reasons:
// "cannot launch ./heat: [0-2] ...; [3] ...".
type RanksError struct {
	What    string // what was asked, such as "launch ./heat"
	PerRank map[int]error
}

func (e *RanksError) Error() string {
	reasons := make(map[int]string, len(e.PerRank))
	for r, err := range e.PerRank {
		reasons[r] = err.Error()
	}
	return "cannot " + e.What + ": " + strings.Join(mergeTexts(reasons), "; ")
}

// Unwrap lets errors.As find a rank's error; the lowest rank's comes first.
func (e *RanksError) Unwrap() []error {
	out := make([]error, 0, len(e.PerRank))
	for _, r := range sortedKeys(e.PerRank) {
		out = append(out, e.PerRank[r])
	}
	return out
}

// Ranks are those that the error is about.
func (e *RanksError) Ranks() rankset.Set { return rankset.New(sortedKeys(e.PerRank)...) }

// ranksError returns nil if no rank failed.
func ranksError(what string, perRank map[int]error) error {
	if len(perRank) == 0 {
		return nil
	}
	return &RanksError{What: what, PerRank: perRank}
}

// A NoAnswerError stands for a rank that had not answered when the caller's context ended. The command is still in
// flight.
type NoAnswerError struct{ Cause error }

func (e *NoAnswerError) Error() string { return "it has not answered yet (" + e.Cause.Error() + ")" }
func (e *NoAnswerError) Unwrap() error { return e.Cause }

func (j *Job) checkRank(rank int) error {
	if rank < 0 || rank >= j.n {
		return fmt.Errorf("rank %d was asked for, but the job has %s", rank, rankset.Of(j.n))
	}
	return nil
}

func (j *Job) checkRanks(ranks rankset.Set) error {
	if ranks.Empty() {
		return errors.New("the command names no rank")
	}
	return j.checkRank(ranks.Max())
}

// mergeTexts turns one text per rank into "[ranks] text" lines, equal texts merged, ordered by their lowest rank.
func mergeTexts(perRank map[int]string) []string {
	groups := groupBy(perRank)
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = "[" + g.ranks.String() + "] " + g.key
	}
	return out
}

type group[K comparable] struct {
	key   K
	ranks rankset.Set
}

// groupBy collects the ranks that have equal values, ordered by their lowest rank.
func groupBy[K comparable](perRank map[int]K) []group[K] {
	index := map[K]int{}
	var builders []rankset.Builder
	var out []group[K]
	for _, r := range sortedKeys(perRank) {
		k := perRank[r]
		i, ok := index[k]
		if !ok {
			i = len(out)
			index[k] = i
			out = append(out, group[K]{key: k})
			builders = append(builders, rankset.Builder{})
		}
		builders[i].Add(r)
	}
	for i := range out {
		out[i].ranks = builders[i].Set()
	}
	return out
}

func sortedKeys[V any](m map[int]V) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
