package causal

import (
	"math"

	"github.com/cohort-debugger/cohort/trace"
)

// chose says whether a take had any source to choose from, and it is known what it took.
func (t *takeRec) chose() bool {
	return t.anySource && t.kind != takeVoid && t.send != none && (t.settled() != 0 || t.freed)
}

// takes says whether it takes messages, whatever became of it.
func (t *takeRec) anyTag() bool { return t.askedTag == trace.AnyTag }

// settled is the event at which it was known what the take took, at the latest; 0 if no event tells.
func (t *takeRec) settled() uint64 {
	if t.kind == takeReceive {
		return t.done
	}
	return t.post
}

// pattern is what a receive with any source asks for.
type pattern struct {
	comm uint64
	tag  int32 // or trace.AnyTag
}

// decider finds out when the outcome of each take with any source was settled: see "decided" in races.go.
type decider struct {
	takes   []takeRec
	at      []uint64 // by take; 0 for others
	waiting map[pattern][]int32
}

// decided returns, by take, the event at whose exit the outcome of a take with any source was settled; 0 for others,
// and for those that nothing settled. It goes through the rank's events once; each take enters one queue and leaves it
// once.
func (r *rankEvents) decided() []uint64 {
	d := &decider{takes: r.takes, at: make([]uint64, len(r.takes)), waiting: map[pattern][]int32{}}
	later, next := r.byDone, 0
	for next < len(r.takes) || len(later) > 0 {
		event := uint64(math.MaxUint64)
		if next < len(r.takes) {
			event = r.takes[next].post
		}
		if len(later) > 0 {
			event = min(event, r.takes[later[0]].done)
		}
		first := next
		for ; next < len(r.takes) && r.takes[next].post == event; next++ {
			if t := &r.takes[next]; t.anySource && t.kind != takeVoid {
				p := pattern{t.view.comm.id, t.askedTag}
				d.waiting[p] = append(d.waiting[p], int32(next))
			}
		}
		for ; first < next; first++ {
			if r.takes[first].settled() == event {
				d.settle(first, event)
			}
		}
		for ; len(later) > 0 && r.takes[later[0]].done == event; later = later[1:] {
			if r.takes[later[0]].kind == takeReceive {
				d.settle(int(later[0]), event)
			}
		}
	}
	return d.at
}

// settle notes that take i has its message at the exit of an event. Those posted before it that fit the message had a
// prior claim to it, and so have one too.
func (d *decider) settle(i int, event uint64) {
	t := &d.takes[i]
	if t.kind == takeVoid || !t.known {
		return
	}
	for _, p := range [...]pattern{{t.ch.comm, t.ch.tag}, {t.ch.comm, trace.AnyTag}} {
		q, n := d.waiting[p], 0
		for ; n < len(q) && int(q[n]) <= i; n++ {
			d.at[q[n]] = event
		}
		if n > 0 {
			d.waiting[p] = q[n:]
		}
	}
}
