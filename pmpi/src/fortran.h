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
MPI_Aint *fortran_places(const MPI_Fint *p, int count);
int *fortran_weights(MPI_Fint *p);
int fortran_peers(MPI_Comm comm);
int fortran_out_degree(MPI_Comm comm);
int fortran_in_degree(MPI_Comm comm);
void fortran_string(char *to, size_t room, const char *from, size_t length);
int fortran_first_index(void);
void *fortran_next(const char *name);
void fortran_opened(MPI_Fint file, MPI_Fint comm, const char *name, size_t length, int amode, uint64_t site);
void fortran_viewed(MPI_Fint file, MPI_Offset disp, MPI_Fint etype, MPI_Fint filetype, const char *datarep,
                    size_t length);
void fortran_view_given(MPI_Fint file, MPI_Fint etype, MPI_Fint filetype);

#endif
