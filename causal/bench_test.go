package causal_test

import (
	"math/rand"
	"runtime"
	"testing"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
)

// feed hands a run of about a million events over so many ranks to a Builder, without holding it.
type feed func(ranks int, add func(rank int, e trace.Event))

const million = 1_000_000

// scattered: every rank sends to a random one, and takes what came to it; a reduction now and then.
func scattered(ranks int, add func(int, trace.Event)) {
	src := rand.New(rand.NewSource(1))
	inbox := make([][]int32, ranks)
	for n, round := 0, 0; n < million; round++ {
		for r := range ranks {
			dest := src.Intn(ranks)
			add(r, trace.Event{Op: mpispec.OpSend, Send: trace.SendArgs{
				Dest: int32(dest), Tag: int32(round % 3),
				Bytes: 8,
			}})
			inbox[dest] = append(inbox[dest], int32(r)<<2|int32(round%3))
			n++
		}
		for r := range ranks {
			for range src.Intn(3) { // some wait long
				if len(inbox[r]) > 0 {
					m := inbox[r][0]
					inbox[r] = inbox[r][1:]
					add(r, trace.Event{
						Op:   mpispec.OpRecv,
						Recv: trace.RecvArgs{AskedSource: -1, AskedTag: -1, Source: m >> 2, Tag: m & 3, Bytes: 8},
					})
					n++
				}
			}
		}
		if round%100 == 99 {
			for r := range ranks {
				add(r, trace.Event{Op: mpispec.OpAllreduce, Coll: trace.CollArgs{Root: -1}})
				n++
			}
		}
	}
}

// masterWorker: rank 0 answers all others, so it has half of all events.
func masterWorker(ranks int, add func(int, trace.Event)) {
	src := rand.New(rand.NewSource(1))
	for n := 0; n < million; n += 5 {
		w := 1 + src.Intn(ranks-1)
		add(w, trace.Event{Op: mpispec.OpSend, Send: trace.SendArgs{Tag: 1, Bytes: 8}})
		add(0, trace.Event{Op: mpispec.OpIprobe, Recv: trace.RecvArgs{
			AskedSource: -1, AskedTag: -1, Source: int32(w),
			Tag: 1, Bytes: 8,
		}})
		add(0, trace.Event{Op: mpispec.OpRecv, Recv: trace.RecvArgs{
			AskedSource: int32(w), AskedTag: 1, Source: int32(w),
			Tag: 1, Bytes: 8,
		}})
		add(0, trace.Event{Op: mpispec.OpSend, Send: trace.SendArgs{Dest: int32(w), Tag: 1, Bytes: 8}})
		add(w, trace.Event{Op: mpispec.OpRecv, Recv: trace.RecvArgs{AskedTag: 1, Tag: 1, Bytes: 8}})
	}
}

func onlyCollectives(ranks int, add func(int, trace.Event)) {
	for n := 0; n < million; n += ranks {
		for r := range ranks {
			add(r, trace.Event{Op: mpispec.OpAllreduce, Coll: trace.CollArgs{Root: -1}})
		}
	}
}

func buildFeed(b *testing.B, ranks int, f feed) *causal.Graph {
	b.Helper()
	builder := causal.NewBuilder(ranks)
	world := &trace.Comm{GlobalID: trace.WorldID, CommKind: abi.CommIntra}
	for r := range ranks {
		world.Members = append(world.Members, uint32(r))
	}
	count := make([]uint64, ranks)
	for r := range ranks {
		world.MyRank = uint32(r)
		if err := builder.Add(r, world); err != nil {
			b.Fatal(err)
		}
	}
	f(ranks, func(rank int, e trace.Event) {
		count[rank]++
		e.Index = count[rank]
		if err := builder.Add(rank, &e); err != nil {
			b.Fatal(err)
		}
	})
	g, err := builder.Build(causal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func BenchmarkMillionEvents(b *testing.B) {
	for _, c := range []struct {
		name string
		feed feed
	}{{"scattered", scattered}, {"masterWorker", masterWorker}, {"collectives", onlyCollectives}} {
		b.Run(c.name, func(b *testing.B) {
			const ranks = 64
			var g *causal.Graph
			b.Run("build", func(b *testing.B) {
				for b.Loop() {
					g = buildFeed(b, ranks, c.feed)
				}
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-held")
				runtime.KeepAlive(g)
			})
			if g == nil {
				return
			}
			src := rand.New(rand.NewSource(2))
			event := func() (int, uint64) {
				r := src.Intn(ranks)
				return r, 1 + uint64(src.Int63n(int64(g.Events(r))))
			}
			b.Run("vector", func(b *testing.B) {
				for b.Loop() {
					if _, err := g.VectorTime(event()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("cut", func(b *testing.B) {
				for b.Loop() {
					if _, err := g.CausalCut(event()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("nearest", func(b *testing.B) {
				for b.Loop() {
					cut := make(causal.Cut, ranks)
					for r := range cut {
						cut[r] = uint64(src.Int63n(int64(g.Events(r)) + 1))
					}
					if _, _, err := g.NearestConsistent(cut); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
