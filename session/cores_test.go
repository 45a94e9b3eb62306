package session_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cohort-debugger/cohort/backend"
	"github.com/cohort-debugger/cohort/dap"
	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/job"
	"github.com/cohort-debugger/cohort/rankset"
	"github.com/cohort-debugger/cohort/session"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
	"github.com/cohort-debugger/cohort/testkit/proctest"
)

// cores takes a core of the program at its main function for each environment, and returns their paths.
func cores(t *testing.T, program string, environments ...string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs gdb")
	}
	dir := t.TempDir()
	args := []string{
		"-nx", "-q", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set startup-with-shell off",
		"-ex", "break main",
	}
	var paths []string
	for i, environment := range environments {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("core %d", i)))
		for _, name := range []string{
			"PMI_RANK", "PMI_SIZE", "PMIX_NAMESPACE", "COHORT_JOB_ID", "OMPI_COMM_WORLD_RANK",
			"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "SLURM_PROCID",
		} {
			args = append(args, "-ex", "unset environment "+name)
		}
		for v := range strings.FieldsSeq(environment) {
			args = append(args, "-ex", "set environment "+v)
		}
		args = append(args, "-ex", "run", "-ex", "generate-core-file "+paths[i], "-ex", "kill")
	}
	out, err := exec.CommandContext(t.Context(), "gdb", append(args, program)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%v after\n%s", err, out)
		}
	}
	return paths
}

// open starts a session of core files, which ends with the test.
func open(t *testing.T, args protocol.LaunchArguments) (dap.Started, error) {
	t.Helper()
	starter := &session.Starter{}
	started, err := starter.Start(t.Context(), args, func(string, int64, int64) {})
	if err != nil {
		return started, err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := started.Job.Kill(ctx); err != nil {
			t.Error(err)
		}
		if err := started.Stop(ctx); err != nil {
			t.Error(err)
		}
		started.Job.Close()
	})
	return started, nil
}

func TestWhichRanks(t *testing.T) {
	program := mpitest.BuildPlain(t, "nompi.c")
	tests := map[string]struct {
		environments []string
		want         string
	}{
		"hydra": {[]string{"PMI_RANK=1 PMI_SIZE=2", "PMI_RANK=0 PMI_SIZE=2"}, "2 ranks"},
		"one of three": {
			[]string{"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3"},
			"3 ranks, lost 0-1: The run had 3 ranks, and there are core files of 1 of them: 2.",
		},
		"no launcher": {
			[]string{"A=1", "B=2"},
			"2 ranks: .*core \\d+ was is not known.*shown as rank 0.*core \\d+ was is not known.*shown as rank 1",
		},
		"half known": {
			[]string{"A=1", "PMI_RANK=0 PMI_SIZE=2"},
			"2 ranks: .*core \\d+ was is not known.*shown as rank 1",
		},
		"no rank at all": {[]string{"PMI_RANK=x PMI_SIZE=2"}, "1 ranks: .*core \\d+ was is not known"},
		"same rank": {
			[]string{"PMI_RANK=1 PMI_SIZE=2", "PMI_RANK=1 PMI_SIZE=2"},
			"refused: Two core files are of rank 1: ",
		},
		"two sizes": {
			[]string{"PMI_RANK=1 PMI_SIZE=2", "PMI_RANK=0 PMI_SIZE=3"},
			"refused: .*of different runs: the one of 2 ranks, the other of 3",
		},
		"two jobs": {
			[]string{"PMI_RANK=1 COHORT_JOB_ID=a", "PMI_RANK=0 COHORT_JOB_ID=b"},
			"refused: .*of different runs: .*COHORT_JOB_ID is a and b",
		},
		"two namespaces": {
			[]string{"PMIX_RANK=1 PMIX_NAMESPACE=n1 COHORT_JOB_ID=a", "PMIX_RANK=0 PMIX_NAMESPACE=n2"},
			"refused: .*PMIX_NAMESPACE is n1 and n2",
		},
		"rank too large": {[]string{"PMIX_RANK=100000000"}, "refused: .*rank 100000000 \\(its environment says so\\)"},
		"size too large": {[]string{"PMI_RANK=0 PMI_SIZE=100000000"}, "refused: .*their run had 100000000 ranks"},
	}
	var all []string // one gdb takes all the cores
	for _, c := range tests {
		all = append(all, c.environments...)
	}
	paths := cores(t, program, all...)
	for name, c := range tests {
		own := paths[:0:0]
		for _, environment := range c.environments {
			i := slices.Index(all, environment)
			own = append(own, paths[i])
			all[i] = "used"
		}
		t.Run(name, func(t *testing.T) {
			started, err := open(t, protocol.LaunchArguments{Program: program, Cores: own})
			var got string
			if err != nil {
				got = "refused: " + err.Error()
				if !session.IsRefusal(err) {
					t.Errorf("%v is no refusal", err)
				}
			} else {
				got = fmt.Sprintf("%d ranks", started.Job.Ranks())
				status, err := started.Job.Status()
				if err != nil {
					t.Fatal(err)
				}
				var lost []int
				for _, r := range status {
					if r.State == job.Lost {
						lost = append(lost, r.Rank)
					}
				}
				if len(lost) > 0 {
					got += ", lost " + rankset.New(lost...).String()
				}
				if len(started.Notes) > 0 {
					got += ": " + strings.Join(started.Notes, " ")
				}
			}
			matches(t, got, c.want)
		})
	}
}

func TestRefusedArguments(t *testing.T) {
	for name, args := range map[string]protocol.LaunchArguments{
		"recording": {Recording: "r"}, "ranks": {Ranks: 2}, "args": {Args: []string{"x"}},
		"env":          {Env: map[string]string{"A": "1"}},
		"launcherArgs": {LauncherArgs: []string{"x"}}, "mpi": {MPI: "mpich"}, "noDebug": {NoDebug: true},
		"incompleteOk": {IncompleteOK: true},
	} {
		args.Cores = []string{"core"}
		if _, err := open(
			t,
			args,
		); err == nil || !session.IsRefusal(err) ||
			!strings.Contains(err.Error(), `"`+name+`" cannot be given with "cores"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := open(t, protocol.LaunchArguments{Cores: []string{"core"}, Cwd: "/nowhere"}); err == nil ||
		!strings.Contains(err.Error(), "/nowhere is not a directory") {
		t.Errorf("%v", err)
	}
}

// TestDebuggerKilled: one of the gdbs dies. Its rank is lost, the others are shown on; nothing of them is left at the
// end.
func TestDebuggerKilled(t *testing.T) {
	program := mpitest.BuildPlain(t, "nompi.c")
	started, err := open(t, protocol.LaunchArguments{
		Program: program,
		Cores:   cores(t, program, "PMI_RANK=0", "PMI_RANK=1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := started.Job.Launch(ctx, started.Launch); err != nil {
		t.Fatal(err)
	}
	sub := started.Job.Subscribe(job.Everything)
	defer sub.Close()
	stop := context.AfterFunc(ctx, sub.Close)
	defer stop()
	var pid [2]int
	for rank := range pid {
		got, err := started.Job.Evaluate(ctx, rankset.New(rank),
			backend.EvaluateRequest{
				Expression: "-exec python import os; print(os.getpid())",
				Context:    backend.ContextREPL,
			})
		if err != nil || got[0].Err != "" {
			t.Fatalf("%v, %v", got, err)
		}
		if _, err := fmt.Sscan(got[0].Text, &pid[rank]); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Kill(pid[1], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for e := range sub.Events() {
		if e.RankChanged != nil && e.RankChanged.Rank == 1 && e.RankChanged.State.Gone() {
			break
		}
	}
	got, err := started.Job.Evaluate(ctx, rankset.All(2),
		backend.EvaluateRequest{Expression: "6 * 7", Context: backend.ContextWatch})
	if err != nil || len(got) != 2 || got[0].Text != "42" || !strings.Contains(got[1].Err, "lost") {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := started.Job.Resume(ctx, rankset.All(2), backend.ResumeRequest{Kind: backend.Continue}); err == nil ||
		!strings.Contains(err.Error(), "a core file: its process has ended") {
		t.Errorf("%v", err)
	}
	b, err := started.Job.Backend(0)
	if err != nil {
		t.Fatal(err)
	}
	bps, err := b.SetBreakpoints(ctx,
		backend.SetBreakpointsRequest{Breakpoints: []backend.SourceBreakpoint{{ID: 7, Function: "main"}}})
	if err != nil || len(bps) != 1 || bps[0].ID != 7 || bps[0].Verified || bps[0].Message == "" {
		t.Errorf("%+v, %v", bps, err)
	}
	if data, err := b.ReadMemory(ctx, 16, 8); err == nil {
		t.Errorf("the null page holds %v", data)
	}
	if err := started.Job.Kill(ctx); err != nil {
		t.Error(err)
	}
	proctest.WaitGone(t, pid[0])
}

// TestChangedLibrary: a library that was compiled again since is named.
func TestChangedLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles, and runs gdb")
	}
	dir := t.TempDir()
	compile := func(source, name, text string, flags ...string) {
		path := filepath.Join(dir, source)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "cc",
			append([]string{"-g", "-Wl,--build-id", "-o", filepath.Join(dir, name), path},
				flags...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	compile("user.c", "libuser.so", "int user(void) { return 1; }\n", "-shared", "-fPIC")
	compile("prog.c", "prog", "int user(void);\nint main(void) { return user(); }\n", "-L"+dir, "-luser",
		"-Wl,-rpath,"+dir)
	program := filepath.Join(dir, "prog")
	paths := cores(t, program, "PMI_RANK=0 PMI_SIZE=1")
	started, err := open(t, protocol.LaunchArguments{Cores: paths})
	if err != nil || len(started.Notes) > 0 || started.Launch.Program != program {
		t.Errorf("%v, %q, %s", err, started.Notes, started.Launch.Program)
	}
	compile("user.c", "libuser.so", "int user(void) { return 22; }\n", "-shared", "-fPIC")
	started, err = open(t, protocol.LaunchArguments{Cores: paths})
	if err != nil {
		t.Fatal(err)
	}
	matches(t, strings.Join(started.Notes, " "), `These libraries are not the ones that rank 0 used.*libuser\.so\.$`)
	compile("prog.c", "prog", "int user(void);\nint main(void) { return user() + 1; }\n", "-L"+dir, "-luser",
		"-Wl,-rpath,"+dir)
	_, err = open(t, protocol.LaunchArguments{Cores: paths})
	matches(t, fmt.Sprint(err), "is of another program")
}

// matches checks a text against a regular expression.
func matches(t *testing.T, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("%q is not in %s", pattern, text)
	}
}
