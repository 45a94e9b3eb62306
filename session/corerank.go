package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/internal/corefile"
	"github.com/cohort-debugger/cohort/internal/prose"
	"github.com/cohort-debugger/cohort/launch/agent"
	"github.com/cohort-debugger/cohort/launch/controlblock"
	jobmark "github.com/cohort-debugger/cohort/launch/marked"
	"github.com/cohort-debugger/cohort/mpispec"
	"github.com/cohort-debugger/cohort/pmpi"
	"github.com/cohort-debugger/cohort/pmpi/abi"
	"github.com/cohort-debugger/cohort/pmpi/control"
	"github.com/cohort-debugger/cohort/trace"

	"github.com/cohort-debugger/cohort/prettyprint/handle"
)

// coreRank is one core file, and what is known of the rank that left it.
type coreRank struct {
	path string
	file *corefile.File
	pid  int

	rank     int               // -1: not known
	size     int               // ranks of the run, 0: not known
	how      string            // where rank comes from, for people
	run      map[string]string // variables that have another value in every run
	mpi      pmpi.MPI
	registry uint64 // address, 0: none
	trace    string // of the recording that it was writing, "": none
	control  backend.ControlState
}

// deletedSuffix is what Linux appends to the path of a mapped file that is not there any more.
const deletedSuffix = " (deleted)"

func openCore(path string) (*coreRank, error) {
	file, err := corefile.Open(path)
	if err != nil {
		return nil, refuse("%s", prose.Sentence(err.Error()))
	}
	c := &coreRank{path: path, file: file, pid: file.Process.Pid, rank: -1}
	for i := range file.Mapped {
		m := &file.Mapped[i]
		m.Path = strings.TrimSuffix(m.Path, deletedSuffix)
		switch base := filepath.Base(m.Path); {
		case openMPILibrary.MatchString(base):
			c.mpi = pmpi.OpenMPI
		case mpichLibrary.MatchString(base):
			c.mpi = pmpi.MPICH
		}
	}
	return c, nil
}

// close is called once the debugger has the file, or nobody wants it.
func (c *coreRank) close() {
	_ = c.file.Close() // read only
}

// noRegistry says why the handles of the process cannot be decoded, if they cannot.
func (c *coreRank) noRegistry() string {
	for _, m := range c.file.Mapped {
		if cohortLibrary.MatchString(filepath.Base(m.Path)) {
			if c.file.Missing > 0 {
				return "The registry of MPI handles is in the part of this core file that is missing: the file is " +
					"cut off."
			}
			return "The process ran with Cohort's library libcohort.so, but its registry of MPI handles is not in " +
				"this core file: /proc/PID/coredump_filter decides what is."
		}
	}
	return "The process of this core file ran without Cohort's library libcohort.so, so its MPI handles cannot be " +
		"decoded. Ranks have it when cohort starts them, or with " +
		"LD_PRELOAD in their environment: `cohort library PROGRAM` prints its path."
}

func (c *coreRank) symbols() map[string]uint64 {
	if c.registry == 0 {
		return nil
	}
	return map[string]uint64{abi.SymbolRegistry: c.registry}
}

var (
	cohortLibrary  = regexp.MustCompile(`^libcohort([-_.].*)?\.so`)
	openMPILibrary = regexp.MustCompile(`^lib(open-pal|open-rte)\.so`)
	mpichLibrary   = regexp.MustCompile(`^lib(mpich\.so|mpi\.so\.12|mpi_cxx\.so\.12)`)
	controlName    = regexp.MustCompile(`^control-(\d{1,9})$`)
	traceName      = regexp.MustCompile(`^rank-(\d{1,9})\.trace$`)
)

// identify finds out which rank it was: from the registry of its handles, the control block, the names of those files
// of Cohort's that it had mapped (Linux does not put the memory of a shared file into a core), or the environment that
// its launcher gave it.
func (c *coreRank) identify() {
	environment := map[string]string{}
	for _, v := range c.file.Environment() {
		name, value, _ := strings.Cut(v, "=")
		environment[name] = value
	}
	if rank, size, err := agent.Rank(func(name string) string { return environment[name] }); err == nil {
		c.rank, c.size, c.how = rank, size, "its environment says so"
	}
	c.run = map[string]string{}
	for _, name := range []string{jobmark.JobVar, "PMIX_NAMESPACE"} {
		if value := environment[name]; value != "" {
			c.run[name] = value
		}
	}
	for _, m := range c.file.Mapped {
		switch base := filepath.Base(m.Path); {
		case cohortLibrary.MatchString(base) && c.registry == 0:
			c.registry, _ = c.file.Find(m.Start, m.End, binary.LittleEndian.AppendUint64(nil, abi.RegistryMagic))
		case traceName.MatchString(base):
			c.trace = m.Path
			c.named(traceName, base, "the name of the trace that it was writing")
		case controlName.MatchString(base):
			c.named(controlName, base, "the name of its control block")
			c.readControl(m.Start)
		}
	}
	if c.trace != "" && !c.control.Present {
		c.readTrace()
	}
	if c.registry != 0 {
		c.readWorld()
	}
}

func (c *coreRank) named(pattern *regexp.Regexp, base, how string) {
	if n, err := strconv.Atoi(pattern.FindStringSubmatch(base)[1]); err == nil {
		c.rank, c.how = n, how
	}
}

// readControl reads the control block, which is in the core only if shared files were dumped.
func (c *coreRank) readControl(addr uint64) {
	mem := make([]byte, abi.Size[abi.Control]())
	if n, _ := c.file.ReadMemory(addr, mem); n < len(mem) {
		return
	}
	if rank, size, progress, err := control.Read(mem); err == nil {
		c.rank, c.size, c.how, c.control = rank, size, "its control block says so", controlblock.State(progress)
	}
}

// readTrace takes the rank's position from the trace that it has left, which continues to exist when the rank is
// killed.
func (c *coreRank) readTrace() {
	r, err := trace.OpenFile(c.trace)
	if err != nil {
		return
	}
	h := r.Header()
	r.Close() //nolint:errcheck // read only
	if int(h.Rank) != c.rank {
		return
	}
	c.size = int(h.WorldSize)
	c.control = backend.ControlState{Present: true, State: abi.StateRunning, Events: h.Events}
	if h.CurrentOp != mpispec.OpNone {
		c.control.Current, c.control.CurrentOp = h.Events+1, int(h.CurrentOp)
	}
}

// readWorld asks the registry for MPI_COMM_WORLD, which there is once MPI is initialised.
func (c *coreRank) readWorld() {
	registry, err := handle.Open(c.file, c.registry)
	if err != nil {
		return
	}
	world, err := registry.CommByName("MPI_COMM_WORLD")
	if err != nil || world.Rank < 0 || world.Rank >= world.Size {
		return
	}
	c.rank, c.size, c.how = world.Rank, world.Size, "its MPI_COMM_WORLD says so"
}

// checkProgram refuses cores of other programs.
func (s *coreSet) checkProgram(n *notes) error {
	info, err := os.Stat(s.program)
	switch {
	case err != nil:
		return refuse("The program %s, of which core files are to be shown, cannot be found: %v.", s.program,
			errors.Unwrap(err))
	case info.IsDir():
		return refuse("%s is a directory. Name the program that has left the core files.", s.program)
	}
	if file, err := corefile.Open(s.program); err == nil {
		file.Close() //nolint:errcheck // read only
		return refuse("%s is a core file. Name the program first, and then its core files.", s.program)
	}
	id, err := pmpi.BuildID(s.program)
	if err != nil {
		return refuse("%s is not a program that core files can be of: %v.", s.program, err)
	}
	program, programErr := pmpi.Inspect(s.program) // a program that is linked to MPI statically has core files too
	for _, c := range s.cores {
		m, ok := c.file.Executable()
		theirs := c.file.BuildID(m.Start)
		switch {
		case ok && theirs != "" && id != "" && theirs != id:
			return refuse("The core file %s is of another program: of %s with the build-id %s, and %s has the "+
				"build-id %s.%s Name the program that was running, as it was then: "+
				"one that was compiled again has other addresses.", c.path, m.Path,
				theirs, s.program, id, c.otherMPI(program.MPI, programErr))
		case programErr == nil && c.otherMPI(program.MPI, nil) != "":
			return refuse("The core file %s does not fit %s.%s", c.path, s.program, c.otherMPI(program.MPI, nil))
		case ok && (theirs == "" || id == "") &&
			filepath.Base(m.Path) != filepath.Base(s.program):
			return refuse("The core file %s is of another program: of %s, not of %s. (There is no build-id to "+
				"compare, so the name counts.)", c.path, m.Path, s.program)
		case !ok, theirs == "" || id == "":
			n.add(fmt.Sprintf("Whether the core file %s is of this very build of %s cannot be checked: there is no "+
				"build-id to compare.", c.path, s.program))
		}
	}
	return nil
}

// otherMPI is a sentence if the process used another MPI than the program is linked to.
func (c *coreRank) otherMPI(mpi pmpi.MPI, err error) string {
	if err != nil || mpi == pmpi.UnknownMPI || c.mpi == pmpi.UnknownMPI || mpi == c.mpi {
		return ""
	}
	return fmt.Sprintf(" Its process used %s, and the program is linked to %s.", c.mpi.Title(), mpi.Title())
}

// checkRun refuses cores of different runs.
func (s *coreSet) checkRun() error {
	for _, c := range s.cores[1:] {
		for _, other := range s.cores {
			if c == other {
				break
			}
			switch name := c.differs(other); {
			case c.mpi != other.mpi && c.mpi != pmpi.UnknownMPI && other.mpi != pmpi.UnknownMPI:
				return refuse("The core files %s and %s are of different runs: the one of %s, the other of %s. Give "+
					"the files of one run only.",
					other.path, c.path, other.mpi.Title(), c.mpi.Title())
			case c.size != other.size && c.size > 0 && other.size > 0:
				return refuse("The core files %s and %s are of different runs: the one of %d ranks, the other of %d. "+
					"Give the files of one run only.",
					other.path, c.path, other.size, c.size)
			case name != "":
				return refuse("The core files %s and %s are of different runs: in their environments, %s is %s and "+
					"%s. Give the files of one run only.",
					other.path, c.path, name, other.run[name], c.run[name])
			}
		}
	}
	return nil
}

// differs names a variable by which two cores are of different runs; "" if there is none.
func (c *coreRank) differs(other *coreRank) string {
	for _, name := range slices.Sorted(maps.Keys(c.run)) {
		if value, known := other.run[name]; known && value != c.run[name] {
			return name
		}
	}
	return ""
}

// tell says what the user should know of one core.
func (c *coreRank) tell(n *notes) {
	if c.file.Missing > 0 {
		n.add(fmt.Sprintf("The core file %s of rank %d is cut off: %d bytes of its memory are missing, and what lay "+
			"there is shown as unreadable. "+
			"A limit on the size of core files (ulimit -c) or a full disk may be why.", c.path, c.rank, c.file.Missing))
	}
	if changed := c.changedLibraries(); len(changed) > 0 {
		n.add(fmt.Sprintf("These libraries are not the ones that rank %d used, so its stack within them may be "+
			"wrong: %s.", c.rank, strings.Join(changed, ", ")))
	}
}

// changedLibraries are the libraries that are not there any more, or have another build-id than the core says.
func (c *coreRank) changedLibraries() []string {
	var out []string
	seen := map[string]bool{}
	main, _ := c.file.Executable()
	for _, m := range c.file.Mapped {
		if m.Offset != 0 || m.Path == main.Path || seen[m.Path] {
			continue
		}
		theirs := c.file.BuildID(m.Start)
		if theirs == "" {
			continue
		}
		seen[m.Path] = true
		if id, err := pmpi.BuildID(m.Path); err != nil || id != theirs {
			out = append(out, m.Path)
		}
	}
	return out
}
