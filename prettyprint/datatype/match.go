package datatype

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cohort-debugger/cohort/pmpi/abi"
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
	Total    int64 // entries of the signature, of a side of a Matching
}

// Verdict says how the type signature of a send fits that of its receive (MPI-3.1, 3.3.1; paper, VI).
type Verdict int

// The verdicts.
const (
	MatchEqual Verdict = iota // the same basic types in the same order
	// the receive could take more: correct in point-to-point, an error in a collective
	MatchPartial
	MatchTruncated // the send has more than the receive takes: an error (MPI_ERR_TRUNCATE)
	MatchDifferent // a basic type differs: an error, which libraries do not notice
	// one side is MPI_PACKED, which matches everything: only the sizes can be compared
	MatchPacked
	MatchUnknown // as far as both are known they agree; then comes a type that is not decoded
)

func (v Verdict) String() string {
	return [...]string{"match", "partial receive", "truncated", "mismatch", "packed", "unknown"}[v]
}

// MatchEntry is one entry of a signature, by its address in the expanded type-tree.
type MatchEntry struct {
	Basic   string // the name that is compared: MPI_INT also for the second member of MPI_DOUBLE_INT
	Address string // t{3}(STRUCT)[2][5](CHAR)
	Offset  int64  // of the element from the buffer's start
	Leaf    *Type
}

// Matching is the outcome of a comparison.
type Matching struct {
	Send, Recv Side
	Verdict    Verdict
	At         int64 // entries that agree from the beginning on
}

var sideNames = [2]string{"send", "receive"}

// Match compares the type signature of a send with that of its receive. It reads nothing but the types, and takes time
// by the size of their descriptions, not of the messages.
func Match(send, recv Side) (*Matching, error) {
	m := &Matching{Send: send, Recv: recv}
	for i, s := range []*Side{&m.Send, &m.Recv} {
		if err := s.Type.Check(s.Count, sideNames[i]); err != nil {
			return nil, err
		}
		s.Total = SatMul(s.Count, s.Type.signatureUnits().n)
	}
	m.compare()
	return m, nil
}

func (m *Matching) compare() {
	if m.Send.Total > 0 && (m.Send.packed() || m.Recv.packed()) {
		m.Verdict = MatchPacked
		if m.Send.Bytes() > m.Recv.Bytes() {
			m.Verdict = MatchTruncated
		}
		return
	}
	m.At = m.common(min(m.Send.Total, m.Recv.Total))
	switch {
	case m.At == m.Send.Total && m.Send.Total == m.Recv.Total:
		m.Verdict = MatchEqual
	case m.At == m.Send.Total:
		m.Verdict = MatchPartial
	case m.At == m.Recv.Total:
		m.Verdict = MatchTruncated
	default:
		m.Verdict = MatchDifferent
	}
	// A type that is not decoded differs from everything, and what comes after it was not compared.
	if s, r := m.Send.Entry(m.At), m.Recv.Entry(m.At); s != nil && r != nil && (s.unknown() || r.unknown()) {
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
	if s.Count > 0 && s.Type.Elements > 0 {
		all.add(s.Type.Signature(), s.Count)
	}
	return all
}

// Bytes is the size of what the side selects.
func (s Side) Bytes() int64 { return s.Count * s.Type.Figures.Size }

func (s Side) what() string {
	if s.Count == 1 {
		return s.Type.Title()
	}
	return fmt.Sprintf("%s × %s", view.Grouped(s.Count), s.Type.Title())
}

// Entry is the k-th entry of the signature of a side of a Matching, or nil beyond its end.
func (s Side) Entry(k int64) (out *MatchEntry) {
	if k < 0 || k >= s.Total {
		return nil
	}
	n := s.Type.signatureUnits().n
	element, name := s.Type.elementOf(k % n)
	at := k/n*s.Type.Elements + element
	s.Type.instances(s.Name, s.Count).walk(at, at+1, func(in *Location, e Element) {
		var p page
		var c cell
		p.name(&c, in, e)
		out = &MatchEntry{Basic: name, Address: string(p.names), Offset: e.Offset, Leaf: e.Leaf}
	})
	return out
}

// Explain says in whole sentences what the verdict means.
func (m *Matching) Explain() string {
	s, r := m.Send.Entry(m.At), m.Recv.Entry(m.At)
	sent, taken := view.ByteCount(m.Send.Bytes()), view.ByteCount(m.Recv.Bytes())
	switch m.Verdict {
	case MatchEqual:
		if m.Send.Total == 0 {
			return "Nothing is sent, and nothing can be received: they match."
		}
		return fmt.Sprintf("They match: all %s agree.", entries(m.Send.Total))
	case MatchPartial:
		ends, more := entries(m.Send.Total), view.Grouped(m.Recv.Total-m.Send.Total)
		if m.collective() {
			return fmt.Sprintf("They do not match, which is an error: the send ends after %s, and the receive is of "+
				"%s more, from %s on. Only point-to-point communication may receive less than was asked for.",
				ends, more,
				r.Address)
		}
		text := fmt.Sprintf("They match: the receive is partial. The send ends after %s, and the receive could take "+
			"%s more, from %s on.", ends, more, r.Address)
		if m.Send.Envelope == nil || m.Recv.Envelope == nil {
			text += " In point-to-point communication this is correct; in a collective it is an error."
		}
		return text
	case MatchTruncated:
		if s == nil || m.At < m.Recv.Total { // packed
			return fmt.Sprintf("The send has %s and the receive takes %s: the message is truncated, which is an error.",
				sent, taken)
		}
		return fmt.Sprintf("The message is truncated, which is an error: the receive ends after %s, and the send "+
			"has %s more, from %s on.", entries(m.Recv.Total), view.Grouped(m.Send.Total-m.Recv.Total), s.Address)
	case MatchDifferent:
		return fmt.Sprintf("They do not match, which is an error: entry %s is %s in the send, at %s, and %s in the "+
			"receive, at %s.%s", view.Grouped(m.At), s.Basic, s.Address, r.Basic, r.Address, m.alike(s, r))
	case MatchPacked:
		return fmt.Sprintf("MPI_PACKED matches every type; whether the message was packed from, or will be unpacked "+
			"as, the other side's types cannot be seen here. The send has %s, the receive takes up to %s.", sent, taken)
	default:
		return fmt.Sprintf("The first %s agree. Then comes a type that Cohort does not decode, at %s in the send "+
			"and %s in the receive.", entries(m.At), s.Address, r.Address)
	}
}

func entries(n int64) string { return view.Plural(n, "entry") }

// collective reports whether both sides are those of a collective.
func (m *Matching) collective() bool {
	s, r := m.Send.Envelope, m.Recv.Envelope
	return s != nil && r != nil && s.Collective && r.Collective
}

// alike says whether the library will notice a mismatch of two basic types.
func (m *Matching) alike(s, r *MatchEntry) string {
	a, b := s.Leaf.parts()[0], r.Leaf.parts()[0]
	if s.Leaf.basic() != abi.BasicPair && r.Leaf.basic() != abi.BasicPair && a.basic == b.basic && a.size == b.size {
		return fmt.Sprintf(" Both are stored alike here, in %s, so the values will arrive; MPI does not guarantee it, "+
			"because the names differ.", view.ByteCount(a.size))
	}
	if sent, taken := m.Send.Bytes(), m.Recv.Bytes(); sent > taken {
		return fmt.Sprintf(" The message is also longer than what the receive takes, %s and %s, which MPI libraries "+
			"report.", view.ByteCount(sent), view.ByteCount(taken))
	}
	return " MPI libraries do not notice; the receiver misreads the bytes."
}

// Text writes the comparison for the console: both signatures, the entries around the first difference side by side,
// and the verdict. At most limit basic types of a signature are shown.
func (m *Matching) Text(w io.Writer, limit int) error {
	if limit <= 0 {
		limit = 32
	}
	var b strings.Builder
	for i, s := range []Side{m.Send, m.Recv} {
		where := ""
		if s.Where != "" {
			where = " (" + s.Where + ")"
		}
		fmt.Fprintf(&b, "%-8s %s%s: %s, %s, %s\n         signature: %s\n", sideNames[i], s.Name, where,
			s.what(), entries(s.Total), view.ByteCount(s.Bytes()), s.Signature().Text(limit))
	}
	m.table(&b)
	apart := m.Apart()
	for _, line := range apart {
		b.WriteString(line + "\n")
	}
	if len(apart) > 0 {
		b.WriteString("If it were, by their types: ")
	}
	b.WriteString(m.Explain() + "\n")
	if err := view.Write(w, "%s", b.String()); err != nil {
		return err
	}
	for _, s := range []Side{m.Send, m.Recv} {
		if err := WriteWarnings(w, s.Type); err != nil {
			return err
		}
	}
	return nil
}

// table shows the entries around where the two part, side by side.
func (m *Matching) table(b *strings.Builder) {
	if m.Verdict == MatchEqual || m.Verdict == MatchPacked || m.Verdict == MatchTruncated && m.At == 0 &&
		m.Recv.Total > 0 {
		return
	}
	cells := [][4]string{{"", "entry", "send", "receive"}}
	for k := max(m.At-2, 0); k < min(m.At+3, max(m.Send.Total, m.Recv.Total)); k++ {
		mark := " "
		if k == m.At {
			mark = ">"
		}
		cells = append(cells, [4]string{mark, view.Grouped(k), m.Send.Entry(k).cell(), m.Recv.Entry(k).cell()})
	}
	var width [4]int
	for _, c := range cells {
		for i := range c {
			width[i] = max(width[i], utf8.RuneCountInString(c[i]))
		}
	}
	for _, c := range cells {
		line := fmt.Sprintf("%-*s %*s  %-*s  %s", width[0], c[0], width[1], c[1], width[2], c[2], c[3])
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func (e *MatchEntry) cell() string {
	if e == nil {
		return "(ends)"
	}
	return fmt.Sprintf("%s  %s at offset %d", e.Basic, e.Address, e.Offset)
}

// Node is the comparison as a tree.
func (m *Matching) Node() view.Node {
	side := func(name string, s Side) view.Node {
		kids := []view.Node{
			view.Leaf("type", s.what()), view.Leaf("signature", s.Signature().Text(32)),
			view.Number("entries", s.Total),
			view.Number("bytes", s.Bytes()),
		}
		if e := s.Entry(m.At); e != nil && m.Verdict != MatchEqual && m.Verdict != MatchPacked {
			kids = append(kids, view.Leaf("at", e.cell()))
		}
		return view.Group(name, s.what(), kids)
	}
	return view.Group("match", m.Explain(), []view.Node{
		view.Leaf("verdict", m.Verdict.String()), view.Number("agree", m.At),
		side("send", m.Send), side("receive", m.Recv),
	})
}
