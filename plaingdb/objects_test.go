package plaingdb_test

import (
	"path/filepath"
	"testing"

	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

var (
	objectsC = []string{
		"mpipp", "mpipp request", "mpipp --buffer request", "mpipp waiting", "mpipp nothing", "mpipp both[0]",
		"mpipp both[1]", "mpipp status", "mpipp statuses[0]", "mpipp window", "mpipp none",
		"mpipp file", "mpipp closed", "mpipp group", "mpipp empty", "mpipp gone", "mpipp info", "mpipp op", "mpipp sum",
		"mpipp handler", "mpipp fatal", "mpipp --request window", "mpipp --win 5",
	}
	objectsF08 = []string{
		"mpipp", "mpipp request", "mpipp --buffer request", "mpipp waiting", "mpipp nothing", "mpipp status",
		"mpipp window", "mpipp file", "mpipp world", "mpipp group", "mpipp info", "mpipp op", "mpipp handler",
	}
	objectsMpif = []string{
		"mpipp", "mpipp --request request", "mpipp --request waiting", "mpipp --request nothing",
		"mpipp --status status", "mpipp --win window", "mpipp --file file", "mpipp --group world",
		"mpipp --group group",
		"mpipp --info info", "mpipp --op op", "mpipp --errhandler handler", "mpipp --request ierr",
	}
)

// TestObjects compares plain gdb with Cohort's own session, for handles of all kinds, in C and Fortran.
func TestObjects(t *testing.T) {
	path := script(t)
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		dir := t.TempDir()
		file := filepath.Join(dir, "afile")
		shown := []string{
			"info locals", "print both", "print/r request", "print status", "print *&request",
			"print window", "print nothing",
		}
		s := taken(t, mpi, path, dir, "objects.c", append(objectsC, shown...), file)
		sameAnswers(t, path, s, objectsC)
		locals := s.answers[len(objectsC)]
		for _, want := range []string{
			`(?m)^request = pending MPI_Irecv: receives up to 1 × VECTOR \(3 MPI_DOUBLE(_PRECISION)?\) from rank 0, tag 9, MPI_COMM_SELF$`,
			`(?m)^waiting = inactive MPI_Send_init: sends 4 × MPI_INT to rank 0, tag 3, MPI_COMM_SELF`,
			`(?m)^nothing = MPI_REQUEST_NULL$`, `(?m)^both = \{pending MPI_Irecv: receives up to 2 × MPI_INT from any rank, tag 5, MPI_COMM_WORLD, MPI_REQUEST_NULL\}$`,
			`(?m)^status = from rank 0, tag 3, 16 bytes`,
			`(?m)^window = window "ghosts" of 32 bytes at 0x[0-9a-f]+ over MPI_COMM_SELF, open epoch: shared lock of rank 0$`, `(?m)^none = MPI_WIN_NULL$`,
			`(?m)^file = file ".*/afile", MPI_MODE_RDWR \| MPI_MODE_CREATE \| MPI_MODE_DELETE_ON_CLOSE, over MPI_COMM_SELF, view of VECTOR$`, `(?m)^closed = MPI_FILE_NULL$`,
			`(?m)^group = group of 1 rank, this one is rank 0: 0$`, `(?m)^empty = MPI_GROUP_EMPTY without members$`, `(?m)^gone = MPI_GROUP_NULL$`,
			`(?m)^info = info \{cb_nodes="2"\}$`, `(?m)^op = operation of the program's, not commutative$`, `(?m)^sum = MPI_SUM$`,
			`(?m)^handler = error handler of the program's for communicators$`, `(?m)^fatal = MPI_ERRORS_ARE_FATAL$`,
		} {
			has(t, locals, want)
		}
		for i, want := range []string{
			`= \{pending MPI_Irecv: .*, MPI_REQUEST_NULL\}$`,
			`= (-?\d+|\(MPI_Request\) 0x[0-9a-f]+)$`, `= from rank 0, tag 3, 16 bytes`, `= pending MPI_Irecv`, `= window "ghosts"`, `= MPI_REQUEST_NULL`,
		} {
			has(t, s.answers[len(objectsC)+1+i], want)
		}
		if mpi.Mpifort == "" {
			mpitest.Missing(t, "there is no Fortran compiler")
		}
		s = taken(t, mpi, path, dir, "objects_f08.f90", append(objectsF08, shown[0]), file)
		sameAnswers(t, path, s, objectsF08)
		locals = s.answers[len(objectsF08)]
		for _, want := range []string{
			`(?m)^request = pending MPI_Irecv: receives up to 1 × VECTOR \(3 MPI_DOUBLE(_PRECISION)?\) from rank 0, tag 9, MPI_COMM_SELF$`, `(?m)^nothing = MPI_REQUEST_NULL$`,
			`(?m)^window = window "ghosts" of 32 bytes`, `(?m)^file = file ".*/afile"`, `(?m)^world = MPI_GROUP_NULL$`, `(?m)^info = info \{cb_nodes="2"\}$`,
			`(?m)^op = operation of the program's, not commutative$`, `(?m)^handler = error handler of the program's for communicators$`, `(?m)^status = from rank 0, tag 3, 16 bytes`,
		} {
			has(t, locals, want)
		}
		sameAnswers(t, path, taken(t, mpi, path, dir, "objects_mpif.f90", objectsMpif, file), objectsMpif)
	})
}
