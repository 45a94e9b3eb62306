/* Collectives. */
#ifndef COHORT_COLLECTIVE_H
#define COHORT_COLLECTIVE_H
#include "core.h"

/* Persistent collectives are of MPI 4, and the same with MPIX_ in Open MPI 4. */
#ifndef OPEN_MPI
#if MPI_VERSION >= 4
#define COHORT_PERSISTENT_COLLECTIVE(prefix, name) prefix##_##name
#endif
#else
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define COHORT_PERSISTENT_COLLECTIVE(prefix, name) prefix##X_##name
#endif
#endif

/* ---- comms.c: what a rank gives to a collective */
/* An EVENT that concerns all members of a communicator, by its index; the caller ends it. */
void cohort_event_begin_on(uint32_t index, int root, uint64_t bytes);
void cohort_event_collective(int rc, MPI_Comm comm, int root, uint64_t bytes);
void cohort_collective_initialized(int rc, MPI_Comm comm, int root, uint64_t bytes, uint32_t op,
                                   const MPI_Request *request);
uint64_t cohort_bytes_v(const int *counts, MPI_Datatype type, MPI_Comm comm);
uint64_t cohort_bytes_w(const int *counts, const MPI_Datatype *types, MPI_Comm comm);
int cohort_is_root(MPI_Comm comm, int root);
int cohort_gives_root(MPI_Comm comm, int root);
uint32_t cohort_my_rank(MPI_Comm comm);
uint32_t cohort_out_degree(MPI_Comm comm);
uint64_t cohort_bytes_out(const int *counts, MPI_Datatype type, MPI_Comm comm);
uint64_t cohort_bytes_out_w(const int *counts, const MPI_Datatype *types, MPI_Comm comm);
uint64_t cohort_bytes_all(int count, MPI_Datatype type, MPI_Comm comm);

#endif
