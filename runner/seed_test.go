package runner

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// What a program was given and another run would not be given is named where it is not recorded.
func TestUnrecordedTimeAndRandomNumbersAreNamed(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		for _, recorded := range []bool{false, true} {
			var out output
			r, err := Record(testContext(t), RecordOptions{
				Common: common(mpi, &out), Ranks: 2, Program: mpi.BuildFile(t, filepath.Join("testdata", "seed.c")),
				Dir: filepath.Join(t.TempDir(), "r.cohort"), RecordTime: recorded,
			})
			if err != nil || r.Problem != nil {
				t.Fatal(err, r.Problem)
			}
			want := []string{"time", "getrandom"}
			if recorded {
				want = nil
			}
			for rank, meta := range r.Recording.Meta.PerRank {
				if !slices.Equal(meta.Unrecorded, want) {
					t.Errorf("recorded %v: rank %d asked %q, want %q", recorded, rank, meta.Unrecorded, want)
				}
			}
			result, _ := replaySteps(t, mpi, r)
			if !result.OK() || !slices.Equal(result.Unrecorded, want) {
				t.Errorf("recorded %v: the replay says %q: %+v", recorded, result.Unrecorded, result.Ranks)
			}
		}
	})
}
