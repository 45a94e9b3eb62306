package scripts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/recording"
)

// fullEvents reads the events of every rank from the full traces of a recording.
func fullEvents(ts *testscript.TestScript, dir string) [][]*trace.Event {
	rec, err := recording.Open(dir)
	ts.Check(err)
	graph, err := rec.Graph()
	ts.Check(err)
	events := make([][]*trace.Event, graph.Ranks())
	for r := range events {
		reader, err := graph.Rank(r)
		ts.Check(err)
		for record, err := range reader.All() {
			ts.Check(err)
			if e, ok := record.(*trace.Event); ok {
				events[r] = append(events[r], e)
			}
		}
		ts.Check(reader.Close())
	}
	return events
}

// a node is an event; edges lead to what must have happened before it.
type node struct {
	rank  int
	index uint64
}

// edgesOf derives the order of events anew, in the plainest way, for programs that use only sends, blocking receives,
// Iprobe and world-wide collectives on MPI_COMM_WORLD (such as tsp): the k-th message from a to b with a tag is the
// k-th received.
func edgesOf(ts *testscript.TestScript, events [][]*trace.Event) map[node][]node {
	type channel struct{ from, to, tag int32 }
	sends := map[channel][]node{}
	before := map[node][]node{}
	var collectives [][]node
	seen := make([]int, len(events))
	for r, list := range events {
		for i, e := range list {
			n := node{r, uint64(i + 1)}
			if i > 0 {
				before[n] = append(before[n], node{r, uint64(i)})
			}
			switch e.Op.Class() {
			case mpispec.ClassSend:
				c := channel{int32(r), e.Send.Dest, e.Send.Tag}
				sends[c] = append(sends[c], n)
			case mpispec.ClassRecv, mpispec.ClassProbe:
			case mpispec.ClassCollective:
				k := seen[r]
				seen[r]++
				for len(collectives) <= k {
					collectives = append(collectives, nil)
				}
				collectives[k] = append(collectives[k], n)
			case mpispec.ClassCompletion:
				for _, c := range e.Completed {
					if c.Class != trace.RequestSend {
						ts.Fatalf("event %d:%d completes a request of class %v, which this check does not know", r, i+1,
							c.Class)
					}
				}
			default:
				if e.Op != mpispec.OpFinalize {
					ts.Fatalf("event %d:%d is a %v, which this check does not know", r, i+1, e.Op)
				}
			}
		}
	}
	for r, list := range events {
		taken := map[channel]int{}
		for i, e := range list {
			class := e.Op.Class()
			if class != mpispec.ClassRecv && class != mpispec.ClassProbe {
				continue
			}
			c := channel{e.Recv.Source, int32(r), e.Recv.Tag}
			k := taken[c]
			if class == mpispec.ClassRecv {
				taken[c]++
			}
			if k >= len(sends[c]) {
				ts.Fatalf("event %d:%d receives message %d of %+v, which was never sent", r, i+1, k+1, c)
			}
			before[node{r, uint64(i + 1)}] = append(before[node{r, uint64(i + 1)}], sends[c][k])
		}
	}
	for _, group := range collectives {
		for _, a := range group {
			for _, b := range group {
				if a != b {
					before[a] = append(before[a], b)
				}
			}
		}
	}
	return before
}

// past is everything that must have happened before n, by search; as the last event of each rank.
func past(before map[node][]node, n node, ranks int) []uint64 {
	last := make([]uint64, ranks)
	seen := map[node]bool{}
	stack := []node{n}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		last[at.rank] = max(last[at.rank], at.index)
		stack = append(stack, before[at]...)
	}
	return last
}

// checkCut: usage: checkcut [-beyond] RECORDING CUT.json. The cut must be exactly the past of its event: consistent,
// and no rank later than it must. With -beyond ranks may be later, as earlier stops may have brought them further, but
// the cut must be consistent all the same.
func checkCut(ts *testscript.TestScript, neg bool, args []string) {
	beyond := len(args) > 0 && args[0] == "-beyond"
	if beyond {
		args = args[1:]
	}
	if len(args) != 2 || neg {
		ts.Fatalf("usage: checkcut [-beyond] RECORDING CUT.json")
	}
	var got struct {
		At  struct{ Rank, Event int }
		Cut []uint64
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &got))
	events := fullEvents(ts, filepath.Clean(ts.MkAbs(args[0])))
	edges := edgesOf(ts, events)
	want := past(edges, node{got.At.Rank, uint64(got.At.Event)}, len(events)) // an event's number
	if !beyond {
		if !slices.Equal(got.Cut, want) {
			ts.Fatalf("the cut of %d:%d is %v, and its past is %v", got.At.Rank, got.At.Event, got.Cut, want)
		}
		return
	}
	for r, last := range got.Cut {
		if last < want[r] {
			ts.Fatalf("the cut of %d:%d is %v, and its past is %v", got.At.Rank, got.At.Event, got.Cut, want)
		}
		if last == 0 {
			continue
		}
		for q, needs := range past(edges, node{r, last}, len(events)) {
			if needs > got.Cut[q] {
				ts.Fatalf("the cut %v holds %d:%d, which needs %d:%d", got.Cut, r, last, q, needs)
			}
		}
	}
}

// checkColumn: usage: column FILE. FILE holds the output of mpipp for a column, and then of gdb's own expressions for
// its elements, one number a line.
func checkColumn(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: column FILE")
	}
	var decoded, direct []float64
	for line := range strings.SplitSeq(ts.ReadFile(args[0]), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 3 && strings.Contains(fields[0], "(VECTOR)") {
			v, err := strconv.ParseFloat(fields[2], 64)
			ts.Check(err)
			decoded = append(decoded, v)
		}
		if len(fields) == 1 {
			if v, err := strconv.ParseFloat(fields[0], 64); err == nil {
				direct = append(direct, v)
			}
		}
	}
	if len(decoded) < 2 || fmt.Sprint(decoded) != fmt.Sprint(direct) {
		ts.Fatalf("mpipp shows %v, and the array holds %v", decoded, direct)
	}
}

var reached = regexp.MustCompile(`causal cut of (\d+):(\d+): ([\d: ]+)`)

// cutOf: usage: cutof OUTPUT CUT.json. Takes the last cut that a debugging session reported, and checks that the ranks
// reported those positions themselves.
func cutOf(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: cutof OUTPUT CUT.json")
	}
	text := ts.ReadFile(args[0])
	all := reached.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		ts.Fatalf("no cut was reported in:\n%s", text)
	}
	m := all[len(all)-1]
	var cut []string
	for r, p := range strings.Fields(m[3]) {
		position, ok := strings.CutPrefix(p, strconv.Itoa(r)+":")
		if !ok {
			ts.Fatalf("position %d of the cut is %q", r, p)
		}
		cut = append(cut, position)
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^rank %d +stopped +event %s `, r, position)).MatchString(text) {
			ts.Fatalf("rank %d does not say that it stopped after event %s:\n%s", r, position, text)
		}
	}
	position := fmt.Sprintf(`{"at":{"rank":%s,"event":%s},"cut":[%s]}`, m[1], m[2], strings.Join(cut, ","))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(position), 0o600))
}
