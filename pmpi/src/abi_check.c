/* What must be true of the layouts in cohort_abi.h beyond what Go's generated view of them is tested for. */
#include "registry.h"

_Static_assert(sizeof(struct cohort_trace_header) <= COHORT_UNDECIDED_OFFSET,
               "the header ends before what is undecided");
_Static_assert(COHORT_UNDECIDED_OFFSET + sizeof(struct cohort_undecided) <= COHORT_TRACE_HEADER_SIZE,
               "and that fits the page");
_Static_assert(COHORT_OP_OTHER < COHORT_OPERATIONS, "each operation has a counter");
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran INTEGER is a C int: arrays of them are passed on as they are");
