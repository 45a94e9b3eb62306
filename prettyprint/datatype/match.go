package datatype

import (
	"fmt"
	"io"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// Side is one end of a message: what a send or a receive was given. The types of the two sides may belong to registries
// of different ranks.
type Side struct {
	Name  string // the type as the user calls it: the root of its addresses
	Where string // "rank 1", or empty
	Type  *Type
	Count int64
	// Envelope is where the message goes or comes from, if the side is that of a call or request.
	Envelope *Envelope
}

// Verdict says how the type signature of a send fits that of its receive (MPI-3.1, 3.3.1; paper, VI).
type Verdict int

// The verdicts.
const (
	MatchEqual Verdict = iota + 1 // the same basic types in the same order
	// the receive could take more: correct in point-to-point, an error in a collective
	MatchPartial
	MatchTruncated // the send has more than the receive takes: an error (MPI_ERR_TRUNCATE)
	MatchDifferent // a basic type differs: an error, which libraries do not notice
	// one side is MPI_PACKED, which matches everything: only the sizes can be compared
	MatchPacked
	MatchUnknown // as far as both are known they agree; then comes a type that is not decoded
)

func (v Verdict) String() string {
	switch v {
	case MatchEqual:
		return "match"
	case MatchPartial:
		return "partial receive"
	case MatchTruncated:
		return "truncated"
	case MatchDifferent:
		return "mismatch"
	case MatchPacked:
		return "packed"
	case MatchUnknown:
		return "unknown"
	}
	return fmt.Sprintf("verdict %d", int(v))
}

// MatchEntry is one entry of a signature, by its address in the expanded type-tree.
type MatchEntry struct {
	Basic   string // the name that is compared: MPI_INT also for the second member of MPI_DOUBLE_INT
	Address string // t{3}(STRUCT)[2][5](CHAR)
	Short   string // t{3}[2][5]
	Offset  int64  // of the element from the buffer's start
	Leaf    *Type
}

// Matching is the outcome of a comparison.
type Matching struct {
	Send, Recv           Side
	SendTotal, RecvTotal int64 // entries of the signatures
	Verdict              Verdict
	At                   int64 // entries that agree from the beginning on
}

// Match compares the type signature of a send with that of its receive. It reads nothing but the types, and takes time
// by the size of their descriptions, not of the messages.
func Match(send, recv Side) (*Matching, error) {
	m := &Matching{Send: send, Recv: recv}
	for _, s := range []struct {
		side  Side
		total *int64
		what  string
	}{{send, &m.SendTotal, "send"}, {recv, &m.RecvTotal, "receive"}} {
		if s.side.Type.problem != nil {
			return nil, s.side.Type.problem
		}
		if s.side.Count < 0 {
			return nil, fault.Errorf(fault.Usage, 0, "The count of the %s is %d; MPI takes counts from 0 on.", s.what,
				s.side.Count)
		}
		var c Calc
		c.Mul(s.side.Count, s.side.Type.elements)
		c.Mul(s.side.Count, s.side.Type.Figures().Extent)
		c.Mul(s.side.Count, s.side.Type.Figures().Size)
		if *s.total = c.Mul(s.side.Count, s.side.Type.signatureUnits().n); c.Bad {
			return nil, fault.Errorf(fault.TooLarge, 0,
				"%d instances of the %s's datatype %s are more than 2^62 elements or bytes.",
				s.side.Count, s.what, s.side.Type.Title())
		}
	}
	m.compare()
	return m, nil
}

func (m *Matching) compare() {
	if m.SendTotal > 0 && (m.Send.packed() || m.Recv.packed()) {
		m.Verdict = MatchPacked
		if m.Send.size() > m.Recv.size() {
			m.Verdict = MatchTruncated
		}
		return
	}
	m.At = m.common(min(m.SendTotal, m.RecvTotal))
	switch {
	case m.At == m.SendTotal && m.SendTotal == m.RecvTotal:
		m.Verdict = MatchEqual
	case m.At == m.SendTotal:
		m.Verdict = MatchPartial
	case m.At == m.RecvTotal:
		m.Verdict = MatchTruncated
	default:
		m.Verdict = MatchDifferent
	}
	// A type that is not decoded differs from everything, and what comes after it was not compared.
	if s, r := m.SendEntry(m.At), m.RecvEntry(m.At); s != nil && r != nil && (s.unknown() || r.unknown()) {
		m.Verdict = MatchUnknown
	}
}

func (e *MatchEntry) unknown() bool { return e.Leaf.Combiner() == abi.CombinerUnknown }

// common is the length of the longest common prefix, at most n.
func (m *Matching) common(n int64) int64 {
	same := func(k int64) bool { return m.Send.hashOf(k) == m.Recv.hashOf(k) }
	if same(n) {
		return n
	}
	lo, hi := int64(0), n // the first lo agree, the first hi do not
	for lo+1 < hi {
		if mid := lo + (hi-lo)/2; same(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

func (s Side) hashOf(k int64) sigHash {
	if k == 0 {
		return sigHash{}
	}
	return s.Type.hashOf(k)
}

// packed reports whether the side is MPI_PACKED throughout.
func (s Side) packed() bool {
	mix := s.Type.Mix()
	return s.Count > 0 && len(mix) == 1 && mix[0].Leaf.basic() == abi.BasicPacked
}

// Signature is the type signature of all instances of the side.
func (s Side) Signature() *Signature {
	all := &Signature{}
	if s.Count > 0 && s.Type.elements > 0 {
		all.add(s.Type.Signature(), s.Count)
	}
	return all
}

// Bytes is the size of what the side selects.
func (s Side) Bytes() int64 { return s.size() }

func (s Side) size() int64 { return s.Count * s.Type.Figures().Size }

func (s Side) what() string {
	if s.Count == 1 {
		return s.Type.Title()
	}
	return fmt.Sprintf("%s × %s", view.Grouped(s.Count), s.Type.Title())
}

// entry is the k-th entry of the side's signature, or nil beyond its end.
func (s Side) entry(k, total int64) *MatchEntry {
	if k < 0 || k >= total {
		return nil
	}
	n := s.Type.signatureUnits().n
	element, name := s.Type.elementOf(k % n)
	root := Location{prefix: s.Name, short: s.Name, t: s.Type, row: s.Count}
	if s.Count == 1 {
		root.row = -1
	}
	var out *MatchEntry
	at := k/n*s.Type.elements + element
	root.walk(at, at+1, func(l *Location, e Element, _ int64) {
		var v Value
		v.setAddress(l, e)
		out = &MatchEntry{Basic: name, Address: v.Address, Short: v.Short, Offset: e.Offset, Leaf: e.Leaf}
	})
	return out
}

// SendEntry is the k-th entry of the send's signature, or nil if it has none.
func (m *Matching) SendEntry(k int64) *MatchEntry { return m.Send.entry(k, m.SendTotal) }

// RecvEntry is the k-th entry of the receive's signature, or nil if it has none.
func (m *Matching) RecvEntry(k int64) *MatchEntry { return m.Recv.entry(k, m.RecvTotal) }

// Explain says in whole sentences what the verdict means.
func (m *Matching) Explain() string {
	s, r := m.SendEntry(m.At), m.RecvEntry(m.At)
	switch m.Verdict {
	case MatchEqual:
		if m.SendTotal == 0 {
			return "Nothing is sent, and nothing can be received: they match."
		}
		return fmt.Sprintf("They match: all %s agree.", view.Plural(m.SendTotal, "entry"))
	case MatchPartial:
		sent, more := view.Plural(m.SendTotal, "entry"), view.Grouped(m.RecvTotal-m.SendTotal)
		switch {
		case m.collective():
			return fmt.Sprintf("They do not match, which is an error: the send ends after %s, and the receive is of "+
				"%s more, from %s on. "+
				"Only point-to-point communication may receive less than was asked for.", sent, more, r.Address)
		case m.Send.Envelope != nil && m.Recv.Envelope != nil:
			return fmt.Sprintf("They match: the receive is partial. The send ends after %s, and the receive could "+
				"take %s more, from %s on.", sent, more, r.Address)
		}
		return fmt.Sprintf("They match: the receive is partial. The send ends after %s, and the receive could take "+
			"%s more, from %s on. "+
			"In point-to-point communication this is correct; in a collective it is an error.", sent, more, r.Address)
	case MatchTruncated:
		if s == nil || m.At < m.RecvTotal { // packed
			return fmt.Sprintf("The send has %s and the receive takes %s: the message is truncated, which is an error.",
				view.ByteCount(m.Send.size()), view.ByteCount(m.Recv.size()))
		}
		return fmt.Sprintf("The message is truncated, which is an error: the receive ends after %s, and the send has "+
			"%s more, from %s on.",
			view.Plural(m.RecvTotal, "entry"), view.Grouped(m.SendTotal-m.RecvTotal), s.Address)
	case MatchDifferent:
		return fmt.Sprintf("They do not match, which is an error: entry %s is %s in the send, at %s, and %s in the "+
			"receive, at %s.%s",
			view.Grouped(m.At), s.Basic, s.Address, r.Basic, r.Address, m.alike(s, r))
	case MatchPacked:
		return fmt.Sprintf("MPI_PACKED matches every type; whether the message was packed from, or will be unpacked "+
			"as, the other "+
			"side's types cannot be seen here. The send has %s, the receive takes up to %s.", view.ByteCount(m.Send.size()),
			view.ByteCount(m.Recv.size()))
	case MatchUnknown:
		return fmt.Sprintf("The first %s agree. Then comes a type that Cohort does not decode, at %s in the send and "+
			"%s in the receive.",
			view.Plural(m.At, "entry"), s.Address, r.Address)
	}
	return m.Verdict.String()
}

// collective reports whether both sides are those of a collective.
func (m *Matching) collective() bool {
	s, r := m.Send.Envelope, m.Recv.Envelope
	return s != nil && r != nil && s.Collective && r.Collective
}

// alike says whether the library will notice a mismatch of two basic types.
func (m *Matching) alike(s, r *MatchEntry) string {
	a, b := s.Leaf.parts()[0], r.Leaf.parts()[0]
	if s.Leaf.basic() != abi.BasicPair && r.Leaf.basic() != abi.BasicPair && a.basic == b.basic && a.size == b.size {
		return fmt.Sprintf(" Both are stored alike here, in %s, so the values will arrive; MPI does not promise it, "+
			"because the names differ.",
			view.ByteCount(a.size))
	}
	if m.Send.size() > m.Recv.size() {
		return fmt.Sprintf(" The message is also longer than what the receive takes, %s and %s, which MPI libraries "+
			"report.",
			view.ByteCount(m.Send.size()), view.ByteCount(m.Recv.size()))
	}
	return " MPI libraries do not notice; the receiver misreads the bytes."
}

// Text writes the comparison for the console: both signatures, the entries around the first difference side by side,
// and the verdict. At most limit basic types of a signature are shown.
func (m *Matching) Text(w io.Writer, limit int) error {
	if limit <= 0 {
		limit = 32
	}
	for _, s := range []struct {
		what  string
		side  Side
		total int64
	}{{"send", m.Send, m.SendTotal}, {"receive", m.Recv, m.RecvTotal}} {
		where := ""
		if s.side.Where != "" {
			where = " (" + s.side.Where + ")"
		}
		if err := view.Write(w, "%-8s %s%s: %s, %s, %s\n         signature: %s\n", s.what, s.side.Name, where, s.side.what(),
			view.Plural(s.total, "entry"), view.ByteCount(s.side.size()), s.side.Signature().Text(limit)); err != nil {
			return err
		}
	}
	if rows := m.rows(); len(rows) > 0 {
		if err := m.table(w, rows); err != nil {
			return err
		}
	}
	apart := m.Apart()
	for _, line := range apart {
		if err := view.Write(w, "%s\n", line); err != nil {
			return err
		}
	}
	alone := ""
	if len(apart) > 0 {
		alone = "If it were, by their types: "
	}
	if err := view.Write(w, "%s%s\n", alone, m.Explain()); err != nil {
		return err
	}
	for _, s := range []Side{m.Send, m.Recv} {
		if err := WriteWarnings(w, s.Type); err != nil {
			return err
		}
	}
	return nil
}

// rows are the entries to be shown side by side: those around where the two part.
func (m *Matching) rows() []int64 {
	if m.Verdict == MatchEqual || m.Verdict == MatchPacked || m.Verdict == MatchTruncated && m.At == 0 &&
		m.RecvTotal > 0 {
		return nil
	}
	var out []int64
	for k := max(m.At-2, 0); k < min(m.At+3, max(m.SendTotal, m.RecvTotal)); k++ {
		out = append(out, k)
	}
	return out
}

func (m *Matching) table(w io.Writer, rows []int64) error {
	cells := [][4]string{{"", "entry", "send", "receive"}}
	for _, k := range rows {
		mark := " "
		if k == m.At {
			mark = ">"
		}
		cells = append(cells, [4]string{mark, view.Grouped(k), m.SendEntry(k).cell(), m.RecvEntry(k).cell()})
	}
	var width [4]int
	for _, c := range cells {
		for i := range c {
			width[i] = max(width[i], len([]rune(c[i])))
		}
	}
	for _, c := range cells {
		line := fmt.Sprintf("%-*s %*s  %-*s  %s", width[0], c[0], width[1], c[1], width[2], c[2], c[3])
		if err := view.Write(w, "%s\n", strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func (e *MatchEntry) cell() string {
	if e == nil {
		return "(ends)"
	}
	return fmt.Sprintf("%s  %s at offset %d", e.Basic, e.Address, e.Offset)
}

// Node is the comparison as a tree.
func (m *Matching) Node() view.Node {
	side := func(name string, s Side, total int64, e *MatchEntry) view.Node {
		kids := []view.Node{
			view.Leaf("type", s.what()), view.Leaf("signature", s.Signature().Text(32)), view.Number("entries", total),
			view.Number("bytes", s.size()),
		}
		if e != nil && m.Verdict != MatchEqual && m.Verdict != MatchPacked {
			kids = append(kids, view.Leaf("at", e.cell()))
		}
		return view.Group(name, s.what(), kids)
	}
	return view.Group("match", m.Explain(), []view.Node{
		view.Leaf("verdict", m.Verdict.String()), view.Number("agree", m.At),
		side("send", m.Send, m.SendTotal, m.SendEntry(m.At)), side("receive", m.Recv, m.RecvTotal, m.RecvEntry(m.At)),
	})
}
