package wrapgen

import (
	"fmt"
	"strings"
)

// alwaysKept are the calls whose objects are in the registry of every process, also where requests and calls in
// progress are not.
var alwaysKept = map[string]bool{
	"Win_create": true, "Win_allocate": true, "Win_allocate_shared": true, "Win_create_dynamic": true, "Win_free": true,
	"File_open": true, "File_close": true, "File_set_view": true,
}

// keptByHand are in kept.c.
var keptByHand = map[string]bool{
	"Wait": true, "Waitall": true, "Waitany": true, "Waitsome": true, "Test": true, "Testall": true, "Testany": true,
	"Testsome":           true,
	"Request_get_status": true, "Request_free": true, "Cancel": true, "Start": true, "Startall": true,
}

// isKept tells whether a function's calls are shown while they are in progress.
func (f function) isKept() bool {
	switch {
	case strings.HasPrefix(f.name, "Type_"), strings.HasPrefix(f.name, "T_"), strings.HasSuffix(f.name, "_set_name"),
		f.name == "Test_cancelled", f.name == "Session_init":
		return false
	}
	return !f.objects
}

// keptLine is what the wrapper of a function begins with.
func (f function) keptLine() string {
	always := ""
	if alwaysKept[strings.TrimSuffix(f.name, "_c")] {
		always = "_ALWAYS"
	}
	switch {
	case !f.isKept():
		return ""
	case len(f.parameters) == 0:
		return fmt.Sprintf("  KEPT_BARE(%s);\n", f.name)
	}
	return fmt.Sprintf("  KEPT%s(%s, %s);\n", always, f.name, f.arguments())
}

func (f function) keptPrototype() string {
	p := strings.Replace(f.prototype(), "int MPI_"+f.name+"(", "int cohort_k_"+f.name+"(uint64_t site, ", 1)
	return strings.Replace(p, ", void)", ")", 1)
}

// keptCondition is the preprocessor's condition under which the function exists.
func (f function) keptCondition() string {
	switch {
	case f.class == collectiveInit:
		return "#ifdef COHORT_PERSISTENT_COLLECTIVE"
	case f.mpich || f.class == large:
		return "#if !defined(OPEN_MPI) && MPI_VERSION >= 4"
	}
	return ""
}

func keptHeader(all []function) string {
	var b strings.Builder
	b.WriteString(notice + `#ifndef COHORT_GEN_KEPT_H
#define COHORT_GEN_KEPT_H
#ifndef OPEN_MPI
#if MPI_VERSION >= 4
#define COHORT_PERSISTENT_COLLECTIVE(name) MPI_##name
#endif
#else
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define COHORT_PERSISTENT_COLLECTIVE(name) MPIX_##name
#endif
#endif

`)
	condition := ""
	for _, f := range all {
		if !f.isKept() {
			continue
		}
		if c := f.keptCondition(); c != condition {
			if condition != "" {
				b.WriteString("#endif\n")
			}
			if c != "" {
				b.WriteString(c + "\n")
			}
			condition = c
		}
		b.WriteString(f.keptPrototype() + ";\n")
	}
	if condition != "" {
		b.WriteString("#endif\n")
	}
	b.WriteString("#endif\n")
	return b.String()
}

// keptCalls are the functions that show a call and its request to a debugger.
func keptCalls(all []function) string {
	var b strings.Builder
	b.WriteString(header + "\n")
	for _, f := range all {
		if !f.isKept() || keptByHand[f.name] {
			continue
		}
		if c := f.keptCondition(); c != "" {
			b.WriteString(c + "\n")
		}
		b.WriteString(f.keptPrototype() + " {\n" + f.keptBody() + "}\n")
		if f.keptCondition() != "" {
			b.WriteString("#endif\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (f function) keptBody() string {
	var b, after strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, "  "+format+";\n", a...) }
	then := func(format string, a ...any) { fmt.Fprintf(&after, "  "+format+";\n", a...) }
	base := strings.TrimSuffix(f.name, "_c")
	op, name := "COHORT_OP_"+strings.ToUpper(base), "NULL"
	switch f.class {
	case uncovered:
		op, name = "COHORT_OP_OTHER", `"MPI_`+f.name+`"`
	case collectiveInit:
		op = "COHORT_OP_COLLECTIVE_INIT"
		name = `"MPI_` + f.name + `"`
	default: // they have operations of their own
	}
	line("struct cohort_call *k = cohort_kept_begin(%s, %s, site)", op, name)
	for _, p := range f.parameters {
		switch {
		case p.kind == "MPI_Comm" && (p.name == "comm" || p.name == "local_comm" || p.name == "intercomm"):
			line("cohort_kept_comm(k, %s)", p.name)
		case p.kind == "MPI_Comm *" && p.name == "comm":
			line("cohort_kept_comm(k, *comm)")
			line("struct cohort_comm *given = cohort_comm_freeing(*comm)")
			then("cohort_comm_freed(given, rc)")
		case p.kind == "MPI_Comm *" && !strings.HasPrefix(base, "Comm_idup"):
			then("if (rc == MPI_SUCCESS) cohort_comm_given(*%s, k->call_site)", p.name)
		case p.kind == "MPI_Win":
			line("cohort_kept_win(k, win)")
		case p.kind == "MPI_File":
			line("cohort_kept_file(k, fh)")
		case p.kind == "MPI_Op":
			line("cohort_kept_op(k, op)")
		case p.kind == "MPI_Request *" && p.name == "request":
			then("if (rc == MPI_SUCCESS) cohort_kept_posted(k, *request, %d)",
				boolInt(strings.HasSuffix(base, "_init")))
		case p.kind == "MPI_Offset" && p.name == "offset":
			line("k->a.offset = offset")
		}
	}
	f.keptSides(base, line)
	f.keptObjects(base, line, then)
	call := fmt.Sprintf("MPI_%s(%s)", f.name, f.arguments())
	if f.class == collectiveInit {
		call = fmt.Sprintf("COHORT_PERSISTENT_COLLECTIVE(%s)(%s)", f.name, f.arguments())
	}
	return b.String() + "  cohort_kept_publish(k);\n  int rc = " + call + ";\n" + after.String() +
		"  cohort_kept_end(k);\n  return rc;\n"
}

// keptSides tells what the call sends from and receives into.
func (f function) keptSides(base string, line func(string, ...any)) {
	has := func(name string) bool { return f.find(name) != nil }
	peer := func(side, who, tag string) {
		if has(who) && has(tag) {
			line("cohort_kept_peer(&k->a.%s, %s, %s)", side, who, tag)
		}
	}
	blocking := strings.TrimSuffix(base, "_init")
	if f.class == icollective || strings.HasPrefix(blocking, "I") {
		blocking = strings.ToUpper(blocking[1:2]) + blocking[2:]
	}
	count := "count"
	if has("partitions") {
		count = "(int64_t)partitions * count"
	}
	reads := strings.HasPrefix(base, "File_read") || strings.HasPrefix(base, "File_iread")
	switch {
	case has("buf") && (reads || has("source") && !has("dest") || has("message")):
		line("cohort_kept_side(&k->a.receive, buf, %s, datatype, 0)", count)
	case has("buf") && has("source"):
		line("cohort_kept_side(&k->a.send, buf, count, datatype, 0)")
		line("cohort_kept_side(&k->a.receive, buf, count, datatype, 0)")
	case has("buf"):
		line("cohort_kept_side(&k->a.send, buf, %s, datatype, 0)", count)
	case has("buffer"):
		line("uint32_t elsewhere = cohort_kept_root(k, root, COHORT_AT_ROOT)")
		line("cohort_kept_side(elsewhere ? &k->a.receive : &k->a.send, buffer, count, datatype, elsewhere ? " +
			"cohort_kept_root(k, root, COHORT_AT_ALL) : 0)")
	}
	if has("sendbuf") {
		line("%s", f.keptSide("send", blocking))
	}
	if has("recvbuf") {
		line("%s", f.keptSide("receive", blocking))
	}
	f.keptOnesided(blocking, line)
	peer("send", "dest", "tag")
	peer("send", "dest", "sendtag")
	peer("receive", "source", "tag")
	peer("receive", "source", "recvtag")
}

// keptSide is one side of a call that has names for both.
func (f function) keptSide(side, blocking string) string {
	prefix, displs := "send", "sdispls"
	if side == "receive" {
		prefix, displs = "recv", "rdispls"
	}
	has := func(name string) bool { return f.find(name) != nil }
	counts, count, kind := prefix+"counts", prefix+"count", prefix+"type"
	var flags []string
	if has("root") {
		where := "COHORT_AT_ALL"
		if strings.HasPrefix(blocking, "Scatter") == (side == "send") {
			where = "COHORT_AT_ROOT"
		}
		flags = append(flags, "cohort_kept_root(k, root, "+where+")")
	}
	n := "cohort_kept_peers(k)"
	if strings.HasPrefix(blocking, "Neighbor_") {
		n = fmt.Sprintf("cohort_kept_neighbours(k, comm, %d)", boolInt(side == "send"))
	}
	all := func() string {
		if len(flags) == 0 {
			return "0"
		}
		return strings.Join(flags, " | ")
	}
	target := "&k->a." + side
	buf := prefix + "buf"
	switch {
	case blocking == "Reduce_scatter" && side == "send":
		if f.find("recvcounts").kind == "const MPI_Count" {
			flags = append(flags, "COHORT_SIDE_COUNTS_64")
		}
		return fmt.Sprintf("cohort_kept_each(%s, sendbuf, recvcounts, NULL, datatype, NULL, %s, %s)", target, n, all())
	case blocking == "Reduce_scatter":
		return fmt.Sprintf("cohort_kept_side(%s, recvbuf, cohort_kept_rank(k) < 0 ? -1 : "+
			"(int64_t)recvcounts[cohort_kept_rank(k)], datatype, 0)", target)
	case blocking == "Reduce_scatter_block" && side == "send":
		return fmt.Sprintf("cohort_kept_side(%s, sendbuf, recvcount, datatype, COHORT_SIDE_PER_PEER), k->a.send.n = %s",
			target, n)
	case blocking == "Reduce_scatter_block":
		return fmt.Sprintf("cohort_kept_side(%s, recvbuf, recvcount, datatype, 0)", target)
	case has(counts):
		if !has(displs) {
			displs = "displs"
		}
		if f.find(counts).kind == "const MPI_Count" {
			flags = append(flags, "COHORT_SIDE_COUNTS_64")
		}
		if f.find(displs).kind == "const MPI_Aint" {
			flags = append(flags, "COHORT_SIDE_DISPLS_64")
		}
		one, types := kind, "NULL"
		if has(prefix + "types") {
			flags = append(flags, "COHORT_SIDE_DISPLS_BYTES")
			one, types = "MPI_DATATYPE_NULL", prefix+"types"
		}
		return fmt.Sprintf("cohort_kept_each(%s, %s, %s, %s, %s, %s, %s, %s)", target, buf, counts, displs, one, types,
			n, all())
	case has(count):
		perPeer := strings.Contains(blocking, "lltoall") || side == "send" && blocking == "Scatter" ||
			side == "receive" && strings.HasSuffix(strings.ToLower(blocking), "gather")
		if perPeer {
			flags = append(flags, "COHORT_SIDE_PER_PEER")
			return fmt.Sprintf("cohort_kept_side(%s, %s, %s, %s, %s), k->a.%s.n = %s", target, buf, count, kind, all(),
				side, n)
		}
		return fmt.Sprintf("cohort_kept_side(%s, %s, %s, %s, %s)", target, buf, count, kind, all())
	}
	return fmt.Sprintf("cohort_kept_side(%s, %s, count, datatype, %s)", target, buf, all())
}

func (f function) keptOnesided(blocking string, line func(string, ...any)) {
	has := func(name string) bool { return f.find(name) != nil }
	switch {
	case has("origin_count"):
		side := "send"
		if blocking == "Get" || blocking == "Rget" {
			side = "receive"
		}
		line("cohort_kept_side(&k->a.%s, origin_addr, origin_count, origin_datatype, 0)", side)
		if has("result_addr") {
			line("cohort_kept_side(&k->a.receive, result_addr, result_count, result_datatype, 0)")
		}
		line("cohort_kept_side(&k->a.target, NULL, target_count, target_datatype, 0)")
	case has("origin_addr"):
		line("cohort_kept_side(&k->a.send, origin_addr, 1, datatype, 0)")
		line("cohort_kept_side(&k->a.receive, result_addr, 1, datatype, 0)")
		line("cohort_kept_side(&k->a.target, NULL, 1, datatype, 0)")
	case has("win") && has("rank"):
		line("k->a.target.peer = rank")
	}
	if has("target_rank") {
		line("k->a.target.peer = cohort_peer(target_rank)")
		line("k->a.offset = target_disp")
	}
}

// keptObjects follows windows and files.
func (f function) keptObjects(base string, line, then func(string, ...any)) {
	switch base {
	case "Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic":
		kind := map[string]string{
			"Win_create": "CREATE", "Win_allocate": "ALLOCATE", "Win_allocate_shared": "SHARED",
			"Win_create_dynamic": "DYNAMIC",
		}[base]
		then("if (rc == MPI_SUCCESS) cohort_window_made(*win, COHORT_WINDOW_%s, comm, k->call_site)", kind)
	case "Win_free":
		line("struct cohort_object *window = cohort_object_freeing(&cohort_windows, HANDLE(*win))")
		line("k->a.object = (uint64_t)(uintptr_t)window")
		then("cohort_object_freed(window, rc)")
	case "File_open":
		then("if (rc == MPI_SUCCESS) cohort_file_opened(*fh, comm, filename, amode, k->call_site)")
	case "File_close":
		line("struct cohort_object *file = cohort_object_freeing(&cohort_files, (uint64_t)(uintptr_t)*fh)")
		line("k->a.object = (uint64_t)(uintptr_t)file")
		then("cohort_object_freed(file, rc)")
	case "File_set_view":
		then("if (rc == MPI_SUCCESS) cohort_file_viewed(fh, disp, etype, filetype, datarep)")
	case "Win_fence":
		then("if (rc == MPI_SUCCESS) cohort_window_fence(win, assert)")
	case "Win_start", "Win_post":
		then("if (rc == MPI_SUCCESS) cohort_window_group(win, group, COHORT_EPOCH_%s)",
			strings.ToUpper(strings.TrimPrefix(base, "Win_")))
	case "Win_complete":
		then("if (rc == MPI_SUCCESS) cohort_window_ended(win, COHORT_EPOCH_START)")
	case "Win_wait":
		then("if (rc == MPI_SUCCESS) cohort_window_ended(win, COHORT_EPOCH_POST)")
	case "Win_test":
		then("if (rc == MPI_SUCCESS && *flag) cohort_window_ended(win, COHORT_EPOCH_POST)")
	case "Win_lock":
		then("if (rc == MPI_SUCCESS) cohort_window_lock(win, rank, lock_type)")
	case "Win_unlock":
		then("if (rc == MPI_SUCCESS) cohort_window_unlock(win, rank)")
	case "Win_lock_all":
		then("if (rc == MPI_SUCCESS) cohort_window_group(win, MPI_GROUP_NULL, COHORT_EPOCH_LOCK_ALL)")
	case "Win_unlock_all":
		then("if (rc == MPI_SUCCESS) cohort_window_ended(win, COHORT_EPOCH_LOCK_ALL)")
	}
}
