package wrapgen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cohort-debugger/cohort/mpispec"
)

// ops is the header of the operations: their numbers, and what the interposer asks about them.
func ops(functions []*mpispec.Function) string {
	all := map[mpispec.Op]*mpispec.Function{}
	for _, f := range functions {
		if first := all[f.Op]; f.Op != mpispec.OpNone && (first == nil || first.Short() != first.Operation) {
			all[f.Op] = f
		}
	}
	var numbers, classes, cases, polls strings.Builder
	for c := mpispec.ClassNone; c <= mpispec.ClassOther; c++ {
		fmt.Fprintf(&classes, "  %s,\n", class(c))
	}
	for _, number := range slices.Sorted(maps.Keys(all)) {
		f := all[number]
		fmt.Fprintf(&numbers, "  %s = %d,\n", op(f), number)
		if f.Class != mpispec.ClassNone {
			fmt.Fprintf(&cases, "    case %s: return %s;\n", op(f), class(f.Class))
		}
		if f.Poll {
			fmt.Fprintf(&polls, "    case %s:\n", op(f))
		}
	}
	return fmt.Sprintf(`%s#ifndef COHORT_OPS_H
#define COHORT_OPS_H
#include <stdint.h>
enum cohort_op {
  COHORT_OP_NONE = 0,
%s};
enum cohort_class {
%s};
static inline enum cohort_class cohort_class_of(uint32_t op) {
  switch (op) {
%s    default: return COHORT_CLASS_NONE;
  }
}
/* it may find nothing complete, and then is no event */
static inline int cohort_is_poll(uint32_t op) {
  switch (op) {
%s      return 1;
    default: return 0;
  }
}
#endif
`, notice, numbers.String(), classes.String(), cases.String(), polls.String())
}

func class(c mpispec.Class) string {
	return "COHORT_CLASS_" + strings.ToUpper(strings.ReplaceAll(c.String(), "-", "_"))
}
