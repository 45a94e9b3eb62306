package job

import (
	"fmt"
	"strconv"
	"strings"
)

// A RankSetError says why a text is not a rank set of a job; its message is a whole sentence.
type RankSetError struct {
	Text   string // what was given
	Reason string // whole sentence
}

func (e *RankSetError) Error() string { return e.Reason }

// ParseRankSet reads a rank set of a job of n ranks: items separated by commas, each `all`, a rank `7`, a range `0-3`
// with both ends in it, or a range with a stride `0-63:4`. Spaces around items are allowed. Every rank must be below n;
// an empty text is an error. Errors are *RankSetError.
func ParseRankSet(text string, n int) (RankSet, error) {
	var b rankSetBuilder
	if strings.TrimSpace(text) == "" {
		return RankSet{}, rankSetErrorf(text, `An empty rank set was given; write ranks such as "0-3,7", or "all".`)
	}
	for item := range strings.SplitSeq(text, ",") {
		if err := parseRankItem(&b, text, strings.TrimSpace(item), n); err != nil {
			return RankSet{}, err
		}
	}
	return b.set(), nil
}

func parseRankItem(b *rankSetBuilder, text, item string, n int) error {
	if item == "" {
		return rankSetErrorf(text, "The rank set %s has an empty item between its commas; write it such as \"0-3,7\".",
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
			return rankSetErrorf(text,
				"In the rank set %s the stride in %s needs a range in front of it, such as \"0-%d:%s\".",
				quote(text), quote(item), max(n-1, 0), clip(strideText))
		}
		b.add(lo)
		return nil
	}
	hi, err := parseRank(text, hiText, n)
	if err != nil {
		return err
	}
	if hi < lo {
		return rankSetErrorf(text, "In the rank set %s the range %s runs backwards; write \"%d-%d\".", quote(text),
			quote(item), hi, lo)
	}
	if !hasStride {
		b.addRange(lo, hi)
		return nil
	}
	stride, err := parseNumber(strideText)
	if err != nil || stride < 1 {
		return rankSetErrorf(text, "In the rank set %s the stride %s is not a whole number of at least 1.", quote(text),
			quote(strideText))
	}
	for r := lo; ; r += stride {
		b.add(r)
		if hi-r < stride { // compared this way round, a huge stride cannot overflow
			return nil
		}
	}
}

func parseRank(text, number string, n int) (int, error) {
	r, err := parseNumber(number)
	if err != nil {
		return 0, rankSetErrorf(text,
			"In the rank set %s, %s is not a rank; write ranks such as \"0-3,7\", or \"all\".", quote(text),
			quote(number))
	}
	if r >= n {
		return 0, rankSetErrorf(text, "The rank set %s names rank %s, but the job has %s.", quote(text),
			clip(strings.TrimSpace(number)), ranksOf(n))
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

func ranksOf(n int) string {
	switch n {
	case 0:
		return "no ranks"
	case 1:
		return "only rank 0"
	}
	return fmt.Sprintf("ranks 0 to %d", n-1)
}

func rankSetErrorf(text, format string, args ...any) error {
	return &RankSetError{Text: text, Reason: fmt.Sprintf(format, args...)}
}

// quote and clip keep a message readable whatever was typed.
func quote(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// String is the canonical text: ascending, ranges for neighbours, a stride where that is shorter than the list.
// ParseRankSet gives the same set back. The empty set is "none", which ParseRankSet refuses.
func (s RankSet) String() string {
	if s.Empty() {
		return "none"
	}
	var out []byte
	var singles []int // ranks without neighbours that wait to be written, for a stride needs several
	lo, hi := -1, -1
	endRun := func() {
		switch {
		case lo < 0:
		case lo == hi:
			singles = append(singles, lo)
		default:
			out = appendSingles(out, singles)
			singles = singles[:0]
			out = appendRange(out, lo, hi)
		}
	}
	for r := range s.Each {
		if lo >= 0 && r == hi+1 {
			hi = r
			continue
		}
		endRun()
		lo, hi = r, r
	}
	endRun()
	return string(appendSingles(out, singles))
}

// appendSingles writes ascending ranks, none of which are neighbours. It takes the longest progression from the left
// and writes it with a stride if that is shorter. Every progression of four or more is shorter that way, so each rank
// is looked at a bounded number of times.
func appendSingles(out []byte, ranks []int) []byte {
	for len(ranks) > 0 {
		n := 1
		for n < len(ranks) && ranks[n]-ranks[n-1] == ranks[1]-ranks[0] {
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
	return strconv.AppendInt(out, int64(r), 10)
}

func appendRange(out []byte, lo, hi int) []byte {
	out = appendItem(out, lo)
	out = append(out, '-')
	return strconv.AppendInt(out, int64(hi), 10)
}

// MarshalText gives String, for logs and JSON.
func (s RankSet) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
