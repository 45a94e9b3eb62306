package wrapgen

import (
	"fmt"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
)

// entries is the C expression of how many entries an array of counts or displacements has, 0 if it has none on this
// rank.
func entries(f *mpispec.Function, p *mpispec.Param) string {
	switch p.Length {
	case "in", "out":
		return "fortran_" + p.Length + "_degree(comm)"
	case "local":
		return "cohort_local_size(comm)"
	}
	switch {
	case strings.HasPrefix(f.Short(), "Alltoall") && strings.HasPrefix(p.Name, "s"):
		return "(sendbuf == MPI_IN_PLACE ? 0 : fortran_peers(comm))"
	case root(f) != "-1":
		return "(cohort_is_root(comm, root) ? fortran_peers(comm) : 0)"
	}
	return "fortran_peers(comm)"
}

// elements is the datatype that a count is of.
func elements(f *mpispec.Function, count string) string {
	for _, b := range f.Buffers {
		if b.Count == count {
			return b.Type
		}
	}
	return strings.Replace(count, "count", "datatype", 1) // target_count
}

// largeWrapper is a form with large counts of a call that is covered: it is the call of its form with ints, with a
// datatype for what an int does not hold, and so the same events and decisions.
func largeWrapper(f *mpispec.Function) string {
	var b, undo strings.Builder
	track := trackingOf(f)
	fmt.Fprintf(&b, "EXPORT %s {\n  if (cohort_inside()) return %s;\n%s  int rc, fits = 1;\n", prototype(f), library(f),
		track.begin(op(f.Small), f))
	reduction := f.Reduction()
	made := map[string]string{}
	for _, p := range f.Params {
		if p.Type != "MPI_Count" || p.Array || p.Role != mpispec.RoleCount {
			continue
		}
		datatype := elements(f, p.Name)
		fmt.Fprintf(&b, "  struct large l_%s;\n  fits &= large_count(&l_%s, %s, %s, %d);\n", p.Name, p.Name, p.Name,
			datatype, boolInt(!reduction))
		fmt.Fprintf(&undo, "  large_free(&l_%s);\n", p.Name)
		if !reduction {
			made[datatype] = "l_" + p.Name + ".type"
		}
	}
	var args []string
	slot := 0
	for i := range f.Params {
		p, argument := &f.Params[i], f.Params[i].Name
		small := f.Small.Param(p.Name)
		switch {
		case p.Type == small.Type && made[p.Name] == "":
		case p.Array:
			convert := map[string]string{"MPI_Count": "large_counts", "MPI_Aint": "large_places"}[p.Type]
			argument = "i_" + p.Name
			fmt.Fprintf(&b, "  const int *%s = %s(%d, %s, %s, &fits);\n", argument, convert, slot, p.Name,
				entries(f, p))
			slot++
		case p.Role == mpispec.RoleCount:
			argument = "l_" + p.Name + ".count"
		case made[p.Name] != "":
			argument = made[p.Name]
		default: // disp_unit
			fmt.Fprintf(&b, "  fits &= %s == (int)%s;\n", p.Name, p.Name)
			argument = "(int)" + p.Name
		}
		args = append(args, argument)
	}
	plain := fmt.Sprintf("    rc = %s;\n", library(f))
	if f.Class == mpispec.ClassCollective && f.Nonblocking != nil {
		plain = yielding(f) // as other ranks do, whose counts are small
	}
	fmt.Fprintf(&b, `  if (LIKELY(fits)) {
    cohort_fortran_site(cohort_take_site(SITE));
    rc = %s(%s);
    cohort_fortran_site(0);
  } else if (cohort_enter(COHORT_OP_OTHER, SITE)) {
    cohort_uncovered("%s above 2^31");
%s    cohort_event_plain();
    cohort_leave();
  } else {
    rc = %s;
  }
%s%s  return rc;
}
`, f.Small.Name, strings.Join(args, ", "), f.Name, plain, library(f), undo.String(), track.end())
	return b.String()
}
