package benchreplay

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Kind groups programs by the target that they have.
type Kind string

// The kinds.
const (
	MessageOnly Kind = "message-only" // nothing but messages: what a message costs
	Application Kind = "application"  // computes between messages
	// no target: dominated by failed polls, or measured for the table of the paper only
	Other Kind = "other"
)

// Program is one row: a program with arguments and a number of ranks.
type Program struct {
	Name string // unique, such as "wildcard-recv-8"
	File string // in testprograms/
	Args []string
	// Short are arguments for a machine with fewer cores than ranks on an MPI that does not yield by itself:
	// collectives then cost ten times as much. Nil: Args.
	Short []string
	Ranks int
	Kind  Kind
	// Tiny are arguments with which it takes milliseconds, for tests of the benchmark.
	Tiny []string
	// Extra: only measured when it is named.
	Extra bool
	// Paper is the row of Netzer and Miller's Table 1, or nil.
	Paper *PaperRow
}

// PaperRow is what the paper reports: messages sent and traced, and the run-time overhead in percent of tracing all and
// racing messages (negative: not reported).
type PaperRow struct {
	Sent, Traced, Percent int
	Optimal               string
	All, Racing           float64
}

// wildcard is a row of RECEIVEBENCHMARK.
func wildcard(mode string, ranks, n, short int, kind Kind) Program {
	name := "wildcard-" + mode
	if ranks != 4 {
		name += "-" + strconv.Itoa(ranks)
	}
	return Program{
		Name: name, File: "wildcard.c", Args: []string{mode, strconv.Itoa(n)},
		Short: []string{mode, strconv.Itoa(short)}, Ranks: ranks, Kind: kind, Tiny: []string{mode, "3"},
	}
}

// Programs are all rows, in the order of the table. The sizes are such that the measured part of a bare run takes about
// a second on two cores: in less, the processes of a job that are still starting would be measured too. Short ones have
// about as many messages as the papers.
func Programs() []Program {
	app := func(name string, kind Kind, paper *PaperRow, tiny, short, args string) Program {
		return Program{
			Name: name, File: name + ".c", Args: strings.Fields(args), Short: strings.Fields(short), Ranks: 4,
			Kind: kind, Tiny: strings.Fields(tiny), Paper: paper,
		}
	}
	programs := []Program{
		wildcard("recv", 4, 150000, 20000, MessageOnly),
		wildcard("waitany", 4, 120000, 15000, MessageOnly),
		wildcard("recv", 8, 30000, 5000, MessageOnly),
		wildcard("waitany", 8, 25000, 4000, MessageOnly),
		wildcard("iprobe", 4, 40000, 2000, Other),
		app("bicgstab", Application, nil, "100 5", "16384 100 5", "16384 100 50"),
		app("mesh", Application, &PaperRow{10210, 1392, 14, "optimal", 28, 14}, "40 4", "300 100", "300 1000"),
		app("det", Application, &PaperRow{4713, 63, 1, "optimal", 568, 8}, "20 2", "640 3", "640 25"),
		app("sys", Application, &PaperRow{9424, 332, 2, "optimal", 561, 14}, "20", "1000", "2000"),
		app("heat", Application, nil, "20 5", "400 1500", "400 15000"),
		app("tsp", Other, nil, "cities10.txt", "cities18.txt", "cities18.txt"),
		app("line", Other, &PaperRow{31, 0, 0, "optimal", 0.3, 8}, "300", "8000", "24000"),
		app("mult", Other, &PaperRow{1120, 0, 0, "optimal", 15, 0.1}, "20", "700", "1600"),
		app("tycho", Other, &PaperRow{1791, 412, 19, "within 46%", -1, -1}, "3 500 6", "28 40000 20", "28 400000 20"),
	}
	for _, mode := range []string{
		"waitsome", "waitall", "wait", "probe", "mprobe", "sendrecv", "persistent",
		"startall",
	} {
		extra := wildcard(mode, 4, 100000, 10000, MessageOnly)
		extra.Extra = true
		programs = append(programs, extra)
	}
	return programs
}

// arguments are those of a run, with paths of data files.
func (p Program) arguments(root string, tiny, yields bool) []string {
	args := p.Args
	switch {
	case tiny:
		args = p.Tiny
	case yields && p.Short != nil:
		args = p.Short
	}
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if strings.HasSuffix(a, ".txt") {
			out[i] = filepath.Join(root, "testprograms", a)
		}
	}
	return out
}
