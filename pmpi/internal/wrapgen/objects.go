package wrapgen

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
)

// tables are the registry's tables of handles, by their types in C.
var tables = map[string]string{
	"MPI_Comm": "cohort_comms", "MPI_Datatype": "cohort_datatypes", "MPI_Group": "cohort_groups",
	"MPI_Win": "cohort_windows", "MPI_Op": "cohort_reductions", "MPI_Errhandler": "errhandlers", "MPI_Info": "infos",
}

// noted is what the registry is told, in C, of calls that their parameters do not tell enough of.
var noted = map[string]string{
	"Op_create":       "op_made(*op, (void *)user_fn, commute, site, NULL)",
	"Info_set":        "info_noted(info, site, NULL, 0)",
	"Info_delete":     "info_noted(info, site, NULL, 0)",
	"File_get_view":   "cohort_view_given(fh, *etype, *filetype)",
	"Type_commit":     "cohort_datatype_committed(*datatype)",
	"Type_match_size": `record_of(*datatype, site, "MPI_Type_match_size")`,
	"Type_set_name": "record_of(datatype, 0, UNSEEN);\n  cohort_object_rename(&cohort_datatypes, " +
		"HANDLE(datatype), type_name)",
	"Type_get_contents": "cohort_contents_given(datatype, max_datatypes, array_of_datatypes, NULL)",
}

// objectWrapper is a call that only the registry is told of: when it has succeeded, or, if it frees a handle, before.
func objectWrapper(f *mpispec.Function) string {
	if strings.HasSuffix(f.Name, "_free") {
		p := f.Params[0]
		forget := ""
		if p.Type == "MPI_Datatype" {
			forget = "  cohort_type_size_forget();\n"
		}
		return fmt.Sprintf(`EXPORT %s {
  if (!cohort_registry_enter(SITE)) return %s;
  struct cohort_object *freed = cohort_object_freeing(&%s, HANDLE(*%s));
  int rc = %[2]s;
  cohort_object_freed(freed, rc);
%[5]s  cohort_registry_leave();
  return rc;
}
`, f.Prototype(), library(f), tables[p.Type], p.Name, forget)
	}
	return fmt.Sprintf(`EXPORT %s {
  int rc = %s;
  uint64_t site = rc == MPI_SUCCESS ? cohort_registry_enter(SITE) : 0;
  if (site == 0) return rc;
  %s;
  cohort_registry_leave();
  return rc;
}
`, f.Prototype(), library(f), note(f))
}

// note is what the registry is told of a call.
func note(f *mpispec.Function) string {
	first, last := f.Params[0], f.Params[len(f.Params)-1]
	name := strings.TrimSuffix(f.Short(), "_c")
	switch {
	case noted[name] != "":
		return noted[name]
	case strings.HasSuffix(name, "_set_name"):
		return fmt.Sprintf("cohort_object_rename(&%s, HANDLE(%s), %s)", tables[first.Type], first.Name, last.Name)
	case last.Type == "MPI_Info":
		return fmt.Sprintf("info_noted(*%s, site, NULL, 1)", last.Name)
	case procedural(f):
		return fmt.Sprintf("errhandler_made(*errhandler, %s, (void *)%s, site, NULL)", errhandlerKind(f), first.Name)
	case last.Type == "MPI_Errhandler":
		return fmt.Sprintf("errhandler_given(*%s, site)", last.Name)
	case last.Type == "MPI_Group":
		return fmt.Sprintf("group_given(*%s, site, NULL)", last.Name)
	case strings.HasPrefix(combiner(f), "F90_"): // the library's own: the same for the same arguments, never freed
		return fmt.Sprintf("record_of(*newtype, site, \"%s\")", f.Name)
	}
	return construction(f)
}

// errhandlerKind says for which objects an error handler is made, by the type of its function.
func errhandlerKind(f *mpispec.Function) string {
	of, _, _ := strings.Cut(strings.TrimPrefix(f.Params[0].Type, "MPI_"), "_")
	return "COHORT_FUNCTION_" + map[string]string{"Comm": "COMM", "Win": "WINDOW", "File": "FILE"}[of]
}

// combiner is the name that MPI has for what a datatype's constructor makes: INDEXED_BLOCK.
func combiner(f *mpispec.Function) string {
	name := strings.TrimPrefix(strings.TrimSuffix(f.Short(), "_c"), "Type_")
	return strings.ToUpper(strings.TrimPrefix(name, "create_"))
}

// construction tells of a new datatype what its constructor was given, as MPI_Type_get_contents would return it
// (MPI-3.1, 4.1.13) but without asking, since Open MPI returns duplicates of the types: integers, addresses and
// datatypes, each in the order of the parameters.
func construction(f *mpispec.Function) string {
	var kinds [2]struct { // integers, addresses
		n, arrays int
		put       string
	}
	length, types, nTypes := "", "", "1"
	small := f
	if f.Small != nil {
		small = f.Small
	}
	for i, p := range f.Params {
		k := &kinds[0]
		if small.Params[i].Type == "MPI_Aint" {
			k = &kinds[1]
		}
		if p.Array {
			length = "N(" + p.Length + ")"
		}
		switch {
		case p.Type == "MPI_Datatype" && p.Direction == mpispec.Out:
		case p.Type == "MPI_Datatype" && p.Array:
			types, nTypes = p.Name, length
		case p.Type == "MPI_Datatype":
			types = "&" + p.Name
		case p.Array:
			k.arrays++
			k.put += fmt.Sprintf("    PUT(to, %s, %s);\n", p.Name, length)
		default:
			k.n++
			k.put += fmt.Sprintf("    *to++ = %s;\n", p.Name)
		}
	}
	var sizes [2]string
	for i, k := range kinds {
		sizes[i] = fmt.Sprint(k.n)
		if k.arrays > 0 {
			sizes[i] += fmt.Sprintf(" + %d * %s", k.arrays, length)
		}
	}
	return fmt.Sprintf(`struct cohort_datatype *d =
      begin_type(*newtype, COHORT_COMBINER_%s, %s, %s, %s, %s, site, "%s");
  if (LIKELY(d != NULL)) {
    int64_t *to = integers_of(d);
    (void)to;
%s%s    end_type(d);
  }
  cohort_type_size_forget()`, combiner(f), sizes[0], sizes[1], nTypes, types, f.Name, kinds[0].put, kinds[1].put)
}

// combiners is the C function that tells the registry's number of a combiner from the MPI's.
func combiners(functions []*mpispec.Function) string {
	cases := "    case MPI_COMBINER_NAMED: return COHORT_COMBINER_NAMED;\n"
	for _, f := range functions {
		if f.Coverage == mpispec.Objects && strings.HasPrefix(f.Name, "MPI_Type_") && f.Has("newtype") &&
			f.Small == nil &&
			f.Until == 0 {
			cases += fmt.Sprintf("    case MPI_COMBINER_%s: return COHORT_COMBINER_%[1]s;\n", combiner(f))
		}
	}
	return fmt.Sprintf(`static uint32_t combiner_of(int combiner) {
  switch (combiner) {
%s    default: return COHORT_COMBINER_UNKNOWN;
  }
}

`, cases)
}
