package wrapgen

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
)

// fill makes what comes between entering and leaving.
func (s *stages) fill(f *mpispec.Function) {
	class := f.Class
	if f.OneSided() {
		class = mpispec.ClassNone // by hand
	}
	switch {
	case fileOf(f) == "gen_comms.c":
		s.communicator(f)
	case f.Coverage == mpispec.Uncovered:
		s.call = fmt.Sprintf("    cohort_uncovered(\"%s\");\n    rc = %s;\n    cohort_event_plain();\n", f.Name,
			uncoveredCall(f))
	case class == mpispec.ClassSend:
		s.send(f)
	case class == mpispec.ClassSendInit:
		s.call = fmt.Sprintf("    rc = carry_%s(%s);\n    cohort_send_initialized(rc, buf, count, datatype, comm, "+
			"dest, tag, request);\n", lower(f), arguments(f))
	case class == mpispec.ClassCollective:
		s.collective(f)
	case class == mpispec.ClassIcollective:
		s.call = fmt.Sprintf("    rc = %s;\n"+
			"    if (g.full && rc == MPI_SUCCESS) cohort_request_add(*request, REQUEST_COLLECTIVE, 0);\n"+
			"    if (g.full) cohort_event_collective(rc, comm, %s, %s);\n", library(f), root(f), contribution(f))
	case class == mpispec.ClassCollectiveInit:
		s.call = fmt.Sprintf("    rc = %s;\n    cohort_collective_initialized(rc, comm, %s, g.full ? %s : 0, %s, "+
			"request);\n", library(f), root(f), contribution(f), op(f.Base))
	default:
		s.call = fmt.Sprintf("    rc = stage_%s(%s);\n", f.Short(), arguments(f))
	}
}

func (s *stages) send(f *mpispec.Function) {
	s.call = fmt.Sprintf("    rc = carry_%s(%s);\n", lower(f), arguments(f))
	if f.Has("request") {
		s.call += "    if (g.full && rc == MPI_SUCCESS) cohort_request_add(*request, REQUEST_SEND, dest == " +
			"MPI_PROC_NULL);\n" +
			"    if (g_requests.note && rc == MPI_SUCCESS) cohort_request_note(*request, REQUEST_SEND);\n"
	}
	s.call += "    cohort_sent(comm, rc == MPI_SUCCESS ? dest : MPI_PROC_NULL, tag, cohort_bytes(count, datatype));\n" +
		"    if (g.full && rc == MPI_SUCCESS) cohort_content(buf, count, datatype, dest);\n"
}

// collective is a blocking collective: with yielding it is made of its nonblocking form, but a reduction, whose
// algorithm decides how it rounds.
func (s *stages) collective(f *mpispec.Function) {
	before, after := "", ""
	if f.Orders {
		moved := "0, MPI_BYTE"
		if n := len(f.Buffers); n > 0 {
			moved = f.Buffers[n-1].Count + ", " + f.Buffers[n-1].Type
		}
		before = fmt.Sprintf("    if (UNLIKELY(g.racing)) cohort_racing_collective(%s, comm, %s, %s);\n", op(f), moved,
			root(f))
		after = fmt.Sprintf("    if (UNLIKELY(g.racing)) cohort_racing_collected(%s, comm, %s, %s, rc);\n", op(f),
			moved,
			root(f))
	}
	s.call = before + yielding(f) + after +
		fmt.Sprintf("    if (g.full) cohort_event_collective(rc, comm, %s, %s);\n", root(f), contribution(f))
}

func yielding(f *mpispec.Function) string {
	if f.Reduction() {
		return fmt.Sprintf("    if (UNLIKELY(g.yield)) cohort_synchronise(comm);\n    rc = %s;\n", library(f))
	}
	return fmt.Sprintf("    if (UNLIKELY(g.yield)) {\n      MPI_Request request = MPI_REQUEST_NULL;\n"+
		"      rc = %s(%s, &request);\n"+
		"      if (rc == MPI_SUCCESS) rc = carry_wait(&request, MPI_STATUS_IGNORE);\n    } else {\n      rc = %s;\n "+
		"   }\n",
		pmpi(f.Nonblocking), arguments(f), library(f))
}

// communicator is a call that makes or frees communicators.
func (s *stages) communicator(f *mpispec.Function) {
	parent := f.WithRole(mpispec.RoleComm).Name
	made := f.OfType("MPI_Comm", mpispec.Out)
	if made == nil {
		s.call = fmt.Sprintf("    struct cohort_comm *freed = cohort_comm_ending(*%s);\n    rc = %s;\n"+
			"    cohort_comm_ended(rc, freed);\n", parent, library(f))
		s.pass = fmt.Sprintf("    struct cohort_comm *freed = cohort_passing() != 0 && *%s != MPI_COMM_NULL ? "+
			"cohort_comm_freeing(*%s) : NULL;\n    rc = %s;\n    cohort_comm_freed(freed, rc);\n", parent, parent,
			library(f))
		return
	}
	pending := f.Has("request")
	if !pending && f.Short() != "Comm_create_group" && f.Short() != "Intercomm_merge" {
		s.call = fmt.Sprintf("    cohort_synchronise(%s);\n", parent)
	}
	s.call += fmt.Sprintf("    rc = %s;\n", library(f))
	if pending {
		s.call += "    if (g.full && rc == MPI_SUCCESS) cohort_request_add(*request, REQUEST_COLLECTIVE, 0);\n"
	}
	s.pass = fmt.Sprintf("    uint64_t from = cohort_passing();\n    rc = %s;\n", library(f))
	if f.Among {
		s.call += fmt.Sprintf("    cohort_comm_made_among(rc, %s, %s);\n", parent, made.Name)
		s.pass += fmt.Sprintf("    if (rc == MPI_SUCCESS && from != 0) cohort_comm_given(*%s, from);\n", made.Name)
		return
	}
	s.call += fmt.Sprintf("    cohort_comm_made(rc, %s, %s, %d);\n", parent, made.Name, boolInt(pending))
	s.pass += fmt.Sprintf("    cohort_comm_passed(rc, from, %s, %s, %d);\n", parent, made.Name, boolInt(pending))
}

// uncoveredCall is the library's function, or what carries the same messages in racing mode, with their headers.
func uncoveredCall(f *mpispec.Function) string {
	if name := strings.TrimSuffix(f.Short(), "_c"); strings.HasPrefix(name, "Isendrecv") {
		return fmt.Sprintf("g.racing ? cohort_racing_%s(%s) : %s", strings.ToLower(name), arguments(f), library(f))
	}
	return library(f)
}

func lower(f *mpispec.Function) string { return strings.ToLower(f.Short()) }

func root(f *mpispec.Function) string {
	if p := f.WithRole(mpispec.RoleRoot); p != nil {
		return p.Name
	}
	return "-1"
}

// contribution is the C expression of the bytes that this rank gives to a collective.
func contribution(f *mpispec.Function) string {
	if len(f.Buffers) == 0 {
		return "0"
	}
	from := f.Buffers[0]
	bytes := bytesOf(from)
	if last := f.Buffers[len(f.Buffers)-1]; last.Count != from.Count && !from.AtRoot && !neighbours(f) {
		bytes = fmt.Sprintf("%s == MPI_IN_PLACE ? %s : %s", from.Address, inPlace(f, from, last), bytes)
	}
	switch {
	case root(f) == "-1":
		return bytes
	case from.AtRoot || from.Direction == mpispec.BcastBuf:
		return fmt.Sprintf("cohort_is_root(comm, root) ? %s : 0", bytes)
	}
	return "!cohort_gives_root(comm, root) ? 0 : " + bytes
}

func neighbours(f *mpispec.Function) bool {
	return f.Buffers[len(f.Buffers)-1].Times == mpispec.PerSource
}

// inPlace is what a rank gives whose data are where it receives: its own part, or all.
func inPlace(f *mpispec.Function, from, to mpispec.Buffer) string {
	switch {
	case from.Times == mpispec.PerMember:
		return bytesOf(to)
	case to.Array && root(f) != "-1":
		return fmt.Sprintf("cohort_bytes(%s[root], %s)", to.Count, to.Type)
	case to.Array:
		return fmt.Sprintf("cohort_bytes(%s[cohort_my_rank(comm)], %s)", to.Count, to.Type)
	}
	return fmt.Sprintf("cohort_bytes(%s, %s)", to.Count, to.Type)
}

func bytesOf(b mpispec.Buffer) string {
	plain, each := fmt.Sprintf("cohort_bytes(%s, %s)", b.Count, b.Type), ""
	switch {
	case b.Times == mpispec.PerMember && b.ByType:
		each = "w"
	case b.Times == mpispec.PerMember && b.Array || b.Times == mpispec.SumOf:
		each = "v"
	case b.Times == mpispec.PerMember:
		each = "all"
	case b.Times == mpispec.PerTarget && b.ByType:
		each = "out_w"
	case b.Times == mpispec.PerTarget && b.Array:
		each = "out"
	case b.Times == mpispec.PerTarget:
		return plain + " * cohort_out_degree(comm)"
	default:
		return plain
	}
	return fmt.Sprintf("cohort_bytes_%s(%s, %s, comm)", each, b.Count, b.Type)
}

// carry is the header of how messages are carried, apart from what is decided about them. Plainly they are carried by
// the library's own function. In racing mode they have a header (racing_*.c); with yielding, and where a replay ends
// within the call, blocking calls are made of others (yield.c).
func carry(functions []*mpispec.Function) string {
	var b strings.Builder
	b.WriteString(notice + "#ifndef COHORT_CARRY_H\n#define COHORT_CARRY_H\n#include \"core.h\"\n\n")
	declared := map[string]bool{}
	for _, f := range functions {
		withOp, ok := carriers[f.Class]
		if !ok || f.Small != nil || f.OneSided() || f.Coverage != mpispec.Recorded {
			continue
		}
		blocking := f.Nonlocal || f.Class == mpispec.ClassSend && !f.Has("request")
		name, args, params := lower(f), arguments(f), parameters(f)
		if withOp {
			name = map[bool]string{true: "isend", false: "send"}[f.Has("request")]
			if f.Class == mpispec.ClassSendInit {
				name = "send_init"
			}
			args, params = insertOp(f, args, op(f)), insertOp(f, params, "uint32_t op")
		}
		declare := func(prefix string) {
			if !declared[prefix+name] {
				fmt.Fprintf(&b, "int cohort_%s_%s(%s);\n", prefix, name, params)
			}
			declared[prefix+name] = true
		}
		declare("racing")
		if blocking {
			declare("yield")
			fmt.Fprintf(&b, "static inline int carry_%s(%s) {\n"+
				"  if (LIKELY((g.racing | g.yield | g.last_call) == 0)) return %s;\n"+
				"  return g.racing ? cohort_racing_%s(%s) : cohort_yield_%s(%s);\n}\n\n",
				lower(f), parameters(f), library(f),
				name, args, name, args)
			continue
		}
		fmt.Fprintf(&b, "static inline int carry_%s(%s) {\n  if (UNLIKELY(g.racing)) return cohort_racing_%s(%s);\n"+
			"  return %s;\n}\n\n", lower(f), parameters(f), name, args, library(f))
	}
	b.WriteString("#endif\n")
	return b.String()
}

// insertOp puts an operation behind a send's arguments, before its request.
func insertOp(f *mpispec.Function, list, op string) string {
	at := len(list)
	if f.Has("request") {
		at = strings.LastIndex(list, ", ")
	}
	return list[:at] + ", " + op + list[at:]
}

// carriers are the classes of calls that carry messages, and whether one function does for the sends of all modes,
// which is told the operation.
var carriers = map[mpispec.Class]bool{
	mpispec.ClassSend: true, mpispec.ClassSendInit: true, mpispec.ClassRecv: false, mpispec.ClassIrecv: false,
	mpispec.ClassSendrecv: false, mpispec.ClassProbe: false, mpispec.ClassRecvInit: false, mpispec.ClassStart: false,
	mpispec.ClassCompletion: false, mpispec.ClassRequest: false,
}
