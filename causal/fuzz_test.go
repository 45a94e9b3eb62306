package causal_test

import (
	"bytes"
	"io"
	"math/rand"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/causal"
	"github.com/cohort-debugger/cohort/causal/causaltest"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/trace"
	"github.com/cohort-debugger/cohort/trace/tracetext"
)

// memory is a file in memory.
type memory struct{ b []byte }

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	if end := int(at) + len(p); end > len(m.b) {
		m.b = append(m.b, make([]byte, end-len(m.b))...)
	}
	return copy(m.b[at:], p), nil
}

// traceFile is the file of one rank of an execution.
func traceFile(t fataler, records []trace.Record, rank, ranks int) *memory {
	m := &memory{}
	w := trace.NewWriter(m, trace.Header{Mode: abi.ModeFull, Rank: uint32(rank), WorldSize: uint32(ranks)})
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *memory) reader() (*trace.Reader, error) {
	return trace.NewReader(bytes.NewReader(m.b), int64(len(m.b)), "memory")
}

// files is a causal.Source.
type files []*memory

func (f files) Ranks() int                           { return len(f) }
func (f files) Rank(rank int) (*trace.Reader, error) { return f[rank].reader() }

// What the simulator makes is a proper trace; read back from its files it gives the same graph.
func TestLoad(t *testing.T) {
	for seed := range int64(20) {
		x := causaltest.Run(rand.New(rand.NewSource(seed)), causaltest.Everything(4, 100))
		var all files
		for rank, records := range x.Records {
			all = append(all, traceFile(t, records, rank, len(x.Records)))
		}
		got, err := causal.Load(all, causal.Options{})
		if buildCertain(t, x, causal.Options{}) == nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		p := truth(x)
		for r, last := range p.last {
			if got.Events(r) != last {
				t.Fatalf("rank %d has %d events, want %d", r, got.Events(r), last)
			}
			if v, err := got.VectorTime(r, last); err != nil || !within(p.vector(id{Rank: r, Index: last}), v) {
				t.Fatal(v, err)
			}
		}
	}
	broken := files{traceFile(t, nil, 0, 1)}
	broken[0].b = broken[0].b[:100]
	if _, err := causal.Load(broken, causal.Options{}); err == nil || !strings.Contains(err.Error(), "rank 0") {
		t.Error(err)
	}
}

// FuzzBuild: traces that are well formed one by one, but need not fit each other. Whatever comes of it is an error or a
// graph whose cuts are consistent.
func FuzzBuild(f *testing.F) {
	for seed := range int64(6) {
		x := causaltest.Run(rand.New(rand.NewSource(seed)), causaltest.Everything(2, 60))
		var texts [2]string
		for rank := range texts {
			r, err := traceFile(f, x.Records[rank], rank, 2).reader()
			if err != nil {
				f.Fatal(err)
			}
			var text strings.Builder
			if err := tracetext.Dump(&text, r); err != nil {
				f.Fatal(err)
			}
			texts[rank] = text.String()
		}
		f.Add(texts[0], texts[1])
	}
	f.Fuzz(func(t *testing.T, text0, text1 string) {
		var records [][]trace.Record
		for _, text := range []string{text0, text1} {
			_, all, err := tracetext.Parse(io.LimitReader(strings.NewReader(text), 1<<16))
			if err != nil {
				return
			}
			records = append(records, all)
		}
		g, err := causal.Build(records, causal.Options{Every: 4})
		if err != nil {
			return
		}
		counts, err := g.EachWildcard(func(p *causal.RacePoint) bool {
			for _, ref := range append(p.Others, p.Took) {
				if m := g.Message(ref); m.Send.Rank >= g.Ranks() || m.Send.Index > g.Events(m.Send.Rank) {
					t.Fatalf("%+v has a message that is not of the run: %+v", p, m)
				}
			}
			return true
		})
		groups, _, groupErr := g.GroupRaces(causal.RaceFilter{}, func(causal.Site, bool, mpispec.Op) int { return 0 })
		if len(groups) > 1 || groupErr != nil || (len(groups) == 1) != (counts.Races > 0) || len(groups) == 1 &&
			groups[0].Races != counts.Races {
			t.Fatalf("%+v in groups %+v %v", counts, groups, groupErr)
		}
		if bound, _, err := g.Bound(nil); err != nil || bound.Least > bound.Traced || bound.Traced < counts.Racing {
			t.Fatalf("%+v %v", bound, err)
		}
		if err != nil || counts.Racing > counts.Wildcards || counts.RacingMessages > counts.Messages ||
			counts.Racing > counts.Races {
			t.Fatalf("%+v %v", counts, err)
		}
		for r := range g.Ranks() {
			for i := uint64(1); i <= g.Events(r); i++ {
				report, err := g.ReportCausalCut(id{Rank: r, Index: i})
				if err != nil || !report.Consistent || !within(report.VectorTime, report.Cut) {
					t.Fatalf("%d:%d: %+v %v", r, i, report, err)
				}
				if _, err := g.Exchanges(id{Rank: r, Index: i}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
