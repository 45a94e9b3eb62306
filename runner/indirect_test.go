package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// Programs that are not linked to MPI themselves are recorded and replayed: one that loads it, a shell script that
// starts that as a child, Python.
func TestIndirectPrograms(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		loads, library := mpi.Loads(t), mpi.Library(t)
		script := filepath.Join(t.TempDir(), "wrapper.sh")
		text := "#!/bin/sh\n# two processes more\necho started in $(basename /tmp)\n" + loads + " \"$@\"\n"
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		type program struct {
			name string
			line []string
		}
		programs := []program{
			{"local", []string{loads, library, "local"}},
			{"global", []string{"env", "VARIABLE=1", loads, library, "global"}},
			{"script", []string{script, library, "local"}},
		}
		if mpi.Name == "openmpi" {
			programs = append(programs, program{"mpi4py", []string{mpitest.Python(t), mpitest.Source(t, "gather.py")}})
		} else {
			programs = append(programs, program{"ctypes", []string{"python3", mpitest.Source(t, "loads.py"), library}})
		}
		for _, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				var out, again output
				r, err := Record(testContext(t), RecordOptions{
					Common: common(mpi, &out), Ranks: 3, Program: p.line[0], Args: p.line[1:],
					Dir: filepath.Join(t.TempDir(), "r.cohort"),
				})
				if err != nil {
					t.Fatal(err)
				}
				if r.Problem != nil || r.Summary == nil || r.Summary.Messages != 40 || r.Summary.Decisions != 40 {
					t.Fatalf("recorded %+v, problem %v", r.Summary, r.Problem)
				}
				options := ReplayOptions{Common: common(mpi, &again), Recording: r.Recording.Dir}
				options.MPI = "" // the recording knows it
				result, err := Replay(testContext(t), options)
				if err != nil || !result.OK() {
					t.Fatalf("replayed %+v, %v", result, err)
				}
				if out.String() != again.String() || !strings.Contains(out.String(), "order") {
					t.Errorf("recorded %q, replayed %q", out.String(), again.String())
				}
			})
		}
	})
}

// What a plug-in that the library cannot see calls is missing from the recording, which says so.
func TestCallsThatGoPast(t *testing.T) {
	t.Parallel()
	mpi := mpitest.Need(t, "mpich")
	var out output
	r, err := Record(testContext(t), RecordOptions{
		Common: common(mpi, &out), Ranks: 2, Program: mpi.Loads(t),
		Args: []string{mpi.Library(t), "local", "3", mpi.Build(t, "loads.c", "-shared", "-fPIC", "-DPLUGIN")},
		Dir:  filepath.Join(t.TempDir(), "r.cohort"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for rank, meta := range r.Recording.Meta.PerRank {
		if i := meta.Incomplete; i == nil || i.Call != "dlopen with RTLD_DEEPBIND" {
			t.Errorf("rank %d: incomplete: %+v", rank, i)
		}
	}
	if r.Summary.Messages != 0 {
		t.Errorf("%d messages were seen: the test does not show what it is for", r.Summary.Messages)
	}
}

// A program that uses another MPI than it was started for is told so, whatever becomes of it.
func TestProgramOfTheOtherMPI(t *testing.T) {
	t.Parallel()
	mpi, other := mpitest.Need(t, "mpich"), mpitest.Need(t, "openmpi")
	var out output
	r, err := Record(testContext(t), RecordOptions{
		Common: common(mpi, &out), Ranks: 1, Program: other.Loads(t), Args: []string{other.Library(t), "local"},
		Dir: filepath.Join(t.TempDir(), "r.cohort"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Refusals[0]; !strings.Contains(text, "uses Open MPI") || !strings.Contains(text, "--mpi openmpi") {
		t.Errorf("refused with %q; output %q", text, out.String())
	}
}
