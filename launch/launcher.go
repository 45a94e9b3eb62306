package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cohort-debugger/cohort/launch/leftovers"
	"github.com/cohort-debugger/cohort/pmpi"
)

// command is a launcher's command line without the program.
type command struct {
	path  string
	mpi   pmpi.MPI
	args  []string
	notes []string // whole sentences for the user
}

// MaxRanks bounds what may be asked for; a larger number is a slip of the keyboard more often than a wish.
const MaxRanks = 100_000

// chooseLauncher finds the launcher that goes with the program. Errors are *RefusedError, *pmpi.ProgramError or
// *pmpi.MissingError.
func chooseLauncher(options *Options) (command, error) {
	if options.Ranks < 1 || options.Ranks > MaxRanks {
		return command{}, refuse(nil, "A job of %d ranks was asked for. Ask for at least 1 and at most %d, with -n.",
			options.Ranks, MaxRanks)
	}
	program, err := pmpi.Choose(options.Program, options.Args, options.MPI)
	if err != nil {
		return command{}, err
	}
	options.Program = program.Path
	if options.MPI == "" && program.MPI == pmpi.MPICH && pmpi.WiredByPMIx(program.Library) {
		return pmixLauncher(options, program)
	}
	which := options.MPI
	if which == "" {
		which = program.MPI.String()
	}
	path, mpi, err := findLauncher(which)
	if err != nil {
		return command{}, err
	}
	if mpi != program.MPI {
		return command{}, refuse(nil, "The program %s is linked to %s (%s), and --mpi %s is %s. Its ranks would not "+
			"find each other. Leave --mpi out, or build the program with the mpicc of %s.",
			options.Program, program.MPI.Title(), program.Needed, options.MPI, mpi.Title(), mpi.Title())
	}
	c := command{path: path, mpi: mpi}
	c.args = append(c.args, "-n", strconv.Itoa(programs(options)[0].ranks))
	if mpi == pmpi.OpenMPI {
		return c, c.openMPI(options)
	}
	c.args = append(c.args, options.LauncherArgs...)
	return c, nil
}

// pmixLauncher is for programs of an MPICH whose ranks can only be wired by PMIx: Open MPI's mpiexec.
func pmixLauncher(options *Options, program pmpi.Program) (command, error) {
	found, err := pmpi.FindMPI(pmpi.OpenMPI.String())
	if err != nil {
		return command{}, refuse(err, "The program %s is linked to an MPICH that is built for PMIx (%s), as Ubuntu "+
			"24.04 has it: its own mpiexec starts ranks that do not find each other. Open MPI's mpiexec can start "+
			"it, but that is not installed (package openmpi-bin). Install it, or name a launcher that speaks PMIx "+
			"with --mpi.",
			options.Program, program.Library)
	}
	c := command{path: found.Mpiexec, mpi: pmpi.OpenMPI, notes: []string{
		"This MPICH is built for PMIx, which its own " +
			"mpiexec does not speak, so the program is started with Open MPI's mpiexec.",
	}}
	return c, c.openMPI(options)
}

func findLauncher(which string) (string, pmpi.MPI, error) {
	found, err := pmpi.FindMPI(which)
	var missing *pmpi.MissingError
	if err != nil && !errors.As(err, &missing) {
		err = refuse(err,
			"The launcher cannot be chosen: %v. Leave --mpi out for the MPI that the program is linked to.",
			err)
	}
	return found.Mpiexec, found.MPI, err
}

// openMPI knows mpirun of Open MPI 4 and 5.
func (c *command) openMPI(options *Options) error {
	if os.Geteuid() == 0 && !rootAllowed(options) {
		return refuse(nil, "You are root, and Open MPI refuses to run programs as root, because a mistake (such as a "+
			"wrong TMPDIR) could then damage the system. Run cohort as another user; or, where that is no danger "+
			"(in a container), set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or add "+
			"--launcher-arg --allow-run-as-root.")
	}
	c.args = append(c.args, "-n", strconv.Itoa(programs(options)[0].ranks))
	if n := Cores(); options.Ranks > n && !placed(options) {
		c.args = append(c.args, "--oversubscribe")
		c.notes = append(c.notes, fmt.Sprintf(
			"There are more ranks (%d) than cores (%d), which Open MPI refuses by itself, so it is started with "+
				"--oversubscribe.", options.Ranks, n))
	}
	c.args = append(c.args, options.LauncherArgs...)
	return nil
}

func rootAllowed(options *Options) bool {
	if slices.ContainsFunc(options.LauncherArgs, func(a string) bool {
		return strings.TrimLeft(a, "-") == "allow-run-as-root"
	}) {
		return true
	}
	for _, family := range []string{"OMPI", "PRTE"} {
		if os.Getenv(family+"_ALLOW_RUN_AS_ROOT") == "1" && os.Getenv(family+"_ALLOW_RUN_AS_ROOT_CONFIRM") == "1" {
			return true
		}
	}
	return false
}

// placed tells whether somebody else says where ranks go and how many fit: a resource manager, or the user.
func placed(options *Options) bool {
	for _, name := range []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_URI"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return slices.ContainsFunc(options.LauncherArgs, func(a string) bool {
		switch strings.TrimLeft(a, "-") {
		case "H", "host", "hostfile", "machinefile", "default-hostfile", "oversubscribe", "nooversubscribe", "map-by",
			"rankfile", "use-hwthread-cpus":
			return true
		}
		return false
	})
}

// launcherEnv is this process's environment without the marks of a job that cohort itself may be a rank of. What Open
// MPI keeps in a directory goes into the job's, so that it is removed with it even if mpirun is killed.
func launcherEnv(jobID, dir string) []string {
	env := []string{"COHORT_JOB_ID=" + jobID}
	if os.Getenv(leftovers.SessionDirVar) == "" && os.Getenv("OMPI_MCA_orte_tmpdir_base") == "" {
		env = append(env, leftovers.SessionDirVar+"="+dir)
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "PMI_RANK", "PMI_SIZE", "PMI_FD", "PMI_PORT", "PMI_ID", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
			"PMIX_RANK", "PMIX_NAMESPACE",
			"COHORT_JOB_ID", "COHORT_AGENT_PID", "COHORT_CONTROL", "COHORT_TRACE", "COHORT_DECISIONS":
			continue
		}
		env = append(env, v)
	}
	return env
}

// agentCommand is what the launcher starts on each rank.
func agentCommand(options *Options, self []string, dir string) []string {
	var line []string
	for i, p := range programs(options) {
		if i > 0 {
			line = append(line, ":", "-n", strconv.Itoa(p.ranks))
		}
		line = append(append(line, self...), "agent", "--job", dir, "--", p.path)
		line = append(line, p.args...)
	}
	return line
}

// program is what some of the ranks run.
type program struct {
	path  string
	args  []string
	ranks int
}

// programs are what the ranks run: the program, and those that its arguments name as a launcher's do, `: -n RANKS
// PROGRAM ARGS`. They take the last ranks, in order, and leave the first to the program itself.
func programs(options *Options) []program {
	all := []program{{path: options.Program, ranks: options.Ranks}}
	args := options.Args
	for {
		i := slices.Index(args, ":")
		if i < 0 || len(args) < i+4 || args[i+1] != "-n" {
			break
		}
		ranks, err := strconv.Atoi(args[i+2])
		if err != nil || ranks < 1 || ranks >= all[0].ranks {
			break
		}
		all[len(all)-1].args = args[:i]
		all[0].ranks -= ranks
		all = append(all, program{path: args[i+3], ranks: ranks})
		args = args[i+4:]
	}
	all[len(all)-1].args = args
	return all
}

// selfCommand is how this cohort is started.
func selfCommand(options *Options) ([]string, error) {
	self := options.Self
	var err error
	switch {
	case self == "":
		self, err = os.Executable()
	case !strings.Contains(self, "/"):
		self, err = exec.LookPath(self)
	}
	if err == nil {
		self, err = filepath.Abs(self)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the cohort binary that the launcher is to start: %w", err)
	}
	return append([]string{self}, options.SelfArgs...), nil
}

// explain makes sentences of what a launcher said before it gave up.
func (c *command) explain(code int, signal, said string) string {
	name := c.mpi.Title() + "'s launcher " + c.path
	end := fmt.Sprintf("ended with status %d", code)
	if signal != "" {
		end = "was ended by signal " + signal
	}
	text := fmt.Sprintf("%s %s before all ranks had started.", name, end)
	switch {
	case strings.Contains(said, "not enough slots"):
		text = "Open MPI says that there are more ranks than slots. Ask for fewer ranks with -n, add hosts, or add " +
			"--launcher-arg --oversubscribe."
	case strings.Contains(said, "unrecognized argument"), strings.Contains(said, "unknown option"):
		line := strings.Join(append([]string{c.path}, c.args...), " ")
		text = fmt.Sprintf("%s does not know an option that it was given. Check --launcher-arg; the whole command "+
			"line was: %s", name, line)
	case strings.Contains(said, "attempt to run as root"):
		text = "Open MPI refuses to run as root. Run as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and " +
			"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1."
	}
	if last := lastLines(said, saidLines); last != "" {
		return text + "\nIts last lines were:" + last
	}
	return text + " It said nothing."
}

// saidLines is how many lines of a launcher that gave up are shown. Open MPI's explanations have up to about 30, the
// reason on top.
const saidLines = 40

// lastLines are the last lines of a text, each on a line of its own and indented.
func lastLines(text string, n int) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) > n {
		lines = append([]string{"..."}, lines[len(lines)-n:]...)
	}
	return "\n  " + strings.Join(lines, "\n  ")
}
