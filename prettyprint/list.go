package prettyprint

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/mpicall"
)

// maxListed bounds the records whose headers are read for a listing; more are counted.
const maxListed = 1 << 17

// listing is all that a rank's registry holds.
type listing struct {
	types      []*entry[abiDatatype] // made by the program, by their creation
	predefined int
	comms      []*entry[abiComm]
	unread     int // records that were not looked at
	lost       uint64
	notKept    string // what is not in the lists because it is not kept
	problems   []string
}

// entry is a record of which only the header has been read.
type entry[T any] struct {
	record uint64
	hdr    T
}

// list reads the headers of all records. A record that cannot be read is a line in problems: the others are shown.
func (r *Registry) list() (*listing, error) {
	l := listing{lost: r.abi.lost}
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

// listAll is mpipp without arguments: first what is going on, then what there is.
func (c *command) listAll() (*Result, error) {
	l, err := c.r.list()
	if err != nil {
		return nil, err
	}
	where := c.cachedWhere()
	c.r.env.Locate = where
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
	kids := c.activity(l)
	kids = append(
		kids,
		listNode("datatypes", l.typesText(), len(l.types), typeNode),
		listNode("communicators", plural(int64(len(l.comms)), "communicator"), len(l.comms), commNode),
	)
	kids = append(kids, c.others(l)...)
	var values []string
	for _, k := range kids {
		values = append(values, k.Value)
	}
	n := groupNode("handles", strings.Join(values, "; "), kids)
	return &Result{Node: n, text: func(w io.Writer, opt Options) error {
		for _, k := range kids {
			if err := listText(w, k, c.opt.filled(opt).MaxList); err != nil {
				return err
			}
		}
		return l.rest(w)
	}}, nil
}

// activity lists calls in progress and requests, those pending first.
func (c *command) activity(l *listing) []Node {
	var kids []Node
	var at SourceText
	if t, ok := c.res.(SourceText); ok {
		at = t
	}
	var source func(uint64, string) *mpicall.Call
	if at != nil {
		source = at.CallAt
	}
	calls, err := c.r.CallsInProgress(source)
	switch {
	case IsKind(err, KindNotKept): // requests are not either, and they say so
	case err != nil:
		l.problems = append(l.problems, err.Error())
	}
	if len(calls) > 0 {
		kids = append(kids, listNode("calls", plural(int64(len(calls)), "call")+" in progress", len(calls),
			func(i int) Node {
				t := &calls[i]
				n := t.Node()
				n.Name = fmt.Sprintf("thread %d", t.Thread)
				n.Value = t.line(c.r.env)
				return n
			}))
	}
	return append(kids, c.requests(l)...)
}

// line is a call in a list.
func (t *ThreadCall) line(env Surroundings) string {
	s := t.name
	if what := t.Call.line(); what != "" {
		s += ": " + what
	}
	s += "; called " + createdText(t.Site, t.Event, env.where())
	if since := env.since(t.Since); since != "" {
		s += ", " + since + " ago"
	}
	return s
}

func (c *command) requests(l *listing) []Node {
	k := infoOf(HandleRequest)
	all, problems, unread, err := c.r.allObjects(k)
	if err != nil {
		if IsKind(err, KindNotKept) {
			l.notKept = c.r.lacks(featureRequests, "Requests and calls in progress").Error()
			return nil
		}
		l.problems = append(l.problems, err.Error())
		return nil
	}
	detached, err := c.r.Detached()
	if err != nil {
		problems = append(problems, err)
	}
	l.unread += unread
	for _, p := range problems {
		l.problems = append(l.problems, p.Error())
	}
	var live []*Object
	pending := 0
	for _, o := range all {
		if o.Predefined() || o.nullError() != nil {
			continue
		}
		live = append(live, o)
		if o.request().pending() {
			pending++
		}
	}
	slices.SortStableFunc(live, func(a, b *Object) int {
		first := func(o *Object) int {
			if o.request().pending() {
				return 0
			}
			return 1
		}
		return cmp.Compare(first(a), first(b))
	})
	text := plural(int64(len(live)), "request")
	if len(live) > 0 {
		text += fmt.Sprintf(", %d pending", pending)
	}
	show := func(o *Object) Node {
		n := o.Node(fmt.Sprintf("0x%x", o.hdr.handle), c.r.env)
		n.Value = o.request().line(c.r.env)
		return n
	}
	kids := []Node{listNode("requests", text, len(live), func(i int) Node { return show(live[i]) })}
	if n := len(detached); n > 0 {
		text := plural(int64(n), "active request") + " whose handle the program has freed"
		if c.r.abi.detachedDropped > 0 {
			text += fmt.Sprintf(", and %s that are not kept", grouped(int64(min(c.r.abi.detachedDropped, 1<<62))))
		}
		kids = append(kids, listNode("freed requests", text, n, func(i int) Node { return show(detached[i]) }))
	}
	return kids
}

// others lists what the program has made of the other kinds; a kind of which there is nothing, and one that is not
// kept, is not mentioned.
func (c *command) others(l *listing) []Node {
	var out []Node
	for i := range kinds {
		k := &kinds[i]
		if k.kind <= HandleRequest || c.r.abi.features&k.feature == 0 {
			continue
		}
		all, problems, unread, err := c.r.allObjects(k)
		if err != nil {
			problems = append(problems, err)
		}
		l.unread += unread
		for _, p := range problems {
			l.problems = append(l.problems, p.Error())
		}
		all = slices.DeleteFunc(all, (*Object).Predefined)
		if len(all) == 0 {
			continue
		}
		out = append(out, listNode(k.words(), plural(int64(len(all)), k.word), len(all), func(i int) Node {
			n := all[i].Node(fmt.Sprintf("0x%x", all[i].hdr.handle), c.r.env)
			if s := all[i].created(c.r.env.where()); s != "" {
				how := "created"
				if k.kind == HandleFile {
					how = "opened"
				}
				n.Value += "; " + how + " " + s
			}
			return n
		}))
	}
	return out
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
	if l.notKept != "" {
		if err := write(w, "%s\n", l.notKept); err != nil {
			return err
		}
	}
	const most = 5
	for i, p := range l.problems {
		if i == most {
			return write(w, "warning: %d more records cannot be read.\n", len(l.problems)-most)
		}
		if err := write(w, "warning: %s\n", p); err != nil {
			return err
		}
	}
	if l.lost > 0 {
		if err := write(w, "warning: %s could not be kept for want of memory.\n",
			plural(int64(min(l.lost, 1<<62)), "record")); err != nil {
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
