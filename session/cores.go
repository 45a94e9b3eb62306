package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/backend/gdb"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/handles"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/launch"
	"github.com/cohort-debugger/cohort/rankset"
)

// checkCores refuses arguments that make no sense with core files.
func checkCores(args protocol.LaunchArguments) error {
	for _, a := range []struct {
		name  string
		given bool
	}{
		{"recording", args.Recording != ""},
		{"ranks", args.Ranks != 0},
		{"args", len(args.Args) > 0},
		{"env", len(args.Env) > 0},
		{"launcherArgs", len(args.LauncherArgs) > 0},
		{"mpi", args.MPI != ""},
		{"noDebug", args.NoDebug},
		{"incompleteOk", args.IncompleteOK},
		{"boundBuffering", args.BoundBuffering != 0},
	} {
		if a.given {
			return refuse("%q cannot be given with \"cores\": core files are looked at, and nothing is started. "+
				"Leave %q out.", a.name, a.name)
		}
	}
	return nil
}

// cores makes a job of core files: one gdb for each, in this process's care.
func (s *Starter) cores(ctx context.Context, args protocol.LaunchArguments, report dap.Progress) (dap.Started, error) {
	n := &notes{report: report}
	cwd, err := workingDirectory(args.Cwd)
	if err != nil {
		return dap.Started{}, err
	}
	if args.Program != "" && !filepath.IsAbs(args.Program) {
		args.Program = filepath.Join(cwd, args.Program)
	}
	found, err := readCores(ctx, args, cwd, n)
	defer func() {
		for _, c := range found.cores {
			c.close()
		}
	}()
	if err != nil {
		return dap.Started{}, err
	}
	j := job.New(job.Options{Ranks: found.size, Log: s.Log})
	turns := make(chan struct{}, runtime.NumCPU()+2)
	for _, c := range found.cores {
		g := &coreBackend{core: c, turns: turns, Backend: gdb.New(gdb.Options{Log: s.Log, Symbols: c.symbols()})}
		decoder := handles.New(g)
		decoder.NoRegistry = c.noRegistry()
		b := handles.Around(g, decoder, s.Log)
		if err = j.Attach(c.rank, b, job.Info{Pid: c.pid}); err != nil {
			err = errors.Join(err, b.Kill(ctx))
			break
		}
	}
	for rank := range found.size {
		if err == nil && !slices.ContainsFunc(found.cores, func(c *coreRank) bool { return c.rank == rank }) {
			err = j.Absent(rank, "has no core file here")
		}
	}
	if err != nil {
		err = errors.Join(err, j.Kill(ctx))
		j.Close()
		return dap.Started{}, err
	}
	return dap.Started{
		Job: j, Cores: true, Attend: found.attend(), Notes: n.list,
		Launch: backend.LaunchRequest{Program: found.program, Cwd: cwd, DebuggerPath: args.Gdb},
		Stop:   func(context.Context) error { return nil }, // all that there is are the debuggers, which Job.Kill ends
	}, nil
}

func workingDirectory(asked string) (string, error) {
	if info, err := os.Stat(asked); asked != "" && (err != nil || !info.IsDir()) {
		return "", refuse("The working directory %s is not a directory.", asked)
	}
	cwd, err := filepath.Abs(asked)
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	return cwd, nil
}

// coreBackend opens its core file when it is launched. Few do at once: each reads all the symbols of the program.
type coreBackend struct {
	*gdb.Backend
	core  *coreRank
	turns chan struct{}
}

// Launch implements backend.Backend.
func (b *coreBackend) Launch(ctx context.Context, req backend.LaunchRequest) (backend.LaunchResult, error) {
	select {
	case b.turns <- struct{}{}:
		defer func() { <-b.turns }()
	case <-ctx.Done():
		return backend.LaunchResult{}, context.Cause(ctx)
	}
	req.Core = b.core.path
	result, err := b.Backend.Launch(ctx, req)
	result.Stop.Control = b.core.control
	return result, err
}

// Control implements backend.Backend, from what the core file tells.
func (b *coreBackend) Control(context.Context, backend.ControlRequest) (backend.ControlState, error) {
	return b.core.control, nil
}

// coreSet are the core files of one run.
type coreSet struct {
	program string // absolute
	cores   []*coreRank
	size    int // number of ranks
}

// attend is the rank to look at first: the lowest that a signal has ended, else the lowest.
func (s *coreSet) attend() int {
	best := s.cores[0]
	for _, c := range s.cores {
		crashed, before := c.file.Process.Crashed(), best.file.Process.Crashed()
		if crashed && !before || crashed == before && c.rank < best.rank {
			best = c
		}
	}
	return best.rank
}

// readCores opens the core files and finds out which rank each is. What is open is in the set, also with an error.
func readCores(ctx context.Context, args protocol.LaunchArguments, cwd string, n *notes) (*coreSet, error) {
	s := &coreSet{program: args.Program}
	paths, err := corePaths(args.Cores, cwd)
	if err != nil {
		return s, err
	}
	for _, path := range paths {
		if slices.ContainsFunc(s.cores, func(c *coreRank) bool { return c.path == path }) {
			return s, refuse("The core file %s was given twice.", path)
		}
		c, err := openCore(path)
		if err != nil {
			return s, err
		}
		s.cores = append(s.cores, c)
	}
	if s.program == "" {
		m, ok := s.cores[0].file.Executable()
		if !ok {
			return s, refuse("No program was named, and the core file %s does not tell of which program it is. Name "+
				"the program.", s.cores[0].path)
		}
		s.program = m.Path
	}
	if err := s.checkProgram(n); err != nil {
		return s, err
	}
	for _, c := range s.cores {
		c.identify()
	}
	if err := s.checkRun(); err != nil {
		return s, err
	}
	if err := s.number(n); err != nil {
		return s, err
	}
	for _, c := range s.cores {
		c.tell(n)
	}
	return s, ctx.Err()
}

// corePaths makes paths absolute, and expands patterns, which an editor's configuration has instead of names that it
// cannot know. A file of just that name comes first.
func corePaths(names []string, cwd string) ([]string, error) {
	var paths []string
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(cwd, name)
		}
		if _, err := os.Lstat(name); err == nil || !strings.ContainsAny(name, "*?[") {
			paths = append(paths, name)
			continue
		}
		found, err := filepath.Glob(name)
		if err != nil || len(found) == 0 {
			return nil, refuse("No file matches %s, so there is no core file to be shown.", name)
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// number gives every core its rank, and the set its size.
func (s *coreSet) number(n *notes) error {
	owner := map[int]*coreRank{}
	for _, c := range s.cores {
		s.size = max(s.size, c.size, c.rank+1)
		if c.rank < 0 {
			continue
		}
		if c.rank >= launch.MaxRanks {
			return refuse("The core file %s says that it is of rank %d (%s), and Cohort shows jobs of at most %d "+
				"ranks.",
				c.path, c.rank, c.how, launch.MaxRanks)
		}
		if other := owner[c.rank]; other != nil {
			return refuse("Two core files are of rank %d: %s (process %d) and %s (process %d). Give the files of one "+
				"run only, one of each rank.",
				c.rank, other.path, other.pid, c.path, c.pid)
		}
		owner[c.rank] = c
	}
	next := 0
	for _, c := range s.cores {
		if c.rank >= 0 {
			continue
		}
		for owner[next] != nil {
			next++
		}
		c.rank, owner[next] = next, c
		n.add(fmt.Sprintf("Which rank the core file %s was is not known: neither its memory nor its environment "+
			"tells. It is shown as rank %d because of its place among the files.", c.path, next))
	}
	s.size = max(s.size, next+1, len(s.cores))
	if s.size > launch.MaxRanks {
		return refuse("The core files say that their run had %d ranks, and Cohort shows jobs of at most %d.", s.size,
			launch.MaxRanks)
	}
	if len(s.cores) < s.size {
		ranks := slices.Collect(maps.Keys(owner))
		n.add(fmt.Sprintf("The run had %d ranks, and there are core files of %d of them: %s. The others are shown as "+
			"lost.", s.size, len(s.cores), rankset.New(ranks...)))
	}
	return nil
}
