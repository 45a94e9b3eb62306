package wrapgen

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
)

// tracking is the stage that shows a call in progress, and the requests and objects that it makes, to a debugger. It
// knows nothing of recording and replay, nor they of it; where nobody may look, it is one branch that is not taken.
type tracking struct{ declare, before, after strings.Builder }

func (t *tracking) line(format string, a ...any) { fmt.Fprintf(&t.before, "    "+format+";\n", a...) }

func (t *tracking) then(format string, a ...any) { fmt.Fprintf(&t.after, "    "+format+";\n", a...) }

// begin publishes what the call asks of MPI; k is NULL where the call is not shown.
func (t *tracking) begin(op string, f *mpispec.Function) string {
	name := "NULL" // the operation tells
	if f.Class == mpispec.ClassCollectiveInit || f.Coverage == mpispec.Uncovered && op == "COHORT_OP_OTHER" {
		name = `"` + f.Name + `"`
	}
	condition := "UNLIKELY(g.tracking) && "
	if f.Always {
		condition = ""
	}
	return fmt.Sprintf("  struct cohort_call *k = NULL;\n%s  if (%s(k = cohort_call_begin(%s, %s, SITE, %d)) != "+
		"NULL) {\n%s    cohort_call_publish(k);\n  }\n", t.declare.String(), condition, op, name, boolInt(f.Always),
		t.before.String())
}

func (t *tracking) end() string {
	return "  if (UNLIKELY(k != NULL)) {\n" + t.after.String() + "    cohort_call_end(k);\n  }\n"
}

// trackingOf is nil for a function whose calls are not shown.
func trackingOf(f *mpispec.Function) *tracking {
	if !f.Shown() {
		return nil
	}
	t := &tracking{}
	for i := range f.Params {
		t.parameter(f, &f.Params[i])
	}
	t.sides(f)
	t.objects(f)
	t.requests(f)
	t.messages(f)
	return t
}

func (t *tracking) parameter(f *mpispec.Function, p *mpispec.Param) {
	switch out := p.Direction == mpispec.Out; {
	case p.Role == mpispec.RoleComm && p.Direction == mpispec.In:
		t.line("cohort_call_comm(k, %s)", p.Name)
	case p.Role == mpispec.RoleComm: // is freed
		t.declare.WriteString("  struct cohort_comm *given = NULL;\n")
		t.line("cohort_call_comm(k, *%s)", p.Name)
		t.line("given = cohort_comm_freeing(*%s)", p.Name)
		t.then("cohort_comm_freed(given, rc)")
	case p.Type == "MPI_Comm" && out && !f.Has("request"):
		t.then("if (rc == MPI_SUCCESS) cohort_comm_given(*%s, k->call_site)", p.Name)
	case p.Type == "MPI_Win" && p.Direction == mpispec.In:
		t.line("k->a.object = cohort_call_object(&cohort_windows, HANDLE(win))")
	case p.Type == "MPI_File" && p.Direction == mpispec.In:
		t.line("k->a.object = cohort_call_object(&cohort_files, (uint64_t)(uintptr_t)fh)")
	case p.Type == "MPI_Op":
		t.line("k->a.reduction = cohort_call_object(&cohort_reductions, HANDLE(op))")
	case p.Type == "MPI_Request" && out:
		persistent := strings.HasSuffix(strings.TrimSuffix(f.Name, "_c"), "_init")
		t.then("if (rc == MPI_SUCCESS) cohort_call_posted(k, *request, %d)", boolInt(persistent))
	case p.Type == "MPI_Offset" && p.Name == "offset":
		t.line("k->a.offset = offset")
	case p.Role == mpispec.RoleTarget:
		t.line("k->a.target.peer = cohort_peer(%s)", p.Name)
	case p.Name == "target_disp":
		t.line("k->a.offset = target_disp")
	case p.Role == mpispec.RoleTag:
		t.peer(f, p.Name)
	}
}

// peer is whom a message goes to or comes from; the tag is that of the sender's or the receiver's side.
func (t *tracking) peer(f *mpispec.Function, tag string) {
	if p := f.WithRole(mpispec.RoleDest); p != nil && tag != "recvtag" {
		t.line("cohort_call_peer(&k->a.send, %s, %s)", p.Name, tag)
	}
	if p := f.WithRole(mpispec.RoleSource); p != nil && tag != "sendtag" {
		t.line("cohort_call_peer(&k->a.receive, %s, %s)", p.Name, tag)
	}
}

// sides tells what the call sends from and receives into.
func (t *tracking) sides(f *mpispec.Function) {
	sent := false
	for _, b := range f.Buffers {
		switch b.Direction {
		case mpispec.Sends:
			if !sent { // Compare_and_swap has two; the first is what is written
				t.side(f, b, "send")
			}
			sent = true
		case mpispec.Receives:
			t.side(f, b, "receive")
		case mpispec.Both:
			t.side(f, b, "send")
			t.side(f, b, "receive")
		case mpispec.BcastBuf:
			t.line("uint32_t elsewhere = cohort_call_root(k, root, COHORT_AT_ROOT)")
			t.line("cohort_call_side(elsewhere ? &k->a.receive : &k->a.send, %s, %s, %s, elsewhere ? "+
				"cohort_call_root(k, root, COHORT_AT_ALL) : 0)", b.Address, b.Count, b.Type)
		}
	}
	switch {
	case f.Has("target_count"):
		t.line("cohort_call_side(&k->a.target, NULL, target_count, target_datatype, 0)")
	case f.Has("target_disp"):
		t.line("cohort_call_side(&k->a.target, NULL, 1, datatype, 0)")
	}
}

func (t *tracking) side(f *mpispec.Function, b mpispec.Buffer, side string) {
	flags := "0"
	flag := func(flag string) { flags += " | " + flag }
	if root(f) != "-1" {
		flag(fmt.Sprintf("cohort_call_root(k, root, %s)", map[bool]string{
			true: "COHORT_AT_ROOT", false: "COHORT_AT_ALL",
		}[b.AtRoot]))
	}
	n := cmp.Or(map[mpispec.Times]string{
		mpispec.PerTarget: "cohort_call_neighbours(k, comm, 1)", mpispec.PerSource: "cohort_call_neighbours(k, " +
			"comm, 0)",
	}[b.Times], "cohort_call_peers(k)")
	count := cmp.Or(b.Count, "1")
	switch {
	case b.Times == mpispec.OwnOf:
		count = fmt.Sprintf("cohort_call_rank(k) < 0 ? -1 : (int64_t)%s[cohort_call_rank(k)]", count)
	case b.Times == mpispec.Partitions:
		count = fmt.Sprintf("(int64_t)%s * %s", b.Parts, count)
	case b.Array || b.Times == mpispec.SumOf:
		if f.Param(count).Type == "MPI_Count" {
			flag("COHORT_SIDE_COUNTS_64")
		}
		displs, one, types := "NULL", b.Type, "NULL"
		if p := f.Param(b.Displs); p != nil {
			displs = p.Name
			if p.Type == "MPI_Aint" {
				flag("COHORT_SIDE_DISPLS_64")
			}
		}
		if b.ByType {
			flag("COHORT_SIDE_DISPLS_BYTES")
			one, types = "MPI_DATATYPE_NULL", b.Type
		}
		t.line("cohort_call_each(&k->a.%s, %s, %s, %s, %s, %s, %s, %s)", side, b.Address, count, displs, one, types, n,
			flags)
		return
	case b.Times != mpispec.Once:
		flag("COHORT_SIDE_PER_PEER")
		t.line("k->a.%s.n = %s", side, n)
	}
	t.line("cohort_call_side(&k->a.%s, %s, %s, %s, %s)", side, b.Address, count, b.Type, flags)
}

// windowsAndFiles is what the registry is told of them when a call has succeeded.
var windowsAndFiles = map[string]string{
	"Win_create":          "cohort_window_made(*win, COHORT_WINDOW_CREATE, comm, k->call_site)",
	"Win_allocate":        "cohort_window_made(*win, COHORT_WINDOW_ALLOCATE, comm, k->call_site)",
	"Win_allocate_shared": "cohort_window_made(*win, COHORT_WINDOW_SHARED, comm, k->call_site)",
	"Win_create_dynamic":  "cohort_window_made(*win, COHORT_WINDOW_DYNAMIC, comm, k->call_site)",
	"Win_fence": "cohort_window_epoch(win, COHORT_EPOCH_FENCE, " +
		"assert & MPI_MODE_NOSUCCEED ? 0 : COHORT_EPOCH_FENCE, MPI_GROUP_NULL)",
	"Win_start":      "cohort_window_epoch(win, 0, COHORT_EPOCH_START, group)",
	"Win_complete":   "cohort_window_epoch(win, COHORT_EPOCH_START, 0, MPI_GROUP_NULL)",
	"Win_post":       "cohort_window_epoch(win, 0, COHORT_EPOCH_POST, group)",
	"Win_wait":       "cohort_window_epoch(win, COHORT_EPOCH_POST, 0, MPI_GROUP_NULL)",
	"Win_test":       "if (*flag) cohort_window_epoch(win, COHORT_EPOCH_POST, 0, MPI_GROUP_NULL)",
	"Win_lock_all":   "cohort_window_epoch(win, 0, COHORT_EPOCH_LOCK_ALL, MPI_GROUP_NULL)",
	"Win_unlock_all": "cohort_window_epoch(win, COHORT_EPOCH_LOCK_ALL, 0, MPI_GROUP_NULL)",
	"Win_lock":       "cohort_window_lock(win, rank, lock_type)",
	"Win_unlock":     "cohort_window_unlock(win, rank)",
	"File_open":      "cohort_file_opened(*fh, comm, filename, amode, k->call_site)",
	"File_set_view":  "cohort_file_viewed(fh, disp, etype, filetype, datarep)",
}

// objects follows windows and files.
func (t *tracking) objects(f *mpispec.Function) {
	if told := windowsAndFiles[strings.TrimSuffix(f.Short(), "_c")]; told != "" {
		t.then("if (rc == MPI_SUCCESS) %s", told)
	}
	freed := map[string]string{
		"Win_free": "&cohort_windows, HANDLE(*win)", "File_close": "&cohort_files, (uint64_t)(uintptr_t)*fh",
	}[f.Short()]
	if freed != "" {
		t.declare.WriteString("  struct cohort_object *object = NULL;\n")
		t.line("object = cohort_object_freeing(%s)", freed)
		t.line("k->a.object = (uint64_t)(uintptr_t)object")
		t.then("cohort_object_freed(object, rc)")
	}
}

// requests follows those that the call is given.
func (t *tracking) requests(f *mpispec.Function) {
	given := f.OfType("MPI_Request", mpispec.InOut)
	switch {
	case f.Short() == "Request_get_status":
		t.line("cohort_call_given(k, 1, cohort_call_value(request))")
		t.then("if (rc == MPI_SUCCESS && *flag) cohort_request_marked(COHORT_REQUEST_COMPLETE)")
		return
	case given == nil:
		return
	case given.Array:
		t.line("cohort_call_given(k, %s, %s)", given.Length, given.Name)
	default:
		t.line("cohort_call_given(k, 1, %s)", given.Name)
	}
	completed := ""
	if f.WithRole(mpispec.RoleFlag) != nil {
		completed = "if (rc != MPI_SUCCESS || *flag) "
	}
	switch f.Completes {
	case mpispec.CompletesOne:
		t.status(given)
		t.then("%scohort_requests_settled(1, NULL, request, rc, status)", completed)
	case mpispec.CompletesAll:
		t.status(given)
		t.then("%scohort_requests_settled(%s, NULL, array_of_requests, rc, array_of_statuses)", completed, given.Length)
	case mpispec.CompletesAny: // the index may be anything if there was an error
		t.status(nil)
		t.then("%sif (*index >= 0 && *index < count) "+
			"cohort_requests_settled(1, index, array_of_requests, rc, status)", completed)
	case mpispec.CompletesSome: // MPI_UNDEFINED is below 0
		t.status(given)
		t.then("if ((rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS) && *outcount <= incount) " +
			"cohort_requests_settled(*outcount, array_of_indices, array_of_requests, rc, array_of_statuses)")
	case mpispec.CompletesNone:
		switch f.Short() {
		case "Cancel":
			t.then("if (rc == MPI_SUCCESS) cohort_request_marked(COHORT_REQUEST_CANCELLED)")
		case "Request_free":
			t.then("if (rc == MPI_SUCCESS) cohort_request_given_up()")
		case "Start":
			t.then("cohort_requests_started(k, 1, request, rc)")
		case "Startall":
			t.then("cohort_requests_started(k, count, array_of_requests, rc)")
		}
	}
}

// status has the call tell what it received, though the program does not ask: of each of an array of requests, or of
// one.
func (t *tracking) status(array *mpispec.Param) {
	if array != nil && array.Array {
		t.line(
			"if (array_of_statuses == MPI_STATUSES_IGNORE) array_of_statuses = cohort_call_statuses(%s)",
			array.Length,
		)
		return
	}
	t.declare.WriteString("  MPI_Status asked;\n")
	t.line("if (status == MPI_STATUS_IGNORE) status = &asked")
}

// messages counts those that the call sends, and that it receives itself; requests that receive are counted when they
// are complete.
func (t *tracking) messages(f *mpispec.Function) {
	persistent := strings.HasSuffix(strings.TrimSuffix(f.Name, "_c"), "_init")
	if f.WithRole(mpispec.RoleDest) != nil && !persistent {
		t.line("cohort_call_sends(k, 1)")
		t.then("if (rc != MPI_SUCCESS) cohort_call_sends(k, -1)")
	}
	takes := f.OfType("MPI_Message", mpispec.Out) != nil // the message, out of the queue
	if collective(f) {
		t.line("cohort_call_collective(k, 1)")
		t.then("if (rc != MPI_SUCCESS) cohort_call_collective(k, -1)")
	}
	if f.WithRole(mpispec.RoleSource) == nil || f.Has("request") || len(f.Buffers) == 0 && !takes {
		return
	}
	t.status(nil)
	found := ""
	if f.WithRole(mpispec.RoleFlag) != nil {
		found = "if (rc != MPI_SUCCESS || *flag) "
	}
	t.then("%scohort_call_received(k, rc, status)", found)
}

// collective reports whether all members of its communicator must make the call, in one order with others.
func collective(f *mpispec.Function) bool {
	p := f.WithRole(mpispec.RoleComm)
	return p != nil && p.Direction == mpispec.In && !f.Among && (f.Class == mpispec.ClassCollective ||
		f.Class == mpispec.ClassIcollective || f.Class == mpispec.ClassComm)
}
