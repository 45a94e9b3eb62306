package importrules

// everything, in rule.may, is any package of the repository.
const everything = "..."

// A rule says what the packages of one folder may import of this repository. The row of the longest matching folder
// counts. A folder may always import what lies below it, the leaves, and the helpers in internal/.
type rule struct {
	folder string
	may    []string // folders, with all that lies below them
	// tests may be imported by tests in the folder besides: to meet the real thing.
	tests  []string
	reason string
}

// leaves may be imported by everybody, so that nobody needs to write their types and numbers again: they hold nothing
// else, and import nothing of ours but each other.
var leaves = []string{"backend", "mpispec", "pmpi/abi", "rankset"}

var rules = []rule{
	{
		folder: "cmd", may: []string{everything},
		reason: "cmd wires the parts together; nothing else may know them all",
	},
	{
		folder: "tui", may: []string{"dap/protocol", "dap/client"},
		reason: "the TUI is a DAP client only, so that whatever it can do, every client can",
	},
	{
		folder: "script", may: []string{"dap/protocol", "dap/client", "rankset"},
		reason: "scripts are a DAP client only, like the TUI",
	},
	{
		folder: "dap/client", may: nil,
		reason: "a connection that every front end can use, whatever the server is",
	},
	{
		folder: "session", may: []string{
			"dap", "job", "launch", "runner", "replayctl", "causal", "trace", "pmpi",
			"backend/gdb", "handles", "prettyprint",
		},
		reason: "it fulfils the DAP server's Starter: what a launch request starts, and of core files also each " +
			"rank's debugger; only cmd imports it",
	},
	{
		folder: "runner", may: []string{"launch", "pmpi", "trace", "causal"},
		reason: "record and replay without a debugger",
	},
	{
		folder: "doctor", may: []string{"launch", "pmpi"},
		reason: "it looks at a machine with the means by which a job would start there; only cmd shows what it found",
	},
	{
		folder: "handles", may: []string{"prettyprint"}, tests: []string{"backend/gdb", "pmpi"},
		reason: "it joins the decoder of MPI handles to a rank's backend, and so is all that both know",
	},
	{
		folder: "plaingdb", may: []string{"handles", "prettyprint", "backend/gdb/cli"},
		reason: "it joins the decoder of MPI handles to a gdb that is not ours; only cmd imports it",
		tests:  []string{"backend/gdb", "pmpi", "session", "dap"},
	},
	{
		folder: "dap", may: []string{"job", "replayctl", "prettyprint", "waits"},
		reason: "the DAP server serves the models of a job and of a replay; it knows neither launchers nor backends' " +
			"insides",
	},
	{
		folder: "dap/protocol", may: nil,
		reason: "our part of the protocol is shared by server and clients, and depends on neither",
	},
	{
		folder: "dap/daptest", may: []string{"dap/protocol"},
		reason: "the test client sees what any client sees",
	},
	{
		folder: "job", may: []string{"prettyprint", "pmpi/abi"},
		reason: "the model of a job knows backends by their interface only; how ranks are started is not its business",
		tests:  []string{"backend/gdb"},
	},
	{
		folder: "job/jobtest", may: []string{"job", "prettyprint"},
		reason: "it stands in for the backends of a job",
	},
	{
		folder: "rankset", may: nil,
		reason: "it is a leaf: it imports nothing of ours",
	},
	{
		folder: "backend", may: nil,
		reason: "it is a leaf: it imports nothing of ours",
	},
	{
		folder: "backend/base", may: nil,
		reason: "what the backends have in common knows none of them",
	},
	{
		folder: "backend/gdb/cli", may: nil,
		reason: "what gdb answers in its command language; the two ways to a gdb share it",
	},
	{
		folder: "backend/gdb", may: []string{"gdbmi", "backend/base"},
		reason: "it fulfils the backend interface with gdb; whoever owns a rank's backend imports it, nobody else",
	},
	{
		folder: "backend/delve", may: []string{"backend/base"}, tests: []string{"handles", "pmpi"},
		reason: "it fulfils the backend interface with Delve, and knows no gdb",
	},
	{
		folder: "testprograms/gompi", may: nil,
		reason: "a Go module of its own: a program that is debugged",
	},
	{
		folder: "gdbmi", may: nil,
		reason: "one way of being a backend; it knows gdb, and nothing of jobs or MPI",
	},
	{
		folder: "gdbmi/gdbmitest", may: []string{"gdbmi"},
		reason: "the scripted gdb is written with the MI grammar",
	},
	{
		folder: "launch", may: []string{"backend/gdb", "gdbmi", "prettyprint", "trace", "pmpi"},
		reason: "the agent owns a rank's backend and reads its registry, trace and control block; the job comes to " +
			"it, not it to the job",
	},
	{
		folder: "prettyprint", may: nil,
		reason: "it turns bytes into datatypes and needs a MemoryReader, no process",
		tests:  []string{"pmpi"},
	},
	{
		folder: "prettyprint/fault", may: nil,
		reason: "an error of which everything else is made",
	},
	{
		folder: "prettyprint/view", may: []string{"prettyprint/fault"},
		reason: "the tree that is shown knows nothing of MPI",
	},
	{
		folder: "prettyprint/registry", may: []string{"prettyprint/fault", "prettyprint/view"},
		reason: "records are bytes; what they mean is for the packages above",
		tests:  []string{"prettyprint", "pmpi"},
	},
	{
		folder: "prettyprint/datatype", may: []string{"prettyprint/fault", "prettyprint/view", "prettyprint/registry"},
		reason: "the algebra of datatypes needs their records only",
		tests:  []string{"prettyprint", "pmpi"},
	},
	{
		folder: "prettyprint/picture", may: []string{"prettyprint/fault", "prettyprint/view", "prettyprint/datatype"},
		reason: "it draws datatypes",
		tests:  []string{"prettyprint", "pmpi"},
	},
	{
		folder: "prettyprint/handle", may: []string{
			"prettyprint/fault", "prettyprint/view", "prettyprint/registry",
			"prettyprint/datatype",
		},
		reason: "windows and files refer to datatypes and communicators",
		tests:  []string{"prettyprint", "pmpi"},
	},
	{
		folder: "prettyprint/mpicall", may: nil,
		reason: "it knows MPI functions and source text, no rank",
	},
	{
		folder: "prettyprint/call", may: []string{
			"prettyprint/fault", "prettyprint/view", "prettyprint/registry",
			"prettyprint/datatype", "prettyprint/handle", "prettyprint/mpicall", "waits",
		},
		reason: "calls and requests refer to handles, buffers and source text, and tell who waits for whom",
		tests:  []string{"prettyprint", "pmpi"},
	},
	{
		folder: "prettyprint/command", may: []string{
			"prettyprint/fault", "prettyprint/view", "prettyprint/registry",
			"prettyprint/datatype", "prettyprint/picture", "prettyprint/handle", "prettyprint/mpicall", "prettyprint/call",
		},
		reason: "the console command shows all of them",
		tests:  []string{"prettyprint", "pmpi"},
	},
	{
		folder: "waits", may: nil,
		reason: "a graph of ranks, whoever asked them",
	},
	{
		folder: "prettyprint/prettyprinttest", may: nil,
		reason: "images of registries for tests are written by hand: they must not know the decoder",
	},
	{
		folder: "pmpi", may: nil,
		reason: "the interposer is built and described here; its one contract with Go is the ABI header",
		tests:  []string{"trace", "causal"},
	},
	{
		folder: "mpispec", may: nil,
		reason: "the table of MPI's functions is a leaf, so that whatever knows them can derive it from there",
	},
	{
		folder: "pmpi/abi", may: nil,
		reason: "it is a leaf: it imports nothing of ours",
	},
	{
		folder: "pmpi/control", may: nil,
		reason: "a control block is a mapped file; who shares it with a rank is not its business",
	},
	{
		folder: "trace", may: nil,
		reason: "a recording can be read without anything else of ours",
	},
	{
		folder: "trace/decisions", may: []string{"trace"},
		reason: "what a replay must enforce, made of one trace",
	},
	{
		folder: "trace/recording", may: []string{"trace", "trace/decisions"},
		reason: "the directory of a run's traces",
	},
	{
		folder: "trace/rewrite", may: []string{"trace", "trace/decisions", "trace/recording"},
		reason: "recordings made from others",
	},
	{
		folder: "trace/tracetext", may: []string{"trace"},
		reason: "the text form of a trace",
	},
	{
		folder: "trace/tracetest", may: []string{"trace", "trace/decisions", "trace/recording"},
		reason: "traces and recordings for tests",
	},
	{
		folder: "causal", may: []string{"trace"},
		reason: "pure algorithms on the events of a recording",
	},
	{
		folder: "replayctl", may: []string{"job", "causal", "pmpi/abi"}, tests: []string{"trace", "mpispec"},
		reason: "it steers a job by what the recording says",
	},
	{
		folder: "scripts", may: nil,
		reason: "tests of the shell scripts",
	},
	{
		folder: "testkit", may: nil,
		reason: "tools of tests depend on nothing that they help to test",
	},
	{
		folder: "bench", may: nil,
		reason: "what the pages of benchmarks share",
	},
	{
		folder: "internal", may: nil,
		reason: "helpers of all packages depend on none",
	},
	{
		folder: "bench/benchreplay", may: []string{everything},
		reason: "it measures record and replay as a whole; nothing imports it",
	},
	{
		folder: "bench/benchdatatypes", may: []string{everything},
		reason: "it measures the registry and the decoder as a whole; nothing imports it",
	},
	{
		folder: "bench/benchdebug", may: []string{"bench/benchpage", "bench/benchreplay", "dap/client", "dap/protocol", "pmpi"},
		reason: "measures Cohort as its users meet it, as a DAP client",
	},
	{
		folder: "scripts/typewatch", may: []string{"prettyprint", "pmpi"},
		reason: "a command for scripts/derivedtypes.sh: what real programs' datatypes are decoded to",
	},
	{
		folder: "testkit/exactreplay", may: nil, tests: []string{"launch", "runner", "causal", "trace"},
		reason: "tests only: record and replay as a whole",
	},
	{
		folder: "testkit/endtoend", may: nil, tests: []string{"dap", "causal", "trace", "pmpi", "testkit/doccheck"},
		reason: "tests only: cohort as its users start it, by what users and editors see of it",
	},
}

// testHelpers may be imported by tests and by each other only: they import testing, or hold fakes.
var testHelpers = []string{
	"testkit/mpitest", "testkit/proctest", "testkit/cohorttest", "dap/daptest", "gdbmi/gdbmitest", "job/jobtest",
	"trace/tracetest",
}

// libraries that only some folders may import (without their tests: those may drive what they test).
var libraries = []struct {
	prefix string
	folder string
	reason string
}{
	{"github.com/spf13/cobra", "cmd", "flags end in cmd; the parts take options as structs"},
	{"charm.land/", "tui", "only the terminal front end draws"},
}
