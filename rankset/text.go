package rankset

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/internal/prose"
)

// Parse reads a rank set of a job of n ranks: items separated by commas, each `all`, a rank `7`, a range `0-3` with
// both ends in it, or a range with a stride `0-63:4`. Spaces around items are allowed. Every rank must be below n; an
// empty text is an error.
func Parse(text string, n int) (Set, error) {
	if strings.TrimSpace(text) == "" {
		return Set{}, errors.New(`an empty rank set was given; write ranks such as "0-3,7", or "all"`)
	}
	var b Builder
	for item := range strings.SplitSeq(text, ",") {
		if err := addItem(&b, text, strings.TrimSpace(item), n); err != nil {
			return Set{}, err
		}
	}
	return b.Set(), nil
}

func addItem(b *Builder, text, item string, n int) error {
	switch item {
	case "":
		return fmt.Errorf(`the rank set %s has an empty item between its commas; write it such as "0-3,7"`, quote(text))
	case "all":
		b.addRange(0, n-1, 1)
		return nil
	}
	span, strideText, hasStride := strings.Cut(item, ":")
	loText, hiText, isRange := strings.Cut(span, "-")
	lo, err := parseRank(text, loText, n)
	if err != nil {
		return err
	}
	hi, stride := lo, 1
	switch {
	case isRange:
		if hi, err = parseRank(text, hiText, n); err != nil {
			return err
		}
	case hasStride:
		return fmt.Errorf(`in the rank set %s the stride in %s needs a range in front of it, such as "0-%d:%s"`,
			quote(text),
			quote(item), max(n-1, 0), clip(strideText))
	}
	if hi < lo {
		return fmt.Errorf(`in the rank set %s the range %s runs backwards; write "%d-%d"`, quote(text), quote(item), hi,
			lo)
	}
	if hasStride {
		if stride, err = parseNumber(strideText); err != nil || stride < 1 {
			return fmt.Errorf("in the rank set %s the stride %s is not a whole number of at least 1", quote(text),
				quote(strideText))
		}
	}
	b.addRange(lo, hi, stride)
	return nil
}

func parseRank(text, number string, n int) (int, error) {
	r, err := parseNumber(number)
	switch {
	case err != nil:
		return 0, fmt.Errorf(`in the rank set %s, %s is not a rank; write ranks such as "0-3,7", or "all"`, quote(text),
			quote(number))
	case r >= n:
		return 0, fmt.Errorf("the rank set %s names rank %s, but the job has %s", quote(text),
			clip(strings.TrimSpace(number)), Of(n))
	}
	return r, nil
}

// parseNumber reads decimal digits only: no sign, no underscore. A number too large for int is given as the largest
// int, which no job reaches.
func parseNumber(s string) (int, error) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	v, _ := strconv.Atoi(s) // on overflow Atoi gives the largest int
	return v, nil
}

// Of says which ranks a job of n has: "ranks 0 to 3".
func Of(n int) string {
	switch n {
	case 0:
		return "no ranks"
	case 1:
		return "only rank 0"
	}
	return fmt.Sprintf("ranks 0 to %d", n-1)
}

// quote and clip keep a message readable whatever was typed.
func quote(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string { return prose.Clip(s, 60) }

// String is the canonical text: ascending, ranges for neighbours, a stride where that is shorter than the list. Parse
// gives the same set back. The empty set is "none", which Parse refuses.
func (s Set) String() string {
	if s.Empty() {
		return "none"
	}
	return InOrder(s.Slice())
}

// InOrder writes ranks as String does, but in the order given: "3,0-2". A negative rank is one that has no number: "?".
// No ranks are "".
func InOrder(ranks []int) string {
	var items []string
	neighbours := func(i int) bool { return i+1 < len(ranks) && ranks[i] >= 0 && ranks[i+1] == ranks[i]+1 }
	for len(ranks) > 0 {
		n, item := 1, strconv.Itoa(ranks[0])
		switch {
		case ranks[0] < 0:
			item = "?"
		case neighbours(0):
			for neighbours(n - 1) {
				n++
			}
			item = fmt.Sprintf("%d-%d", ranks[0], ranks[n-1])
		case len(ranks) > 1 && ranks[1] > ranks[0]:
			step := ranks[1] - ranks[0]
			for n < len(ranks) && ranks[n] == ranks[n-1]+step && !neighbours(n) {
				n++
			}
			// Four with a stride are always shorter than their list, so each rank is looked at a bounded number of
			// times.
			strided := fmt.Sprintf("%d-%d:%d", ranks[0], ranks[n-1], step)
			if n > 3 || n == 3 && len(strided) < len(fmt.Sprintf("%d,%d,%d", ranks[0], ranks[1], ranks[2])) {
				item = strided
			} else {
				n = 1
			}
		}
		items = append(items, item)
		ranks = ranks[n:]
	}
	return strings.Join(items, ",")
}

// MarshalText gives String, for logs and JSON.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
