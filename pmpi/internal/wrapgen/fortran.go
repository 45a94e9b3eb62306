package wrapgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
)

// handles are the C handle types with the name that MPI_X_f2c and MPI_X_c2f have for them.
var handles = map[string]string{
	"MPI_Comm": "Comm", "MPI_Datatype": "Type", "MPI_Op": "Op", "MPI_Info": "Info", "MPI_Group": "Group",
	"MPI_Win": "Win", "MPI_File": "File", "MPI_Errhandler": "Errhandler", "MPI_Message": "Message",
	"MPI_Request": "Request",
}

func hasBuffer(f *mpispec.Function) bool {
	return slices.ContainsFunc(f.Params, func(p mpispec.Param) bool { return p.Type == "void*" })
}

// onlyC reports whether MPICH's mpi_f08 calls the C function, and not one of its own.
func onlyC(f *mpispec.Function) bool { return hasBuffer(f) && f.Short() != "Win_allocate" }

func fortranWrappers(functions []*mpispec.Function) string {
	var b strings.Builder
	b.WriteString(`/* Open MPI's Fortran bypasses its C symbols: mpif.h and "use mpi" call mpi_x_, "use mpi_f08" mpi_x_f08_, and both
 * pass the same. MPICH's Fortran calls the C symbols, but for the calls without buffers of its mpi_f08. */

`)
	for _, f := range functions {
		lower, upper := lower(f), strings.ToUpper(f.Short())
		switch {
		case f.Class == mpispec.ClassCollectiveInit:
			fmt.Fprintf(&b, "#ifdef OPEN_MPI\nFORTRAN_EXTENSION(%s, \"MPIX_%s\")\n#endif\n", lower, f.Short())
			continue
		case f.Fortran == mpispec.FortranPassed:
			fmt.Fprintf(&b, "FORTRAN_PASSED_ON(%s, \"%s\")\n", lower, f.Name)
			continue
		case f.Fortran != mpispec.FortranConverted:
			continue
		}
		text := fmt.Sprintf("EXPORT void mpi_%s_f08_(%s) {\n%s}\nFORTRAN_NAMES(%s, %s)\n", lower, fortranParameters(f),
			fortranBody(f), lower, upper)
		if onlyC(f) || f.F08Own {
			text = "#ifdef OPEN_MPI\n" + text + "#endif\n"
		}
		b.WriteString(text + "\n")
		if f.Short() == "Win_allocate" { // the form with a C pointer has names of its own
			b.WriteString("#ifdef OPEN_MPI\nALIAS(mpi_win_allocate_cptr_, mpi_win_allocate_f08_)\n" +
				"ALIAS(mpi_win_allocate_cptr__, mpi_win_allocate_f08_)\n#endif\n\n")
		}
	}
	return b.String()
}

func fortranParameters(f *mpispec.Function) string {
	var all []string
	hidden := ""
	for _, p := range f.Params {
		switch p.Type {
		case "void*":
			all = append(all, "void *"+p.Name)
		case "char*":
			all = append(all, "const char *"+p.Name)
			hidden = ", size_t " + p.Name + "_length"
		case "MPI_Aint", "MPI_Offset":
			all = append(all, p.Type+" *"+p.Name)
		default:
			all = append(all, "MPI_Fint *"+p.Name)
		}
	}
	return strings.Join(append(all, "MPI_Fint *ierr"), ", ") + hidden
}

// fortranCount is the C expression of how many elements an array of handles or statuses has.
func fortranCount(f *mpispec.Function, p *mpispec.Param) string {
	switch {
	case p.Length == "out":
		return "fortran_out_degree(c_comm)"
	case p.Length == "in":
		return "fortran_in_degree(c_comm)"
	case has(f, "count"):
		return "*count"
	case has(f, "incount"):
		return "*incount"
	}
	return "fortran_peers(c_comm)"
}

func fortranBody(f *mpispec.Function) string {
	var before, after strings.Builder
	var args []string
	// The communicator is converted first: the sizes of other arguments may depend on it.
	for _, p := range f.Params {
		if p.Type == "MPI_Comm" && p.Direction == mpispec.In {
			fmt.Fprintf(&before, "  MPI_Comm c_%s = PMPI_Comm_f2c(*%s);\n", p.Name, p.Name)
		}
	}
	for i := range f.Params {
		p := &f.Params[i]
		argument, count := "c_"+p.Name, ""
		if p.Array {
			count = fortranCount(f, p)
		}
		switch base := strings.TrimSuffix(p.Type, "*"); {
		case p.Type == "void*" && (p.Name == "base" || p.Name == "baseptr"):
			argument = p.Name
		case p.Type == "void*":
			argument = "fortran_buffer(" + p.Name + ")"
		case p.Type == "char*":
			fmt.Fprintf(&before, "  char c_%s[MPI_MAX_OBJECT_NAME];\n  fortran_string(c_%s, sizeof c_%s, %s, "+
				"%s_length);\n", p.Name, p.Name, p.Name, p.Name, p.Name)
		case base == "MPI_Status":
			fortranStatus(f, p, &before, &after)
		case base == "MPI_Request" && p.Array:
			fmt.Fprintf(&before, "  MPI_Request *c_%s = fortran_requests(%s, %s);\n", p.Name, p.Name, count)
			fmt.Fprintf(&after, "  fortran_requests_out(%s, c_%s, %s);\n", p.Name, p.Name, count)
		case handles[base] != "" && p.Array:
			fmt.Fprintf(&before, "  MPI_Datatype *c_%s = fortran_types(%s, %s, %d);\n", p.Name, p.Name, count,
				boolInt(p.Name == "recvtypes"))
		case handles[base] != "" && p.Direction != mpispec.In:
			fortranHandle(f, p, &before, &after)
			argument = "&c_" + p.Name
		case base == "MPI_Comm": // converted above
		case handles[base] != "":
			fmt.Fprintf(&before, "  %s c_%s = PMPI_%s_f2c(*%s);\n", base, p.Name, handles[base], p.Name)
		case p.Role == mpispec.RoleIndex && !p.Array:
			fmt.Fprintf(&after, "  if (*index != MPI_UNDEFINED) *index += fortran_first_index();\n")
			argument = p.Name
		case p.Role == mpispec.RoleIndex:
			fmt.Fprintf(&after, "  for (int i = 0; *outcount != MPI_UNDEFINED && i < *outcount; i++) "+
				"array_of_indices[i] += fortran_first_index();\n")
			argument = p.Name
		case p.Name == "ranges":
			argument = "(int(*)[3])ranges"
		case strings.HasSuffix(p.Name, "weights") && p.Array:
			argument = "fortran_weights(" + p.Name + ")"
		case p.Array || p.Direction != mpispec.In:
			argument = p.Name
		default:
			argument = "*" + p.Name
		}
		args = append(args, argument)
	}
	return fmt.Sprintf("%s  cohort_fortran_site(SITE);\n  int rc = %s(%s);\n  cohort_fortran_site(0);\n%s"+
		"  if (ierr != NULL) *ierr = rc;\n", before.String(), f.Name, strings.Join(args, ", "), after.String())
}

// fortranStatus converts a status or an array of them: in where it is const, else out, as far as the call has set it.
func fortranStatus(f *mpispec.Function, p *mpispec.Param, before, after *strings.Builder) {
	flag := f.WithRole(mpispec.RoleFlag) != nil
	switch {
	case p.Array:
		count, condition := fortranCount(f, p), ""
		fmt.Fprintf(before, "  MPI_Status *c_%s = fortran_statuses(%s, %s);\n", p.Name, p.Name, count)
		if flag {
			condition = "if (*flag) "
		}
		if has(f, "outcount") {
			count = "*outcount"
		}
		fmt.Fprintf(after, "  %sfortran_statuses_out(%s, c_%s, %s);\n", condition, p.Name, p.Name, count)
	case p.Const:
		fmt.Fprintf(before, "  MPI_Status in_%s, *c_%s = &in_%s;\n  PMPI_Status_f2c(%s, c_%s);\n", p.Name, p.Name, p.Name,
			p.Name, p.Name)
	default:
		condition := "c_" + p.Name + " != MPI_STATUS_IGNORE"
		if flag {
			condition += " && *flag"
		}
		fmt.Fprintf(before, "  MPI_Status own_%s, *c_%s = fortran_ignores_status(%s) ? MPI_STATUS_IGNORE : &own_%s;\n",
			p.Name, p.Name, p.Name, p.Name)
		fmt.Fprintf(after, "  if (%s) PMPI_Status_c2f(c_%s, %s);\n", condition, p.Name, p.Name)
	}
}

// fortranHandle converts a handle that the call sets, and perhaps reads.
func fortranHandle(f *mpispec.Function, p *mpispec.Param, before, after *strings.Builder) {
	if p.Direction == mpispec.InOut {
		fmt.Fprintf(before, "  %s c_%s = PMPI_%s_f2c(*%s);\n", p.Type, p.Name, handles[p.Type], p.Name)
	} else {
		fmt.Fprintf(before, "  %s c_%s;\n", p.Type, p.Name)
	}
	condition := "rc == MPI_SUCCESS"
	if f.Short() == "Improbe" {
		condition += " && *flag"
	}
	convert := "PMPI_" + handles[p.Type] + "_c2f"
	if p.Type == "MPI_Datatype" {
		convert = "cohort_datatype_c2f"
	}
	fmt.Fprintf(after, "  if (%s) *%s = %s(c_%s);\n", condition, p.Name, convert, p.Name)
	if p.Type == "MPI_Request" && p.Direction == mpispec.Out {
		fmt.Fprintf(after, "  if (UNLIKELY(g.tracking) && rc == MPI_SUCCESS) cohort_call_fortran(c_%s, *%s);\n", p.Name,
			p.Name)
	}
}

// fortranSites makes wrappers that pass a call of MPICH's Fortran on as it is, and only note where it comes from: the C
// function that it calls sees an address in the MPI's library, not in the program. The calls without buffers of mpi_f08
// are wrapped for other reasons (fortranWrappers).
func fortranSites(functions []*mpispec.Function) string {
	var b strings.Builder
	most := 0
	for _, f := range functions {
		if f.Fortran != mpispec.FortranConverted ||
			slices.ContainsFunc(f.Params, func(p mpispec.Param) bool { return p.Type == "char*" }) {
			continue // the length of a text comes behind the other arguments
		}
		n := len(f.Params) + 1
		most = max(most, n)
		fmt.Fprintf(&b, "FORTRAN_SITE%d(mpi_%s_)\n", n, lower(f))
		if onlyC(f) && !f.F08Own { // others have no such symbol
			fmt.Fprintf(&b, "FORTRAN_SITE%d(mpi_%s_f08ts_)\n", n, lower(f))
		}
	}
	return "/* MPICH's mpif.h and \"use mpi\" call the C symbols, its \"use mpi_f08\" does for calls with buffers: where\n" +
		" * they are called from is told here. */\n#ifndef OPEN_MPI\n\n" + siteMacros(most) + b.String() + "#endif\n"
}

// siteMacros are for calls of up to so many arguments. All arguments of a Fortran call are addresses, so their number
// is all that matters.
func siteMacros(most int) string {
	var b strings.Builder
	var kinds, declared, passed []string
	for i := range most {
		kinds = append(kinds, "void *")
		declared = append(declared, fmt.Sprintf("void *a%d", i))
		passed = append(passed, fmt.Sprintf("a%d", i))
		fmt.Fprintf(&b, `#define FORTRAN_SITE%d(symbol) \
  EXPORT void symbol(%s) { \
    static void *next; \
    if (UNLIKELY(next == NULL)) next = fortran_next(#symbol); \
    cohort_fortran_site(SITE); \
    ((void (*)(%s))next)(%s); \
    cohort_fortran_site(0); \
  }
`, i+1, strings.Join(declared, ", "), strings.Join(kinds, ", "), strings.Join(passed, ", "))
	}
	return b.String() + "\n"
}
