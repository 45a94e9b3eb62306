package wrapgen

import (
	"cmp"
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

// onlyC reports whether MPICH's mpi_f08 calls the C function, and not one of its own: where there is a buffer.
func onlyC(f *mpispec.Function) bool {
	buffer := func(p mpispec.Param) bool { return p.Type == "void*" }
	return slices.ContainsFunc(f.Params, buffer) && f.Short() != "Win_allocate"
}

func fortranWrappers(functions []*mpispec.Function) string {
	var b strings.Builder
	b.WriteString(`/* Open MPI's Fortran bypasses its C symbols: mpif.h and "use mpi" call mpi_x_, "use mpi_f08"
 * mpi_x_f08_, and both pass the same. MPICH's Fortran calls the C symbols, but for the calls without buffers of its
 * mpi_f08. */

`)
	for _, f := range functions {
		switch {
		case f.Class == mpispec.ClassCollectiveInit:
			b.WriteString(openMPI(ownWrapper(f, "mpix_"+lower(f), "MPIX_"+f.Short())))
		case f.Fortran == mpispec.FortranPassed || f.Fortran == mpispec.FortranOwn && f.Coverage != mpispec.Value:
			b.WriteString(ownWrapper(f, "mpi_"+lower(f), f.Name))
		case f.Fortran == mpispec.FortranConverted:
			b.WriteString(convertingWrapper(f) + "\n")
		}
		if f.Short() == "Win_allocate" { // the form with a C pointer has names of its own
			b.WriteString(openMPI("ALIAS(mpi_win_allocate_cptr_, mpi_win_allocate_f08_)\n" +
				"ALIAS(mpi_win_allocate_cptr__, mpi_win_allocate_f08_)\n"))
		}
	}
	return b.String()
}

func openMPI(text string) string { return "#ifdef OPEN_MPI\n" + text + "#endif\n" }

func convertingWrapper(f *mpispec.Function) string {
	declared, _ := fortranParameters(f)
	text := fmt.Sprintf("EXPORT void mpi_%s_f08_(%s) {\n%s}\nFORTRAN_NAMES(%[1]s, %[4]s)\n", lower(f), declared,
		fortranBody(f), strings.ToUpper(f.Short()))
	if onlyC(f) || f.F08Own || ofMPI1(f) {
		return openMPI(text)
	}
	return text
}

// ofMPI1 reports whether its addresses are INTEGERs in Fortran; mpi_f08 has not got it.
func ofMPI1(f *mpispec.Function) bool { return f.Until == 30 }

// fortranParameters are those of a procedure as C declares them, and as C passes them on. All are addresses, but the
// lengths of texts, which come last.
func fortranParameters(f *mpispec.Function) (declared, passed string) {
	lengths, lengthsPassed := "", ""
	for _, p := range f.Params {
		switch {
		case f.Coverage == mpispec.Lifecycle && strings.HasPrefix(p.Name, "arg"): // of C only
			continue
		case strings.Contains(p.Type, "char"):
			declared += "char *"
			lengths += ", size_t " + p.Name + "_length"
			lengthsPassed += ", " + p.Name + "_length"
		case strings.HasSuffix(p.Type, "*"): // a buffer, or a procedure
			declared += "void *"
		case (p.Type == "MPI_Aint" || p.Type == "MPI_Offset") && !ofMPI1(f):
			declared += p.Type + " *"
		default:
			declared += "MPI_Fint *"
		}
		declared += p.Name + ", "
		passed += p.Name + ", "
	}
	return declared + "MPI_Fint *ierr" + lengths, passed + "ierr" + lengthsPassed
}

// passedOn is a procedure whose arguments go on to the MPI's own one as they are.
func passedOn(f *mpispec.Function, symbol, before, after string) string {
	declared, passed := fortranParameters(f)
	return fmt.Sprintf(`EXPORT void %[1]s(%s) {
  static __typeof(%[1]s) *next;
  if (UNLIKELY(next == NULL) && (*(void **)&next = fortran_next("%[1]s")) == NULL) return;
%[3]s  next(%[4]s);
%[5]s}
`, symbol, declared, before, passed, after)
}

// procedural reports whether it makes an object of a procedure, which only the Fortran program knows: an MPI's wrapper
// may give C one of its own.
func procedural(f *mpispec.Function) bool {
	return f.Coverage == mpispec.Objects && strings.Contains(f.Params[0].Type, "_function")
}

// ownWrapper is a procedure, with all its names, that only the MPI's own one understands: it has procedures or texts
// among its arguments, or sets up more than MPI. It is passed on, and what it made is noted.
func ownWrapper(f *mpispec.Function, symbol, call string) string {
	before, after := "  MPI_Fint own = MPI_ERR_OTHER;\n  if (ierr == NULL) ierr = &own;\n", ""
	switch {
	case f.Coverage == mpispec.Lifecycle:
		before += "  int outer = cohort_init_begin();\n"
		after = "  cohort_init_end(outer, *ierr);\n"
	case f.Coverage == mpispec.Objects:
		before += "  cohort_fortran_site(SITE);\n"
		after = fmt.Sprintf(`  cohort_fortran_site(0);
  uint64_t site = *ierr == MPI_SUCCESS ? cohort_registry_enter(SITE) : 0;
  if (site == 0) return;
  %s;
  cohort_registry_leave();
`, fortranNote(f))
	case f.Short() == "Grequest_start":
		before += "  int seen = cohort_enter(COHORT_OP_GREQUEST_START, SITE);\n"
		after = `  MPI_Request made = PMPI_Request_f2c(*request);
  if (seen) {
    cohort_grequest_started(*ierr, made);
    cohort_leave();
  }
  if (*ierr == MPI_SUCCESS) cohort_call_grequest(SITE, made, *request);
`
	default:
		before += fmt.Sprintf("  int seen = cohort_enter(COHORT_OP_OTHER, SITE);\n  if (seen) "+
			"cohort_uncovered(\"%s\");\n",
			call)
		after = fmt.Sprintf("  if (*ierr == MPI_SUCCESS) %s;\n  if (!seen) return;\n  cohort_event_plain();\n"+
			"  cohort_leave();\n", fortranNote(f))
	}
	ofMPIf := passedOn(f, symbol+"_", before, after)
	if !procedural(f) {
		ofMPIf = openMPI(ofMPIf)
	}
	return passedOn(f, symbol+"_f08_", before, after) + ofMPIf + openMPI(passedOn(f, symbol+"__", before, after)) + "\n"
}

// fortranNote is what the registry is told of such a call.
func fortranNote(f *mpispec.Function) string {
	if f.Short() != "Op_create" && procedural(f) {
		return fmt.Sprintf("cohort_errhandler_from_fortran(*errhandler, %s, %s, site)", errhandlerKind(f),
			f.Params[0].Name)
	}
	return cmp.Or(fortranNotes[f.Short()], "(void)0")
}

var fortranNotes = map[string]string{
	"Op_create":         "cohort_op_from_fortran(*op, user_fn, *commute != 0, site)",
	"Info_set":          "cohort_info_changed(PMPI_Info_f2c(*info), site)",
	"Info_delete":       "cohort_info_changed(PMPI_Info_f2c(*info), site)",
	"Type_get_contents": "cohort_contents_given(PMPI_Type_f2c(*datatype), *max_datatypes, NULL, array_of_datatypes)",
	"File_get_view":     "fortran_view_given(*fh, *etype, *filetype)",
	"File_set_view":     "fortran_viewed(*fh, *disp, *etype, *filetype, datarep, datarep_length)",
	"File_open":         "fortran_opened(*fh, *comm, filename, filename_length, *amode, SITE)",
}

// fortranCount is the C expression of how many elements an array of handles or statuses has.
func fortranCount(p *mpispec.Param) string {
	switch p.Length {
	case "in", "out":
		return "fortran_" + p.Length + "_degree(c_comm)"
	case "n":
		return "fortran_peers(c_comm)"
	case "outcount": // of Waitsome's statuses: there is room for more
		return "*incount"
	}
	return "*" + p.Length
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
			count = fortranCount(p)
		}
		switch base := strings.TrimSuffix(p.Type, "*"); {
		case p.Type == "void*" && (p.Name == "base" || p.Name == "baseptr"):
			argument = p.Name
		case p.Type == "void*":
			argument = "fortran_buffer(" + p.Name + ")"
		case p.Type == "MPI_Aint" && p.Array && ofMPI1(f):
			argument = fmt.Sprintf("fortran_places(%s, %s)", p.Name, count)
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
		count, condition := fortranCount(p), ""
		fmt.Fprintf(before, "  MPI_Status *c_%s = fortran_statuses(%s, %s);\n", p.Name, p.Name, count)
		if flag {
			condition = "if (*flag) "
		}
		if f.Has("outcount") {
			count = "*outcount"
		}
		fmt.Fprintf(after, "  %sfortran_statuses_out(%s, c_%s, %s);\n", condition, p.Name, p.Name, count)
	case p.Const:
		fmt.Fprintf(before, "  MPI_Status in_%s, *c_%s = &in_%s;\n  PMPI_Status_f2c(%s, c_%s);\n", p.Name, p.Name,
			p.Name,
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
	for _, f := range functions {
		own := f.Fortran == mpispec.FortranOwn && !procedural(f) &&
			(f.Coverage == mpispec.Objects || f.Coverage == mpispec.Uncovered)
		if f.Fortran != mpispec.FortranConverted && !own {
			continue
		}
		symbols := []string{"mpi_" + lower(f) + "_"}
		if onlyC(f) && !f.F08Own { // others have no such symbol
			symbols = append(symbols, "mpi_"+lower(f)+"_f08ts_")
		}
		for _, symbol := range symbols {
			b.WriteString(passedOn(f, symbol, "  cohort_fortran_site(SITE);\n", "  cohort_fortran_site(0);\n"))
		}
	}
	return "/* MPICH's mpif.h and \"use mpi\" call the C symbols, its \"use mpi_f08\" does for calls with buffers: " +
		"where\n * they are called from is told here. */\n#ifndef OPEN_MPI\n" + b.String() + "#endif\n"
}
