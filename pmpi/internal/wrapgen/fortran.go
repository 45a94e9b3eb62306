package wrapgen

import (
	"fmt"
	"strings"
)

// handles are the C handle types with the name that MPI_X_f2c and MPI_X_c2f have for them.
var handles = map[string]string{
	"MPI_Comm": "Comm", "MPI_Datatype": "Type", "MPI_Op": "Op", "MPI_Info": "Info", "MPI_Group": "Group",
	"MPI_Win":  "Win",
	"MPI_File": "File", "MPI_Errhandler": "Errhandler", "MPI_Message": "Message", "MPI_Request": "Request",
}

// inout are the functions whose pointer to a handle is read as well as written.
var inout = map[string]bool{
	"Start": true, "Wait": true, "Test": true, "Request_free": true, "Cancel": true, "Comm_free": true,
	"Comm_disconnect": true,
	"Type_commit":     true, "Type_free": true, "Group_free": true, "Op_free": true, "Errhandler_free": true,
	"Info_free": true, "Win_free": true,
	"File_close": true, "Mrecv": true, "Imrecv": true,
}

// passThrough are called with hidden string lengths or procedures, which only the MPI's own wrapper understands. They
// are noted and passed on.
var passThrough = []string{
	"Lookup_name", "Session_init", "Comm_create_from_group", "Intercomm_create_from_groups", "Comm_idup_with_info",
	"Comm_spawn", "Comm_spawn_multiple", "Comm_accept", "Comm_connect",
}

// noF08 are functions whose sentinels mpi_f08 of MPICH passes in a way of its own.
var noF08 = map[string]bool{"Dist_graph_create": true, "Dist_graph_create_adjacent": true, "Win_allocate_shared": true}

func (f function) hasBuffer() bool {
	for _, p := range f.parameters {
		if strings.HasPrefix(strings.TrimPrefix(p.kind, "const "), "void") {
			return true
		}
	}
	return false
}

func fortranWrappers(all []function) string {
	var b strings.Builder
	b.WriteString(header + `/* Open MPI's Fortran bypasses its C symbols: mpif.h and "use mpi" call mpi_x_, "use mpi_f08" mpi_x_f08_, and both
 * pass the same. MPICH's Fortran calls the C symbols, but for the calls without buffers of its mpi_f08. */
#include "fortran.h"

`)
	for _, f := range all {
		if !f.fortran {
			continue
		}
		lower := strings.ToLower(f.name)
		onlyC := f.hasBuffer() && f.name != "Win_allocate" || noF08[f.name] // MPICH's Fortran calls the C symbol
		if onlyC {
			b.WriteString("#ifdef OPEN_MPI\n")
		}
		fmt.Fprintf(&b, "EXPORT void mpi_%s_f08_(%s) {\n", lower, f.fortranParameters())
		b.WriteString(f.fortranBody())
		b.WriteString("}\n")
		if onlyC {
			fmt.Fprintf(&b, "FORTRAN_NAMES(%s, %s)\n#endif\n\n", lower, strings.ToUpper(f.name))
		} else {
			fmt.Fprintf(&b, "FORTRAN_NAMES(%s, %s)\n\n", lower, strings.ToUpper(f.name))
		}
		if f.name == "Win_allocate" { // the form with a C pointer has names of its own
			b.WriteString("#ifdef OPEN_MPI\nALIAS(mpi_win_allocate_cptr_, mpi_win_allocate_f08_)\n" +
				"ALIAS(mpi_win_allocate_cptr__, mpi_win_allocate_f08_)\n#endif\n\n")
		}
	}
	b.WriteString("#ifdef OPEN_MPI\n")
	for _, f := range all {
		if f.class == collectiveInit {
			fmt.Fprintf(&b, "FORTRAN_EXTENSION(%s, \"MPIX_%s\")\n", strings.ToLower(f.name), f.name)
		}
	}
	b.WriteString("#endif\n")
	for _, name := range passThrough {
		fmt.Fprintf(&b, "FORTRAN_PASSED_ON(%s, \"MPI_%s\")\n", strings.ToLower(name), name)
	}
	return b.String()
}

func (f function) fortranParameters() string {
	var all []string
	hidden := ""
	for _, p := range f.parameters {
		kind := strings.TrimPrefix(p.kind, "const ")
		switch {
		case strings.HasPrefix(kind, "void"):
			all = append(all, "void *"+p.name)
		case strings.HasPrefix(kind, "char"):
			all = append(all, "const char *"+p.name)
			hidden = ", size_t " + p.name + "_length"
		case strings.HasPrefix(kind, "MPI_Aint"):
			all = append(all, "MPI_Aint *"+p.name)
		case strings.HasPrefix(kind, "MPI_Offset"):
			all = append(all, "MPI_Offset *"+p.name)
		default:
			all = append(all, "MPI_Fint *"+p.name)
		}
	}
	return strings.Join(append(all, "MPI_Fint *ierr"), ", ") + hidden
}

// count is the C expression of how many elements an array of handles or statuses has.
func (f function) count(p parameter) string {
	if strings.HasPrefix(f.name, "Neighbor_alltoallw") || strings.HasPrefix(f.name, "Ineighbor_alltoallw") {
		if p.name == "sendtypes" {
			return "fortran_out_degree(c_comm)"
		}
		return "fortran_in_degree(c_comm)"
	}
	for _, q := range f.parameters {
		if q.name == "count" || q.name == "incount" {
			return "*" + q.name
		}
	}
	return "fortran_peers(c_comm)"
}

func (f function) fortranBody() string {
	var before, after strings.Builder
	var arguments []string
	// The communicator is converted first: the sizes of other arguments may depend on it.
	for _, p := range f.parameters {
		if p.kind == "MPI_Comm" {
			fmt.Fprintf(&before, "  MPI_Comm c_%s = PMPI_Comm_f2c(*%s);\n", p.name, p.name)
		}
	}
	for _, p := range f.parameters {
		kind := strings.TrimPrefix(p.kind, "const ")
		pointer := strings.HasSuffix(kind, "*")
		base := strings.TrimSpace(strings.TrimSuffix(kind, "*"))
		argument := "c_" + p.name
		switch {
		case base == "void":
			argument = "fortran_buffer(" + p.name + ")"
			if p.name == "base" || p.name == "baseptr" {
				argument = p.name
			}
		case base == "char":
			fmt.Fprintf(&before, "  char c_%s[MPI_MAX_OBJECT_NAME];\n  fortran_string(c_%s, sizeof c_%s, %s, "+
				"%s_length);\n", p.name, p.name, p.name, p.name, p.name)
		case base == "MPI_Status":
			f.fortranStatus(p, &before, &after)
		case handles[base] != "" && p.array && base == "MPI_Request":
			fmt.Fprintf(&before, "  MPI_Request *c_%s = fortran_requests(%s, %s);\n", p.name, p.name, f.count(p))
			fmt.Fprintf(&after, "  fortran_requests_out(%s, c_%s, %s);\n", p.name, p.name, f.count(p))
		case handles[base] != "" && p.array:
			fmt.Fprintf(&before, "  MPI_Datatype *c_%s = fortran_types(%s, %s, %d);\n", p.name, p.name, f.count(p),
				boolInt(p.name == "recvtypes"))
		case handles[base] != "" && pointer:
			f.fortranHandle(p.name, base, &before, &after)
			argument = "&c_" + p.name
		case base == "MPI_Comm":
			// converted above
		case handles[base] != "":
			fmt.Fprintf(&before, "  %s c_%s = PMPI_%s_f2c(*%s);\n", base, p.name, handles[base], p.name)
		case p.name == "index":
			fmt.Fprintf(&after, "  if (*index != MPI_UNDEFINED) *index += fortran_first_index();\n")
			argument = p.name
		case p.name == "array_of_indices":
			fmt.Fprintf(&after, "  for (int i = 0; *outcount != MPI_UNDEFINED && i < *outcount; i++) "+
				"array_of_indices[i] += fortran_first_index();\n")
			argument = p.name
		case p.name == "ranges":
			argument = "(int(*)[3])ranges"
		case strings.HasSuffix(p.name, "weights") && p.array:
			argument = "fortran_weights(" + p.name + ")"
		case pointer, p.array:
			argument = p.name
		default:
			argument = "*" + p.name
		}
		arguments = append(arguments, argument)
	}
	return before.String() + "  cohort_fortran_site(SITE);\n" +
		fmt.Sprintf("  int rc = MPI_%s(%s);\n", f.name, strings.Join(arguments, ", ")) +
		"  cohort_fortran_site(0);\n" + after.String() + "  if (ierr != NULL) *ierr = rc;\n"
}

// fortranStatus converts a status or an array of them: in where it is const, else out, as far as the call has set it.
func (f function) fortranStatus(p parameter, before, after *strings.Builder) {
	hasFlag, n := false, f.count(p)
	for _, q := range f.parameters {
		hasFlag = hasFlag || q.name == "flag"
		if q.name == "outcount" {
			n = "*outcount"
		}
	}
	switch {
	case p.array:
		condition := ""
		if hasFlag {
			condition = "if (*flag) "
		}
		fmt.Fprintf(before, "  MPI_Status *c_%s = fortran_statuses(%s, %s);\n", p.name, p.name, f.count(p))
		fmt.Fprintf(after, "  %sfortran_statuses_out(%s, c_%s, %s);\n", condition, p.name, p.name, n)
	case strings.HasPrefix(p.kind, "const "):
		fmt.Fprintf(before, "  MPI_Status in_%s, *c_%s = &in_%s;\n  PMPI_Status_f2c(%s, c_%s);\n", p.name, p.name,
			p.name, p.name, p.name)
	default:
		condition := "c_" + p.name + " != MPI_STATUS_IGNORE"
		if hasFlag {
			condition += " && *flag"
		}
		fmt.Fprintf(before, "  MPI_Status own_%s, *c_%s = fortran_ignores_status(%s) ? MPI_STATUS_IGNORE : &own_%s;\n",
			p.name, p.name, p.name, p.name)
		fmt.Fprintf(after, "  if (%s) PMPI_Status_c2f(c_%s, %s);\n", condition, p.name, p.name)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fortranHandle converts a handle that the call writes, and perhaps reads.
func (f function) fortranHandle(name, base string, before, after *strings.Builder) {
	if inout[f.name] && (base != "MPI_Request" || f.name != "Imrecv") {
		fmt.Fprintf(before, "  %s c_%s = PMPI_%s_f2c(*%s);\n", base, name, handles[base], name)
	} else {
		fmt.Fprintf(before, "  %s c_%s;\n", base, name)
	}
	condition := "rc == MPI_SUCCESS"
	if f.name == "Improbe" {
		condition += " && *flag"
	}
	convert := "PMPI_" + handles[base] + "_c2f"
	if base == "MPI_Datatype" {
		convert = "cohort_datatype_c2f"
	}
	fmt.Fprintf(after, "  if (%s) *%s = %s(c_%s);\n", condition, name, convert, name)
	if base == "MPI_Request" && !inout[f.name] || f.name == "Imrecv" && name == "request" {
		fmt.Fprintf(after, "  if (UNLIKELY(g.kept) && rc == MPI_SUCCESS) cohort_kept_fortran(c_%s, *%s);\n", name, name)
	}
}
