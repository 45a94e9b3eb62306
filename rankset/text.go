package rankset

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/internal/prose"
)

// A Error says why a text is not a rank set of a job; its message is a whole sentence.
type Error struct {
	Text   string // what was given
	Reason string // whole sentence
}

func (e *Error) Error() string { return e.Reason }

// Parse reads a rank set of a job of n ranks: items separated by commas, each `all`, a rank `7`, a range `0-3`
// with both ends in it, or a range with a stride `0-63:4`. Spaces around items are allowed. Every rank must be below n;
// an empty text is an error. Errors are *Error.
func Parse(text string, n int) (Set, error) {
	var b Builder
	if strings.TrimSpace(text) == "" {
		return Set{}, errorf(text, `An empty rank set was given; write ranks such as "0-3,7", or "all".`)
	}
	for item := range strings.SplitSeq(text, ",") {
		if err := parseRankItem(&b, text, strings.TrimSpace(item), n); err != nil {
			return Set{}, err
		}
	}
	return b.Set(), nil
}

func parseRankItem(b *Builder, text, item string, n int) error {
	if item == "" {
		return errorf(text, "The rank set %s has an empty item between its commas; write it such as \"0-3,7\".",
			quote(text))
	}
	if item == "all" {
		if n > 0 {
			b.addRange(0, n-1)
		}
		return nil
	}
	span, strideText, hasStride := strings.Cut(item, ":")
	loText, hiText, isRange := strings.Cut(span, "-")
	lo, err := parseRank(text, loText, n)
	if err != nil {
		return err
	}
	if !isRange {
		if hasStride {
			return errorf(text,
				"In the rank set %s the stride in %s needs a range in front of it, such as \"0-%d:%s\".",
				quote(text), quote(item), max(n-1, 0), clip(strideText))
		}
		b.Add(lo)
		return nil
	}
	hi, err := parseRank(text, hiText, n)
	if err != nil {
		return err
	}
	if hi < lo {
		return errorf(text, "In the rank set %s the range %s runs backwards; write \"%d-%d\".", quote(text),
			quote(item), hi, lo)
	}
	if !hasStride {
		b.addRange(lo, hi)
		return nil
	}
	stride, err := parseNumber(strideText)
	if err != nil || stride < 1 {
		return errorf(text, "In the rank set %s the stride %s is not a whole number of at least 1.", quote(text),
			quote(strideText))
	}
	for r := lo; ; r += stride {
		b.Add(r)
		if hi-r < stride { // compared this way round, a huge stride cannot overflow
			return nil
		}
	}
}

func parseRank(text, number string, n int) (int, error) {
	r, err := parseNumber(number)
	if err != nil {
		return 0, errorf(text,
			"In the rank set %s, %s is not a rank; write ranks such as \"0-3,7\", or \"all\".", quote(text),
			quote(number))
	}
	if r >= n {
		return 0, errorf(text, "The rank set %s names rank %s, but the job has %s.", quote(text),
			clip(strings.TrimSpace(number)), Of(n))
	}
	return r, nil
}

// parseNumber reads decimal digits only: no sign, no underscore. A number too large for int is given as the largest
// int, which no job reaches.
func parseNumber(s string) (int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, strconv.ErrSyntax
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, strconv.ErrSyntax
		}
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

func errorf(text, format string, args ...any) error {
	return &Error{Text: text, Reason: fmt.Sprintf(format, args...)}
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
	return text(s.Each)
}

// InOrder writes ranks as String does, but in the order given: "3,0-2". A negative rank is one that has no number: "?".
// No ranks are "".
func InOrder(ranks []int) string { return text(slices.Values(ranks)) }

func text(ranks iter.Seq[int]) string {
	var out []byte
	var singles []int // ranks without neighbours that wait to be written, for a stride needs several
	lo, hi := 0, -1   // a run of neighbours; none if hi is below lo
	endRun := func() {
		if lo == hi {
			singles = append(singles, lo)
		} else if lo < hi {
			out = appendSingles(out, singles)
			singles = singles[:0]
			out = appendRange(out, lo, hi)
		}
	}
	for r := range ranks {
		if lo <= hi && hi >= 0 && r == hi+1 {
			hi = r
			continue
		}
		endRun()
		lo, hi = r, r
	}
	endRun()
	return string(appendSingles(out, singles))
}

// appendSingles writes ranks, none of which follows its neighbour. It takes the longest ascending progression from the
// left and writes it with a stride if that is shorter. Every progression of four or more is shorter that way, so each
// rank is looked at a bounded number of times.
func appendSingles(out []byte, ranks []int) []byte {
	for len(ranks) > 0 {
		n := 1
		for n < len(ranks) && ranks[0] >= 0 && ranks[1] > ranks[0] && ranks[n]-ranks[n-1] == ranks[1]-ranks[0] {
			n++
		}
		if n >= 3 {
			var list []byte
			for _, r := range ranks[:min(n, 4)] {
				list = appendItem(list, r)
			}
			strided := appendRange(nil, ranks[0], ranks[n-1])
			strided = append(strided, ':')
			strided = strconv.AppendInt(strided, int64(ranks[1]-ranks[0]), 10)
			if n > 4 || len(strided) < len(list) {
				if len(out) > 0 {
					out = append(out, ',')
				}
				out = append(out, strided...)
				ranks = ranks[n:]
				continue
			}
		}
		out = appendItem(out, ranks[0])
		ranks = ranks[1:]
	}
	return out
}

func appendItem(out []byte, r int) []byte {
	if len(out) > 0 {
		out = append(out, ',')
	}
	if r < 0 {
		return append(out, '?')
	}
	return strconv.AppendInt(out, int64(r), 10)
}

func appendRange(out []byte, lo, hi int) []byte {
	out = appendItem(out, lo)
	out = append(out, '-')
	return strconv.AppendInt(out, int64(hi), 10)
}

// MarshalText gives String, for logs and JSON.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
