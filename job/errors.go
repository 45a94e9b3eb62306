package job

import (
	"errors"
	"fmt"
	"maps"
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
	return "cannot " + e.What + ": " + strings.Join(MergeTexts(reasons), "; ")
}

// Unwrap lets errors.As find a rank's error; the lowest rank's comes first.
func (e *RanksError) Unwrap() []error {
	out := make([]error, 0, len(e.PerRank))
	for _, r := range sortedKeys(e.PerRank) {
		out = append(out, e.PerRank[r])
	}
	return out
}

// on runs f on the owner, with a rank.
func (j *Job) on(num int, f func(*rank) error) error {
	if err := j.checkRank(num); err != nil {
		return err
	}
	var refused error
	err := j.call(func() { refused = f(j.ranks[num]) })
	return errors.Join(err, refused)
}

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

// MergeTexts turns one text per rank into lines "[ranks] text", equal texts merged, ordered by their lowest rank.
func MergeTexts(perRank map[int]string) []string {
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
	ranks := map[K][]int{}
	var order []K
	for _, r := range sortedKeys(perRank) {
		k := perRank[r]
		if ranks[k] == nil {
			order = append(order, k)
		}
		ranks[k] = append(ranks[k], r)
	}
	out := make([]group[K], len(order))
	for i, k := range order {
		out[i] = group[K]{k, rankset.New(ranks[k]...)}
	}
	return out
}

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
