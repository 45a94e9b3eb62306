package dap

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

// view is what one client has been told: which threads there are, what the frame ids and variable references stand for
// that it was given, and whose stop has its attention. Its methods may be called from any goroutine, and send nothing.
type view struct {
	// mu is Server.mu; it guards all fields.
	mu      *sync.Mutex
	ranks   map[int]*rankView
	next    int // the next id of a frame or a variable reference; ids are never used again
	handles map[int]handle

	// first is the rank whose stop was told first since the client asked for ranks to run; -1: none was, or the rank
	// has resumed.
	first int
	attention
}

// attention says whose stop the client is shown.
type attention struct {
	shown  int // rank whose stop took the client's attention; -1: the next stop does
	wanted int // rank that the client has stepped or paused: its stop takes the attention; -1 none
	// leader: ranks go to a causal cut, and the attention is for the one that leads there, not for those that stop at
	// positions.
	leader bool
	target int // with leader: the rank that leads there by reaching a position, -1 for none
}

// rankView is one rank as the client knows it.
type rankView struct {
	status     job.RankStatus
	generation uint64 // counts how often the rank resumed: frames and references of an older one are stale
	announced  bool   // its first thread was announced
	stopShown  bool   // a stopped event is the last that was told of it
	told       bool   // likewise, and the client has not resumed it since
	looked     bool   // told, and the client has asked for its stack since
	threads    []backend.Thread
	frameIDs   map[backend.FrameID]int
}

// moment is the time from one stop of a rank to its next resume. It is to be taken before something is read of the
// rank, and given with what is made of it.
type moment struct {
	rank       int
	generation uint64
}

// handle is what an id stands for: a frame, or something with children.
type handle struct {
	moment
	frame backend.FrameID
	ref   backend.Ref // of something with children in the frame; 0: the frame itself
}

func newView(mu *sync.Mutex) *view {
	return &view{
		mu: mu, ranks: map[int]*rankView{}, next: 1, handles: map[int]handle{}, first: -1,
		attention: attention{shown: -1, wanted: -1},
	}
}

// rank returns the view of a rank; v.mu is held.
func (v *view) rank(r int) *rankView {
	rv, ok := v.ranks[r]
	if !ok {
		rv = &rankView{status: job.RankStatus{Rank: r}, frameIDs: map[backend.FrameID]int{}}
		v.ranks[r] = rv
	}
	return rv
}

func (v *view) now(r int) moment {
	v.mu.Lock()
	defer v.mu.Unlock()
	return moment{r, v.rank(r).generation}
}

// forgetStop makes all that was read of a rank's stop stale: it resumes. v.mu is held.
func (v *view) forgetStop(rv *rankView) {
	rv.generation++
	rv.told, rv.looked = false, false
	if v.first == rv.status.Rank {
		v.first = -1
	}
	clear(rv.frameIDs)
	maps.DeleteFunc(v.handles, func(_ int, h handle) bool { return h.rank == rv.status.Rank })
}

// resumed is forgetStop for requests that make ranks run: the stream of events tells it a moment later.
func (v *view) resumed(ranks rankset.Set) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for r := range ranks.Each {
		v.forgetStop(v.rank(r))
	}
}

func (v *view) attend(a attention) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.attention = a
	if a.shown < 0 {
		v.first = -1
	}
}

// want gives the attention to the next stop of rank r, or with -1 to the next stop of any.
func (v *view) want(r int) { v.attend(attention{shown: -1, wanted: r}) }

// wantLeader gives the attention to the next stop that is not at a position of the recording.
func (v *view) wantLeader() { v.attend(attention{shown: -1, wanted: -1, leader: true, target: -1}) }

// wantEvent is wantLeader for the causal cut of an event: its rank leads there, unless it was further than that before.
func (v *view) wantEvent(rank int, index uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rv := v.ranks[rank]
	ahead := rv != nil && rv.status.Control.Events < index
	v.attention, v.first = attention{shown: -1, wanted: -1, leader: ahead, target: rank}, -1
}

// restore gives the attention back to the stop of a rank that had it, if nothing has taken it since.
func (v *view) restore(r int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r >= 0 && v.shown < 0 && v.rank(r).stopShown {
		v.attention = attention{shown: r, wanted: -1}
	}
}

// takes tells whether a stop of rank r takes the client's attention. v.mu is held.
func (v *view) takes(r int, stop *backend.Stopped) bool {
	atPosition := stop.Reason == backend.ReasonStopPoint && !job.Diverged(stop.Control)
	if v.shown >= 0 || (v.wanted >= 0 && v.wanted != r) || (v.leader && atPosition && r != v.target) {
		return false
	}
	v.shown, v.wanted = r, -1
	return true
}

// lost: rank r is no longer where it had the attention. v.mu is held.
func (v *view) lost(r int) {
	if v.shown == r {
		v.shown = -1
	}
	if v.wanted == r && v.rank(r).status.State.Gone() {
		v.wanted = -1
	}
}

// current is whose stop has the client's attention now.
func (v *view) current() attention {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.attention
}

// tell enters that the client is told of a stop; first tells whether it may be the only one that it shows. v.mu is
// held.
func (v *view) tell(rv *rankView) (first bool) {
	if first = v.first < 0; first {
		v.first = rv.status.Rank
	}
	rv.told = true
	return first
}

// look enters that the client has asked for a rank's stack.
func (v *view) look(r int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if rv := v.ranks[r]; rv != nil && rv.told {
		rv.looked = true
	}
}

// chosen tells whether a person may have asked to continue rank r: one whose stack was asked for; where none was, the
// one that was told first.
//
// nvim-dap shows one stop and answers each stop of another thread with continue. It does so before it asks for any
// stack, or after it has asked for that of the one it shows.
func (v *view) chosen(r int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	rv := v.rank(r)
	if rv.looked || !rv.told {
		return rv.looked
	}
	for _, other := range v.ranks {
		if other.looked {
			return false
		}
	}
	return v.first < 0 || v.first == r
}

// frameID gives a frame its id; the same frame of the same stop has the same. It is 0 if the rank has resumed since.
func (v *view) frameID(at moment, id backend.FrameID) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	rv := v.rank(at.rank)
	if rv.generation != at.generation {
		return 0
	}
	if rv.frameIDs[id] == 0 {
		rv.frameIDs[id] = v.add(handle{moment: at, frame: id})
	}
	return rv.frameIDs[id]
}

// reference gives something with children a variablesReference; 0 for what has none, or is stale.
func (v *view) reference(at moment, frame backend.FrameID, ref backend.Ref) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ref == 0 || v.rank(at.rank).generation != at.generation {
		return 0
	}
	return v.add(handle{moment: at, frame: frame, ref: ref})
}

func (v *view) add(h handle) int {
	v.handles[v.next] = h
	v.next++
	return v.next - 1
}

// frame is the frame that an id stands for.
func (v *view) frame(id int) (handle, error) {
	return v.handle(id, func(h handle) bool { return h.ref == 0 }, "frame", "stackTrace")
}

// referenced is what a variablesReference stands for.
func (v *view) referenced(id int) (handle, error) {
	return v.handle(id, func(h handle) bool { return h.ref != 0 }, "variable reference",
		"scopes, variables or evaluate")
}

func (v *view) handle(id int, fits func(handle) bool, what, origin string) (handle, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h, ok := v.handles[id]
	switch {
	case ok && fits(h):
		return h, nil
	case id > 0 && id < v.next:
		return h, notStopped("the %s %d is not valid any more: its rank has resumed; ask again with %s", what, id,
			origin)
	}
	return h, refuse("there is no %s %d: use one that an answer to %s gave", what, id, origin)
}

// visibleThreads are a stopped rank's threads that are shown: the user's, the main one and the one that stopped; with
// libraries all.
func visibleThreads(stop *backend.Stopped, libraries bool) []backend.Thread {
	if len(stop.Threads) == 0 {
		return []backend.Thread{{ID: max(stop.Thread, 1)}}
	}
	var out []backend.Thread
	for _, t := range stop.Threads {
		if libraries || !t.Library || t.ID == 1 || t.ID == stop.Thread {
			out = append(out, t)
		}
	}
	return out
}

// threadName is how people see a thread.
func threadName(rank int, t backend.Thread, can backend.Capabilities) string {
	if t.ID == 1 {
		return fmt.Sprintf("rank %d", rank)
	}
	if t.Library {
		return fmt.Sprintf("rank %d · thread %d (MPI library)", rank, t.ID)
	}
	if can.Goroutines {
		return fmt.Sprintf("rank %d · %s", rank, t.Name)
	}
	return fmt.Sprintf("rank %d · thread %d", rank, t.ID)
}

// threadsOf are the threads of a rank that the client knows: its main one at least, none once it is gone.
func (v *view) threadsOf(r int) []backend.Thread {
	v.mu.Lock()
	defer v.mu.Unlock()
	rv := v.rank(r)
	if rv.status.State.Gone() {
		return nil
	}
	if len(rv.threads) == 0 {
		return []backend.Thread{{ID: 1}}
	}
	return slices.Clone(rv.threads)
}
