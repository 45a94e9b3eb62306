package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/prettyprint/mpicall"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// listing is what is said besides the lists.
type listing struct {
	unread     int    // records that were not looked at
	notTracked string // what is not in the lists because it is not kept
	problems   []string
}

// heads reads the heads of all records of a kind. A record that cannot be read is a line in problems: the others are
// shown.
func (c *command) heads(l *listing, k *registry.Class) []registry.Head {
	heads, problems, unread, err := c.Rank.Heads(k)
	if err != nil {
		problems = append(problems, err)
	}
	l.unread += unread
	for _, p := range problems {
		l.problems = append(l.problems, p.Error())
	}
	return slices.Clone(heads)
}

// show shows a handle of a list by its number.
func (c *command) show(h registry.Head) view.Node {
	name := fmt.Sprintf("0x%x", h.Handle)
	s, err := call.Show(c.Rank, h, name)
	if err != nil {
		return view.Leaf(name, err.Error())
	}
	return s.Node
}

// listAll is mpipp without arguments: first what is going on, then what there is.
func (c *command) listAll() (*Result, error) {
	var l listing
	types := registry.ClassOf(registry.KindDatatype)
	if _, _, _, err := c.Rank.Heads(types); err != nil {
		return nil, err
	}
	made := c.heads(&l, types)
	all := len(made)
	made = slices.DeleteFunc(made, func(h registry.Head) bool { return h.Predefined })
	comms := slices.DeleteFunc(c.heads(&l, registry.ClassOf(registry.KindComm)), func(h registry.Head) bool { return h.Null })
	typeNode := func(i int) view.Node {
		n := c.show(made[i])
		if t, err := c.Rank.DatatypeAt(made[i].Address); err == nil && t.Created() != "" {
			n.Value += "; created " + t.Created()
		}
		return n
	}
	commNode := func(i int) view.Node { return c.show(comms[i]) }
	kids := c.activity(&l)
	kids = append(
		kids,
		view.List("datatypes", typesText(made, all), len(made), typeNode),
		view.List("communicators", view.Plural(int64(len(comms)), "communicator"), len(comms), commNode),
	)
	kids = append(kids, c.others(&l)...)
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
		return l.rest(w, c.Rank.Header.Lost)
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
	case fault.Is(err, fault.NotTracked): // requests are not either, and they say so
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
	if _, _, _, err := c.Rank.Heads(k); fault.Is(err, fault.NotTracked) {
		l.notTracked = c.Rank.Lacks(abi.FeatureRequests, "Requests and calls in progress").Error()
		return nil
	}
	requestsOf := func(heads []registry.Head) (all []*call.Request) {
		for _, h := range heads {
			all = append(all, call.RequestOf(c.Rank.ObjectOf(h)))
		}
		return all
	}
	live := requestsOf(slices.DeleteFunc(c.heads(l, k), func(h registry.Head) bool { return h.Predefined }))
	slices.SortStableFunc(live, func(a, b *call.Request) int { return registry.CompareBool(b.Pending(), a.Pending()) })
	pending := 0
	for pending < len(live) && live[pending].Pending() {
		pending++
	}
	gone, err := c.Rank.Detached()
	if err != nil {
		l.problems = append(l.problems, err.Error())
	}
	detached := requestsOf(gone)
	list := func(name, text string, of []*call.Request) view.Node {
		return view.List(name, text, len(of), func(i int) view.Node {
			n := of[i].Node(fmt.Sprintf("0x%x", of[i].Head.Handle))
			n.Value = of[i].Line()
			return n
		})
	}
	text := view.Plural(int64(len(live)), "request")
	if len(live) > 0 {
		text += fmt.Sprintf(", %d pending", pending)
	}
	kids := []view.Node{list("requests", text, live)}
	if n := len(detached); n > 0 {
		text := view.Plural(int64(n), "active request") + " whose handle the program has freed"
		if c.Rank.Header.DetachedDropped > 0 {
			text += fmt.Sprintf(", and %s that are not recorded", view.Grouped(int64(min(c.Rank.Header.DetachedDropped, 1<<62))))
		}
		kids = append(kids, list("freed requests", text, detached))
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
		made := slices.DeleteFunc(c.heads(l, k), func(h registry.Head) bool { return h.Predefined })
		if len(made) == 0 {
			continue
		}
		out = append(out, view.List(k.Words(), view.Plural(int64(len(made)), k.Word), len(made), func(i int) view.Node {
			n := c.show(made[i])
			if how, s := c.Rank.ObjectOf(made[i]).Created(); s != "" {
				n.Value += "; " + how + " " + s
			}
			return n
		}))
	}
	return out
}

func typesText(made []registry.Head, all int) string {
	freed := 0
	for _, h := range made {
		if h.Freed {
			freed++
		}
	}
	s := view.Plural(int64(len(made)-freed), "datatype") + " made by the program"
	if freed > 0 {
		s += fmt.Sprintf(", %d freed and still in use", freed)
	}
	return s + fmt.Sprintf(", %d predefined", all-len(made))
}

// rest tells what is not in the lists.
func (l *listing) rest(w io.Writer, lost uint64) error {
	if l.notTracked != "" {
		if err := view.Write(w, "%s\n", l.notTracked); err != nil {
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
	if lost > 0 {
		if err := view.Write(w, "warning: %s could not be recorded: memory ran out.\n",
			view.Plural(int64(min(lost, 1<<62)), "record")); err != nil {
			return err
		}
	}
	if l.unread > 0 {
		return view.Write(w, "%s more records were not looked at.\n", view.Grouped(int64(l.unread)))
	}
	return nil
}
