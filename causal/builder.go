package causal

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// Options changes how a Graph is built. The zero value is good.
type Options struct {
	// Every is the number of events of a rank between stored vector times; 0 chooses. It trades memory for the time of
	// a query only.
	Every int
	// SyncBytes makes cuts (not happened-before) treat every send of at least so many bytes as a synchronous one, as an
	// MPI does that sends large messages by rendezvous: a cut then never holds such a send without the post of its
	// receive, without which the rank might not get through the call. 0: no send but Ssend and Issend.
	SyncBytes uint64
}

// Builder takes in the records of all ranks' full traces, and makes a Graph of them. It is for one goroutine.
type Builder struct {
	ranks   []*ingest
	comms   map[uint64]*comm
	created map[uint64]*instance // Comm_create_group and Intercomm_create by the new communicator
	ends    *instance            // Finalize
	problem []Problem
}

// NewBuilder makes a Builder for a run of so many ranks.
func NewBuilder(ranks int) *Builder {
	all := &comm{member: map[int]int{}}
	for r := range ranks {
		all.member[r] = r
		all.world = append(all.world, r)
	}
	b := &Builder{comms: map[uint64]*comm{}, created: map[uint64]*instance{}, ends: all.nth(&all.seq, 0)}
	for r := range ranks {
		b.ranks = append(b.ranks, &ingest{
			b: b, rank: r, comms: map[uint32]*view{}, calls: map[*comm]int{}, probed: map[uint64]int{},
			made: map[*comm]int{}, freed: map[trace.Posting]int{}, siteOf: map[uint64]uint32{},
			modules: map[uint64]trace.Module{},
		})
	}
	return b
}

// Build makes the graph of a run from the records of each rank, in the order of its trace: communicators and events;
// others are passed over.
func Build(records [][]trace.Record, opt Options) (*Graph, error) {
	b := NewBuilder(len(records))
	for rank, all := range records {
		for _, rec := range all {
			if err := b.Add(rank, rec); err != nil {
				return nil, err
			}
		}
	}
	return b.Build(opt)
}

// Source opens the full traces of a run; *trace.Graph is one.
type Source interface {
	Ranks() int
	Rank(rank int) (*trace.Reader, error)
}

// Load builds the graph of a run from its full traces.
func Load(src Source, opt Options) (*Graph, error) {
	b := NewBuilder(src.Ranks())
	for rank := range src.Ranks() {
		if err := b.addTrace(src, rank); err != nil {
			return nil, fmt.Errorf("build the event graph: rank %d: %w", rank, err)
		}
	}
	return b.Build(opt)
}

func (b *Builder) addTrace(src Source, rank int) error {
	r, err := src.Rank(rank)
	if err != nil {
		return err
	}
	for rec, err := range r.All() {
		if err == nil {
			err = b.Add(rank, rec)
		}
		if err != nil {
			return errors.Join(err, r.Close())
		}
	}
	return r.Close()
}

// Add takes in the next record of a rank. It keeps nothing of rec. The error says what contradicts what was added
// before.
func (b *Builder) Add(rank int, rec trace.Record) error {
	in := b.ranks[rank]
	switch rec := rec.(type) {
	case *trace.Comm:
		return b.addComm(in, rec)
	case *trace.Event:
		return in.event(rec)
	case *trace.Match:
		return in.took(rec)
	case *trace.Content:
		in.content(rec)
	case *trace.Module:
		in.modules[rec.Index] = *rec
	case *trace.Site:
		m := in.modules[rec.Module]
		in.declared = append(in.declared, Site{Module: m.Path, BuildID: m.BuildID, Offset: rec.Offset})
		in.siteOf[rec.Index] = uint32(len(in.declared))
	case *trace.Note:
		b.doubtf(ProblemUncovered, rank, rec.Event, "%s", rec.Call)
	}
	return nil
}

func (b *Builder) addComm(in *ingest, c *trace.Comm) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("communicator %#x as rank %d declares it: %s", c.GlobalID, in.rank,
			fmt.Sprintf(format, args...))
	}
	if c.CommKind == abi.CommNull {
		delete(in.comms, c.Index)
		return nil
	}
	local, remote := ints(c.Members), ints(c.Remote)
	if int(c.MyRank) >= len(local) || local[c.MyRank] != in.rank {
		return bad("its member %d is not that rank", c.MyRank)
	}
	inter := c.CommKind == abi.CommInter
	world := local
	if inter {
		// Both groups see the same order.
		world = slices.Sorted(slices.Values(slices.Concat(local, remote)))
	}
	known := b.comms[c.GlobalID]
	if known == nil {
		known = &comm{id: c.GlobalID, inter: inter, world: world, member: map[int]int{}}
		for i, r := range world {
			if r >= len(b.ranks) {
				return bad("its member %d is rank %d, but the run has %d ranks", i, r, len(b.ranks))
			}
			if _, twice := known.member[r]; twice {
				return bad("rank %d is in it twice", r)
			}
			known.member[r] = i
		}
		b.comms[c.GlobalID] = known
	}
	if known.inter != inter || !slices.Equal(known.world, world) {
		return bad("its members are %v, but another rank says %v", world, known.world)
	}
	v := view{comm: known, peers: local}
	if inter {
		v.peers = remote
	}
	in.comms[c.Index] = &v
	return nil
}

func ints(ranks []uint32) []int {
	all := make([]int, len(ranks))
	for i, r := range ranks {
		all[i] = int(r)
	}
	return all
}

func (b *Builder) doubtf(kind ProblemKind, rank int, event uint64, format string, args ...any) {
	b.problem = append(b.problem, Problem{Kind: kind, Event: EventID{rank, event}, Note: fmt.Sprintf(format, args...)})
}

// Build matches messages and collectives, and orders the events. The Builder must not be used afterwards. The error
// says which events have no order.
func (b *Builder) Build(opt Options) (*Graph, error) {
	b.match()
	b.checkCollectives()
	g := b.graph(opt)
	if err := g.order(); err != nil {
		return nil, err
	}
	return g, nil
}

// checkCollectives reports the collectives that some members did not call.
func (b *Builder) checkCollectives() {
	for _, in := range b.instances() {
		var absent []int
		for j, p := range in.parts {
			if p.entry == 0 {
				absent = append(absent, in.comm.world[j])
			}
		}
		if first := in.first(); len(absent) > 0 && !first.IsZero() {
			b.doubtf(ProblemCollective, first.Rank, first.Index,
				"%s, call number %d on communicator %#x, was not made by ranks %v",
				in.op.Call(), in.place, in.comm.id, absent)
		}
	}
}

// instances returns all collectives, in an order that does not change from run to run.
func (b *Builder) instances() []*instance {
	all := []*instance{b.ends}
	for _, id := range slices.Sorted(maps.Keys(b.comms)) {
		all = append(all, b.comms[id].seq...)
		for _, starts := range b.comms[id].started {
			all = append(all, starts...)
		}
		if in := b.created[id]; in != nil {
			all = append(all, in)
		}
	}
	return all
}
