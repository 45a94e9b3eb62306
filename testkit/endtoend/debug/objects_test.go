package debug

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/cohort-debugger/cohort/dap/protocol"
	"github.com/cohort-debugger/cohort/testkit/mpitest"
)

// TestDAPObjects: requests, windows, files, groups, infos, operations, error handlers and statuses of real ranks say in
// Variables what they are, and open.
func TestDAPObjects(t *testing.T) {
	mpitest.EachParallel(t, func(t *testing.T, mpi mpitest.MPI) {
		source := filepath.Join(mpitest.Root(t), "handles", "testdata", "objects.c")
		e := newDAPPlace(t, mpi).editor()
		e.Launch(protocol.LaunchArguments{
			Program: mpi.BuildFile(t, source),
			Args:    []string{filepath.Join(t.TempDir(), "afile")}, Ranks: 2,
		})
		e.SetBreakpoints(source, markLine(t, source, "breakpoint: handles"))
		e.ConfigurationDone()
		e.Expect(stops("breakpoint", 0, 1)...)
		for rank := range 2 {
			frame := e.user(rank).Id
			locals, _ := e.locals(frame, "Locals")
			world := [][2]string{
				{`^group of 1 rank, this one is rank 0: 0$`, "rank = 0\n"},
				{`^group of 1 rank, this one is not in it: 0$`, "rank = not in it\n"},
			}[rank]
			for name, want := range map[string][]string{ // the value, and what is below it
				"request": {`^pending MPI_Irecv: receives up to 1 × VECTOR \(3 MPI_DOUBLE\) from rank 0( \(1 in MPI_COMM_WORLD\))?, tag 9, MPI_COMM_SELF$`, "operation = MPI_Irecv\n", `receives = 1 × VECTOR( \(3 MPI_DOUBLE\))? at 0x[0-9a-f]+ \(not complete yet\)`, `posted = at objects\.c:\d+ in main`},
				"waiting": {`^inactive MPI_Send_init: sends 4 × MPI_INT to rank 0( \(1 in MPI_COMM_WORLD\))?, tag 3, MPI_COMM_SELF`, "status = inactive, persistent\n", `started = at objects\.c:\d+ in main`},
				"nothing": {`^MPI_REQUEST_NULL$`},
				"both":    {``, `(?m)^\[?0\]? = pending MPI_Irecv: receives up to 2 × MPI_INT from any rank, tag 5, MPI_COMM_WORLD\n`, `(?m)^\[?1\]? = MPI_REQUEST_NULL\n`},
				"status":  {`^from rank 0, tag 3, 16 bytes`},
				"window":  {`^window "ghosts" of 32 bytes at 0x[0-9a-f]+ over MPI_COMM_SELF, open epoch: shared lock of rank 0$`, "disp_unit = 4\n", `kind = MPI_Win_allocate\n`},
				"none":    {`^MPI_WIN_NULL$`},
				"file":    {`^file ".*/afile", MPI_MODE_RDWR \| MPI_MODE_CREATE \| MPI_MODE_DELETE_ON_CLOSE, over MPI_COMM_SELF, view of VECTOR$`, "displacement = 8\n", `filetype = VECTOR`, `opened = at objects\.c:\d+ in main`},
				"closed":  {`^MPI_FILE_NULL$`},
				"group":   world[:],
				"empty":   {`^MPI_GROUP_EMPTY without members$`},
				"gone":    {`^MPI_GROUP_NULL$`},
				"info":    {`^info \{cb_nodes="2"\}$`, `cb_nodes = "2"\n`},
				"op": {
					`^operation of the program's, not commutative$`, `function = objects\.c:\d+ in adding\n`,
					"commutes = no\n",
				},
				"sum": {`^MPI_SUM$`},
				"handler": {
					`^error handler of the program's for communicators$`,
					`function = objects\.c:\d+ in on_error\n`,
				},
				"fatal": {`^MPI_ERRORS_ARE_FATAL$`},
			} {
				v, there := locals[name]
				if !there || !regexp.MustCompile(want[0]).MatchString(v.Value) {
					t.Errorf("rank %d: %s is %+v; want %s", rank, name, v, want[0])
					continue
				}
				tree := e.tree(v)
				for _, part := range want[1:] {
					if !regexp.MustCompile(part).MatchString(tree) {
						t.Errorf("rank %d: %s has, without %s,\n%s", rank, name, part, tree)
					}
				}
			}
		}
		e.SetBreakpoints(source)
		e.Continue(0)
		e.ends(0)
		e.p.NothingLeft()
	})
}
