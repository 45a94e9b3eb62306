package job

import (
	"bytes"
	"sort"
	"time"
	"unicode/utf8"

	"github.com/cohort-debugger/cohort/rankset"
)

const (
	mostWaitingLines = 4096    // beyond these the oldest lines stop waiting,
	mostWaitingBytes = 1 << 20 // so that a rank that prints a lot costs no more memory than this
	longestPartial   = 1 << 16 // a line without end is cut into pieces of this size
	mergedPartial    = 256     // longer beginnings of lines are not compared with other ranks'
)

// A merger turns the bytes that ranks print into lines, each shown once for all ranks that print it at about the same
// time.
//
// Lines wait in one list, in the order in which they were first printed, for at most the window, and are given out in
// that order. A rank's line joins the first equal line of the list that lies behind everything of the same rank; so the
// order of one rank's output is kept, whatever is merged. A line that all ranks have printed does not wait longer for
// itself, only for those in front of it. The beginning of a line is given out when the window has passed without its
// end (a prompt).
//
// It has no clock and no goroutine: times are given to it, ascending.
type merger struct {
	window  time.Duration
	ranks   int
	waiting []*line          // ascending number
	number  uint64           // of the newest line
	bytes   int              // of waiting lines' texts
	equal   map[text][]*line // waiting lines by text, ascending number
	// number of the last line that a rank is in; a number that is not waiting any more means nothing
	last    map[int]uint64
	partial map[int]*partial
	begun   []*partial // in the order in which they began; those that are not in partial any more are skipped
}

type text struct{ category, text string }

type line struct {
	number uint64
	text   text
	until  time.Time
	ranks  rankset.Builder
	count  int
}

type partial struct {
	rank     int
	category string
	data     []byte
	since    time.Time
}

func (p *partial) text() text { return text{p.category, string(p.data)} }

func newMerger(window time.Duration, ranks int) *merger {
	return &merger{
		window: window, ranks: ranks, equal: map[text][]*line{}, last: map[int]uint64{},
		partial: map[int]*partial{},
	}
}

// add takes in what a rank printed and returns what need not wait any longer.
func (m *merger) add(now time.Time, rank int, category string, data []byte) []Output {
	if len(data) == 0 {
		return nil
	}
	if p := m.partial[rank]; p != nil && p.category != category {
		m.close(now, p)
	}
	p := m.partial[rank]
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n') + 1
		whole := n > 0
		if !whole {
			n = len(data)
		}
		if p == nil {
			p = &partial{rank: rank, category: category, since: now}
		}
		p.data = append(p.data, data[:n]...)
		data = data[n:]
		if whole || len(p.data) >= longestPartial {
			m.close(now, p)
			p = nil
		}
	}
	if p != nil && m.partial[rank] == nil {
		m.put(p)
	}
	return m.expired(now)
}

func (m *merger) put(p *partial) {
	m.partial[p.rank] = p
	m.begun = append(m.begun, p)
}

// close adds a partial to the list, as a line or a piece of one.
func (m *merger) close(now time.Time, p *partial) {
	delete(m.partial, p.rank)
	m.append(now, p.rank, p.text())
}

// append adds a line, or a piece of one, to the list.
func (m *merger) append(now time.Time, rank int, t text) {
	same := m.equal[t]
	last := m.last[rank]
	i := sort.Search(len(same), func(i int) bool { return same[i].number > last })
	if i == len(same) {
		m.number++
		l := &line{number: m.number, text: t, until: now.Add(m.window)}
		m.waiting = append(m.waiting, l)
		m.bytes += len(t.text)
		same = append(same, l)
		m.equal[t] = same
	}
	l := same[i]
	l.ranks.Add(rank)
	l.count++
	m.last[rank] = l.number
}

// expired returns what has waited long enough at now.
func (m *merger) expired(now time.Time) []Output {
	var out []Output
	for len(m.waiting) > 0 {
		l := m.waiting[0]
		tooMuch := len(m.waiting) > mostWaitingLines || m.bytes > mostWaitingBytes
		if !tooMuch && l.count < m.ranks && l.until.After(now) {
			break
		}
		out = append(out, m.pop())
	}
	for {
		p := m.oldestPartial()
		if p == nil || p.since.Add(m.window).After(now) {
			return out
		}
		// Everything that this rank printed before began to wait earlier, hence has been given out above.
		out = append(out, m.expirePartial(now, p))
	}
}

func (m *merger) pop() Output {
	l := m.waiting[0]
	m.waiting[0] = nil
	m.waiting = m.waiting[1:]
	m.bytes -= len(l.text.text)
	if same := m.equal[l.text]; len(same) > 1 {
		m.equal[l.text] = same[1:]
	} else {
		delete(m.equal, l.text)
	}
	return Output{Ranks: l.ranks.Set(), Category: l.text.category, Text: l.text.text}
}

// oldestPartial is the partial that waits longest.
func (m *merger) oldestPartial() *partial {
	for len(m.begun) > 0 {
		if p := m.begun[0]; m.partial[p.rank] == p {
			return p
		}
		m.begun[0] = nil
		m.begun = m.begun[1:]
	}
	return nil
}

// expirePartial gives a partial out, with the equal ones of ranks of which nothing else waits. The bytes of a character
// whose end has not come yet stay behind.
func (m *merger) expirePartial(now time.Time, p *partial) Output {
	alike := []*partial{p}
	if len(p.data) <= mergedPartial {
		for _, other := range m.partial {
			if other != p && other.category == p.category && bytes.Equal(other.data, p.data) &&
				!m.hasWaiting(other.rank) {
				alike = append(alike, other)
			}
		}
	}
	shown := wholeCharacters(p.data)
	o := Output{Category: p.category, Text: string(shown)}
	rest := p.data[len(shown):]
	for _, q := range alike {
		o.Ranks = o.Ranks.With(q.rank)
		delete(m.partial, q.rank)
		if len(rest) > 0 {
			m.put(&partial{rank: q.rank, category: q.category, data: bytes.Clone(rest), since: now})
		}
	}
	return o
}

// hasWaiting tells whether the rank is in a line that waits.
func (m *merger) hasWaiting(rank int) bool {
	return len(m.waiting) > 0 && m.last[rank] >= m.waiting[0].number
}

// wholeCharacters cuts off the beginning of a UTF-8 character at the end, unless that is all there is.
func wholeCharacters(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n < len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			return b
		}
	}
	return b
}

// end says that the rank prints nothing more: what it left of a line waits like a line.
func (m *merger) end(now time.Time, rank int) []Output {
	if p := m.partial[rank]; p != nil {
		m.close(now, p)
	}
	return m.expired(now)
}

// flush returns everything.
func (m *merger) flush() []Output {
	var out []Output
	for len(m.waiting) > 0 {
		out = append(out, m.pop())
	}
	left := make(map[int]text, len(m.partial))
	for r, p := range m.partial {
		left[r] = p.text()
	}
	for _, g := range groupBy(left) {
		out = append(out, Output{Ranks: g.ranks, Category: g.key.category, Text: g.key.text})
	}
	clear(m.partial)
	clear(m.last)
	m.begun = nil
	return out
}

// deadline is when expired will next have something to give out.
func (m *merger) deadline() (time.Time, bool) {
	var at time.Time
	found := false
	if len(m.waiting) > 0 {
		at, found = m.waiting[0].until, true
	}
	if p := m.oldestPartial(); p != nil {
		if t := p.since.Add(m.window); !found || t.Before(at) {
			at, found = t, true
		}
	}
	return at, found
}
