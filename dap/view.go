package dap

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
)

// view is what one client has been told: which threads there are, what the frame ids and variable references stand for
// that it was given, and whose stop has its attention. Its methods may be called from any goroutine, and send nothing.
type view struct {
	mu     sync.Mutex
	ranks  map[int]*rankView
	next   int // the next id of a frame or a variable reference; ids are never used again
	frames map[int]frameHandle
	refs   map[int]refHandle

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
	generation uint64 // counts the times that the rank went on: frames and references of an older one are stale
	announced  bool   // its first thread was announced
	stopShown  bool   // a stopped event is the last that was told of it
	threads    []backend.Thread
	frameIDs   map[backend.FrameID]int
}

type frameHandle struct {
	rank       int
	generation uint64
	id         backend.FrameID
}

type refHandle struct {
	rank       int
	generation uint64
	ref        backend.Ref
}

func newView() *view {
	return &view{
		ranks: map[int]*rankView{}, next: 1, frames: map[int]frameHandle{}, refs: map[int]refHandle{}, shown: -1,
		wanted: -1,
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

// generation is to be taken before something is read of a rank and given with what is made of it.
func (v *view) generation(r int) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rank(r).generation
}

// forgetStop makes all that was read of a rank's stop stale: it goes on. v.mu is held.
func (v *view) forgetStop(rv *rankView) {
	rv.generation++
	for _, id := range rv.frameIDs {
		delete(v.frames, id)
	}
	clear(rv.frameIDs)
	for id, h := range v.refs {
		if h.rank == rv.status.Rank {
			delete(v.refs, id)
		}
	}
}

// goesOn is forgetStop for requests that make ranks run: the stream of events tells it a moment later.
func (v *view) goesOn(ranks rankset.Set) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for r := range ranks.Each {
		v.forgetStop(v.rank(r))
	}
}

// want gives the attention to the next stop of rank r, or with -1 to the next stop of any.
func (v *view) want(r int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown, v.wanted, v.leader = -1, r, false
}

// wantLeader gives the attention to the next stop that is not at a position of the recording.
func (v *view) wantLeader() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown, v.wanted, v.leader, v.target = -1, -1, true, -1
}

// wantEvent is wantLeader for the causal cut of an event: its rank leads there, unless it had gone that far before.
func (v *view) wantEvent(rank int, index uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ahead := v.rank(rank).status.Control.Events < index
	v.shown, v.wanted, v.leader, v.target = -1, -1, ahead, rank
}

// keep gives the attention back to the stop of a rank that had it, if nothing has taken it since.
func (v *view) keep(r int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r >= 0 && v.shown < 0 && v.rank(r).stopShown {
		v.shown, v.wanted, v.leader = r, -1, false
	}
}

// attention tells whether a stop of rank r takes the client's attention. v.mu is held.
func (v *view) attention(r int, stop *backend.Stopped) bool {
	atPosition := stop.Reason == backend.ReasonStopPoint && !job.Diverged(stop.Control)
	if v.shown >= 0 || (v.wanted >= 0 && v.wanted != r) || (v.leader && atPosition && r != v.target) {
		return false
	}
	v.shown, v.wanted = r, -1
	return true
}

// inattention: rank r no longer stands where it had the attention. v.mu is held.
func (v *view) inattention(r int) {
	if v.shown == r {
		v.shown = -1
	}
	if v.wanted == r && v.rank(r).status.State.Gone() {
		v.wanted = -1
	}
}

// awaited is the rank whose next stop was asked for, -1 if none.
func (v *view) awaited() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wanted
}

// attended is the rank whose stop has the client's attention, -1 if none.
func (v *view) attended() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.shown
}

// frameID gives a frame its id; the same frame of the same stop has the same. It is 0 if the rank has gone on since
// generation.
func (v *view) frameID(rank int, generation uint64, id backend.FrameID) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	rv := v.rank(rank)
	if rv.generation != generation {
		return 0
	}
	n, ok := rv.frameIDs[id]
	if !ok {
		n = v.next
		v.next++
		rv.frameIDs[id] = n
		v.frames[n] = frameHandle{rank, generation, id}
	}
	return n
}

// frame is the frame that an id stands for.
func (v *view) frame(id int) (frameHandle, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if h, ok := v.frames[id]; ok {
		return h, nil
	}
	return frameHandle{}, v.stale("frame", id, "stackTrace")
}

// reference gives something with children a variablesReference; 0 for what has none, or is stale.
func (v *view) reference(rank int, generation uint64, ref backend.Ref) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ref == 0 || v.rank(rank).generation != generation {
		return 0
	}
	n := v.next
	v.next++
	v.refs[n] = refHandle{rank, generation, ref}
	return n
}

// referenced is what a variablesReference stands for.
func (v *view) referenced(id int) (refHandle, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if h, ok := v.refs[id]; ok {
		return h, nil
	}
	return refHandle{}, v.stale("variable reference", id, "scopes, variables or evaluate")
}

// stale says why an id stands for nothing. v.mu is held.
func (v *view) stale(what string, id int, origin string) error {
	if id > 0 && id < v.next {
		return notStopped("the %s %d is not valid any more: its rank has resumed; ask again with %s", what, id,
			origin)
	}
	return refuse("there is no %s %d: use one that an answer to %s gave", what, id, origin)
}

// visibleThreads are a stopped rank's threads that are shown: the user's, the main one and the one that stopped; with
// libraries all.
func visibleThreads(stop *backend.Stopped, libraries bool) []backend.Thread {
	if stop == nil || len(stop.Threads) == 0 {
		id := 1
		if stop != nil && stop.Thread > 0 {
			id = stop.Thread
		}
		return []backend.Thread{{ID: id}}
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
