package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/prettyprint/mpicall"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/datatype"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/handle"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// listing is all that a rank's registry holds.
type listing struct {
	types      []*entry[registry.DatatypeRecord] // made by the program, by their creation
	predefined int
	comms      []*entry[registry.CommRecord]
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

// listAll is mpipp without arguments: first what is going on, then what there is.
func (c *command) listAll() (*Result, error) {
	l, err := list(c.Rank)
	if err != nil {
		return nil, err
	}
	typeNode := func(i int) view.Node {
		e := l.types[i]
		name := fmt.Sprintf("0x%x", e.hdr.Handle)
		t, err := c.Rank.DatatypeAt(e.record)
		if err != nil {
			return view.Leaf(name, err.Error())
		}
		n := t.Node(name)
		n.Value = t.Summary()
		if s := t.Created(); s != "" {
			n.Value += "; created " + s
		}
		return n
	}
	commNode := func(i int) view.Node {
		e := l.comms[i]
		name := fmt.Sprintf("0x%x", e.hdr.Handle)
		m, err := c.Rank.CommAt(e.record)
		if err != nil {
			return view.Leaf(name, err.Error())
		}
		return m.Node(name)
	}
	kids := c.activity(l)
	kids = append(
		kids,
		view.List("datatypes", l.typesText(), len(l.types), typeNode),
		view.List("communicators", view.Plural(int64(len(l.comms)), "communicator"), len(l.comms), commNode),
	)
	kids = append(kids, c.others(l)...)
	var values []string
	for _, k := range kids {
		values = append(values, k.Value)
	}
	n := view.Group("handles", strings.Join(values, "; "), kids)
	return &Result{Node: n, text: func(w io.Writer, opt view.Options) error {
		for _, k := range kids {
			if err := view.ListText(w, k, c.opt.filled(opt).MaxList); err != nil {
				return err
			}
		}
		return l.rest(w)
	}}, nil
}

// activity lists calls in progress and requests, those pending first.
func (c *command) activity(l *listing) []view.Node {
	var kids []view.Node
	var at call.SourceText
	if t, ok := c.Resolver.(call.SourceText); ok {
		at = t
	}
	var source func(uint64, string) *mpicall.Call
	if at != nil {
		source = at.CallAt
	}
	calls, err := call.InProgress(c.Rank, source)
	switch {
	case fault.Is(err, fault.NotKept): // requests are not either, and they say so
	case err != nil:
		l.problems = append(l.problems, err.Error())
	}
	if len(calls) > 0 {
		kids = append(kids, view.List("calls", view.Plural(int64(len(calls)), "call")+" in progress", len(calls),
			func(i int) view.Node {
				t := &calls[i]
				n := t.Node()
				n.Name = fmt.Sprintf("thread %d", t.Thread)
				n.Value = t.Line()
				return n
			}))
	}
	return append(kids, c.requests(l)...)
}

func (c *command) requests(l *listing) []view.Node {
	k := registry.ClassOf(registry.KindRequest)
	all, problems, unread, err := c.Rank.AllObjects(k)
	if err != nil {
		if fault.Is(err, fault.NotKept) {
			l.notKept = c.Rank.Lacks(registry.FeatureRequests, "Requests and calls in progress").Error()
			return nil
		}
		l.problems = append(l.problems, err.Error())
		return nil
	}
	detached, err := c.Rank.Detached()
	if err != nil {
		problems = append(problems, err)
	}
	l.unread += unread
	for _, p := range problems {
		l.problems = append(l.problems, p.Error())
	}
	var live []*handle.Object
	pending := 0
	for _, o := range all {
		if o.Predefined() || o.NullError() != nil {
			continue
		}
		live = append(live, o)
		if call.RequestOf(o).Pending() {
			pending++
		}
	}
	slices.SortStableFunc(live, func(a, b *handle.Object) int {
		first := func(o *handle.Object) int {
			if call.RequestOf(o).Pending() {
				return 0
			}
			return 1
		}
		return cmp.Compare(first(a), first(b))
	})
	text := view.Plural(int64(len(live)), "request")
	if len(live) > 0 {
		text += fmt.Sprintf(", %d pending", pending)
	}
	show := func(o *handle.Object) view.Node {
		n := call.ObjectNode(o, fmt.Sprintf("0x%x", o.Record.Handle))
		n.Value = call.RequestOf(o).Line()
		return n
	}
	kids := []view.Node{view.List("requests", text, len(live), func(i int) view.Node { return show(live[i]) })}
	if n := len(detached); n > 0 {
		text := view.Plural(int64(n), "active request") + " whose handle the program has freed"
		if c.Rank.Header.DetachedDropped > 0 {
			text += fmt.Sprintf(", and %s that are not kept", view.Grouped(int64(min(c.Rank.Header.DetachedDropped, 1<<62))))
		}
		kids = append(kids, view.List("freed requests", text, n, func(i int) view.Node { return show(detached[i]) }))
	}
	return kids
}

// others lists what the program has made of the other kinds; a kind of which there is nothing, and one that is not
// kept, is not mentioned.
func (c *command) others(l *listing) []view.Node {
	var out []view.Node
	for i := range registry.Classes {
		k := &registry.Classes[i]
		if k.Kind <= registry.KindRequest || c.Rank.Header.Features&k.Feature == 0 {
			continue
		}
		all, problems, unread, err := c.Rank.AllObjects(k)
		if err != nil {
			problems = append(problems, err)
		}
		l.unread += unread
		for _, p := range problems {
			l.problems = append(l.problems, p.Error())
		}
		all = slices.DeleteFunc(all, (*handle.Object).Predefined)
		if len(all) == 0 {
			continue
		}
		out = append(out, view.List(k.Words(), view.Plural(int64(len(all)), k.Word), len(all), func(i int) view.Node {
			n := all[i].Node(fmt.Sprintf("0x%x", all[i].Record.Handle))
			if s := all[i].Created(); s != "" {
				how := "created"
				if k.Kind == registry.KindFile {
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
		if e.hdr.State&registry.StateFreed != 0 {
			freed++
		}
	}
	s := view.Plural(int64(len(l.types)-freed), "datatype") + " made by the program"
	if freed > 0 {
		s += fmt.Sprintf(", %d freed and still in use", freed)
	}
	return s + fmt.Sprintf(", %d predefined", l.predefined)
}

// rest tells what is not in the lists.
func (l *listing) rest(w io.Writer) error {
	if l.notKept != "" {
		if err := view.Write(w, "%s\n", l.notKept); err != nil {
			return err
		}
	}
	const most = 5
	for i, p := range l.problems {
		if i == most {
			return view.Write(w, "warning: %d more records cannot be read.\n", len(l.problems)-most)
		}
		if err := view.Write(w, "warning: %s\n", p); err != nil {
			return err
		}
	}
	if l.lost > 0 {
		if err := view.Write(w, "warning: %s could not be kept for want of memory.\n",
			view.Plural(int64(min(l.lost, 1<<62)), "record")); err != nil {
			return err
		}
	}
	if l.unread > 0 {
		return view.Write(w, "%s more records were not looked at.\n", view.Grouped(int64(l.unread)))
	}
	return nil
}

// list reads the headers of all records. A record that cannot be read is a line in problems: the others are shown.
func list(r *handle.Rank) (*listing, error) {
	l := listing{lost: r.Header.Lost}
	types, err := r.Slots(registry.ClassOf(registry.KindDatatype))
	if err != nil {
		return nil, err
	}
	for i, s := range types {
		if i >= registry.MaxListed {
			l.unread += len(types) - i
			break
		}
		h, err := r.DatatypeRecord(s.Record)
		switch {
		case err != nil:
			l.problems = append(l.problems, err.Error())
		case datatype.Combiner(h.Combiner) == datatype.CombinerNamed:
			l.predefined++
		default:
			l.types = append(l.types, &entry[registry.DatatypeRecord]{s.Record, h})
		}
	}
	comms, err := r.Slots(registry.ClassOf(registry.KindComm))
	if err != nil {
		return nil, err
	}
	for i, s := range comms {
		if i >= registry.MaxListed {
			l.unread += len(comms) - i
			break
		}
		h, err := r.CommRecord(s.Record)
		switch {
		case err != nil:
			l.problems = append(l.problems, err.Error())
		case handle.CommKind(h.Kind) != handle.CommNull:
			l.comms = append(l.comms, &entry[registry.CommRecord]{s.Record, h})
		}
	}
	slices.SortFunc(l.types, func(a, b *entry[registry.DatatypeRecord]) int {
		// live ones first: the others are kept for those who use them
		return cmp.Or(cmp.Compare(a.hdr.State&registry.StateFreed, b.hdr.State&registry.StateFreed), cmp.Compare(a.hdr.Id, b.hdr.Id))
	})
	slices.SortFunc(l.comms, func(a, b *entry[registry.CommRecord]) int {
		return cmp.Or(cmp.Compare(a.hdr.State&registry.CommFreed, b.hdr.State&registry.CommFreed), cmp.Compare(a.hdr.Id, b.hdr.Id))
	})
	return &l, nil
}
