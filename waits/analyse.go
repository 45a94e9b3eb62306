package waits

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/rankset"
)

// A Report says who waits for whom.
type Report struct {
	Ranks []Status `json:"ranks"`
	// Deadlock has the ranks that can never go on; empty: none was found, and Unsure says why there may be one.
	Deadlock rankset.Set `json:"deadlock"`
	// Likely has ranks that can go on only under a condition of which it is not known whether it holds: see Unless.
	// They are not in Deadlock.
	Likely rankset.Set `json:"likely"`
	Unless []string    `json:"unless,omitempty"` // the conditions; any may do: "MPI buffers what is being sent"
	// Cycle is a shortest circle of ranks that wait for each other, if there is one; the last waits for the first.
	Cycle  []int    `json:"cycle,omitempty"`
	Unsure []string `json:"unsure,omitempty"` // sentences
	// Findings are sentences about what does not fit together: messages that nobody receives, different collectives.
	Findings []string `json:"findings,omitempty"`
}

// Status is one rank of a Report.
type Status struct {
	Rank     int    `json:"rank"`
	Blocked  bool   `json:"blocked"`            // in a call that cannot return before other ranks do something
	Deadlock bool   `json:"deadlock,omitempty"` // and never will
	Text     string `json:"text"`               // a sentence without the rank
	// For is whom it waits for: for all of each, of which one of Ranks is enough.
	For []Wait `json:"for,omitempty"`
	Any bool   `json:"any,omitempty"` // one of For is enough
}

// Wait is one thing that a blocked rank waits for.
type Wait struct {
	Ranks rankset.Set `json:"ranks"`
	All   bool        `json:"all,omitempty"` // for each of them, not for one
	What  string      `json:"what"`          // "a message of 1 with tag 7"

	buffers bool // the library may buffer the message that is being sent, and wait for nobody
}

// Analyse finds who waits for whom. ranks are all of the job, in order.
func Analyse(ranks []Rank) *Report {
	g := &graph{ranks: ranks, sent: map[key]uint64{}, received: map[key]uint64{}, begun: map[member]uint64{}}
	for r := range ranks {
		for _, t := range ranks[r].Traffic {
			switch {
			case t.Peer == Collectives:
				g.begun[member{t.Comm, r}] += t.Sent
			default:
				g.sent[key{t.Comm, r, t.Peer, t.Tag}] += t.Sent
				g.received[key{t.Comm, t.Peer, r, t.Tag}] += t.Received
			}
		}
	}
	report := &Report{Ranks: make([]Status, len(ranks))}
	for r := range ranks {
		report.Ranks[r] = g.status(r)
	}
	g.release(report)
	g.cycle(report)
	g.findings(report)
	g.unsure(report)
	return report
}

// key names messages of one sender to one receiver.
type key struct {
	comm     uint64
	from, to int
	tag      int
}

type member struct {
	comm uint64
	rank int
}

type graph struct {
	ranks          []Rank
	sent, received map[key]uint64
	begun          map[member]uint64
}

// unreceived is how many messages have been sent that no call has returned with. The counts are of two ranks: -1 means
// that one of them does not know.
func (g *graph) unreceived(k key) int {
	if !g.counted(k.from, k.comm) || !g.counted(k.to, k.comm) {
		return -1
	}
	return int(g.sent[k] - min(g.received[k], g.sent[k]))
}

// counted reports whether all messages of a rank in a communicator are counted. One that has ended tells nothing any
// more, and one that has freed the communicator nothing of that.
func (g *graph) counted(r int, comm uint64) bool {
	return r >= 0 && r < len(g.ranks) && g.ranks[r].known() && g.ranks[r].Uncounted == 0 &&
		slices.Contains(g.ranks[r].Live, comm)
}

func (r *Rank) known() bool { return r.State == Stopped && r.Why == "" }

// status says what a rank waits for.
func (g *graph) status(r int) Status {
	rank := &g.ranks[r]
	s := Status{Rank: r}
	switch {
	case rank.State == Ended:
		s.Text = prose.Stop("ended" + after(": ", rank.Where))
		return s
	case rank.State == Running:
		s.Text = prose.Stop("running" + after(", ", rank.Where))
		return s
	case rank.Why != "":
		s.Text = "stopped" + after(" in ", rank.Where) + "; what it waits for is not known: " + prose.Stop(rank.Why)
		return s
	case len(rank.Calls) == 0:
		s.Text = prose.Stop("waiting for nobody: stopped" + after(" in ", rank.Where))
		return s
	}
	var texts []string
	free := false
	for i := range rank.Calls {
		c := &rank.Calls[i]
		waits, blocked := g.waits(r, c)
		texts = append(texts, callText(c, waits, blocked))
		free = free || !blocked
		if i == 0 {
			s.For, s.Any = waits, c.Any
		}
	}
	// Of several threads one that gets on may be what the others need.
	s.Blocked = !free && len(rank.Calls) == 1
	if len(rank.Calls) > 1 {
		s.For = nil
	}
	s.Text = strings.Join(texts, " Another thread: ")
	return s
}

// waits are what a call waits for. blocked is false if it can return as things are, or if that is not known.
func (g *graph) waits(r int, c *Call) (waits []Wait, blocked bool) {
	if c.Polls || len(c.Ops) == 0 {
		return nil, false
	}
	free := 0 // operations that wait for nobody
	for i := range c.Ops {
		w, blocked := g.operation(r, &c.Ops[i])
		if !blocked {
			free++
			continue
		}
		waits = append(waits, w)
	}
	switch {
	case c.Any && (free > 0 || !c.Whole):
		return nil, false
	case !c.Any && len(waits) == 0:
		return nil, false
	}
	return waits, true
}

// operation is what one operation waits for, if it is blocked.
func (g *graph) operation(r int, op *Operation) (w Wait, blocked bool) {
	switch {
	case op.Peer == Null || op.Kind == Other || op.Comm == 0:
		return w, false
	case op.Kind == Collective:
		return g.collective(r, op)
	case op.Peer != Any && (op.Peer < 0 || op.Peer >= len(g.ranks)):
		return w, false
	case op.Kind == Send:
		return g.send(r, op)
	}
	return g.receive(r, op)
}

// send: a message that has not been received waits for a receive that takes it.
func (g *graph) send(r int, op *Operation) (w Wait, blocked bool) {
	left := g.unreceived(key{op.Comm, r, op.Peer, op.Tag})
	if op.Mode == mpispec.ModeBuffered || left < 0 && g.ranks[op.Peer].State != Ended {
		return w, false
	}
	k := key{op.Comm, r, op.Peer, op.Tag}
	if left >= 0 {
		older := int64(op.Nth) - 1 - int64(g.received[k]) // that have not been received either
		// What fits this one fits the older ones, which are first.
		if op.Nth == 0 || older < 0 || int64(len(g.takers(k))) > older {
			return w, false
		}
	}
	return Wait{
		Ranks:   rankset.New(op.Peer),
		What:    fmt.Sprintf("a receive of %d that takes tag %d%s", op.Peer, op.Tag, g.in(r, op)),
		buffers: op.Mode != mpispec.ModeSynchronous,
	}, true
}

// receive: a message must have been sent that fits, and that no older receive takes.
func (g *graph) receive(r int, op *Operation) (w Wait, blocked bool) {
	if !g.counted(r, op.Comm) {
		return w, false
	}
	senders := []int{op.Peer}
	if op.Peer == Any {
		senders = g.ranks[r].Comms[op.Comm].Members
	}
	var from rankset.Set
	for _, s := range senders {
		if s < 0 || s >= len(g.ranks) { // it is not of this job
			return w, false
		}
		from = from.With(s)
	}
	for s := range from.Each {
		if g.ranks[s].State != Ended && !g.counted(s, op.Comm) { // of one that has ended see release
			return w, false
		}
	}
	if g.available(r, op) > 0 {
		return w, false
	}
	what := "a message"
	if op.Peer == Any {
		what += " of any rank"
	} else {
		what += fmt.Sprintf(" of %d", op.Peer)
	}
	if op.Tag == Any {
		what += " with any tag"
	} else {
		what += fmt.Sprintf(" with tag %d", op.Tag)
	}
	if from.Len() > 1 {
		from = from.Without(r) // it sends itself nothing while it waits
	}
	return Wait{Ranks: from, What: what + g.in(r, op)}, true
}

// takers are the receives under way that fit messages.
func (g *graph) takers(k key) (found []*Operation) {
	for _, q := range g.operations(k.to) {
		if !q.Probe && q.fits(k) {
			found = append(found, q)
		}
	}
	return found
}

// fits reports whether an operation is a receive, or a probe, of such messages.
func (op *Operation) fits(k key) bool {
	return op.Kind == Receive && op.Comm == k.comm && (op.Peer == Any || op.Peer == k.from) &&
		(op.Tag == Any || op.Tag == k.tag)
}

// available is how many of the messages that a receive may take are there for it: those that were sent and that no call
// has returned with, less those that older receives take. Messages are taken by the oldest receive that fits, so none
// is left for this one while an older one that fits all the same messages has none.
func (g *graph) available(r int, op *Operation) int {
	there := map[key]int{}
	sum := 0
	for k := range g.sent {
		if k.to == r && op.fits(k) {
			there[k] = max(g.unreceived(k), 0)
			sum += there[k]
		}
	}
	for k, n := range there {
		sum -= min(n, g.exact(r, op, k))
	}
	for i := range g.ranks[r].Pending {
		q := &g.ranks[r].Pending[i]
		if q.Kind == Receive && q.before(op) && (q.Peer == Any || q.Tag == Any) && g.alike(r, q, op) {
			sum--
		}
	}
	return sum
}

// alike reports whether two receives of a rank could take the same ones of the messages that are there.
func (g *graph) alike(r int, a, b *Operation) bool {
	for k := range g.sent {
		if k.to == r && g.unreceived(k) > 0 && a.fits(k) != b.fits(k) {
			return false
		}
	}
	return true
}

// exact is how many receives that are older than op name exactly these messages.
func (g *graph) exact(r int, op *Operation, k key) (n int) {
	for i := range g.ranks[r].Pending {
		q := &g.ranks[r].Pending[i]
		if q.before(op) && q.Peer != Any && q.Tag != Any && q.fits(k) {
			n++
		}
	}
	return n
}

// before reports whether a request was posted before an operation of the same rank.
func (op *Operation) before(other *Operation) bool {
	return op.Request != other.Request && (other.Request == 0 || op.Request < other.Request)
}

// operations are those of a rank that are under way, each once: those of its requests, and those of calls that have
// none.
func (g *graph) operations(r int) []*Operation {
	if r < 0 || r >= len(g.ranks) {
		return nil
	}
	var all []*Operation
	rank := &g.ranks[r]
	for i := range rank.Pending {
		all = append(all, &rank.Pending[i])
	}
	for i := range rank.Calls {
		for j := range rank.Calls[i].Ops {
			if op := &rank.Calls[i].Ops[j]; op.Request == 0 {
				all = append(all, op)
			}
		}
	}
	return all
}

// collective: those members that have not begun the same call, as far as this one needs them.
func (g *graph) collective(r int, op *Operation) (w Wait, blocked bool) {
	comm, known := g.ranks[r].Comms[op.Comm]
	if !known {
		return w, false
	}
	if op.Nth == 0 {
		return w, false
	}
	var need []int
	switch op.After {
	case mpispec.AfterNone:
	case mpispec.AfterRoot:
		if op.Root >= 0 && op.Root != r {
			need = []int{op.Root}
		}
	case mpispec.RootAfterAll:
		if op.Root == r {
			need = comm.Members
		}
	case mpispec.AfterLower:
		need = comm.Members[:max(slices.Index(comm.Members, r), 0)]
	case mpispec.AfterAll, mpispec.AfterExchange:
		need = comm.Members
	}
	var missing []int
	for _, m := range need {
		if m == r || m < 0 || m >= len(g.ranks) || op.From != nil && !slices.Contains(op.From, m) {
			continue
		}
		switch rank := &g.ranks[m]; {
		case rank.State == Ended:
			missing = append(missing, m)
		case !rank.known(), !slices.Contains(rank.Live, op.Comm):
			return w, false
		case g.begun[member{op.Comm, m}] < op.Nth:
			missing = append(missing, m)
		default:
			if other := g.same(m, op.Comm, op.Nth); other != nil && !together(op, other) {
				missing = append(missing, m)
			}
		}
	}
	if len(missing) == 0 {
		return w, false
	}
	set := rankset.New(missing...)
	return Wait{Ranks: set, All: true, What: fmt.Sprintf("[%s] to call %s%s", set, op.Call, g.in(r, op))}, true
}

// same is the collective of a rank that has this number, if it is under way.
func (g *graph) same(m int, comm, number uint64) *Operation {
	for _, q := range g.operations(m) {
		if q.Kind == Collective && q.Comm == comm && q.Nth == number {
			return q
		}
	}
	return nil
}

// together reports whether two calls can be of one collective.
func together(a, b *Operation) bool {
	return a.Call == b.Call && (a.Root == b.Root || a.Root == Unknown || b.Root == Unknown)
}

// release finds the ranks that can go on; the others are in a deadlock. At first it takes for granted that MPI buffers
// what is being sent, and that what a rank did before it ended is still on its way.
func (g *graph) release(report *Report) {
	report.Deadlock = g.stuck(report, true, true)
	report.Likely = g.stuck(report, false, false).Minus(report.Deadlock)
	for r := range report.Deadlock.Each {
		report.Ranks[r].Deadlock = true
	}
	if report.Likely.Empty() {
		return
	}
	if !g.stuck(report, true, false).Equal(report.Deadlock.Union(report.Likely)) {
		report.Unless = append(report.Unless, "something that a rank did before it ended is still on its way")
	}
	if !g.stuck(report, false, true).Equal(report.Deadlock.Union(report.Likely)) {
		report.Unless = append(report.Unless, "MPI buffers what is being sent")
	}
	if len(report.Unless) == 0 { // it takes both
		report.Unless = []string{
			"MPI buffers what is being sent, and what a rank did before it ended is still on its way",
		}
	}
}

// stuck are the blocked ranks that remain when those that can go on have been taken out, one after the other.
func (g *graph) stuck(report *Report, ended, buffers bool) (stuck rankset.Set) {
	goes := make([]bool, len(g.ranks))
	for again := true; again; {
		again = false
		for r := range g.ranks {
			s := &report.Ranks[r]
			if goes[r] || g.ranks[r].State == Ended && !ended || s.Blocked && !satisfied(s, goes, buffers) {
				continue
			}
			goes[r], again = true, true
		}
	}
	for r := range g.ranks {
		if report.Ranks[r].Blocked && !goes[r] {
			stuck = stuck.With(r)
		}
	}
	return stuck
}

func satisfied(s *Status, goes []bool, buffers bool) bool {
	can := func(w Wait) bool {
		n := 0
		for r := range w.Ranks.Each {
			if goes[r] {
				n++
			}
		}
		return buffers && w.buffers || n > 0 && (!w.All || n == w.Ranks.Len())
	}
	if s.Any {
		return slices.ContainsFunc(s.For, can)
	}
	return !slices.ContainsFunc(s.For, func(w Wait) bool { return !can(w) })
}

// cycle finds a shortest circle among the ranks that cannot go on.
func (g *graph) cycle(report *Report) {
	among := report.Deadlock
	if among.Empty() {
		among = report.Likely
	}
	for start := range among.Each {
		path := report.circle(start, among)
		if path != nil && (report.Cycle == nil || len(path) < len(report.Cycle)) {
			report.Cycle = path
		}
	}
}

// circle is a shortest way from a rank back to it, breadth first; nil: there is none.
func (r *Report) circle(start int, among rankset.Set) []int {
	from := map[int]int{start: -1}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, w := range r.Ranks[at].For {
			for next := range w.Ranks.Each {
				if next == start {
					var path []int
					for ; at >= 0; at = from[at] {
						path = append(path, at)
					}
					slices.Reverse(path)
					return path
				}
				if _, seen := from[next]; !seen && among.Contains(next) {
					from[next] = at
					queue = append(queue, next)
				}
			}
		}
	}
	return nil
}

// findings are what does not fit together.
func (g *graph) findings(report *Report) {
	keys := slices.SortedFunc(maps.Keys(g.sent), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from), cmp.Compare(a.comm, b.comm),
			cmp.Compare(a.tag, b.tag))
	})
	for _, k := range keys {
		left := g.unreceived(k)
		// Sends under way say themselves that they wait.
		if left -= g.sending(k); left <= 0 || len(g.takers(k)) > 0 {
			continue
		}
		text := fmt.Sprintf("[%d] has sent [%d] %s with tag %d%s that no receive of it takes", k.from, k.to,
			prose.Count(left, "message"), k.tag, g.commText(k.from, k.comm))
		if s := &report.Ranks[k.to]; s.Blocked {
			for i := range g.ranks[k.to].Calls {
				for j := range g.ranks[k.to].Calls[i].Ops {
					text += g.near(k, &g.ranks[k.to].Calls[i].Ops[j])
				}
			}
		}
		report.Findings = append(report.Findings, text+".")
	}
	g.mismatches(report)
}

// sending is how many sends of these messages are under way.
func (g *graph) sending(k key) (n int) {
	for _, q := range g.operations(k.from) {
		if q.Kind == Send && q.Comm == k.comm && q.Peer == k.to && q.Tag == k.tag {
			n++
		}
	}
	return n
}

// near says what alone keeps a receive from taking a message; "" if that is more than one thing.
func (g *graph) near(k key, op *Operation) string {
	if op.Kind != Receive || op.Peer == Null {
		return ""
	}
	peer, tag, comm := op.Peer == Any || op.Peer == k.from, op.Tag == Any || op.Tag == k.tag, op.Comm == k.comm
	of := fmt.Sprintf("; its %s%s waits for ", op.Call, at(op.At))
	switch {
	case peer && comm && !tag:
		return fmt.Sprintf("%stag %d", of, op.Tag)
	case peer && tag && !comm:
		return of + "one in " + g.ranks[k.to].Comms[op.Comm].Name
	case tag && comm && !peer:
		return fmt.Sprintf("%sone of [%d]", of, op.Peer)
	}
	return ""
}

// mismatches are collectives of one place in the order of a communicator that are different calls.
func (g *graph) mismatches(report *Report) {
	type place struct{ comm, number uint64 }
	met := map[place]map[string][]int{}
	var order []place
	for r := range g.ranks {
		for _, op := range g.operations(r) {
			if op.Kind != Collective || op.Comm == 0 || op.Nth == 0 {
				continue
			}
			p := place{op.Comm, op.Nth}
			if met[p] == nil {
				met[p] = map[string][]int{}
				order = append(order, p)
			}
			name := op.Call
			if op.Root >= 0 && (op.After == mpispec.AfterRoot || op.After == mpispec.RootAfterAll) {
				name += fmt.Sprintf(" with root [%d]", op.Root)
			}
			met[p][name+at(op.At)] = append(met[p][name+at(op.At)], r)
		}
	}
	for _, p := range order {
		calls := slices.Sorted(maps.Keys(met[p]))
		names := map[string]bool{}
		for _, c := range calls {
			name, _, _ := strings.Cut(c, " (")
			names[name] = true
		}
		if len(names) < 2 {
			continue
		}
		slices.SortFunc(calls, func(a, b string) int { return cmp.Compare(met[p][a][0], met[p][b][0]) })
		var who []string
		for _, c := range calls {
			who = append(who, fmt.Sprintf("[%s] %s", rankset.New(met[p][c]...), c))
		}
		first := met[p][calls[0]][0]
		report.Findings = append(report.Findings, fmt.Sprintf("Ranks are in different collectives%s: %s.",
			g.commText(first, p.comm), strings.Join(who, ", ")))
	}
}

// unsure says why a deadlock may have been missed.
func (g *graph) unsure(report *Report) {
	var running, unknown, uncounted, other []int
	for r := range g.ranks {
		switch rank := &g.ranks[r]; {
		case rank.State == Running:
			running = append(running, r)
		case rank.State == Stopped && rank.Why != "":
			unknown = append(unknown, r)
		case rank.State == Stopped && rank.Uncounted > 0:
			uncounted = append(uncounted, r)
		case slices.ContainsFunc(rank.Calls, Call.unclear):
			other = append(other, r)
		}
	}
	say := func(ranks []int, format string) {
		if len(ranks) > 0 {
			report.Unsure = append(report.Unsure, fmt.Sprintf(format, rankset.New(ranks...)))
		}
	}
	say(running, "What running ranks wait for is not known: pause [%s] first.")
	say(unknown, "What [%s] waits for cannot be found out.")
	say(uncounted, "Not all messages of [%s] could be counted.")
	say(other, "What the call of [%s] waits for is not known.")
}
