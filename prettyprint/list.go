package prettyprint

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// maxListed bounds the records whose headers are read for a listing; more are counted.
const maxListed = 1 << 17

// listing is all that a rank's registry holds.
type listing struct {
	types      []*entry[abiDatatype] // made by the program, by their creation
	predefined int
	comms      []*entry[abiComm]
	unread     int // records that were not looked at
	problems   []string
}

// entry is a record of which only the header has been read.
type entry[T any] struct {
	record uint64
	hdr    T
}

// list reads the headers of all records. A record that cannot be read is a line in problems: the others are shown.
func (r *Registry) list() (*listing, error) {
	var l listing
	types, err := r.slots(&r.typeSlots, r.abi.datatypes, "datatypes")
	if err != nil {
		return nil, err
	}
	r.prefetch(types, datatypeHeader)
	for i, s := range types.live {
		if i >= maxListed {
			l.unread += len(types.live) - i
			break
		}
		h, err := r.datatypeHeader(s.record)
		switch {
		case err != nil:
			l.problems = append(l.problems, err.Error())
		case Combiner(h.combiner) == CombinerNamed:
			l.predefined++
		default:
			l.types = append(l.types, &entry[abiDatatype]{s.record, h})
		}
	}
	comms, err := r.slots(&r.commSlots, r.abi.comms, "communicators")
	if err != nil {
		return nil, err
	}
	r.prefetch(comms, commHeader)
	for i, s := range comms.live {
		if i >= maxListed {
			l.unread += len(comms.live) - i
			break
		}
		h, err := r.commHeader(s.record)
		switch {
		case err != nil:
			l.problems = append(l.problems, err.Error())
		case CommKind(h.kind) != CommNull:
			l.comms = append(l.comms, &entry[abiComm]{s.record, h})
		}
	}
	slices.SortFunc(l.types, func(a, b *entry[abiDatatype]) int {
		// live ones first: the others are kept for those who use them
		return cmp.Or(cmp.Compare(a.hdr.state&stateFreed, b.hdr.state&stateFreed), cmp.Compare(a.hdr.id, b.hdr.id))
	})
	slices.SortFunc(l.comms, func(a, b *entry[abiComm]) int {
		return cmp.Or(cmp.Compare(a.hdr.state&commFreed, b.hdr.state&commFreed), cmp.Compare(a.hdr.id, b.hdr.id))
	})
	return &l, nil
}

// listAll is mpipp without arguments.
func (c *command) listAll() (*Result, error) {
	l, err := c.r.list()
	if err != nil {
		return nil, err
	}
	where := c.cachedWhere()
	typeNode := func(i int) Node {
		e := l.types[i]
		name := fmt.Sprintf("0x%x", e.hdr.handle)
		t, err := c.r.datatype(e.record)
		if err != nil {
			return leafNode(name, err.Error())
		}
		n := t.Node(name, where)
		n.Value = t.Summary()
		if s := t.created(where); s != "" {
			n.Value += "; created " + s
		}
		return n
	}
	commNode := func(i int) Node {
		e := l.comms[i]
		name := fmt.Sprintf("0x%x", e.hdr.handle)
		m, err := c.r.comm(e.record)
		if err != nil {
			return leafNode(name, err.Error())
		}
		return m.Node(name, where)
	}
	kids := []Node{
		listNode("datatypes", l.typesText(), len(l.types), typeNode),
		listNode("communicators", plural(int64(len(l.comms)), "communicator"), len(l.comms), commNode),
	}
	n := groupNode("handles", fmt.Sprintf("%s; %s", kids[0].Value, kids[1].Value), kids)
	return &Result{Node: n, text: func(w io.Writer, opt Options) error {
		for _, k := range kids {
			if err := listText(w, k, c.opt.filled(opt).MaxList); err != nil {
				return err
			}
		}
		return l.rest(w)
	}}, nil
}

func (l *listing) typesText() string {
	freed := 0
	for _, e := range l.types {
		if e.hdr.state&stateFreed != 0 {
			freed++
		}
	}
	s := plural(int64(len(l.types)-freed), "datatype") + " made by the program"
	if freed > 0 {
		s += fmt.Sprintf(", %d freed and still in use", freed)
	}
	return s + fmt.Sprintf(", %d predefined", l.predefined)
}

func listText(w io.Writer, list Node, most int) error {
	if err := write(w, "%s\n", list.Value); err != nil {
		return err
	}
	kids, err := list.Children(0, min(list.NumChildren, most))
	if err != nil {
		return err
	}
	width := 0
	for _, k := range kids {
		width = max(width, len(k.Name))
	}
	for _, k := range kids {
		if err := write(w, "  %-*s  %s\n", width, k.Name, k.Value); err != nil {
			return err
		}
	}
	if rest := list.NumChildren - len(kids); rest > 0 {
		return write(w, "  ... %d more\n", rest)
	}
	return nil
}

// rest tells what is not in the lists.
func (l *listing) rest(w io.Writer) error {
	const most = 5
	for i, p := range l.problems {
		if i == most {
			return write(w, "warning: %d more records cannot be read.\n", len(l.problems)-most)
		}
		if err := write(w, "warning: %s\n", p); err != nil {
			return err
		}
	}
	if l.unread > 0 {
		return write(w, "%s more records were not looked at.\n", grouped(int64(l.unread)))
	}
	return nil
}

// cachedWhere asks for each place in the program only once: types are made in loops.
func (c *command) cachedWhere() func(pc uint64) string {
	if c.where == nil {
		return nil
	}
	known := map[uint64]string{}
	return func(pc uint64) string {
		s, ok := known[pc]
		if !ok {
			s = c.where(pc)
			known[pc] = s
		}
		return s
	}
}

// prefetch reads the headers of a table's records, neighbours together: a debugger's memory is far away.
func (r *Registry) prefetch(t *slotTable, size int) {
	if t.headers != nil {
		return
	}
	var reqs []request
	for _, s := range t.live[:min(len(t.live), maxListed)] {
		if s.record >= minMappedAddr && s.record+uint64(size) > s.record {
			reqs = append(reqs, request{s.record, size})
		}
	}
	slices.SortFunc(reqs, func(a, b request) int { return cmp.Compare(a.addr, b.addr) })
	t.headers = readAll(r.mem, reqs)
	for _, sp := range t.headers.spans {
		r.bytesRead += int64(len(sp.data))
	}
}

// header returns a record's header if it was prefetched.
func (t *slotTable) header(rec uint64, size int) ([]byte, bool) {
	if t == nil || t.headers == nil {
		return nil, false
	}
	b := t.headers.bytesAt(rec, size)
	return b, len(b) == size
}
