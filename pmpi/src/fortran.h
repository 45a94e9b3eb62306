/* What the Fortran wrappers convert with. */
#ifndef COHORT_FORTRAN_H
#define COHORT_FORTRAN_H
#include "p2p.h"

#define ALIAS(name, target) extern __typeof(target) name EXPORT __attribute__((alias(#target)));
#ifdef OPEN_MPI
/* The names that compilers make of MPI_X. */
#define FORTRAN_NAMES(lower, upper)              \
  ALIAS(mpi_##lower##_, mpi_##lower##_f08_)      \
  ALIAS(mpi_##lower##__, mpi_##lower##_f08_)     \
  ALIAS(mpi_##lower, mpi_##lower##_f08_)         \
  ALIAS(MPI_##upper, mpi_##lower##_f08_)
#else
#define FORTRAN_NAMES(lower, upper)
#endif

void *fortran_buffer(void *p);
int fortran_ignores_status(const MPI_Fint *p);
MPI_Status *fortran_statuses(const MPI_Fint *p, int count);
void fortran_statuses_out(MPI_Fint *p, const MPI_Status *statuses, int count);
MPI_Request *fortran_requests(const MPI_Fint *p, int count);
void fortran_requests_out(MPI_Fint *p, const MPI_Request *requests, int count);
MPI_Datatype *fortran_types(const MPI_Fint *p, int count, int second);
int *fortran_weights(MPI_Fint *p);
int fortran_peers(MPI_Comm comm);
int fortran_out_degree(MPI_Comm comm);
int fortran_in_degree(MPI_Comm comm);
void fortran_string(char *to, size_t room, const char *from, size_t length);
int fortran_first_index(void);
void *fortran_next(const char *name);

/* A call that is only noted: its arguments go on to the MPI's own wrapper as they are. */
#define FORTRAN_PASSED_ON_AS(symbol, call)                                   \
  EXPORT void symbol(void) {                                                 \
    void *arguments = __builtin_apply_args();                                \
    static void *next;                                                       \
    if (next == NULL) next = fortran_next(#symbol);                          \
    int seen = cohort_enter(COHORT_OP_OTHER, SITE);                          \
    if (seen) cohort_uncovered(call);                                        \
    void *result = __builtin_apply((void (*)())next, arguments, 256);        \
    if (seen) {                                                              \
      cohort_event_plain();                                                  \
      cohort_leave();                                                        \
    }                                                                        \
    __builtin_return(result);                                                \
  }
#ifdef OPEN_MPI
#define FORTRAN_EXTENSION(lower, call)              \
  FORTRAN_PASSED_ON_AS(mpix_##lower##_, call)       \
  FORTRAN_PASSED_ON_AS(mpix_##lower##__, call)      \
  FORTRAN_PASSED_ON_AS(mpix_##lower##_f08_, call)
#define FORTRAN_PASSED_ON(lower, call)             \
  FORTRAN_PASSED_ON_AS(mpi_##lower##_, call)       \
  FORTRAN_PASSED_ON_AS(mpi_##lower##__, call)      \
  FORTRAN_PASSED_ON_AS(mpi_##lower##_f08_, call)
#else
#define FORTRAN_PASSED_ON(lower, call) FORTRAN_PASSED_ON_AS(mpi_##lower##_f08_, call)
#endif
#endif
