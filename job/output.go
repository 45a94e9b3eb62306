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
	begun   []partialEntry            // partials in the order in which they began; stale entries are skipped
	alike   map[text]map[int]struct{} // ranks by short partial
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
	category string
	data     []byte
	since    time.Time
	entered  bool // it is in begun
}

type partialEntry struct {
	rank int
	p    *partial
}

func newMerger(window time.Duration, ranks int) *merger {
	return &merger{
		window: window, ranks: ranks, equal: map[text][]*line{}, last: map[int]uint64{},
		partial: map[int]*partial{}, alike: map[text]map[int]struct{}{},
	}
}

// add takes in what a rank printed and returns what need not wait any longer.
func (m *merger) add(now time.Time, rank int, category string, data []byte) []Output {
	if len(data) == 0 {
		return nil
	}
	p := m.take(rank)
	if p != nil && p.category != category {
		m.append(now, rank, text{p.category, string(p.data)})
		p = nil
	}
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n') + 1
		whole := n > 0
		if !whole {
			n = len(data)
		}
		if p == nil {
			p = &partial{category: category, since: now}
		}
		p.data = append(p.data, data[:n]...)
		data = data[n:]
		if whole || len(p.data) >= longestPartial {
			m.append(now, rank, text{category, string(p.data)})
			p = nil
		}
	}
	if p != nil {
		m.put(rank, p)
	}
	return m.expired(now)
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

// take removes a rank's partial.
func (m *merger) take(rank int) *partial {
	p := m.partial[rank]
	if p == nil {
		return nil
	}
	delete(m.partial, rank)
	if len(p.data) <= mergedPartial {
		t := text{p.category, string(p.data)}
		delete(m.alike[t], rank)
		if len(m.alike[t]) == 0 {
			delete(m.alike, t)
		}
	}
	return p
}

func (m *merger) put(rank int, p *partial) {
	m.partial[rank] = p
	if !p.entered { // one that was taken, grew and is put back keeps its place
		p.entered = true
		m.begun = append(m.begun, partialEntry{rank, p})
	}
	if len(p.data) <= mergedPartial {
		t := text{p.category, string(p.data)}
		if m.alike[t] == nil {
			m.alike[t] = map[int]struct{}{}
		}
		m.alike[t][rank] = struct{}{}
	}
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
		e, ok := m.oldestPartial()
		if !ok || e.p.since.Add(m.window).After(now) {
			return out
		}
		// Everything that this rank printed before began to wait earlier, hence has been given out above.
		out = append(out, m.expirePartial(now, e.rank))
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
func (m *merger) oldestPartial() (partialEntry, bool) {
	for len(m.begun) > 0 {
		e := m.begun[0]
		if m.partial[e.rank] == e.p {
			return e, true
		}
		m.begun[0] = partialEntry{}
		m.begun = m.begun[1:]
	}
	return partialEntry{}, false
}

// expirePartial gives a partial out, with the equal ones of ranks of which nothing else waits. The bytes of a character
// whose end has not come yet stay behind.
func (m *merger) expirePartial(now time.Time, rank int) Output {
	p := m.partial[rank]
	ranks := []int{rank}
	if len(p.data) <= mergedPartial {
		for other := range m.alike[text{p.category, string(p.data)}] {
			if other != rank && !m.hasWaiting(other) {
				ranks = append(ranks, other)
			}
		}
	}
	shown := wholeCharacters(p.data)
	o := Output{Ranks: rankset.New(ranks...), Category: p.category, Text: string(shown)}
	rest := p.data[len(shown):]
	for _, r := range ranks {
		m.take(r)
		if len(rest) > 0 {
			m.put(r, &partial{category: p.category, data: bytes.Clone(rest), since: now})
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
	if p := m.take(rank); p != nil {
		m.append(now, rank, text{p.category, string(p.data)})
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
		left[r] = text{p.category, string(p.data)}
	}
	for _, g := range groupBy(left) {
		out = append(out, Output{Ranks: g.ranks, Category: g.key.category, Text: g.key.text})
	}
	clear(m.partial)
	clear(m.alike)
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
	if e, ok := m.oldestPartial(); ok {
		if t := e.p.since.Add(m.window); !found || t.Before(at) {
			at, found = t, true
		}
	}
	return at, found
}
