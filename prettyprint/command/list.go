package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/pmpi/abi"

	"github.com/cohort-debugger/cohort/prettyprint/call"
	"github.com/cohort-debugger/cohort/prettyprint/fault"
	"github.com/cohort-debugger/cohort/prettyprint/registry"
	"github.com/cohort-debugger/cohort/prettyprint/view"
)

// listing is the lists of mpipp without arguments, and what is said besides.
type listing struct {
	*command
	kids       []view.Node
	unread     int    // records that were not looked at
	notTracked string // what is not in the lists because it is not tracked
	problems   []error
}

// listAll is mpipp without arguments: first what is going on, then what there is.
func (c *command) listAll() (view.Node, error) {
	types := registry.ClassOf(registry.KindDatatype)
	if _, _, _, err := c.Rank.Heads(types); err != nil {
		return view.Node{}, err
	}
	l := listing{command: c}
	l.calls()
	l.requests()
	all := l.heads(types)
	made := slices.DeleteFunc(slices.Clone(all), isPredefined)
	l.add("datatypes", typesText(made, len(all)), made, func(h registry.Head) string {
		t, err := c.Rank.DatatypeAt(h.Address)
		if err != nil || t.Created() == "" {
			return ""
		}
		return "; created " + t.Created()
	})
	comms := slices.DeleteFunc(l.heads(registry.ClassOf(registry.KindComm)),
		func(h registry.Head) bool { return h.Null })
	l.add("communicators", view.Plural(int64(len(comms)), "communicator"), comms, nil)
	l.others()
	values := make([]string, len(l.kids))
	for i, k := range l.kids {
		values[i] = k.Value
		if err := view.ListText(&c.out, k, c.view.MaxList); err != nil {
			return view.Node{}, err
		}
	}
	l.rest()
	return view.Group("handles", strings.Join(values, "; "), l.kids), nil
}

func isPredefined(h registry.Head) bool { return h.Predefined }

// heads reads the heads of all records of a kind. A record that cannot be read is one of the problems: the others are
// shown.
func (l *listing) heads(k *registry.Class) []registry.Head {
	heads, problems, unread, err := l.Rank.Heads(k)
	if err != nil {
		problems = append(problems, err)
	}
	l.unread += unread
	l.problems = append(l.problems, problems...)
	return slices.Clone(heads)
}

// add adds a list of handles by their numbers; more, if not nil, is what is said of each after its value.
func (l *listing) add(name, text string, heads []registry.Head, more func(registry.Head) string) {
	l.kids = append(l.kids, view.List(name, text, len(heads), func(i int) view.Node {
		name := fmt.Sprintf("0x%x", heads[i].Handle)
		s, err := call.Show(l.Rank, heads[i], name)
		if err != nil {
			return view.Leaf(name, err.Error())
		}
		if more != nil {
			s.Node.Value += more(heads[i])
		}
		return s.Node
	}))
}

// calls lists the calls in progress.
func (l *listing) calls() {
	calls, err := call.InProgress(l.Rank, l.Resolver.CallAt)
	if err != nil && !fault.Is(err, fault.NotTracked) { // requests are not either then, and they say so
		l.problems = append(l.problems, err)
	}
	if len(calls) == 0 {
		return
	}
	text := view.Plural(int64(len(calls)), "call") + " in progress"
	l.kids = append(l.kids, view.List("calls", text, len(calls), func(i int) view.Node {
		n := calls[i].Node()
		n.Name, n.Value = fmt.Sprintf("thread %d", calls[i].Thread), calls[i].Line()
		return n
	}))
}

// requests lists requests, those pending first.
func (l *listing) requests() {
	k := registry.ClassOf(registry.KindRequest)
	if _, _, _, err := l.Rank.Heads(k); fault.Is(err, fault.NotTracked) {
		l.notTracked = l.Rank.NotTracked(abi.FeatureRequests, "Requests and calls in progress").Error()
		return
	}
	list := func(name, text string, heads []registry.Head) {
		l.kids = append(l.kids, view.List(name, text, len(heads), func(i int) view.Node {
			q := call.RequestOf(l.Rank.ObjectOf(heads[i]))
			n := q.Node(fmt.Sprintf("0x%x", q.Head.Handle))
			n.Value = q.Line()
			return n
		}))
	}
	pending := func(h registry.Head) bool { return call.RequestOf(l.Rank.ObjectOf(h)).Pending() }
	live := slices.DeleteFunc(l.heads(k), isPredefined)
	slices.SortStableFunc(live, func(a, b registry.Head) int { return registry.CompareBool(pending(b), pending(a)) })
	text := view.Plural(int64(len(live)), "request")
	if len(live) > 0 {
		n := slices.IndexFunc(live, func(h registry.Head) bool { return !pending(h) })
		if n < 0 {
			n = len(live)
		}
		text += fmt.Sprintf(", %d pending", n)
	}
	list("requests", text, live)
	freed, err := l.Rank.Detached()
	if err != nil {
		l.problems = append(l.problems, err)
	}
	if len(freed) > 0 {
		text := view.Plural(int64(len(freed)), "active request") + " whose handle the program has freed"
		if n := l.Rank.Header.DetachedDropped; n > 0 {
			text += fmt.Sprintf(", and %s that are not recorded", view.Grouped(int64(min(n, 1<<62))))
		}
		list("freed requests", text, freed)
	}
}

// others lists what the program has made of the other kinds; a kind of which there is nothing, and one that is not
// tracked, is not mentioned.
func (l *listing) others() {
	for i := range registry.Classes {
		k := &registry.Classes[i]
		if k.Kind <= registry.KindRequest || l.Rank.Header.Features&k.Feature == 0 {
			continue
		}
		made := slices.DeleteFunc(l.heads(k), isPredefined)
		if len(made) == 0 {
			continue
		}
		l.add(k.Words(), view.Plural(int64(len(made)), k.Word), made, func(h registry.Head) string {
			how, where := l.Rank.ObjectOf(h).Created()
			if where == "" {
				return ""
			}
			return "; " + how + " " + where
		})
	}
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
func (l *listing) rest() {
	if l.notTracked != "" {
		l.printf("%s\n", l.notTracked)
	}
	const most = 5
	for _, p := range l.problems[:min(len(l.problems), most)] {
		l.printf("warning: %s\n", p)
	}
	if more := len(l.problems) - most; more > 0 {
		l.printf("warning: %d more records cannot be read.\n", more)
	}
	if lost := l.Rank.Header.Lost; lost > 0 {
		l.printf("warning: %s could not be recorded: memory ran out.\n", view.Plural(int64(min(lost, 1<<62)), "record"))
	}
	if l.unread > 0 {
		l.printf("%s more records were not looked at.\n", view.Grouped(int64(l.unread)))
	}
}
