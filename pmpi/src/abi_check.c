/* The layout that Go mirrors (pmpi/abi), checked where the compiler knows it. A number that changes here is a new
 * COHORT_ABI_VERSION. */
#include "registry.h"

#define SIZE(type, n) _Static_assert(sizeof(struct type) == n, "size of " #type)
#define AT(type, field, n) _Static_assert(offsetof(struct type, field) == n, "offset of " #type "." #field)

SIZE(cohort_control, 1936);
AT(cohort_control, park_at, 32);
AT(cohort_control, release, 48);
AT(cohort_control, state, 56);
AT(cohort_control, events, 64);
AT(cohort_control, incomplete_call, 128);
AT(cohort_control, divergence, 184);
AT(cohort_control, message, 240);
AT(cohort_control, recent, 400);
AT(cohort_control, calls, 912);
_Static_assert(sizeof(struct cohort_control) <= 4096, "the control block fits a page");
SIZE(cohort_recent, 32);
SIZE(cohort_divergence, 56);
SIZE(cohort_slot, 16);
SIZE(cohort_registry, 176);
AT(cohort_registry, features, 128);
SIZE(cohort_datatype, 160);
AT(cohort_datatype, type_size, 40);
AT(cohort_datatype, name, 104);
AT(cohort_datatype, n_integers, 144);
SIZE(cohort_comm, 168);
AT(cohort_comm, global_id, 24);
AT(cohort_comm, name, 80);
AT(cohort_comm, n_members, 160);
SIZE(cohort_stack, 8);
SIZE(cohort_object, 72);
SIZE(cohort_group, 80);
SIZE(cohort_window, 160);
SIZE(cohort_file, 144);
SIZE(cohort_reduction, 88);
SIZE(cohort_errhandler, 80);
SIZE(cohort_info, 80);
SIZE(cohort_side, 72);
SIZE(cohort_action, 304);
AT(cohort_action, send, 48);
AT(cohort_action, name, 264);
SIZE(cohort_request_record, 416);
AT(cohort_request_record, a, 112);
SIZE(cohort_call, 360);
AT(cohort_call, a, 56);
SIZE(cohort_decisions, 184);
SIZE(cohort_order, 16);
SIZE(cohort_stream, 32);
SIZE(cohort_value, 8);
SIZE(cohort_turn, 16);
SIZE(cohort_check, 16);
SIZE(cohort_match, 24);
SIZE(cohort_poll, 24);
SIZE(cohort_set, 16);
SIZE(cohort_trace_header, 144);
AT(cohort_trace_header, committed, 48);
AT(cohort_trace_header, incomplete_call, 80);
SIZE(cohort_chunk, 24);
SIZE(cohort_pending, 32);
SIZE(cohort_undecided, 3584);
_Static_assert(sizeof(struct cohort_trace_header) <= COHORT_UNDECIDED_OFFSET,
               "the header ends before what is undecided");
_Static_assert(COHORT_UNDECIDED_OFFSET + sizeof(struct cohort_undecided) <= COHORT_TRACE_HEADER_SIZE,
               "and that fits the page");
_Static_assert(sizeof(struct cohort_trace_header) <= COHORT_TRACE_HEADER_SIZE, "the header fits its page");
_Static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran INTEGER is a C int: arrays of them are passed on as they are");
