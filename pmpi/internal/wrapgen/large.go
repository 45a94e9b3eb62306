package wrapgen

import (
	"fmt"
	"strings"
)

// countOf maps the parameters that count elements to the datatype of those.
var countOf = map[string]string{
	"count": "datatype", "sendcount": "sendtype", "recvcount": "recvtype",
	"origin_count": "origin_datatype", "target_count": "target_datatype", "result_count": "result_datatype",
}

// entries is the C expression of how many entries a parameter that is an array of counts or places has, or "" if it has
// none on this rank.
func (f function) entries(p parameter) string {
	switch base := strings.TrimSuffix(f.name, "_c"); {
	case strings.HasPrefix(base, "Alltoall") && strings.HasPrefix(p.name, "s"):
		return "(sendbuf == MPI_IN_PLACE ? 0 : fortran_peers(comm))"
	case strings.HasPrefix(base, "Neighbor_"):
		if strings.HasPrefix(p.name, "s") {
			return "fortran_out_degree(comm)"
		}
		return "fortran_in_degree(comm)"
	case base == "Gatherv" || base == "Scatterv":
		return "(cohort_is_root(comm, root) ? fortran_peers(comm) : 0)"
	case base == "Reduce_scatter":
		return "cohort_local_size(comm)"
	}
	return "fortran_peers(comm)"
}

// isReduction tells whether a count is of operands: a reduction takes no datatype that is made of them.
func (f function) isReduction() bool {
	if f.class != large || f.onesided() {
		return false
	}
	for _, p := range f.parameters {
		if p.kind == "MPI_Op" {
			return true
		}
	}
	return false
}

func (f function) onesided() bool {
	for _, p := range f.parameters {
		if p.kind == "MPI_Win" {
			return true
		}
	}
	return false
}

// largeCounts are the forms with large counts of calls that are covered: each is the call of its int form, with a
// datatype for what an int does not hold.
func largeCounts(all []function) string {
	var b strings.Builder
	b.WriteString(header + `/* The forms with large counts are made of their int forms: the same events, decisions and datatypes. A count that an int does not hold
 * becomes one element of a datatype that has so many. */
#include "fortran.h"
#include "large.h"

#if !defined(OPEN_MPI) && MPI_VERSION >= 4
`)
	for _, f := range all {
		b.WriteString(f.largeWrapper())
	}
	b.WriteString("#endif\n")
	return b.String()
}

func (f function) largeWrapper() string {
	var b, undo strings.Builder
	fmt.Fprintf(&b, "EXPORT %s {\n%s  if (cohort_inside()) return PMPI_%s(%s);\n  int fits = 1;\n", f.prototype(),
		f.keptLine(), f.name, f.arguments())
	var arguments []string
	slot := 0
	typeOf := map[string]string{}
	for _, p := range f.parameters {
		datatype, ok := countOf[p.name]
		if !ok || p.kind != "MPI_Count" {
			continue
		}
		if datatypeOf := f.find(datatype); datatypeOf == nil {
			datatype = "datatype"
		}
		mayMake := boolInt(!f.isReduction() && f.find(datatype) != nil)
		fmt.Fprintf(&b, "  struct large l_%s;\n  fits &= large_count(&l_%s, %s, %s, %d);\n", p.name, p.name, p.name,
			datatype, mayMake)
		fmt.Fprintf(&undo, "  large_free(&l_%s);\n", p.name)
		typeOf[datatype] = "l_" + p.name + ".type"
	}
	for _, p := range f.parameters {
		argument := p.name
		switch {
		case countOf[p.name] != "" && p.kind == "MPI_Count":
			argument = "l_" + p.name + ".count"
		case typeOf[p.name] != "" && !f.isReduction():
			argument = typeOf[p.name]
		case p.array && p.kind == "const MPI_Count":
			fmt.Fprintf(&b, "  const int *i_%s = large_counts(%d, %s, %s, &fits);\n", p.name, slot, p.name,
				f.entries(p))
			argument = "i_" + p.name
			slot++
		case p.array && p.kind == "const MPI_Aint" && !strings.HasPrefix(f.name, "Neighbor_alltoallw"):
			fmt.Fprintf(&b, "  const int *i_%s = large_places(%d, %s, %s, &fits);\n", p.name, slot, p.name,
				f.entries(p))
			argument = "i_" + p.name
			slot++
		case p.name == "disp_unit":
			b.WriteString("  fits &= disp_unit == (int)disp_unit;\n")
			argument = "(int)disp_unit"
		}
		arguments = append(arguments, argument)
	}
	base := strings.TrimSuffix(f.name, "_c")
	fmt.Fprintf(&b, "  if (UNLIKELY(!fits)) {\n%s    if (!cohort_enter(COHORT_OP_OTHER, SITE)) return PMPI_%s(%s);\n",
		strings.ReplaceAll(undo.String(), "  large", "    large"), f.name, f.arguments())
	fmt.Fprintf(&b, "    cohort_uncovered(\"MPI_%s above 2^31\");\n    int rc;\n", f.name)
	if f.nonblock != "" { // other ranks, whose counts are small, make it of the nonblocking form
		fmt.Fprintf(&b, "    if (g.yield) {\n      MPI_Request request = MPI_REQUEST_NULL;\n      rc = PMPI_%s_c(%s, "+
			"&request);\n"+
			"      if (rc == MPI_SUCCESS) rc = cohort_do_wait(&request, MPI_STATUS_IGNORE);\n    } else {\n      rc "+
			"= PMPI_%s(%s);\n    }\n",
			f.nonblock, f.arguments(), f.name, f.arguments())
	} else {
		fmt.Fprintf(&b, "    rc = PMPI_%s(%s);\n", f.name, f.arguments())
	}
	b.WriteString("    cohort_event_plain();\n    cohort_leave();\n    return rc;\n  }\n")
	fmt.Fprintf(&b, "  cohort_fortran_site(cohort_take_site(SITE));\n  int rc = MPI_%s(%s);\n  "+
		"cohort_fortran_site(0);\n%s  return rc;\n}\n\n",
		base, strings.Join(arguments, ", "), undo.String())
	return b.String()
}

func (f function) find(name string) *parameter {
	for i := range f.parameters {
		if f.parameters[i].name == name {
			return &f.parameters[i]
		}
	}
	return nil
}
